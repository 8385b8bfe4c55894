"""The frame encoder: a plain convolutional network from the pixels of one frame to what the frame shows."""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["SIZE", "FrameEncoder"]

SIZE = (480, 272)
"""Width and height, in pixels, of the picture that the encoder sees."""


def _layer(inputs: int, outputs: int, *, stride: int = 1, kernel: int = 3) -> nn.Sequential:
    padding = 1 if kernel == 3 else 0
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class FrameEncoder(nn.Module):
    """Reads the visible state of one frame.

    Args:
        continuous: how many continuous features there are; they come first.
        binary: how many binary ones.
        hidden: width of the layer before them.
    """

    def __init__(self, continuous: int, binary: int, hidden: int = 192) -> None:
        super().__init__()
        self.continuous, self.hidden = continuous, hidden
        self.body = nn.Sequential(
            _layer(3, 24, stride=4, kernel=4),
            _layer(24, 48, stride=2),
            _layer(48, 80, stride=2),
            _layer(80, 80),
            _layer(80, 112, stride=2),
            _layer(112, 96),
            nn.Conv2d(96, 16, 1),
            nn.Flatten(),
            nn.Linear(16 * 9 * 15, hidden),
            nn.ReLU(inplace=True),
        )
        self.head = nn.Linear(hidden, continuous + binary)

    def forward(self, pictures: Tensor) -> Tensor:
        """Raw outputs, shape (frames, features): values of the continuous features, logits of the binary ones.

        Args:
            pictures: RGB in [-0.5, 0.5], shape (frames, 3, 272, 480).
        """
        raw: Tensor = self.head(self.body(pictures).float())
        return raw

    def features(self, pictures: Tensor) -> Tensor:
        """Features for the judge: values of the continuous features, probabilities of the binary ones."""
        return self.read(self(pictures))

    def read(self, raw: Tensor) -> Tensor:
        """Features from raw outputs."""
        values, logits = raw[:, : self.continuous], raw[:, self.continuous :]
        return torch.cat([values.clamp(-8, 8), torch.sigmoid(logits)], 1)

    def embedding(self, pictures: Tensor) -> Tensor:
        """The last hidden layer, shape (frames, hidden)."""
        hidden: Tensor = self.body(pictures).float()
        return hidden
