"""The task files, read by lmms-eval's own loader: short, complete, and naming only what there is."""

import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.benchmark.metrics.catalogue import select
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.common.files import sha256_json
from siming_tasks.data import Dataset
from siming_tasks.data.makers import public_sets
from siming_tasks.media import backends
from siming_tasks.plugin import hooks

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of the host's own imports

FOLDER = Path(str(resources.files("siming_tasks.yaml_tasks")))
PATHS = {path.stem: path for path in FOLDER.rglob("*.yaml")}


def load(name: str) -> dict[str, Any]:
    from lmms_eval.utils import load_yaml_config

    return load_yaml_config(str(PATHS[name]), mode="full")


def test_every_task_is_complete(run: Dataset) -> None:
    for name, setting in TASKS.items():
        task = load(f"siming_{name}")
        assert (task["task"], task["test_split"], task["output_type"]) == (setting.task_name, "test", "generate_until")
        assert task["task_alias"] == f"siming_{name} [SYNTHETIC siming-demo]"
        assert task["generation_kwargs"]["until"] == [] and task["reasoning_tags"] == "none"
        assert Path(task["dataset_kwargs"]["data_files"]["test"]) == run.root / "videos.jsonl"
        for hook in ("process_results", "doc_to_messages", "doc_to_visual", "doc_to_text", "doc_to_target"):
            assert task[hook] is getattr(hooks, hook), name
        listed = [row["metric"] for row in task["metric_list"]]
        added = {key: metric.higher_is_better for key, metric in setting.answer_format.metrics.items()}
        assert [metric for metric in listed if not metric.endswith("_stderr")] == [*select(setting.answer), *added]
        assert listed[-1] == "siming_stderr" and task["metric_list"][-1]["aggregation"] is hooks.evaluation
        for row in task["metric_list"][:-1]:
            assert row["aggregation"].__name__ == row["metric"]
            better = not row["metric"].endswith("_stderr") and added.get(row["metric"], True)
            assert row["higher_is_better"] is better, name
        (doc, *_) = task["process_docs"](None)
        assert doc["setting"] == name and doc["id"].startswith(f"{name}/")


def test_metadata_hold_everything_that_a_result_depends_on(run: Dataset) -> None:
    """It is part of every cache key. To the letter, because a changed byte would lose all replies cached so far."""
    for name in BENCHMARK_TASKS:
        assert load(f"siming_{name}")["metadata"] == {
            "version": "1-A",
            "siming_dataset": "siming-demo (synthetic)",
            "siming_digest": run.digest,
            "siming_prompt": "1-A 888bdb743a0b",
            "siming_options": '{"media": "auto", "frames": 6, "clip_frames": 3, "frame_size": 896, '
            '"clip_density": "native"}',
            "siming_media": sha256_json({name: row.media and row.media.name for name, row in backends().items()})[:12],
        }
    timed, error = (load(f"siming_full_timed_{answer}")["metadata"] for answer in ("score", "error"))
    assert timed["siming_prompt"] not in ("1-A 888bdb743a0b", error["siming_prompt"])


def test_groups_hold_the_settings_that_say_so() -> None:
    groups = {name: yaml.safe_load(path.read_text()) for name, path in PATHS.items() if "group:" in path.read_text()}
    whole = [groups.pop(name)["task"] for name in ("siming", *(f"siming_{name}" for name in public_sets()))]
    members = {name: [s.task_name for s in TASKS.values() if s.group == name] for name in groups}
    assert {name: group["task"] for name, group in groups.items()} == members
    assert {name for tasks in members.values() for name in tasks} == {setting.task_name for setting in TASKS.values()}
    assert whole == [["siming_full", "siming_clip"]] * len(whole)
    assert all(group["metadata"] == {"version": "1-A"} for group in groups.values())


def test_task_files_are_those_of_the_registry() -> None:
    script = Path(__file__).parents[3] / "utils" / "make_task_files.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
