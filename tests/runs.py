"""Small synthetic runs written as lmms-eval writes them."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.parsing import format_answers, parse_reply
from siming_tasks.benchmark.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, expected_requests
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.models.baselines import judge
from tests.records import record_json


def write_run(
    dataset: Dataset,
    folder: Path,
    kind: str = "oracle",
    *,
    model: str | None = None,
    noise: float = 0.0,
    replies: Mapping[int, str | None] | None = None,
    settings: tuple[str, ...] = BENCHMARK_TASKS,
    config: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Path:
    """A run's sample logs and results file; ``replies`` takes the place of full-video score replies by number."""
    folder.mkdir(parents=True)
    ask, rng = judge(kind, dataset), np.random.default_rng(seed)
    for name in settings:
        setting = TASKS[name]
        lines = []
        for number, (video_id, step_id) in enumerate(expected_requests(setting, dataset.videos)):
            video = dataset.video(video_id)
            names = {step_id} if step_id else set(asked_steps(setting, video))
            steps = [step for step in dataset.rubric.steps if step.id in names]
            answers = ask(video, steps, setting.answer)
            for step in steps:
                if rng.random() < noise:
                    top = int(step.max_score) if setting.answer == "score" else 1
                    answers[step.id] = float(rng.integers(0, top + 1))
            reply = format_answers(answers, steps, setting.answer)
            if name == "full_score" and replies and replies.get(number) is not None:
                reply = str(replies[number])
            start, end = (video.step(step_id).span or (0.0, 1.0)) if step_id else (0.0, video.duration)
            media = {"mode": "frames", "n_frames": 4, "indices": [0, 3, 6, 9], "start": start, "end": end, "fps": 1.0}
            parsed = parse_reply(reply, steps, setting.answer)
            about = {"prompt": f"p-{step_id or 'full'}", "dataset": dataset.digest, "media": media}
            record = record_json(name, video_id, step_id, parsed, **about)
            lines.append({"doc_id": number, "target": "{}", "filtered_resps": reply, "siming_stderr": record})
        path = folder / f"20260102_030405_samples_siming_{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    results = {
        "config": {
            "model": "qwen2_5_vl" if model else "siming_reference",
            "model_args": f"pretrained={model},api_key=sk-private" if model else f"kind={kind}",
            "limit": None,
            **(config or {}),
        },
        "date": "20260102_030405",
        "lmms_eval_version": "0.7.3",
        "configs": {
            f"siming_{name}": {
                "metadata": {"version": "1-A"},
                "dataset_kwargs": {"data_files": {"test": str(dataset.root / "videos.jsonl")}},
            }
            for name in settings
        },
    }
    (folder / "20260102_030405_results.json").write_text(json.dumps(results))
    return folder


def unanswered(log: Path, rows: Iterable[int], status: str = "request_failed") -> None:
    """Give some replies of a log, by their number, the form of none: failed, empty, or cut."""
    texts = {"request_failed": "[LMMS_EVAL_REQUEST_FAILED after 5 retries] x", "empty": "", "truncated": '{"sc'}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for number in rows:
        record = lines[number]["siming_stderr"]
        missing = dict.fromkeys([*record["answers"], *record["missing"]], "absent")
        usage = {"finish_reason": "length"} if status == "truncated" else {}
        record |= {"status": status, "answers": {}, "missing": missing, "usage": usage}
        lines[number]["filtered_resps"] = texts[status]
    log.write_text("".join(json.dumps(line) + "\n" for line in reversed(lines)))  # the order in a log tells nothing


@pytest.fixture(scope="session")
def exams(short_demo: Path) -> Dataset:
    return open_dataset(short_demo)


@pytest.fixture
def make_run() -> Callable[..., Path]:
    """:func:`write_run`."""
    return write_run
