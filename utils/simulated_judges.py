"""SYNTHETIC exams without pictures, and judges that look at no video: each repeats the consensus in most steps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks.benchmark.parsing import format_answers
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import asked_steps, expected_requests
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.tools.simulator import simulate_labels
from siming_tasks.tools.simulator.video import encode


def make_labels(folder: Path, videos: int) -> Dataset:
    """Simulated exams with labels; a second of grey stands for every video."""
    (folder / "media").mkdir(parents=True)
    shutil.copyfile(str(resources.files("siming_tasks.benchmark.rubrics") / "default.yaml"), folder / "rubric.yaml")
    encode(folder / "media" / "grey.mp4", (np.full((90, 160, 3), 90 + k, np.uint8) for k in range(12)), fps=12)
    rows = []
    for exam in simulate_labels(videos, seed=11):
        name, steps = f"media/{exam.video_id}.mp4", []
        shutil.copyfile(folder / "media" / "grey.mp4", folder / name)
        for step, points in exam.scores.items():
            steps.append({"step_id": step, "start": 0.0, "end": 0.9, "score": dict(points)})
        rows.append({"video_id": exam.video_id, "media": name, "duration": 1.0, "steps": steps})
    (folder / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "dataset.yaml").write_text("name: simulated\nversion: '1'\nsimulated: {videos: true}\n", encoding="utf-8")
    return open_dataset(folder)


def make_runs(
    dataset: Dataset,
    folder: Path,
    judges: Mapping[str, float],
    settings: Sequence[str] = ("clip_score",),
    missed: tuple[str, str] | None = None,
) -> list[str]:
    """A prediction file of each judge, who repeats the consensus in this share of steps; ``NAME=PATH`` of each.

    ``missed``: video and step that all of them get wrong. A reply names the criteria that are held for met.
    """
    rng, named = np.random.default_rng(3), []
    for name, share in judges.items():
        points = {}
        for video in dataset.videos:
            for label in video.steps:
                if label.start is None or label.consensus is None:
                    continue
                top, place = dataset.rubric.by_id[label.step_id].max_score, (video.video_id, label.step_id)
                right = rng.random() < share and place != missed
                points[place] = label.consensus if right else top if label.consensus < top else 0.0
        path = folder / f"{name.replace(' ', '-')}.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for setting in map(TASKS.__getitem__, settings):
                for video_id, step_id in expected_requests(setting, dataset.videos):
                    names = [step_id] if step_id else asked_steps(setting, dataset.video(video_id))
                    steps = [dataset.rubric.by_id[each] for each in names if (video_id, each) in points]
                    said = {step.id: points[video_id, step.id] for step in steps}
                    row = {"setting": setting.name, "video_id": video_id, **({"step_id": step_id} if step_id else {})}
                    stream.write(json.dumps({**row, "response": reply(steps, said, setting.answer)}) + "\n")
        named.append(f"{name}={path}")
    return named


def reply(steps: Sequence[Any], points: Mapping[str, float], answer: Any) -> str:
    """The criteria that are held for met, then the answers."""
    said = []
    for step in steps:
        met = "full" if points[step.id] == step.max_score else "partial" if points[step.id] else "fail"
        said.append(getattr(step.criteria, met))
    values = points if answer == "score" else {step.id: float(points[step.id] < step.max_score) for step in steps}
    return f"The video shows: {' '.join(said)}\n\n{format_answers(values, steps, answer)}"
