"""Checks of labels that are legal and odd: worth a look before a run."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.schema import CONSENSUS, StepLabel, Video, human_raters
from siming_tasks.data.check.attempt_checks import attempt_problems
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.row_schema import StepRow, VideoRow
from siming_tasks.data.transcript import transcript_of
from siming_tasks.rubrics import Rubric
from siming_tasks.rubrics.rubric import HALF_POINTS_HINT, is_on_increment

_FILE = "videos.jsonl"
_SHORT = 0.2


def label_problems(dataset: Dataset) -> Iterator[Problem]:
    """Warnings about the labels (errors were found when the dataset was opened)."""
    yield from _keys(dataset)
    yield from _orders(dataset)
    for video in dataset.videos:
        yield from _steps(dataset, video)
    yield from _scores(dataset)
    yield from _names_and_splits(dataset)
    yield from attempt_problems(dataset)
    yield from _what_is_heard(dataset)


def _warn(dataset: Dataset, video: Video | None, code: str, what: str, fix: str, where: str | None = None) -> Problem:
    if video is None:
        return Problem(code, what, fix, _FILE, None, where, "warning")
    line = dataset.lines.get(video.video_id)
    return Problem(code, f"video {video.video_id!r}: {what}", fix, _FILE, line, where, "warning")


def _shown(names: Iterable[str], most: int = 4) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _keys(dataset: Dataset) -> Iterator[Problem]:
    """Keys that look like a misspelt one of ours: extra keys are legal, and a typo would change nothing silently."""
    sound = set(dataset.lines.values())
    for line, row in read_jsonl(dataset.root / _FILE):
        if isinstance(row, Problem) or line not in sound:
            continue
        places: list[tuple[dict[str, Any], type[BaseModel]]] = [(row, VideoRow)]
        places += [(step, StepRow) for step in row["steps"]]
        for mapping, model in places:
            known = [*model.model_fields, *(["transcript"] if model is VideoRow else [])]
            for name in mapping.keys() - set(known):
                if close := difflib.get_close_matches(name, known, 1, 0.8):
                    what, fix = f"key {name!r} has no meaning here.", f"Is it {close[0]!r}?"
                    yield Problem("key-unknown", what, fix, _FILE, line, mapping.get("step_id"), "warning")


def _orders(dataset: Dataset) -> Iterator[Problem]:
    """Spans out of order, overlapping, very short; steps that overlap in most videos are judged at once on purpose."""
    timed = {video.video_id: [step for step in video.applicable if step.span] for video in dataset.videos}
    overlaps: dict[str, list[tuple[str, str]]] = {}
    for name, steps in timed.items():
        pairs = pairwise(sorted(steps, key=_start))
        overlaps[name] = [(a.step_id, b.step_id) for a, b in pairs if a.end is not None and _start(b) < a.end - 1e-6]
    count = Counter(pair for pairs in overlaps.values() for pair in pairs)
    usual = {pair for pair, times in count.items() if times >= max(3, len(dataset.videos) / 2)}
    for video in dataset.videos:
        steps = timed[video.video_id]  # in rubric order
        if late := _late(dataset, steps):
            what = f"{_shown(late)} begin before the step that precedes them in the rubric."
            fix = "Fine if the trainee did it in that order; `requires` states which steps must come first."
            yield _odd(dataset, _warn(dataset, video, "span-order", what, fix, "steps"))
        for both in (True, False):
            if named := ["/".join(pair) for pair in overlaps[video.video_id] if (pair in usual) is both]:
                what = f"the spans of {_shown(named)} overlap{', as in most videos' * both}."
                problem = _warn(dataset, video, "span-overlap", what, "Fine if the steps were done at once.", "steps")
                yield replace(problem, severity="note") if both else _odd(dataset, problem)
        if short := [step.step_id for step in steps if step.span and step.span[1] - step.span[0] < _SHORT]:
            what = f"the spans of {_shown(short)} are shorter than {_SHORT} s."
            yield _warn(dataset, video, "span-short", what, "Check them.", "steps")


def _late(dataset: Dataset, steps: list[StepLabel]) -> list[str]:
    """Timed steps (in rubric order) whose first attempt begins before that of a step that must precede them.

    In a skill whose steps state what they require, these are the steps that they require, directly or through others
    that were not done; no order of the graph is wrong. In any other skill it is the step before in the rubric.
    """
    begun = {step.step_id: min([_start(step), *(one.start for one in step.attempts if one.start is not None)])
             for step in steps}  # fmt: skip
    late = []
    for before, step in zip([None, *steps], steps, strict=False):
        earlier = [before.step_id] if before else []
        if dataset.rubric.skill_of[step.step_id] in dataset.rubric.ordered_by_graph:
            earlier = sorted(_required(dataset.rubric, step.step_id, begun))
        if any(begun[name] > begun[step.step_id] for name in earlier):
            late.append(step.step_id)
    return late


def _required(rubric: Rubric, step: str, done: Collection[str]) -> set[str]:
    """The nearest steps among ``done`` that a step requires; through those that were not done to what they require."""
    found: set[str] = set()
    for need in rubric.by_id[step].requires:
        found |= {need.id} if need.id in done else _required(rubric, need.id, done)
    return found


def _odd(dataset: Dataset, problem: Problem) -> Problem:
    """A slip of somebody's pen, perhaps; a note where a program wrote the labels and says so."""
    written = dataset.synthetic and "simulation" in dataset.meta
    return replace(problem, severity="note") if written else problem


