"""A baseline of the network itself: ``siming_nano``, trained on from its shipped weights for each fold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.media import Policy, View
from siming_tasks.models.nano.frame_features import load
from siming_tasks.tools.baseline.crossfit import BaselineResult, Exams, Key, StepJudgments
from siming_tasks.tools.baseline.features import device_of, media_of, shown_facts, views_of

if TYPE_CHECKING:
    import torch

RATE = 3e-5
"""Learning rate of the judge; the encoder, which sees more and is asked less, has a tenth of it."""

_VERSION = "1"
_AT_ONCE = 32
"""Frames in the network, whatever the length of the video."""

Answers = dict[str, dict[str, dict[str, float]]]
"""Points by video, by name of what is shown (a step's clip; empty: the whole), by step."""


@dataclass(frozen=True)
class Tuner:
    """Settings of fine-tuning: the device, and the number of looks at each training video."""

    device: str = "auto"
    epochs: int = 3


@dataclass(frozen=True)
class Lesson:
    """One video: its views and the steps asked of each, by step id of a clip or the empty name; labels by step."""

    views: Mapping[str, View]
    asked: Mapping[str, Sequence[str]]
    points: Mapping[str, float]

    @property
    def indices(self) -> list[int]:
        """All frames of its views, each once, in order."""
        return sorted({index for view in self.views.values() for index in view.indices})


def fine_tuned(exams: Exams, tuner: Tuner) -> BaselineResult:
    """Answers for the videos of each fold, of a network trained from the shipped weights on the other folds.

    Raises:
        DataError: the network knows no step of the rubric; or its weights are not those that belong here.
        OptionsError: there is no such device.
    """
    _, facts, digest = load()
    dataset = exams.dataset
    tops = dict(zip(facts.steps, facts.maxima, strict=True))
    known = [step.id for step in dataset.rubric.steps if tops.get(step.id) == step.max_score]
    if not known:
        what = "none of its steps, with its points, is one that siming_nano's network has an output for"
        raise DataError(f"{dataset.root}: {what}. Leave --fine-tune out: heads are trained for any rubric.")
    where = f"{device_of(tuner.device).type} {digest}"
    lessons: dict[str, Lesson] = {}
    unreadable = []
    for video in exams.watched(list(dataset.videos), "video"):
        name = video.video_id
        asked = {"": [step for step in known if step in video.applicable_ids]}
        asked |= {step: [step] if step in known else [] for step in video.timed_ids}
        labels = {step: video.step(step).consensus for step in asked[""]}
        points = {step: float(label) for step, label in labels.items() if label is not None}
        try:
            lesson = Lesson(views_of(dataset, video, exams.digests[name], exams.options), asked, points)
            lesson.views[""].store.fill(lesson.indices)
            lessons[name] = lesson
        except MediaError as error:
            unreadable.append(f"{name}: {error}")
    answers: Answers = {}
    for number in exams.judged_folds:
        answers |= _answers_of_fold(exams, tuner, lessons, number, where)
    judged: dict[Key, tuple[StepJudgments, list[int]]] = {}
    for scope, step in exams.questions():
        videos = list(exams.asked((scope, step), lessons))
        places, part = [place for place, _ in videos], step if scope == "clip" else ""
        predicted = np.array(
            [answers.get(video.video_id, {}).get(part, {}).get(step, np.nan) for _, video in videos], float
        )
        untrained = len(set(exams.fold[places][np.isnan(predicted)].tolist())) if places else 0
        top = dataset.rubric.by_id[step].max_score
        judged[scope, step] = StepJudgments(predicted, predicted < top, 0, untrained), places
    media = {name: media_of(lesson.views, exams.options) for name, lesson in lessons.items()}
    made = {"network": f"siming_nano {digest[:12]}, fine-tuned", "epochs": tuner.epochs, "seed": exams.options.seed}
    return BaselineResult(judged, media, tuple(unreadable), made)


def _answers_of_fold(exams: Exams, tuner: Tuner, lessons: Mapping[str, Lesson], number: int, where: str) -> Answers:
    """Answers for one fold's videos: as they were stored, or of a network that is trained now."""
    sides: dict[bool, list[str]] = {True: [], False: []}
    for video, fold in zip(exams.dataset.videos, exams.fold.tolist(), strict=True):
        if video.video_id in lessons and fold >= 0:
            sides[fold == number].append(video.video_id)
    held, train = sides[True], [name for name in sides[False] if lessons[name].points]
    policy = Policy.of(exams.options)
    shown = {n: [exams.digests[n], *shown_facts(exams.dataset.video(n), policy)] for n in (*held, *train)}
    taught = {name: lessons[name].points for name in train}
    order = [_VERSION, where, tuner.epochs, exams.options.seed, number, held, {n: lessons[n].asked for n in held}]
    kept = exams.options.cache_dir / "baseline" / f"fold-{sha256_json([order, shown, taught])[:16]}.json"
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):  # there are none, or none whole
        stored: Any = json.loads(kept.read_bytes())
        return {
            name: {
                part: {step: float(points) for step, points in stored[name][part].items() if step in steps}
                for part, steps in lessons[name].asked.items()
            }
            for name in held
        }
    answers = _train_fold(exams, tuner, lessons, held, train, number)
    with atomic_write(kept) as stream:
        json.dump(answers, stream)
    return answers


