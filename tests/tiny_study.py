"""Twelve small exams without films, and judges of them, for tests of comparisons."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

import siming_tasks
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.data import open_dataset
from tests.records import prediction

VIDEOS = 12
STEPS = default_rubric().steps
Points = Callable[[int, int], Mapping[str, float]]
"""Points by rater, of the number of a video and of a step; more than a step has are full points."""


def write_exams(root: Path, points: Points, videos: int = VIDEOS) -> Path:
    """A data set of the default rubric's steps; two exams of each student, two sites."""
    root.mkdir(exist_ok=True)
    shutil.copy(Path(siming_tasks.__file__).parent / "benchmark" / "rubrics" / "default.yaml", root / "rubric.yaml")
    (root / "dataset.yaml").write_text('name: tiny\nversion: "1"\nsimulated: {videos: true}\nlicense: CC0-1.0\n')
    rows = []
    for v in range(videos):
        steps = []
        for s, step in enumerate(STEPS):
            score = {name: min(step.max_score, value) for name, value in points(v, s).items()}
            steps.append({"step_id": step.id, "start": 0.1, "end": 0.9, "score": score})
        row = {"video_id": f"v{v:02d}", "media": f"media/v{v:02d}.mp4", "duration": 1.0, "steps": steps}
        rows.append({**row, "student": f"s{v // 2}", "site": f"h{v // 2 % 2}"})
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root


def drawn(*raters: str) -> Points:
    """Half of the steps wrong at random; each rater sees nine of ten as they are."""
    rng = np.random.default_rng(0)
    truth = {(v, s): float(rng.choice([9, rng.integers(0, 2)])) for v in range(VIDEOS) for s in range(len(STEPS))}
    return lambda v, s: {name: truth[v, s] if rng.random() < 0.9 else float(rng.integers(0, 3)) for name in raters}


def write_answers(
    path: Path, exams: Path, agreement: float, *, settings: Sequence[str] = ("full_score",), videos: int = VIDEOS,
    media: str = "",
) -> Path:  # fmt: skip
    """A prediction file of a judge that has the consensus in a share of the steps; ``media``: its mode."""
    rng, lines, top = np.random.default_rng(len(path.stem)), [], {step.id: step.max_score for step in STEPS}
    shown = {"media": {"mode": media}} if media else {}
    for setting in settings:
        for video in open_dataset(exams, media=False).videos[:videos]:
            points = {}
            for step, most in top.items():
                drawn_points = float(rng.integers(0, most + 1))
                points[step] = video.step(step).scores["consensus"] if rng.random() < agreement else drawn_points
            lines.append(prediction(setting, video.video_id, points, top, **shown))  # type: ignore[arg-type]
    path.write_text("".join(lines))
    return path
