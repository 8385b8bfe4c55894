"""A baseline of the network itself, fine-tuned for each fold; what it says is kept fold by fold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.media import Policy
from siming_tasks.models.nano.frame_features import load
from siming_tasks.tools.baseline.crossfit import StepJudgments
from siming_tasks.tools.baseline.devices import device_of
from siming_tasks.tools.baseline.exams import BaselineResult, Exams, Key
from siming_tasks.tools.baseline.features import media_of, shown_facts, views_of

if TYPE_CHECKING:
    from siming_tasks.tools.baseline.tune import Lesson

__all__ = ["Tuner", "fine_tuned"]

_VERSION = "1"
Answers = dict[str, dict[str, dict[str, float]]]
"""Points by video, by name of what is shown (a step's clip; empty: the whole), by step."""


@dataclass(frozen=True)
class Tuner:
    """Settings of fine-tuning: the device, and the number of looks at each training video."""

    device: str = "auto"
    epochs: int = 3


def fine_tuned(exams: Exams, tuner: Tuner) -> BaselineResult:
    """Answers for the videos of each fold, of a network trained from the shipped weights on the other folds.

    Raises:
        DataError: the network knows no step of the rubric; or its weights are not those that belong here.
        OptionsError: there is no such device.
    """
    _, facts, digest = load()
    tops = dict(zip(facts.steps, facts.maxima, strict=True))
    known = [step.id for step in exams.dataset.rubric.steps if tops.get(step.id) == step.max_score]
    if not known:
        what = "none of its steps, with its points, is one that siming_nano's network has an output for"
        raise DataError(f"{exams.dataset.root}: {what}. Leave --fine-tune out: heads are trained for any rubric.")
    where = f"{device_of(tuner.device).type} {digest}"
    lessons: dict[str, Lesson] = {}
    unreadable = []
    for video in exams.watched(list(exams.dataset.videos), "video"):
        try:
            lessons[video.video_id] = _lesson(exams, video.video_id, known)
        except MediaError as error:
            unreadable.append(f"{video.video_id}: {error}")
    answers: Answers = {}
    for number in np.unique(exams.fold).tolist():
        answers |= _fold(exams, tuner, lessons, number, where)
    judged = {key: _judged(exams, lessons, answers, key) for key in exams.questions()}
    media = {name: media_of(lesson.views, exams.options) for name, lesson in lessons.items()}
    made = {"network": f"siming_nano {digest[:12]}, fine-tuned", "epochs": tuner.epochs, "seed": exams.options.seed}
    return BaselineResult(judged, media, tuple(unreadable), made)


def _lesson(exams: Exams, name: str, known: Sequence[str]) -> Lesson:
    from siming_tasks.tools.baseline.tune import Lesson

    video = exams.dataset.video(name)
    views = views_of(exams.dataset, video, exams.digests[name], exams.options)
    views[""].store.fill(sorted({index for view in views.values() for index in view.indices}))
    asked = {"": [step for step in known if step in video.applicable_ids]}
    asked |= {step: [step] if step in known else [] for step in video.timed_ids}
    labels = {step: video.step(step).consensus for step in asked[""]}
    return Lesson(views, asked, {step: float(points) for step, points in labels.items() if points is not None})


def _fold(exams: Exams, tuner: Tuner, lessons: Mapping[str, Lesson], number: int, where: str) -> Answers:
    """Answers for one fold's videos: as they were stored, or of a network that is trained now."""
    sides: dict[bool, list[str]] = {True: [], False: []}
    for video, fold in zip(exams.dataset.videos, exams.fold.tolist(), strict=True):
        if video.video_id in lessons:
            sides[fold == number].append(video.video_id)
    held, train = sides[True], [name for name in sides[False] if lessons[name].points]
    policy = Policy.of(exams.options)
    shown = {n: [exams.digests[n], *shown_facts(exams.dataset.video(n), policy)] for n in (*held, *train)}
    taught = {name: lessons[name].points for name in train}
    order = [_VERSION, where, tuner.epochs, exams.options.seed, number, held, {n: lessons[n].asked for n in held}]
    kept = exams.options.cache_dir / "baseline" / f"fold-{sha256_json([order, shown, taught])[:16]}.json"
    if (answers := _read(kept, lessons, held)) is None:
        answers = _trained(exams, tuner, lessons, held, train, number)
        with atomic_write(kept) as stream:
            json.dump(answers, stream)
    return answers


def _trained(
    exams: Exams, tuner: Tuner, lessons: Mapping[str, Lesson], held: Sequence[str], train: Sequence[str], number: int
) -> Answers:
    from siming_tasks.tools.baseline.tune import Tuned

    if not train:
        return {name: {part: {} for part in lessons[name].asked} for name in held}
    net, rng = Tuned(device_of(tuner.device)), np.random.default_rng([exams.options.seed, number])
    orders = [name for _ in range(tuner.epochs) for name in rng.permutation(train).tolist()]
    for name in exams.watched(orders, f"step of fold {number + 1}"):
        net.learn(lessons[name])
    taught = {("" if part == "" else "clip", step) for name in train for part, steps in lessons[name].asked.items()
              for step in steps if step in lessons[name].points}  # fmt: skip
    answers: Answers = {}
    for name in held:
        chances, asked = net.chances(lessons[name]), lessons[name].asked
        answers[name] = {
            part: {
                step: float((chance[::-1].cumsum()[::-1][1:] >= 0.5).sum())  # the median
                for step, chance in zip(steps, chances.get(part, ()), strict=True)
                if ("clip" if part else "", step) in taught
            }
            for part, steps in asked.items()
        }
    return answers


def _read(path: Path, lessons: Mapping[str, Lesson], held: Sequence[str]) -> Answers | None:
    """Stored answers of a fold; None if there are none, or none whole."""
    try:
        kept: Any = json.loads(path.read_bytes())
        answers = {
            name: {
                part: {step: float(points) for step, points in kept[name][part].items() if step in steps}
                for part, steps in lessons[name].asked.items()
            }
            for name in held
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return answers


def _judged(exams: Exams, lessons: Mapping[str, Lesson], answers: Answers, key: Key) -> tuple[StepJudgments, list[int]]:
    scope, step = key
    asked = list(exams.asked(key, lessons))
    part = step if scope == "clip" else ""
    points = np.array([answers[video.video_id].get(part, {}).get(step, np.nan) for _, video in asked], float)
    places = [place for place, _ in asked]
    untrained = len(set(exams.fold[places][np.isnan(points)].tolist())) if places else 0
    return StepJudgments(points, points < exams.dataset.rubric.by_id[step].max_score, 0, untrained), places
