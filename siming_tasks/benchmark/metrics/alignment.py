"""Putting runs side by side, and refusing to when they do not answer the same questions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.common.errors import DataError


@dataclass(frozen=True)
class ComparisonEntry:
    """A run of a comparison: its name, and its answers aligned with the reference."""

    name: str
    panel: ScoreMatrix


def align(runs: Sequence[ComparisonEntry], allow: Collection[str] = ()) -> list[ComparisonEntry]:
    """The runs over the same videos and steps, in the same order.

    Args:
        runs: at least one; videos that a run was never asked about are left out first.
        allow: differences to accept: ``videos`` and ``steps`` (use what all share), ``reference`` (each against its
            own).

    Raises:
        DataError: one sentence about the first difference that is not allowed, and the way out.
    """
    if not runs:
        raise DataError("There is no run to compare. Give at least two.")
    names = [run.name for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"Two runs are called {twice[0]!r}. Give each its own name.")
    asked_about: list[ComparisonEntry] = []
    for run in runs:
        kept = np.flatnonzero(run.panel.asked.any(axis=1))
        if not len(kept):
            what = f"Run {run.name!r} is empty: no question of it was found."
            raise DataError(f"{what} Is it the right folder and setting?")
        asked_about.append(replace(run, panel=run.panel.videos(kept)))
    first = asked_about[0]
    for other in asked_about[1:]:
        if other.panel.answer != first.panel.answer:
            raise DataError(
                f"Run {first.name!r} gives answers of the kind {first.panel.answer!r} and {other.name!r} of the kind "
                f"{other.panel.answer!r}; no metric is common to both. Compare runs of the same setting."
            )
        for kind in ("video", "step"):
            _check_same(kind, first, other, allow)
    videos = sorted(set.intersection(*(set(run.panel.video_ids) for run in asked_about)))
    steps = [name for name in first.panel.step_ids if all(name in run.panel.step_ids for run in asked_about)]
    if not videos or not steps:
        raise DataError(f"The runs share no {'steps' if videos else 'videos'}; there is nothing to compare.")
    aligned = []
    for run in asked_about:
        row = {name: index for index, name in enumerate(run.panel.video_ids)}
        aligned.append(replace(run, panel=run.panel.videos([row[name] for name in videos]).subset(steps)))
    for run in aligned[1:]:
        _check_questions(aligned[0], run, allow)
    asked = np.logical_and.reduce([run.panel.asked for run in aligned])
    return [replace(run, panel=replace(run.panel, asked=asked)) for run in aligned]


def _check_same(kind: str, a: ComparisonEntry, b: ComparisonEntry, allow: Collection[str]) -> None:
    here, there = (set(getattr(run.panel, f"{kind}_ids")) for run in (a, b))
    if here == there or f"{kind}s" in allow:
        return
    parts = []
    for run, only in ((a, sorted(here - there)), (b, sorted(there - here))):
        if only:
            listed = ", ".join(only[:3]) + (", ..." if len(only) > 3 else "")
            parts.append(f"{len(only)} only in {run.name!r} ({listed})")
    raise DataError(
        f"Runs {a.name!r} and {b.name!r} are over different {kind}s: {', '.join(parts)}. Compare runs over the same "
        f"{kind}s, or accept the difference (--allow {kind}s) to use the {len(here & there)} they share."
    )


def _check_questions(a: ComparisonEntry, b: ComparisonEntry, allow: Collection[str]) -> None:
    pair, first, other = f"Runs {a.name!r} and {b.name!r}", a.panel, b.panel
    if not np.array_equal(first.max_score, other.max_score):
        step = first.step_ids[int(np.flatnonzero(first.max_score != other.max_score)[0])]
        raise DataError(f"{pair} have different points for step {step!r}. Use the same rubric for both.")
    if "steps" not in allow and not np.array_equal(first.asked, other.asked):
        v, s = np.argwhere(first.asked != other.asked)[0]
        raise DataError(
            f"{pair} were not asked the same: step {first.step_ids[s]!r} of video {first.video_ids[v]!r} is in one "
            "only. Run both on the same data, or accept the difference (--allow steps) to use what both were asked."
        )
    both = first.asked & other.asked
    if "reference" not in allow and not np.array_equal(first.reference[both], other.reference[both], equal_nan=True):
        raise DataError(
            f"{pair} are scored against different references. Use the same labels and rater for both, "
            "or allow the difference (reference)."
        )