def _start(step: StepLabel) -> float:
    return step.start if step.start is not None else 0.0


def _steps(dataset: Dataset, video: Video) -> Iterator[Problem]:
    have = {step.step_id for step in video.steps}
    for skill in dataset.rubric.skills:
        steps = [step.id for step in skill.steps]
        lacking = [step for step in steps if step not in have]
        if lacking and len(lacking) < len(steps):
            what = f"skill {skill.id!r} lacks {_shown(lacking)}."
            yield _warn(dataset, video, "step-missing", what, "Add them, or say `applicable: false`.", "steps")
    scored = [
        step.step_id for step in video.steps if not step.applicable and any(v is not None for v in step.scores.values())
    ]
    if scored:
        what = f"{_shown(scored)} are not applicable but have points, which are not used."
        yield _warn(dataset, video, "na-with-score", what, "Remove the one or the other.", "steps")
    if not video.applicable:
        yield _warn(dataset, video, "no-applicable-step", "no step is applicable; it is never asked.", "Remove it.")


def _scores(dataset: Dataset) -> Iterator[Problem]:
    steps = [(video, step) for video in dataset.videos for step in video.applicable]
    people = human_raters(dataset.raters, dataset.rater_facts)
    lacking: defaultdict[str, list[str]] = defaultdict(list)
    for video, step in steps:
        for rater in dataset.raters:
            if step.scores.get(rater) is None:
                lacking[rater].append(f"{video.video_id}/{step.step_id}")
    for rater, places in lacking.items():
        if not (rater == CONSENSUS and dataset.withheld):
            code = "consensus-missing" if rater == CONSENSUS else "rater-missing"
            what = f"{rater} has no points for {len(places)} of {len(steps)} steps ({_shown(places, 3)})."
            problem = _warn(dataset, None, code, what, "Add them, or know that they are withheld.", rater)
            measures = rater not in (CONSENSUS, *people)  # an instrument sees some of the steps, and nobody misses it
            yield replace(problem, severity="note") if measures else problem
    found = Counter(name for video in dataset.videos for step in video.steps for name in step.findings)
    for rater in sorted(found.keys() - set(dataset.raters)) if dataset.raters else ():
        what = f"findings of {rater[:64]!r} in {found[rater]} steps, who gave no points; they are never used."
        fix = f"Correct the name (there are {', '.join(dataset.raters)}), or add the points."
        yield _warn(dataset, None, "finding-rater", what, fix, "findings")
    if not dataset.withheld and len(people) < 2:
        what = "fewer than two persons gave points; agreement between people, a model's ceiling, cannot be computed."
        yield _warn(dataset, None, "raters-few", what, "Add a second person's points.", "score")
    odd: list[str] = []
    broken: list[str] = []
    off: defaultdict[str, list[str]] = defaultdict(list)
    for video, step in steps:
        points = [value for rater in people if (value := step.scores.get(rater)) is not None]
        reference = step.consensus
        if reference is not None and points and not min(points) <= reference <= max(points):
            odd.append(f"{video.video_id}/{step.step_id}")
        for rater, value in step.scores.items():
            if value is not None and not is_on_increment(value, dataset.rubric.by_id[step.step_id].score_increment):
                (broken if rater == CONSENSUS else off[rater]).append(f"{video.video_id}/{step.step_id} {value:g}")
    if odd:
        what = f"the consensus lies outside the raters' points for {_shown(odd, 3)}."
        fix = "Fine after adjudication; else correct it."
        yield _odd(dataset, _warn(dataset, None, "consensus-outside", what, fix, CONSENSUS))
    if broken:
        what = f"the consensus is not a whole number (or half, where the rubric has halves) for {_shown(broken, 3)}; "
        fix = f"Adjudicate instead of taking means. {HALF_POINTS_HINT}"
        yield _warn(dataset, None, "consensus-fraction", f"{what}models cannot answer it.", fix, CONSENSUS)
    for rater, places in off.items():
        what = f"{len(places)} of {rater}'s points are between those that the rubric has ({_shown(places, 3)})."
        yield Problem("score-off-increment", what, f"Correct them. {HALF_POINTS_HINT}", _FILE, None, rater)
    known = [step for _, step in steps if step.consensus is not None]
    full = [step.consensus == dataset.rubric.by_id[step.step_id].max_score for step in known]
    if full and (all(full) or not any(full)):
        what = f"every step of every video is {'correct' if full[0] else 'wrong'}; most metrics are undefined."
        yield _warn(dataset, None, "labels-constant", what, "Add videos with the other outcome.", CONSENSUS)


