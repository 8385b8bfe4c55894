"""Checks of attempts and of the errors that labels name: the label is the attempt that decides, its errors exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

from siming_tasks.common.errors import Problem
from siming_tasks.common.schema import StepLabel, Video
from siming_tasks.data.attempts import deciding, is_recovery
from siming_tasks.data.dataset import SPAN_TOLERANCE, Dataset

_FILE = "videos.jsonl"


def attempt_problems(dataset: Dataset) -> Iterator[Problem]:
    """Problems of attempts and named errors, by video and step."""
    if dataset.attempt_rule is None and any(step.attempts for video in dataset.videos for step in video.steps):
        what = "some steps have several attempts, and nothing says which of them is the label."
        fix = "Write `attempts: first`, `last`, `best` or `worst`."
        yield Problem("attempt-rule", what, fix, "dataset.yaml", None, "attempts", "warning")
    for video in dataset.videos:
        for step in video.applicable:
            yield from _errors(dataset, video, step)
            if step.attempts:
                yield from _attempts(dataset, video, step)


def attempt_counts(dataset: Dataset) -> dict[str, Any]:
    """Number of steps tried more than once, of recoveries among them, and the rule; empty where there are none."""
    tried = [step.attempts for video in dataset.videos for step in video.applicable if len(step.attempts) > 1]
    if not tried:
        return {}
    return {"steps": len(tried), "recovered": sum(map(is_recovery, tried)), "rule": dataset.attempt_rule}


def _attempts(dataset: Dataset, video: Video, step: StepLabel) -> Iterator[Problem]:
    """Attempts outside of the video or out of order, and a step that is not the attempt that decides."""
    problem = partial(Problem, file=_FILE, line=dataset.lines.get(video.video_id), field=step.step_id)
    for attempt in step.attempts:
        if attempt.end is not None and attempt.end > video.duration + SPAN_TOLERANCE:
            what = f"an attempt ends at {attempt.end:g} s, after the video's {video.duration:g} s."
            yield problem("attempt-outside", what, "Correct its `end`, or `duration`.")
    starts = [attempt.start for attempt in step.attempts if attempt.start is not None]
    if any(later < earlier for earlier, later in pairwise(starts)):
        yield problem("attempt-order", "attempts are not in the order of time.", "Write the first one first.")
        return
    if dataset.attempt_rule is None:
        return
    label = deciding(step.attempts, dataset.attempt_rule)
    cut = label.end is not None and abs(label.end - video.duration) <= SPAN_TOLERANCE
    differs = {
        "span": (step.start, None if cut else step.end) != (label.start, None if cut else label.end),
        "points": step.consensus is not None
        and (step.consensus == dataset.rubric.by_id[step.step_id].max_score) != label.correct,
        "errors": step.errors is not None and set(step.errors) != set(label.errors),
    }
    if named := [name for name, holds in differs.items() if holds]:
        what = f"{' and '.join(named)} of the step are not those of its {dataset.attempt_rule} attempt."
        yield problem("attempt-differs", what, "Correct the step, the attempts, or the rule in dataset.yaml.")


def _errors(dataset: Dataset, video: Video, step: StepLabel) -> Iterator[Problem]:
    """Errors that the rubric does not list for the step, and errors beside full points."""
    problem = partial(Problem, file=_FILE, line=dataset.lines.get(video.video_id), field=step.step_id)
    rule = dataset.rubric.by_id[step.step_id]
    listed = {error.id for error in rule.errors}
    named = [*(step.errors or ()), *(error for attempt in step.attempts for error in attempt.errors)]
    named += [error for finding in step.findings.values() for error in finding.errors or ()]
    if unknown := sorted(Counter(named).keys() - listed):
        what = f"the rubric lists no error {unknown[0][:96]!r} for this step."
        yield problem("error-unknown", what, "Correct the id, or add the error to rubric.yaml.")
    if step.errors and step.consensus == rule.max_score:
        what = f"full points beside the error {step.errors[0][:96]!r}, which costs some."
        yield problem("error-without-cost", what, "Correct the points, or the errors.", severity="warning")
