"""A judge that reads pixels, through every ablation: ``DEMO [--videos V]`` (a demo of full length). All is SYNTHETIC.

The classical reader of ``pixel_reader.py`` looks at all frames (10 a second), as an ablation shows them, where the
labels say that a step is. What it reads in the steps it has rules for becomes points by the rubric's own deductions and
requirements; other steps it does not answer. It must fall wherever the ablation takes away what it reads.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from pixel_camera import rectify
from pixel_rules import RULES

from siming_tasks.analysis.input_controls import analyse_ablations
from siming_tasks.common.schema import Video
from siming_tasks.data import open_dataset
from siming_tasks.data.minimal_pairs import minimal_pairs_of
from siming_tasks.options import Options
from siming_tasks.parsing import format_answers, parse_reply
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.comparison import ablation_section
from siming_tasks.results.discovery import run_at
from siming_tasks.results.read_predictions import write_predictions
from siming_tasks.results.record import Conditions, Record
from siming_tasks.results.run import read_run
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import ABLATION_TASKS, TASKS, InputAblation, benchmark_task
from siming_tasks.tasks.mismatched_video import MismatchedVideos
from siming_tasks.tools.simulator.simulated_exam import compute_true_scores
from siming_tasks.tools.simulator.video import FPS

BASE_TASK = benchmark_task("full", "score")


def decoded(path: Path) -> NDArray[np.uint8]:
    """Every frame of a film."""
    with av.open(str(path)) as file:
        return np.stack([np.asarray(frame.to_ndarray(format="bgr24"), np.uint8) for frame in file.decode(video=0)])


def shown(images: NDArray[np.uint8], ablation: InputAblation, request: str) -> NDArray[np.uint8]:
    """The frame at every moment, as the ablation shows it; a single frame stands for the whole exam.

    The reader knows no times, so that frames at other times than their own are the same to it.
    """
    if ablation.frame_order is None:
        return images
    order = ablation.frame_order(len(images), request)
    return images[np.broadcast_to(order, len(images)) if len(order) == 1 else order]


def points(images: NDArray[np.uint8] | None, video: Video, rubric: Rubric) -> dict[str, float]:
    """Points of the reader for each step that it has a rule for; without pictures it finds no error."""
    errors: dict[str, tuple[str, ...]] = {}
    spans = {step.step_id: step.span for step in video.applicable if step.span and step.step_id in RULES}
    for span in sorted(set(spans.values())) if images is not None else ():
        first, last = (min(round(time * FPS), len(images) - 1) for time in span)
        for step, (rule, _) in RULES.items():
            if spans.get(step) == span:
                try:
                    errors[step] = tuple(sorted(rule(rectify(images[first : max(last, first + 1)]))))
                except (ArithmeticError, IndexError, ValueError):
                    errors[step] = ()  # nothing to be read
    known = {error.name for step in rubric.steps for error in step.errors}
    read = {step: tuple(name for name in names if name in known) for step, names in errors.items()}
    truth = compute_true_scores(rubric, read)
    return {step: truth[step].points for step in spans}


def main() -> None:
    """Read, compare and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("demo", type=Path, metavar="DEMO")
    options.add_argument("--videos", type=int, default=8)
    arguments = options.parse_args()
    dataset = open_dataset(arguments.demo)
    dataset = replace(dataset, videos=dataset.videos[: arguments.videos])
    mismatched = MismatchedVideos(dataset.videos, minimal_pairs_of(dataset))
    films = {video.video_id: decoded(dataset.media_path(video)) for video in dataset.videos}
    records = []
    for video in dataset.videos:
        for name in (BASE_TASK.name, *(name for name in ABLATION_TASKS if TASKS[name].base_task == BASE_TASK.name)):
            ablation = TASKS[name].ablation
            images: NDArray[np.uint8] | None = films[video.video_id]
            if ablation.shows_other_exam:
                images = films[mismatched.of(video)[0].video_id]
                if ablation.times_told:  # as many frames as its own, spread evenly over the other exam
                    number = len(films[video.video_id])
                    images = images[((np.arange(number) + 0.5) * len(images) / number).astype(np.int64)]
            elif ablation:
                images = shown(films[video.video_id], ablation, video.video_id) if ablation.shows_media else None
            scores = points(images, video, dataset.rubric)
            steps = [step for step in dataset.rubric.steps if step.id in scores]
            parsed = parse_reply(format_answers(scores, steps, BASE_TASK.answer), steps, BASE_TASK.answer)
            conditions = Conditions(prompt="", dataset=dataset.digest)
            records.append(Record.from_reply(name, video.video_id, None, parsed, conditions))
            print(f"{video.video_id} {name}: {sum(scores.values()):g}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        run = read_run(run_at(write_predictions(records, Path(folder) / "reader.jsonl")), dataset, partial=True)
        print(f"SYNTHETIC: {len(dataset.videos)} simulated exams, {len(RULES)} steps\n")
        print(to_markdown(ablation_section(analyse_ablations(run, BASE_TASK.name, Options(resamples=2000)))))


if __name__ == "__main__":
    main()