def _train_fold(
    exams: Exams, tuner: Tuner, lessons: Mapping[str, Lesson], held: Sequence[str], train: Sequence[str], number: int
) -> Answers:
    """Answers for the videos ``held``, of a network trained on those of ``train``; only on what it was taught."""
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


class Tuned:
    """Encoder and judge, from the shipped weights; frames go through them a few at a time.

    The encoder's statistics of batches stay as they are, so that a frame's features do not depend on its neighbours.

    Args:
        device: where it computes; on a GPU with bfloat16 in mixed precision.
    """

    def __init__(self, device: torch.device) -> None:
        import torch

        from siming_tasks.models.nano.exam_judge import Watcher

        self._watcher = Watcher(str(device))
        self._device = self._watcher.reader.device
        self._encoder, self._judge = self._watcher.reader.net, self._watcher.net
        self._mixed = self._device.type == "cuda" and torch.cuda.is_bf16_supported()
        rates = [{"params": self._encoder.parameters(), "lr": RATE / 10}, {"params": self._judge.parameters()}]
        self._optimizer = torch.optim.AdamW(rates, lr=RATE, weight_decay=0.01)

    def learn(self, lesson: Lesson) -> None:
        """One step down the loss of one video, full and clips alike.

        The gradient is that of all frames at once: first what the judge would want otherwise of each frame's features,
        then what this means for the encoder, a few frames at a time.
        """
        import torch

        with torch.no_grad():
            features = torch.cat([encoded for _, encoded in self._encoded(lesson)]).requires_grad_()
        losses = []
        for name in lesson.views:
            steps = [step for step in lesson.asked[name] if step in lesson.points]
            if steps:
                chances = self._log_chances(lesson, name, steps, features)
                points = torch.tensor([lesson.points[step] for step in steps])[:, None]
                # all weight on the points of the label; of half points, half on either side
                targets = (1 - (torch.arange(chances.shape[1]) - points).abs()).clamp(min=0).to(chances)
                losses.append((-targets * chances).sum(1).mean() / (len(lesson.views) - 1 if name else 1))
        if not losses:
            return
        torch.autograd.backward(torch.stack(losses).sum())
        wanted = features.grad
        if wanted is not None:
            for first, encoded in self._encoded(lesson):
                torch.autograd.backward(encoded, wanted[first : first + len(encoded)])
        torch.nn.utils.clip_grad_norm_([*self._encoder.parameters(), *self._judge.parameters()], 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()

    def chances(self, lesson: Lesson) -> dict[str, NDArray[np.float64]]:
        """By name of a view, how likely 0, 1, 2 ... points are for each step asked, shape (steps, most + 1)."""
        import torch

        with torch.inference_mode():
            features = torch.cat([encoded for _, encoded in self._encoded(lesson)])
            return {
                name: self._log_chances(lesson, name, steps, features).exp().double().cpu().numpy()
                for name, steps in lesson.asked.items()
                if steps
            }

    def _encoded(self, lesson: Lesson) -> Iterator[tuple[int, torch.Tensor]]:
        """Features of a few frames at a time, each with the place of its first frame."""
        import torch

        store, indices = next(iter(lesson.views.values())).store, lesson.indices
        for first in range(0, len(indices), _AT_ONCE):
            pictures = self._watcher.reader.tensor(store.images(indices[first : first + _AT_ONCE]))
            with torch.autocast(self._device.type, torch.bfloat16, enabled=self._mixed):
                raw = self._encoder(pictures)
            yield first, self._encoder.read(raw.float())

    def _log_chances(self, lesson: Lesson, name: str, steps: Sequence[str], features: torch.Tensor) -> torch.Tensor:
        """Log probability of each number of points, for the steps of one view; shape (steps, most + 1)."""
        import torch

        view = lesson.views[name]
        place = {index: number for number, index in enumerate(lesson.indices)}
        seconds = np.round(np.array(view.times) - (view.times[0] if name else 0), 1)  # as the prompt tells them
        seen = features[[place[index] for index in view.indices]]
        logits = self._watcher.logits(seen, torch.tensor(seconds, dtype=torch.float32), steps, bool(name))
        return torch.log_softmax(logits, -1)
