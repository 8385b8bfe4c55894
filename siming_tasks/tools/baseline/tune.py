"""The network of ``siming_nano``, trained on from its shipped weights; frames go through it a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.media import View
from siming_tasks.models.nano.exam_judge import Watcher

if TYPE_CHECKING:
    import torch

__all__ = ["RATE", "Lesson", "Tuned"]

RATE = 3e-5
"""Learning rate of the judge; the encoder, which sees more and is asked less, has a tenth of it."""

_AT_ONCE = 32
"""Frames in the network, whatever the length of the video."""


@dataclass(frozen=True)
class Lesson:
    """One video.

    Attributes:
        views: by step id of its clips, and under the empty name the whole of it.
        asked: by the same names, the steps that are asked about.
        points: by step, where there is a label.
    """

    views: Mapping[str, View]
    asked: Mapping[str, Sequence[str]]
    points: Mapping[str, float]


class Tuned:
    """Encoder and judge, from the shipped weights.

    The encoder's statistics of batches stay as they are, so that a frame's features do not depend on its neighbours.

    Args:
        device: where it computes; on a GPU with bfloat16 in mixed precision.
    """

    def __init__(self, device: torch.device) -> None:
        import torch

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

        indices = _indices(lesson)
        features = self._features(lesson, indices).requires_grad_()
        losses = []
        for name in lesson.views:
            steps = [step for step in lesson.asked[name] if step in lesson.points]
            if steps:
                chances = self._log_chances(lesson, name, steps, indices, features)
                surprise = -self._targets([lesson.points[step] for step in steps], chances) * chances
                losses.append(surprise.sum(1).mean() / (len(lesson.views) - 1 if name else 1))
        if not losses:
            return
        torch.autograd.backward(torch.stack(losses).sum())
        wanted = features.grad
        if wanted is not None:
            for first, pictures in self._batches(lesson, indices):
                torch.autograd.backward(self._encode(pictures), wanted[first : first + len(pictures)])
        torch.nn.utils.clip_grad_norm_([*self._encoder.parameters(), *self._judge.parameters()], 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad()

    def chances(self, lesson: Lesson) -> dict[str, NDArray[np.float64]]:
        """By name of a view, how likely 0, 1, 2 ... points are for each step asked, shape (steps, most + 1)."""
        import torch

        indices = _indices(lesson)
        with torch.inference_mode():
            features = self._features(lesson, indices)
            return {
                name: self._log_chances(lesson, name, steps, indices, features).exp().double().cpu().numpy()
                for name, steps in lesson.asked.items()
                if steps
            }

    def _features(self, lesson: Lesson, indices: Sequence[int]) -> torch.Tensor:
        import torch

        with torch.no_grad():
            return torch.cat([self._encode(pictures) for _, pictures in self._batches(lesson, indices)])

    def _batches(self, lesson: Lesson, indices: Sequence[int]) -> Iterator[tuple[int, torch.Tensor]]:
        store = next(iter(lesson.views.values())).store
        for first in range(0, len(indices), _AT_ONCE):
            yield first, self._watcher.reader.tensor(store.images(indices[first : first + _AT_ONCE]))

    def _encode(self, pictures: torch.Tensor) -> torch.Tensor:
        import torch

        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._mixed):
            raw = self._encoder(pictures)
        features: torch.Tensor = self._encoder.read(raw.float())
        return features

    def _log_chances(
        self, lesson: Lesson, name: str, steps: Sequence[str], indices: Sequence[int], features: torch.Tensor
    ) -> torch.Tensor:
        import torch

        view = lesson.views[name]
        place = {index: number for number, index in enumerate(indices)}
        seconds = np.round(np.array(view.times) - (view.times[0] if name else 0), 1)  # as the prompt tells them
        seen = features[[place[index] for index in view.indices]]
        logits = self._watcher.logits(seen, torch.tensor(seconds, dtype=torch.float32), steps, bool(name))
        return torch.log_softmax(logits, -1)

    def _targets(self, points: Sequence[float], like: torch.Tensor) -> Any:
        """All weight on the points of the label; of half points, half on either side."""
        import torch

        return (1 - (torch.arange(like.shape[1]) - torch.tensor(points)[:, None]).abs()).clamp(min=0).to(like)


def _indices(lesson: Lesson) -> list[int]:
    return sorted({index for view in lesson.views.values() for index in view.indices})
