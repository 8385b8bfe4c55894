"""Labels of edited films, verified in their pixels: what an edit says is not shown must not be read there.

    python utils/pixel_edits.py DEMO [--videos N] [--each N] [--any-kind]

Makes the edits of simulated exams and reads every film with the rules of pixel_reader.py, from its own pixels alone.
The step that was cut is looked for at the seam, where what it left behind would appear at once. A certain label holds
if the reader, who applies the rubric's requirements to what it reads, finds the step worth that much less (or as much)
as in the untouched copy. ``--any-kind`` takes every step for an act, which shows what the rubric's ``kind`` prevents.
SYNTHETIC.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from pixel_camera import rectify
from pixel_reader import read_video
from pixel_rules import RULES

from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.rubrics import Rubric, rubric_from
from siming_tasks.tools.builder.edits import edit_dataset
from siming_tasks.tools.simulator.simulated_exam import compute_true_scores
from siming_tasks.tools.simulator.video import FPS

SEAM = 1
"""Frames looked at on either side of a cut: the next movement begins at once."""
HELD = 8
"""Frames for which the picture after a seam stands still, as long as the rules ask of the end of a step."""


@dataclass(frozen=True)
class Verdict:
    """One certain label of an edited film: whether the pixels agree; None where no rule reads the step in the copy."""

    video: str
    cut: str
    operation: str
    step: str
    label: float
    agrees: bool | None


def verify(dataset: Dataset) -> Iterator[Verdict]:
    """Each certain label of a folder made by ``siming data edit`` from simulated exams."""
    copies = {str(video.extra["source_video"]): video for video in dataset.videos if _cut_of(video) is None}
    for name, copy in copies.items():
        before = _read(dataset, copy)
        for video in dataset.videos:
            if video.extra["source_video"] == name and _cut_of(video) is not None:
                yield from _verify_film(dataset, copy, before, video)


def _cut_of(video: Video) -> str | None:
    return video.extra["edit"].get("step_id")


def _read(dataset: Dataset, video: Video) -> dict[str, tuple[str, ...]]:
    spans = {step.step_id: step.span for step in video.applicable if step.span}
    return {step: tuple(sorted(names)) for step, names in read_video(dataset.media_path(video), spans).items()}


def _points(rubric: Rubric, read: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """Points by the rubric of what was read: deductions of the errors, then the requirements."""
    known = {error.id for step in rubric.steps for error in step.errors}
    errors = {step: tuple(name for name in names if f"{step}.{name}" in known) for step, names in read.items()}
    return {step: truth.points for step, truth in compute_true_scores(rubric, errors).items()}


def _verify_film(dataset: Dataset, copy: Video, before: dict[str, tuple[str, ...]], video: Video) -> Iterator[Verdict]:
    cut, operation = str(_cut_of(video)), str(video.extra["edit"]["operation"])
    read = _read(dataset, video)
    if cut in RULES:
        is_seen = "omitted" not in _read_seam(dataset, copy, video, cut) or "omitted" not in read.get(cut, ("omitted",))
        read[cut] = before[cut] if is_seen else ("omitted",)
    was, now = (_points(dataset.rubric, reading) for reading in (before, read))
    for step in video.applicable:
        if (label := step.consensus) is None:
            continue
        source = copy.step(step.step_id).consensus
        rests_on = {step.step_id} | ({cut} if label != source else set())
        agrees: bool | None = None
        if rests_on <= set(RULES) and (label == source or "omitted" not in before[cut]):
            points, usual = now[step.step_id], was[step.step_id]
            agrees = points <= label and points < usual if label != source else points == usual
        yield Verdict(video.video_id, cut, operation, step.step_id, label, agrees)


def _read_seam(dataset: Dataset, copy: Video, video: Video, cut: str) -> set[str]:
    """Reading, by the rule of a step that was cut, of the pictures before and after its place."""
    start, end = copy.step(cut).span or (0.0, 0.0)
    at = round(start * FPS)
    after = at if video.extra["edit"]["operation"] == "drop" else round(end * FPS)
    with av.open(str(dataset.media_path(video))) as file:
        images: list[NDArray[np.uint8]] = []
        for number, frame in enumerate(file.decode(video=0)):
            if at - SEAM <= number < at or after <= number < after + SEAM:
                images.append(np.asarray(frame.to_ndarray(format="bgr24"), np.uint8))
    clip = np.stack([*images, *[images[-1]] * HELD])
    return RULES[cut][0](rectify(clip))


def main() -> None:
    """Make the edits, verify them, print a row for each step that was cut and every contradiction."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("demo", type=Path, metavar="DEMO")
    parser.add_argument("--videos", type=int, default=None, help="the first exams only")
    parser.add_argument("--each", type=int, default=33, help="edits of each kind an exam, at most")
    parser.add_argument("--any-kind", action="store_true", help="take every step for an act")
    options = parser.parse_args()
    dataset = open_dataset(options.demo)
    dataset = replace(dataset, videos=dataset.videos[: options.videos])
    if options.any_kind:
        dataset = replace(dataset, rubric=all_acts(dataset.rubric))
    with tempfile.TemporaryDirectory() as folder:
        made = edit_dataset(dataset, Path(folder) / "edits", each=options.each)
        verdicts = list(verify(replace(made.dataset, rubric=dataset.rubric)))
    print(f"SYNTHETIC. {len(dataset.videos)} exams, {sum(made.edits.values())} edited films, {made.certain} certain "
          f"labels, {sum(made.unsure.values())} withheld.\n")  # fmt: skip
    print("| step cut | films | certain labels | verified | contradicted | no rule |\n|---|---|---|---|---|---|")
    for cut in sorted({verdict.cut for verdict in verdicts}, key=[s.id for s in dataset.rubric.steps].index):
        mine = [verdict for verdict in verdicts if verdict.cut == cut]
        count = Counter(verdict.agrees for verdict in mine)
        films = len({verdict.video for verdict in mine})
        print(f"| {cut} | {films} | {len(mine)} | {count[True]} | {count[False]} | {count[None]} |")
    wrong = Counter((v.operation, v.cut, v.step, v.label) for v in verdicts if v.agrees is False)
    for (operation, cut, step, label), number in wrong.items():
        print(f"  {number} x {operation} {cut}: {step} is certain {label:g}, and the film shows it otherwise")
    raise SystemExit(bool(wrong) and not options.any_kind)


def all_acts(rubric: Rubric) -> Rubric:
    """The rubric with every step typed as an act."""
    plain = rubric.model_dump(mode="json")
    for skill in plain["skills"]:
        skill["steps"] = [{**step, "kind": "act"} for step in skill["steps"]]
    return rubric_from(plain)


if __name__ == "__main__":
    main()
