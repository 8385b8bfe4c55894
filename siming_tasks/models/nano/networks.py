"""The networks: from pixels to what is shown, and from that to the points of steps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

SIZE = (480, 272)
"""Width and height, in pixels, of the picture that the encoder sees."""

_PERIODS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Half periods, in seconds, of the waves by which a time is told."""


class FrameEncoder(nn.Module):
    """Reads the visible state of one frame by convolutions: continuous features first, then binary ones."""

    def __init__(self, continuous: int, binary: int, hidden: int = 192) -> None:
        super().__init__()
        self.continuous = continuous
        self.body = nn.Sequential(
            _layer(3, 40, stride=4, kernel=4),
            _layer(40, 56, stride=2),
            _layer(56, 80, stride=2),
            _layer(80, 80),
            _layer(80, 112, stride=2),
            _layer(112, 96),
            nn.Conv2d(96, 24, 1),
            nn.Flatten(),
            nn.Linear(24 * 9 * 15, hidden),
            nn.ReLU(inplace=True),
        )
        self.head = nn.Linear(hidden, continuous + binary)

    def forward(self, pictures: Tensor) -> Tensor:
        """Continuous values, then logits of the binary features, shape (frames, features), of RGB in [-0.5, 0.5]."""
        raw: Tensor = self.head(self.body(pictures)).float()
        return raw

    def features(self, pictures: Tensor) -> Tensor:
        """Features for the judge: values of the continuous features, probabilities of the binary ones."""
        raw = self(pictures)
        return torch.cat([raw[:, : self.continuous].clamp(-8, 8), raw[:, self.continuous :].sigmoid()], 1)


def _layer(inputs: int, outputs: int, *, stride: int = 1, kernel: int = 3) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=1 if kernel == 3 else 0, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class _Look(nn.Module):
    """One round: the queries look at the frames, at each other, and think."""

    def __init__(self, width: int, heads: int = 4) -> None:
        super().__init__()
        self.frames = nn.MultiheadAttention(width, heads, batch_first=True)
        self.steps = nn.MultiheadAttention(width, heads, batch_first=True)
        self.think = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

    def forward(self, queries: Tensor, frames: Tensor, missing: Tensor) -> Tensor:
        seen, _ = self.frames(self.norms[0](queries), frames, frames, key_padding_mask=missing, need_weights=False)
        queries = queries + seen
        own = self.norms[1](queries)
        context, _ = self.steps(own, own, own, need_weights=False)
        queries = queries + context
        thought: Tensor = queries + self.think(self.norms[2](queries))
        return thought


class StepJudge(nn.Module):
    """Scores steps from frames whose state has been read.

    Every asked step is a query that looks at the frames by attention, in rounds (``looks``); the queries then look at
    each other, because what was done in one step can decide another. A clip is a video with one query. ``most`` is the
    highest number of points of any step.
    """

    def __init__(self, features: int, steps: int, most: int, width: int = 112, looks: int = 2) -> None:
        super().__init__()
        self.width = width
        self.enter = nn.Linear(features + 3 + 2 * len(_PERIODS), width)
        self.around = nn.ModuleList(nn.Conv1d(width, width, 3, padding=1) for _ in range(2))
        self.calm = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.asked = nn.Embedding(steps, width)
        self.scope = nn.Embedding(2, width)
        self.looks = nn.ModuleList(_Look(width) for _ in range(looks))
        self.score = nn.Embedding(steps, width * (most + 1))
        self.lean = nn.Embedding(steps, most + 1)
        nn.init.normal_(self.score.weight, std=0.05)
        nn.init.zeros_(self.lean.weight)

    def forward(self, features: Tensor, times: Tensor, missing: Tensor, steps: Tensor, clip: Tensor) -> Tensor:
        """Logits of 0, 1, 2 ... points, shape (videos, asked, most + 1).

        Args:
            features: of the frames, shape (videos, frames, features).
            times: of the frames in seconds since the start of what is shown, shape (videos, frames).
            missing: True where there is no frame, shape (videos, frames).
            steps: numbers of the asked steps, shape (videos, asked).
            clip: 1 where only the step's own seconds are shown, else 0, shape (videos,).
        """
        gap = torch.diff(times, dim=1, prepend=times[:, :1])
        length = times.amax(1, keepdim=True).expand_as(times)
        waves = times.unsqueeze(-1) * torch.pi / torch.tensor(_PERIODS, device=times.device)
        plain = torch.stack([times / 30, gap.clamp(-20, 20), length / 30], -1)
        of_times = torch.cat([plain, torch.sin(waves), torch.cos(waves)], -1)
        here = (~missing).unsqueeze(-1).float()
        frames = nn.functional.gelu(self.enter(torch.cat([features, of_times], -1))) * here
        for layer, norm in zip(self.around, self.calm, strict=False):
            step = layer(norm(frames).mul(here).transpose(1, 2)).transpose(1, 2)
            frames = frames + nn.functional.gelu(step) * here
        frames = self.calm[2](frames)
        queries = self.asked(steps) + self.scope(clip).unsqueeze(1)
        for look in self.looks:
            queries = look(queries, frames, missing)
        weights = self.score(steps).view(*steps.shape, self.width, -1)
        logits: Tensor = torch.einsum("bqd,bqdk->bqk", queries, weights) + self.lean(steps)
        return logits
