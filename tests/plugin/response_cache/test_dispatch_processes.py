"""Two processes, one of them killed: the other is ended, and the same command again asks only for what is missing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.host, pytest.mark.weekly]

PLUGIN = """
import json, os, pathlib, signal, time
import torch.distributed as dist
from accelerate import Accelerator
from lmms_eval.api.model import lmms


class Slowly(lmms):
    '''Answers by a rule; with together=1 every batch needs both processes, as a model that lies over both does.'''

    is_simple = False

    def __init__(self, together=0, **_):
        super().__init__()
        self.accelerator = Accelerator(cpu=True)
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes
        self.device, self.batch_size = self.accelerator.device, 1
        self._tp_world_size = 2 if together else 1

    def generate_until(self, requests):
        replies = []
        for request in requests:
            with open(os.environ["ASKED"], "a") as log:
                log.write(f"{self.rank} {request.task_name} {request.doc_id}\\n")
            if self._tp_world_size > 1:
                dist.barrier()
            if os.environ.get("KILL") == f"{self.rank} {request.doc_id}":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(0.05)
            replies.append(json.dumps({"score": request.doc_id % 2}))
        return replies

    def loglikelihood(self, requests): ...

    def generate_until_multi_round(self, requests): ...
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A model of a third party, found by its own entry point."""
    manifest = "from lmms_eval.models.registry_v2 import ModelManifest\n"
    files = {
        "slowly_model.py": PLUGIN,
        "slowly_manifest.py": f"{manifest}found = ModelManifest('slowly', chat_class_path='slowly_model.Slowly')\n",
        "slowly-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: slowly\nVersion: 1.0\n",
        "slowly-1.0.dist-info/entry_points.txt": "[lmms_eval.models]\nslowly=slowly_manifest:found\n",
    }
    (tmp_path / "site" / "slowly-1.0.dist-info").mkdir(parents=True)
    for name, text in files.items():
        (tmp_path / "site" / name).write_text(text)
    return tmp_path / "site"


def test_a_rerun_after_a_killed_process_asks_only_for_missing_replies(
    host: Callable[..., Any], two_processes: tuple[str, ...], short_demo: Path, plugin: Path, tmp_path: Path
) -> None:
    """One model over both, so that the second time both must take part in every batch, though one has less to ask."""

    def run(name: str, **env: str) -> tuple[Any, list[str]]:
        log = tmp_path / f"{name}.asked"
        rerun = host(
            "--model", "slowly", "--model_args", "together=1", "--tasks", "siming_clip_score", "--limit", "24",
            data=short_demo, name=name, launcher=two_processes,
            **{"SIMING_REPLIES": str(tmp_path / "kept"), "SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "32",
               "SIMING_MEDIA": "video", "ASKED": str(log), "PYTHONPATH": str(plugin),
               "PYTHONWARNINGS": "ignore", **env},
        )  # fmt: skip
        return rerun, log.read_text().splitlines()

    killed, asked = run("killed", KILL="1 13")  # rank 1 has the odd documents
    assert killed.code != 0 and not list(killed.folder.rglob("*_results.json"))
    assert {line[0] for line in asked} == {"0", "1"}
    files = [replies_in(path) for path in (tmp_path / "kept").rglob("*.jsonl")]
    assert len(files) == 2  # each process its own
    done = {reply["id"] for replies in files for reply in replies}
    assert len(done) == sum(map(len, files)) >= 6
    again, missing = run("again")
    assert again.task("clip_score")["coverage"] == 1.0
    replies = {sample["doc_id"]: sample["filtered_resps"] for sample in again.samples("clip_score")}
    assert {number: json.loads(reply)["score"] for number, reply in replies.items()} == {n: n % 2 for n in range(24)}
    counts = [sum(line.startswith(rank) for line in missing) for rank in "01"]
    assert counts[0] == counts[1] and len({line[2:] for line in missing}) == 24 - len(done)
    odd = {sample["siming_stderr"]["id"] for sample in again.samples("clip_score") if sample["doc_id"] % 2}
    for path in (tmp_path / "kept").rglob("*.jsonl"):  # whatever the even documents' process had is there again
        path.write_text("".join(json.dumps(one) + "\n" for one in replies_in(path) if one["id"] not in odd))
    last, missing = run("last")
    assert last.task("clip_score")["coverage"] == 1.0
    assert {line[0] for line in missing} == {"0", "1"} and len({line for line in missing if line[0] == "0"}) == 1
    assert len({line for line in missing if line[0] == "1"}) == 12


def replies_in(path: Path) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, path.read_text().splitlines()) if "attempt" not in line]
