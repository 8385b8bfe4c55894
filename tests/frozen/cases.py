"""What must stay equal while the package gets smaller: values of metrics, answers of plain JSON, frames, prompts.

``python -m tests.frozen.cases`` writes ``expected.json`` anew, which is done on purpose alone. Data are drawn with
:mod:`random`, whose numbers stay the same from version to version.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from siming_tasks import ScoreMatrix, build_prompt, default_rubric, evaluate, list_tasks, parse_reply
from siming_tasks.media.request_media import view
from siming_tasks.tools.simulator import make_demo
from tests.footage import FOOTAGE as FOLDER

EXPECTED = Path(__file__).with_name("expected.json")
REPLIES = Path(__file__).parents[1] / "benchmark" / "parsing"

METRICS = ("plcc", "srcc", "qwk", "mcc", "precision", "recall", "f1")
FOOTAGE = (
    "decord_video_90.mov",
    "derived_coffee_vfr.mp4",
    "intel_asl_book.mkv",
    "mdn_flower.webm",
    "sam2_03_blocks.mp4",
    "torchcodec_nasa_13013_rotated.mp4",
)


def matrices() -> Iterator[tuple[str, ScoreMatrix]]:
    """Forty random data sets: half points, missing labels and answers, clusters, one class only."""
    for number in range(40):
        rng = random.Random(number)
        videos, steps = rng.randint(4, 60), rng.randint(3, 33)
        increment = 0.5 if number % 4 == 1 else 1.0
        answer = "error" if number % 2 else "score"
        top = [float(rng.choice((1, 2, 3, 5))) for _ in range(steps)]
        unlabelled, unanswered = rng.choice((0, 0.1)), rng.choice((0, 0.03, 0.3))
        ability = [rng.gauss(0, 0.5) for _ in range(videos)]
        reference, predicted = (np.full((videos, steps), math.nan) for _ in range(2))
        for v in range(videos):
            for s in range(steps):
                share = min(max(0.8 + ability[v] / 2 + rng.gauss(0, 0.4), 0), 1)
                points = min(math.floor(share * top[s] / increment + 0.4) * increment, top[s])
                if number % 10 == 9:  # nobody makes a mistake
                    points = top[s]
                agrees = rng.random() < 0.6
                said = points if agrees else float(rng.randint(0, int(top[s])))
                if rng.random() >= unlabelled:
                    reference[v, s] = points
                if rng.random() >= unanswered:
                    predicted[v, s] = said if answer == "score" else float(said < top[s])
        clusters = tuple(f"s{v // 3}" for v in range(videos)) if number % 3 == 2 else ()
        names = tuple(f"v{v:03d}" for v in range(videos))
        yield (
            f"{number:02d}",
            ScoreMatrix(
                video_ids=names,
                step_ids=tuple(f"s{s:02d}" for s in range(steps)),
                skills=tuple("cpr" if s < steps / 2 else "aed" for s in range(steps)),
                max_score=np.array(top),
                reference=reference,
                predicted=predicted,
                asked=np.ones((videos, steps), bool),
                answer=answer,
                clusters=clusters or names,
                unit="student" if clusters else "video",
            ),
        )


def metric_values() -> dict[str, dict[str, float | None]]:
    """Every metric of every data set over the answers that are there, and (``ranked_``) as runs are ranked.

    None is a metric that is undefined.
    """
    out: dict[str, dict[str, float | None]] = {}
    for name, matrix in matrices():
        found = evaluate(matrix)
        out[name] = {
            f"{side}{key}": row.value
            for side, table in (("", "answered"), ("ranked_", "ranked"))
            for key in METRICS
            for row in found.of(table, "all steps", key)
        }
    return out


def plain_json_answers() -> dict[str, dict[str, float]]:
    """Answers of those replies of the written sets that are one JSON object or list, fenced or not."""
    sys.path.insert(0, str(REPLIES))
    try:
        from replyset import FOLDER, replies
    finally:
        sys.path.remove(str(REPLIES))
    out: dict[str, dict[str, float]] = {}
    for folder in (FOLDER, *sorted(path for path in FOLDER.iterdir() if path.is_dir())):
        for reply in replies(folder):
            text = re.sub(r"\A\s*```(?:json)?\s*|\s*```\s*\Z", "", reply.text).strip()
            try:
                is_json = isinstance(json.loads(text), dict | list)
            except ValueError:
                is_json = False
            if is_json:
                answers = parse_reply(reply.text, reply.steps, reply.answer).answers
                out[f"{folder.name}/{reply.name}"] = dict(sorted(answers.items()))
    return out


def shown_frames(video: Path, cache: Path) -> list[list[Any]]:
    """Index, time and SHA-256 of the stored image of eight frames of a recording, and of four of its middle third."""
    whole = view(video, span=None, frames=8, cache=cache)
    third = (whole.times[-1] - whole.times[0]) / 3
    part = view(video, span=(whole.times[0] + third, whole.times[0] + 2 * third), frames=4, cache=cache)
    return [
        [index, round(time, 6), hashlib.sha256(file.read_bytes()).hexdigest()]
        for shown in (whole, part)
        for index, time, file in zip(shown.indices, shown.times, shown.files(), strict=True)
    ]


def recordings(demos: list[Path], footage: Path) -> dict[str, Path]:
    """Six simulated exams, and six camera recordings where they are there."""
    found = {f"{demo.name}/{path.name}": path for demo in demos for path in sorted(demo.rglob("*.mp4"))}
    return found | {name: footage / name for name in FOOTAGE if (footage / name).is_file()}


def prompts() -> dict[str, str]:
    """The prompts of the four settings: of the embedded rubric's 33 steps, and of one of them for a clip."""
    steps = default_rubric().steps
    tasks = {task.name: task for task in list_tasks("siming")}
    return {name: build_prompt(task, steps if task.scope == "full" else steps[10:11]) for name, task in tasks.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        demo = make_demo(Path(folder, "short_demo"), videos=4, seed=7, short=True, jobs=2, progress=False)
        shown = {name: shown_frames(file, Path(folder, "cache")) for name, file in recordings([demo], FOLDER).items()}
    everything = {"metrics": metric_values(), "replies": plain_json_answers(), "frames": shown, "prompts": prompts()}
    text = json.dumps(everything, ensure_ascii=False, indent=0, sort_keys=True)
    EXPECTED.write_text(text + "\n", encoding="utf-8")
