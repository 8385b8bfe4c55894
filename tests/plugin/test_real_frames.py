"""Every model class with weights here is shown camera pictures: upright, portrait, rotated, at 10 frames a second.

What a class received is compared with the frames that the record of the request states, as another decoder shows them.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from filelock import FileLock
from numpy.typing import NDArray
from packaging.requirements import Requirement

from siming_tasks.data import Dataset, open_dataset
from siming_tasks.media import backends
from tests.footage import Seen, everyday_exams, foreign, needs_footage
from tests.plugin.test_model_classes import CASES, SPIED, Case, model

__all__ = ["model"]

pytestmark = [needs_footage, pytest.mark.host, pytest.mark.weekly]

RECORDINGS = ("derived_blocks_rotated90.mp4", "derived_juggle_portrait_25fps.mp4", "intel_one_by_one_person.mp4")
ASPECTS = (9 / 16, 9 / 16, 16 / 9)
"""Width by height of each as a person sees it, two of them taller than wide: one by its flag, one by its pixels.

A class that rounds sides to multiples of 32 changes them by up to an eighth."""
FRAMES, CLIP_FRAMES, SIZE, THUMB = 5, 3, 256, (48, 27)
NANO = Case("siming_nano", "", arguments="device=cpu,frames=5,clip_frames=3")


@pytest.fixture(scope="module")
def exams(shared: Path) -> tuple[Dataset, dict[str, Seen]]:
    """Three exams of real recordings, and all their pictures by another decoder."""
    with FileLock(shared / "real_frames.lock"):
        if not (shared / "real_frames").exists():
            everyday_exams(shared / "real_frames", RECORDINGS)
    dataset = open_dataset(shared / "real_frames")
    return dataset, {video.video_id: foreign(dataset.media_path(video)) for video in dataset.videos}


def calls(log: Path) -> Iterator[tuple[NDArray[np.float64], list[list[int]]]]:
    """Pictures (grey, 48 x 27) that came before each call of ``generate``, and their sizes."""
    thumbs: list[list[int]] = []
    sizes: list[list[int]] = []
    for line in map(json.loads, log.read_text().splitlines()):
        if line["kind"] == "generate":
            yield np.array(thumbs, dtype=float), sizes
            thumbs, sizes = [], []
        else:
            thumbs, sizes = [*thumbs, *line["thumbs"]], [*sizes, *line["sizes"]]


def stated(media: dict[str, Any]) -> list[int]:
    """Numbers of the frames that a record states, in the recording."""
    return media.get("indices") or list(range(media["range"][0], media["range"][1] + 1))


def thumbs(seen: Seen, indices: list[int]) -> NDArray[np.float64]:
    areas = [cv2.resize(seen.grey[index], THUMB, interpolation=cv2.INTER_AREA) for index in indices]
    return np.array([area.ravel() for area in areas], dtype=float)


def are_those(got: NDArray[np.float64], wanted: NDArray[np.float64], *, all_of_them: bool) -> bool:
    """Whether pictures are those wanted in this order: each the nearest of them, or alike to the nearest."""
    if got.ndim != 2 or (all_of_them and len(got) != len(wanted)):
        return False
    errors = np.abs(got[:, None] - wanted[None]).mean(axis=2)
    near = errors <= np.minimum(errors.min(axis=1, keepdims=True) + 0.5, 8)
    if all_of_them:
        return bool(near.diagonal().all())
    place = -1
    for row in near:
        after = np.flatnonzero(row[place + 1 :])
        if not len(after):
            return False
        place += 1 + int(after[0])
    return True


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=f"{case.name}-{case.make}".rstrip("-")) for case in (NANO, *CASES)],
)
def test_a_class_receives_the_frames_that_its_record_states(
    host: Callable[..., Any],
    model: Callable[[Case], Path],
    exams: tuple[Dataset, dict[str, Seen]],
    tmp_path: Path,
    case: Case,
) -> None:
    row = backends().get(case.name)
    for need in map(Requirement, row.needs if row else ()):
        if importlib.util.find_spec(need.name.replace("-", "_")) is None:
            pytest.skip(f"{need} is not installed")
    log, (dataset, seen) = tmp_path / "spy.jsonl", exams
    arguments = f"pretrained={model(case)},{case.arguments}" if case.make else case.arguments
    run = host(
        "--model", case.model, "--model_args", arguments, "--tasks", "siming_full_score,siming_clip_error",
        "--gen_kwargs", "max_new_tokens=4", *case.flags, data=dataset.root, script=SPIED, SPY_LOG=str(log),
        SIMING_FRAMES=str(FRAMES), SIMING_CLIP_FRAMES=str(CLIP_FRAMES), SIMING_FRAME_SIZE=str(SIZE), **dict(case.env),
    )  # fmt: skip
    records = [s["siming_stderr"] for name in ("full_score", "clip_error") for s in run.samples(name)]
    received, aspects = list(calls(log)), dict(zip(seen, ASPECTS, strict=True))
    assert len(records) == len(received) == 3 + 7
    for record in records:
        media, video = record["media"], record["video_id"]
        wanted, images = thumbs(seen[video], stated(media)), media["mode"] == "frames"
        fitting = [sizes for got, sizes in received if are_those(got, wanted, all_of_them=images)]
        assert fitting, (video, record.get("step_id"), media)
        shapes = [[width / height for width, height in sizes] for sizes in fitting]
        assert any(shape == pytest.approx([aspects[video]] * len(shape), rel=0.15) for shape in shapes), (video, shapes)
