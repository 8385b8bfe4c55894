"""SYNTHETIC exports of a manikin: the compressions of simulated exams in the forms that makers' software writes.

The patient's chest is drawn from a channel of depths. What a sensor below it would have recorded are the deepest points
of that channel, and how far it came up after each. A real device adds noise and drift of its own; this one does not.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_yaml
from siming_tasks.common.output_folder import output_folder
from siming_tasks.metrics.score_matrix import FloatArray
from siming_tasks.tools.simulator.choreography import Performance
from siming_tasks.tools.simulator.minimal_pairs import simulate_pairs
from siming_tasks.tools.simulator.simulated_exam import simulate_labels
from siming_tasks.tools.simulator.video import FULL, SHORT, perform

Maker = Literal["zoll", "laerdal", "plain"]
MAKERS: tuple[Maker, ...] = get_args(Maker)
_LEAST = 0.8
"""Centimetres that the chest must move for a sensor to count a compression."""
_LATE = 7.0
"""Seconds of the video at which the simulated device was switched on."""


def true_compressions(played: Performance) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Seconds of the video, depth and remaining depth (mm) of every compression of an exam, ``float64[N]`` each."""
    from scipy.signal import find_peaks  # not at import time: slow

    time, depth = played.times["p_depth"], played.values["p_depth"]
    peaks, _ = find_peaks(depth, prominence=_LEAST)
    ends = [*peaks[1:], len(depth)]
    remaining = [depth[peak:end].min() for peak, end in zip(peaks, ends, strict=True)]
    return time[peaks], 10 * depth[peaks], 10 * np.array(remaining, dtype=np.float64)


def _zoll(time: float, depth: float, _: float, rate: float) -> list[list[str]]:
    second, millisecond = divmod(round(1000 * time), 1000)
    return [[str(second), str(millisecond), f"{depth / 25.4:.3f}", f"{rate:.0f}", "400", "Valid"]]


def _laerdal(time: float, depth: float, remaining: float, rate: float) -> list[list[str]]:
    values = {"compDepth": f"{depth:.1f}", "compReleaseDepth": f"{remaining:.1f}", "compMeanRate": f"{rate:.0f}"}
    return [["CprCompEvent", f"{1000 * time:.0f}", name, value] for name, value in values.items()]


def _plain(time: float, depth: float, remaining: float, _: float) -> list[list[str]]:
    return [[f"{time:.3f}", f"{depth:.1f}", f"{remaining:.1f}"]]


_FORMS: Mapping[Maker, tuple[str, Callable[[float, float, float, float], list[list[str]]]]] = {
    "zoll": ("Second,Millisecond,Depth (inches),Rate (CPM),Release Velocity (MM/S),Valid/Invalid", _zoll),
    "laerdal": ("type,msecs,type2,value", _laerdal),
    "plain": ("time (s),depth (mm),release (mm)", _plain),
}


def write_exports(demo: Path, out: Path, maker: Maker = "laerdal") -> int:
    """Write the SYNTHETIC exports of a demo's exams and their table of offsets into a new folder; returns how many.

    The device was switched on some seconds after the camera, so that its clock is not the video's.

    Raises:
        DataError: the folder is no demo of this version.
    """
    try:
        recipe = read_yaml(demo / "dataset.yaml")["simulation"]
        seed, videos, short, pairs = (recipe[name] for name in ("seed", "videos", "short", "pairs"))
    except (KeyError, TypeError):
        raise DataError(f"{demo}: no demo; `siming data demo` makes one.") from None
    with output_folder(out) as part:
        names = []
        for name, played in _performances(videos, seed, short, pairs):
            time, depth, remaining = true_compressions(played)
            rate = 60 / np.diff(time, prepend=time[0] - 60 / 110) if len(time) else time
            seen = time >= _LATE
            heading, form = _FORMS[maker]
            each = zip(*(column[seen].tolist() for column in (time - _LATE, depth, remaining, rate)), strict=True)
            _write(part / f"{name}.csv", heading, (line for values in each for line in form(*values)))
            names.append(f"{name}.csv")
        with atomic_write(part / "README.txt") as stream:
            stream.write("SYNTHETIC: compressions of simulated exams, written by a program; no device recorded them.\n")
        _write(part / "offsets.csv", "file,offset", ([name, f"{_LATE:g}"] for name in names))
    return len(names)


def _performances(videos: int, seed: int, short: bool, pairs: bool) -> Iterable[tuple[str, Performance]]:
    pace = SHORT if short else FULL
    made: list[tuple[Any, Any]] = [(exam, {}) for exam in ([] if pairs else simulate_labels(videos, seed))]
    for pair in simulate_pairs(videos // 2, seed) if pairs else ():
        made += [(exam, pair.slots(short)) for exam in pair.exams]
    for exam, slots in made:
        yield exam.video_id, perform(exam.plan, pace=pace, seed=exam.look, slots=slots)


def _write(path: Path, heading: str, rows: Iterable[list[str]]) -> None:
    with atomic_write(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(heading.split(","))
        writer.writerows(rows)
