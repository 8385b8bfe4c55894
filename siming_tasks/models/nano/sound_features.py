"""Sound to features: log-mel frames, and the trained encoder that reads them.

The words are those that :mod:`frame_state` reads in bubbles, under the same names: a judge that was trained on what is
seen to be said can be told what is heard.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from siming_tasks.models.nano.frame_features import WEIGHTS, best_device, load, part
from siming_tasks.models.nano.listening import HEARD, HOP, RATE, STRIDE, Heard

if TYPE_CHECKING:
    import torch

SOUND_WEIGHTS = WEIGHTS.with_name("siming_nano_sound.safetensors")
BANDS = 40
_WINDOW, _FFT = 400, 512
_LOWEST, _HIGHEST = 50.0, 7600.0
_FLOOR = 1e-4


def log_mel(samples: NDArray[np.int16]) -> NDArray[np.float32]:
    """Logarithms of the energy in mel bands, shape (frames, 40), 80 frames a second.

    A frame more than fits is padded with silence, so that the encoder's output covers every sample.
    """
    count = -(-max(len(samples), 1) // (HOP * STRIDE)) * STRIDE
    before = (_WINDOW - HOP) // 2
    padded = np.zeros(count * HOP + _WINDOW, np.float32)
    padded[before : before + len(samples)] = samples.astype(np.float32) / 32768
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[: count * HOP : HOP]
    power = np.abs(np.fft.rfft(windows * np.hanning(_WINDOW).astype(np.float32), _FFT)) ** 2
    mel: NDArray[np.float32] = power.astype(np.float32) @ _mel_bands()
    logarithms: NDArray[np.float32] = np.log(mel + np.float32(_FLOOR))
    return logarithms


@cache
def _mel_bands() -> NDArray[np.float32]:
    """Triangles on the mel scale (Stevens, Volkmann and Newman; 2595 log10(1 + f / 700)), shape (257, 40)."""
    low, high = 2595 * np.log10(1 + np.array([_LOWEST, _HIGHEST]) / 700)
    edges = 700 * (10 ** (np.linspace(low, high, BANDS + 2) / 2595) - 1)
    at = np.fft.rfftfreq(_FFT, 1 / RATE)[:, None]
    up = (at - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - at) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(up, down)).astype(np.float32)


class SoundReader:
    """The frozen sound encoder: reads words and noises, 20 times a second.

    Raises:
        DataError: the weights are missing or not the ones that belong here.
    """

    def __init__(self, device: str | None = None, *, weights: Path = SOUND_WEIGHTS) -> None:
        from siming_tasks.models.nano.networks import SoundEncoder

        self.tensors, self.facts, self.digest = load(weights)
        self.device = best_device(device)
        net = SoundEncoder(BANDS, len(HEARD))
        net.load_state_dict(part(self.tensors, "encoder"))
        self.net = net.eval().to(self.device)

    def heard(self, samples: NDArray[np.int16]) -> Heard:
        """Reading of one channel of 16,000 samples a second."""
        import torch

        with torch.inference_mode():
            frames = torch.from_numpy(log_mel(samples)).to(self.device)
            features: torch.Tensor = torch.sigmoid(self.net(frames[None]))[0]
        return Heard(features.cpu().numpy())
