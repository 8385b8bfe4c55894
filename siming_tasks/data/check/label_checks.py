"""Checks of labels that can be read and would make a number wrong or leave a task without a meaning."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

from pydantic import BaseModel

from siming_tasks.benchmark.exams import StepLabel, Video, deciding, human_raters
from siming_tasks.benchmark.rubrics.rubric import HALF_POINTS_HINT, is_on_increment
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.person_names import alike_pairs, is_aggregate, not_a_name
from siming_tasks.common.printed_value import counted
from siming_tasks.data.dataset import SPAN_TOLERANCE, Dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.row_schema import StepRow, VideoRow
from siming_tasks.data.transcript import transcript_of

_FILE = "videos.jsonl"


def label_problems(dataset: Dataset) -> Iterator[Problem]:
    """Problems of the labels, beyond those that were found when the data set was opened."""
    if dataset.attempt_rule is None and any(step.attempts for video in dataset.videos for step in video.steps):
        what = "some steps have several attempts, but the attempt to score is not stated."
        fix = "Write `attempts: first`, `last`, `best` or `worst`."
        yield Problem("attempt-rule", what, fix, "dataset.yaml", None, "attempts", "warning")
    yield from _keys(dataset)
    yield from _ids(dataset)
    yield from _leaks(dataset)
    for video in dataset.videos:
        yield from _steps(dataset, video)
        yield from _transcript(dataset, video)
        for step in video.applicable:
            yield from _errors(dataset, video, step)
            yield from _attempts(dataset, video, step)
    yield from _points(dataset)
    yield from _consensus(dataset)


def _problem(
    dataset: Dataset,
    video: Video | None,
    code: str,
    what: str,
    fix: str,
    where: str | None = None,
    severity: Literal["error", "warning"] = "warning",
) -> Problem:
    """A finding about one video, or about all of them (None)."""
    if video is None:
        return Problem(code, what, fix, _FILE, None, where, severity)
    line = dataset.lines.get(video.video_id)
    return Problem(code, f"video {video.video_id!r}: {what}", fix, _FILE, line, where, severity)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _keys(dataset: Dataset) -> Iterator[Problem]:
    """Keys that look like a misspelt one of ours: extra keys are legal, and a typo would change nothing silently."""
    sound = set(dataset.lines.values())
    for line, row in read_jsonl(dataset.root / _FILE, []):
        if line not in sound:
            continue
        places: list[tuple[dict[str, Any], type[BaseModel]]] = [(row, VideoRow)]
        places += [(step, StepRow) for step in row["steps"]]
        for mapping, model in places:
            known = [*model.model_fields, *(["transcript"] if model is VideoRow else [])]
            for name in mapping.keys() - set(known):
                if close := difflib.get_close_matches(name, known, 1, 0.8):
                    what, fix = f"key {name!r} has no meaning here.", f"Is it {close[0]!r}?"
                    yield Problem("key-unknown", what, fix, _FILE, line, mapping.get("step_id"), "warning")


def _ids(dataset: Dataset) -> Iterator[Problem]:
    """Names that look alike, and performances that tie what is not one act."""
    named = {key: {value for video in dataset.videos if (value := _about(video, key))}
             for key in ("video_id", "student", "performance", "site")}  # fmt: skip
    for key, names in {"rater": {*dataset.raters}, **{key: named.pop(key) for key in ("student", "site")}}.items():
        for name, known in alike_pairs(sorted(names), dataset.different_names):
            what = f"{known!r} and {name!r} may be one {key} or two."
            fix = f"Spell the name in one way; if they are two, `different: [[{known!r}, {name!r}]]` in dataset.yaml."
            yield _problem(dataset, None, "name-differs", what, fix, key, "error")
        for name in sorted(names):
            if fault := not_a_name(name):
                fix = "Leave the key out." if key != "rater" else "Write who judged."
                yield _problem(dataset, None, "no-name", f"{name!r} {fault}.", fix, key, "error")
            elif key == "rater" and is_aggregate(name) and name != CONSENSUS and name not in dataset.rater_facts:
                what = f"{name!r} is a decision or a mean, and counts as a physician."
                fix = f"Call it {CONSENSUS!r}, or state its kind under `raters:` in dataset.yaml."
                yield _problem(dataset, None, "rater-aggregate", what, fix, key, "error")
    for key, names in named.items():
        if same := sorted({name for pair in alike_pairs(sorted(names), dataset.different_names) for name in pair}):
            what = f"{_shown(same)} look alike: are they one, or several?"
            fix = "Spell one name in one way, and different names differently."
            yield _problem(dataset, None, "name-case", what, fix, key)
    for key in ("student", "site"):
        stated: defaultdict[str, set[str]] = defaultdict(set)
        for video in dataset.videos:
            if (value := _about(video, key)) is not None and (performance := _about(video, "performance")):
                stated[performance].add(value)
        if odd := [f"{name} ({_shown(sorted(values))})" for name, values in stated.items() if len(values) > 1]:
            what = f"one performance has several {key}s: {_shown(odd)}."
            fix = f"Correct `{key}` or `performance`; names of performances are unique in the whole data set."
            yield _problem(dataset, None, f"performance-{key}", what, fix, "performance")


def _about(video: Video, key: str) -> str | None:
    value = video.site if key == "site" else video.video_id if key == "video_id" else video.extra.get(key)
    return None if value in (None, "") else str(value)


def _leaks(dataset: Dataset) -> Iterator[Problem]:
    """Performances, students and sites that are in several parts of a split: what is learnt there is known here."""
    seen: list[dict[str, str | None]] = []
    for split in dict.fromkeys(name for video in dataset.videos for name in reversed(video.splits)):
        parts = {video.video_id: video.splits.get(split) for video in dataset.videos}
        if parts in seen:  # the main split is one of the named ones
            continue
        seen.append(parts)
        for key in ("performance", "student", "site"):
            within: defaultdict[str, set[str]] = defaultdict(set)
            for video in dataset.videos:
                value, part = _about(video, key), parts[video.video_id]
                if value is not None and part is not None:
                    within[value].add(part)
            if both := sorted(name for name, stated in within.items() if len(stated) > 1):
                named = "" if split == "split" else f" {split!r}"
                what = f"{key} {_shown(both)} appears in more than one part of the split{named}."
                fix = f"Keep each {key} in one part, or accept that this split does not separate them."
                yield _problem(dataset, None, f"split-{key}", what, fix, "split" if split == "split" else "splits")


def _steps(dataset: Dataset, video: Video) -> Iterator[Problem]:
    """Steps that are lacking, and points of steps that are not asked."""
    have = {step.step_id for step in video.steps}
    for skill in dataset.rubric.skills:
        lacking = [step.id for step in skill.steps if step.id not in have]
        if lacking and len(lacking) < len(skill.steps):
            what = f"skill {skill.id!r} lacks {_shown(lacking)}."
            yield _problem(dataset, video, "step-missing", what, "Add them, or write `applicable: false`.", "steps")
    unused = [step for step in video.steps if not step.applicable]
    if scored := [step.step_id for step in unused if any(value is not None for value in step.scores.values())]:
        what = f"{_shown(scored)} are not applicable but have points (ignored)."
        yield _problem(dataset, video, "na-with-score", what, "Remove the points or `applicable: false`.", "steps")


def _transcript(dataset: Dataset, video: Video) -> Iterator[Problem]:
    """A transcript of another form, or beyond the video."""
    try:
        said = transcript_of(video) or ()
    except DataError as error:
        line = dataset.lines.get(video.video_id)
        yield Problem("transcript-form", str(error).partition(": ")[2], "", _FILE, line, "transcript")
        return
    if wrong := [line for line in said if not 0 <= line.start <= line.end or line.start >= video.duration]:
        what = f"{counted(len(wrong), 'transcript line')} outside the video, the first from {wrong[0].start:g} s."
        yield _problem(dataset, video, "transcript-outside", what, "Correct their times.", "transcript", "error")


def _errors(dataset: Dataset, video: Video, step: StepLabel) -> Iterator[Problem]:
    """Errors that the rubric does not list for the step, and errors beside full points."""
    rule = dataset.rubric.by_id[step.step_id]
    named = [*(step.errors or ()), *(error for attempt in step.attempts for error in attempt.errors)]
    named += [error for finding in step.findings.values() for error in finding.errors or ()]
    if unknown := sorted(set(named) - {error.id for error in rule.errors}):
        what, fix = f"the rubric lists no error {unknown[0][:96]!r}.", "Correct the id, or add it to rubric.yaml."
        yield _problem(dataset, video, "error-unknown", what, fix, step.step_id, "error")
    if step.errors and step.consensus == rule.max_score:
        what = f"full points despite the error {step.errors[0][:96]!r}, which costs some."
        yield _problem(dataset, video, "error-without-cost", what, "Correct the points, or the errors.", step.step_id)


def _attempts(dataset: Dataset, video: Video, step: StepLabel) -> Iterator[Problem]:
    """Attempts outside of the video or out of order, and a step that is not the attempt that decides."""
    if not step.attempts:
        return

    def problem(code: str, what: str, fix: str) -> Problem:
        return _problem(dataset, video, code, what, fix, step.step_id, "error")

    for attempt in step.attempts:
        if attempt.end is not None and attempt.end > video.duration + SPAN_TOLERANCE:
            what = f"an attempt ends at {attempt.end:g} s, after the video's {video.duration:g} s."
            yield problem("attempt-outside", what, "Correct its `end`, or `duration`.")
    starts = [attempt.start for attempt in step.attempts if attempt.start is not None]
    if any(later < earlier for earlier, later in pairwise(starts)):
        yield problem("attempt-order", "attempts are not in the order of time.", "Sort them by start time.")
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


def _points(dataset: Dataset) -> Iterator[Problem]:
    """Points that are lacking, that the rubric does not have, or that belong to nobody."""
    steps = [(f"{video.video_id}/{step.step_id}", step) for video in dataset.videos for step in video.applicable]
    people = human_raters(dataset.raters, dataset.rater_facts)
    for rater in dataset.raters:
        lacking = [place for place, step in steps if step.scores.get(rater) is None]
        # An instrument sees some of the steps, and nobody misses the others.
        if lacking and rater in (CONSENSUS, *people) and not (rater == CONSENSUS and dataset.withheld):
            code = "consensus-missing" if rater == CONSENSUS else "rater-missing"
            what = f"{rater} has no points for {len(lacking)} of {counted(len(steps), 'step')} ({_shown(lacking)})."
            yield _problem(dataset, None, code, what, "Add them, unless they are withheld on purpose.", rater)
        points = [
            (place, step.step_id, value) for place, step in steps if (value := step.scores.get(rater)) is not None
        ]
        by_id = dataset.rubric.by_id
        if off := [f"{place} {value:g}" for place, step, value in points
                   if not is_on_increment(value, by_id[step].score_increment)]:  # fmt: skip
            if rater == CONSENSUS:
                what = f"the consensus is not a whole number (or half, where the rubric has halves) for {_shown(off)}; "
                fix = f"Adjudicate instead of taking means. {HALF_POINTS_HINT}"
                yield _problem(dataset, None, "consensus-fraction", f"{what}models cannot answer it.", fix, CONSENSUS)
            else:
                what = f"{len(off)} of {rater}'s points are not multiples of the score increment ({_shown(off)})."
                fix = f"Correct them. {HALF_POINTS_HINT}"
                yield _problem(dataset, None, "score-off-increment", what, fix, rater, "error")
    found = Counter(name for video in dataset.videos for step in video.steps for name in step.findings)
    for rater in sorted(found.keys() - set(dataset.raters)) if dataset.raters else ():
        what = (
            f"{rater[:64]!r} gave no points, and has findings in {counted(found[rater], 'step')}, which are never used."
        )
        fix = f"Correct the name (there are {', '.join(dataset.raters)}), or add the points."
        yield _problem(dataset, None, "finding-rater", what, fix, "findings")


def _consensus(dataset: Dataset) -> Iterator[Problem]:
    """A reference outside of the raters' points, or one that never changes."""
    people = human_raters(dataset.raters, dataset.rater_facts)
    odd, outcomes = [], set()
    for video in dataset.videos:
        for step in video.applicable:
            points = [value for rater in people if (value := step.scores.get(rater)) is not None]
            if step.consensus is None:
                continue
            outcomes.add(step.consensus == dataset.rubric.by_id[step.step_id].max_score)
            if points and not min(points) <= step.consensus <= max(points):
                odd.append(f"{video.video_id}/{step.step_id}")
    if odd and not dataset.meta.get("simulation"):  # whose consensus is the truth
        what = f"the consensus is outside the raters' points for {_shown(odd)}."
        fix = "This is normal after adjudication; otherwise correct it."
        yield _problem(dataset, None, "consensus-outside", what, fix, CONSENSUS)
    if len(outcomes) == 1:
        what = f"every step of every video is {'correct' if outcomes.pop() else 'wrong'}; most metrics are undefined."
        yield _problem(dataset, None, "labels-constant", what, "Add videos with the other outcome.", CONSENSUS)