def _what_is_heard(dataset: Dataset) -> Iterator[Problem]:
    """Transcripts of another form or beyond the video, and points for what a rater could not hear."""
    for video in dataset.videos:
        try:
            said = transcript_of(video) or ()
        except DataError as error:
            line = dataset.lines.get(video.video_id)
            yield Problem("transcript-form", str(error).partition(": ")[2], "", _FILE, line, "transcript")
            continue
        if wrong := [line for line in said if not 0 <= line.start <= line.end or line.start >= video.duration]:
            what = (
                f"{len(wrong)} lines of the transcript are not within the video, the first from {wrong[0].start:g} s."
            )
            problem = _warn(dataset, video, "transcript-outside", what, "Correct their times.", "transcript")
            yield replace(problem, severity="error")
    facts = dataset.sound_facts
    for name in facts.raters(False):
        scored = {
            step.step_id for video in dataset.videos for step in video.applicable if step.scores.get(name) is not None
        }
        if steps := [step for step in facts.steps if step in scored]:
            what = f"{name} did not hear, and gave points for {len(steps)} steps that need sound ({_shown(steps)})."
            fix = "Read that rater's agreement on the other steps alone, or correct `heard`."
            yield _warn(dataset, None, "rater-unheard", what, fix, name)


def _names_and_splits(dataset: Dataset) -> Iterator[Problem]:
    """Ids and files that two videos share, and what is on both sides of a split."""
    folded = Counter(video.video_id.casefold() for video in dataset.videos)
    for video in dataset.videos:
        if folded[video.video_id.casefold()] > 1:
            what = "another id differs only in case; their files are one file on some systems."
            yield _warn(dataset, video, "video-case", what, "Rename one.", "video_id")
    shared = Counter(video.media for video in dataset.videos)
    for video in dataset.videos:
        if shared[video.media] > 1:
            what = f"{video.media} belongs to {shared[video.media]} videos."
            yield _warn(dataset, video, "media-shared", what, "Fine if it shows several exams.", "media")
    yield from _performances(dataset)
    yield from _leaks(dataset)


def _performances(dataset: Dataset) -> Iterator[Problem]:
    """Performances of several students or at several sites: they are one act, and ties between all of these."""
    for key in ("student", "site"):
        stated: defaultdict[str, set[str]] = defaultdict(set)
        for video in dataset.videos:
            value = video.site if key == "site" else video.extra.get(key)
            if value is not None and (performance := video.extra.get("performance")) not in (None, ""):
                stated[str(performance)].add(str(value))
        if odd := [f"{name} ({_shown(sorted(values))})" for name, values in stated.items() if len(values) > 1]:
            what = f"one performance has several {key}s: {_shown(odd, 3)}."
            fix = f"Correct `{key}` or `performance`; names of performances are unique in the whole data set."
            yield _warn(dataset, None, f"performance-{key}", what, fix, "performance")


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
                value, part = video.site if key == "site" else video.extra.get(key), parts[video.video_id]
                if value is not None and part is not None:
                    within[str(value)].add(part)
            if both := sorted(name for name, stated in within.items() if len(stated) > 1):
                named = "" if split == "split" else f" {split!r}"
                what = f"{key} {_shown(both)} appears in more than one part of the split{named}."
                fix = f"Keep a {key} on one side of a split, or know that this one does not part them."
                yield _warn(dataset, None, f"split-{key}", what, fix, "split" if split == "split" else "splits")
