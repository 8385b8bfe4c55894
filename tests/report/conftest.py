"""Small synthetic runs written as lmms-eval writes them, and one report of them that many tests look at."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.models.baselines import judge
from siming_tasks.options import Options
from siming_tasks.parsing import format_answers, parse_reply
from siming_tasks.report.build import write_report
from siming_tasks.results.discovery import find_runs
from siming_tasks.results.run import read_run
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS
from siming_tasks.tasks.expected_requests import asked_steps, expected_requests
from siming_tasks.tools.board.build import build_board
from siming_tasks.tools.board.submission import ModelCard, pack
from tests.records import record_json

OPTIONS = Options()
HOSTILE_NAME = "org/<img src=x onerror=alert(1)>\u202egpj.7B"
HOSTILE = {
    0: "<script>alert(1)</script></script><script>alert(2)</script>\u2028",
    1: "\u202e\u2066drows\u2069\u200b right to left, \x00\x1b[31m control",
    2: "word " * 1_000_000,
    3: None,
}
"""Replies of the hostile model to its first full-video questions (None: a proper answer)."""


@dataclass(frozen=True)
class Lab:
    """A dataset, runs on it, and a report of them."""

    dataset: Dataset
    runs: Path
    out: Path


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
                "metadata": {"version": "4-A"},
                "dataset_kwargs": {"data_files": {"test": str(dataset.root / "videos.jsonl")}},
            }
            for name in settings
        },
    }
    (folder / "20260102_030405_results.json").write_text(json.dumps(results))
    return folder


@pytest.fixture(scope="session")
def exams(short_demo: Path) -> Dataset:
    """Four short synthetic exams."""
    return open_dataset(short_demo)


@pytest.fixture(scope="session")
def lab(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Three runs (oracle, a noisy model, a hostile model) and their report, videos linked."""
    root = tmp_path_factory.mktemp("lab")
    runs = root / "runs"
    write_run(exams, runs / "oracle")
    write_run(exams, runs / "noisy", "rater_a", model="example/Noisy-7B", noise=0.6, seed=1)
    write_run(exams, runs / "hostile", "rater_b", model=HOSTILE_NAME, replies=HOSTILE, settings=("full_score",))
    sources = find_runs([str(runs / name) for name in ("oracle", "noisy", "hostile")])
    return Lab(exams, runs, write_report(sources, exams, root / "report", OPTIONS, jobs=2, progress=False))


@pytest.fixture(scope="session")
def board(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with a verified row, a community row with findings, and a refused archive."""
    root = tmp_path_factory.mktemp("board")
    for name, card in (("noisy", ModelCard(name="Noisy 7B", organization="Example lab", parameters="7B",
                                           url="https://example.org/noisy")),
                       ("hostile", ModelCard(name=HOSTILE_NAME, saw_test_data="yes"))):  # fmt: skip
        source = find_runs([str(lab.runs / name)])[0]
        run = read_run(source, lab.dataset)
        pack(source, run.records, lab.dataset, card, root / "inbox" / f"{name}.zip")
    (root / "inbox" / "broken.zip").write_bytes(b"PK nothing")
    build_board(root / "inbox", lab.dataset, root / "board", OPTIONS, reruns=lab.runs, progress=False)
    return root / "board" / "index.html"


@pytest.fixture
def make_run() -> Callable[..., Path]:
    """:func:`write_run`."""
    return write_run
