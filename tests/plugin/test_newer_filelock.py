"""Runs where filelock lacks the private module that lmms-eval 0.7.3 imports, and what lmms-eval loses there."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset, Image
from datasets.utils._filelock import FileLock as DataLock
from filelock import FileLock
from PIL import Image as Pictures

from siming_tasks.plugin import host as touched
from tests.lmms_eval_runs import ROOT, environment
from tests.plugin.serving import Server, completion
from tests.plugin.test_api_models import MODEL_ARGS
from tests.plugin.test_saved_run import ORACLE

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]

WITHOUT = """
import sys
sys.modules["filelock._api"] = None  # its import fails from here on
from lmms_eval.cli.dispatch import main
main()
"""
MME = """
include: {mme}
task: mme_here
dataset_path: parquet
dataset_kwargs: {{data_files: {{test: {data}}}}}
"""
"""A task of lmms-eval's own as it is, but for its data, which are of this machine."""


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds filelock 4.3 or later and nothing else."""
    folder = tmp_path_factory.mktemp("filelock")
    words = ["-m", "pip", "install", "-q", "--no-deps", "--retries", "0", "--timeout", "20", "--target", folder]
    if subprocess.run([sys.executable, *words, "filelock>=4.3"], capture_output=True).returncode:
        pytest.skip("needs the package registry")
    return folder


def test_a_run_needs_no_private_module_of_filelock(host: Callable[..., Any], short_demo: Path, tmp_path: Path) -> None:
    (script := tmp_path / "without.py").write_text(WITHOUT)
    run = host(*ORACLE, "siming_clip_error", "--limit", "2", data=short_demo, script=str(script))
    assert run.code == 0 and run.task("clip_error")["coverage"] == 1.0


def test_lmms_eval_keeps_its_guard_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    assert touched.shields() == {}, "the installed filelock has the module"
    monkeypatch.setitem(sys.modules, "filelock._api", None)
    assert touched.shields().keys() == {touched.FILELOCK_GUARD}


def test_what_is_lost_is_an_error_and_not_a_run_that_waits_for_itself(tmp_path: Path) -> None:
    """Without the guard, as with filelock 4.3: data that are loaded while they are being loaded."""
    with (
        FileLock(tmp_path / "data.lock"),
        pytest.raises(RuntimeError, match=r"Deadlock: lock .* is already held"),
        DataLock(tmp_path / "data.lock"),
    ):
        pass


@pytest.mark.weekly
def test_the_check_of_imports_wants_a_row_for_what_is_missing(tmp_path: Path, newer: Path) -> None:
    page = (ROOT / "docs" / "howto" / "release.md").read_text(encoding="utf-8")
    (before := tmp_path / "before.md").write_text(re.sub(r"\n\| `filelock\._api`.*", "", page), encoding="utf-8")
    command = [sys.executable, str(ROOT / "utils" / "check_imports.py")]
    for words, code, said in (
        ([before], 1, "MISSING filelock._api (lmms_eval/evaluator.py, line "),
        ([], 0, "others have a shield"),
    ):
        done = subprocess.run(
            [*command, *words], env=environment(PYTHONPATH=str(newer)), capture_output=True, text=True
        )
        assert done.returncode == code and said in done.stdout, done.stdout + done.stderr[-2000:]


@pytest.mark.weekly
def test_filelock_4_3_runs_our_tasks_and_one_of_lmms_eval_beside_them(
    host: Callable[..., Any], command: tuple[str, ...], serve: Callable[..., Server],
    short_demo: Path, tmp_path: Path, newer: Path,
) -> None:  # fmt: skip
    exams = host(*ORACLE, "siming_full,siming_clip", "--limit", "2",
                 data=short_demo, launcher=command, name="oracle", PYTHONPATH=str(newer))  # fmt: skip
    assert exams.code == 0 and [exams.task(f"{name}_error")["coverage"] for name in ("full", "clip")] == [1.0, 1.0]
    picture, kind = {"image": Pictures.new("RGB", (64, 64))}, {"question_id": "a.png", "category": "OCR"}
    rows = [{**picture, **kind, "question": f"Is it {name}?", "answer": said} for name, said in
            (("red", "No"), ("black", "Yes"))]  # fmt: skip
    Dataset.from_list(rows).cast_column("image", Image()).to_parquet(tmp_path / "mme.parquet")
    spec = importlib.util.find_spec("lmms_eval")
    assert spec is not None and spec.origin is not None
    mme = Path(spec.origin).with_name("tasks") / "mme" / "mme.yaml"
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "mme_here.yaml").write_text(MME.format(mme=mme, data=tmp_path / "mme.parquet"))
    server = serve(
        lambda _, text, __: completion("Yes" if "Is it black" in text else "No" if "Is it" in text else "{}")
    )
    both = host("--model", "async_openai", "--model_args", MODEL_ARGS["async_openai"] + server.url,
                "--tasks", "siming_clip_error,mme_here", "--include_path", str(tmp_path / "tasks"), "--limit", "2",
                data=short_demo, launcher=command, name="both", SIMING_CLIP_FRAMES="2",
                PYTHONPATH=str(newer), HF_HOME=str(tmp_path / "hf"))  # fmt: skip
    assert both.code == 0, both.output[-3000:]
    (results,) = both.folder.rglob("*_results.json")
    rows = json.loads(results.read_text())["results"]
    assert rows["mme_here"]["mme_perception_score,none"] == 200.0 and "siming_clip_error" in rows
