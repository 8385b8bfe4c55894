"""A frozen image model of the library ``transformers``, whose features of a clip's frames are averaged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = 16
"""Pictures that go through the network together."""


class Backbone:
    """The last hidden state of an image model, averaged over its places; of CLIP or SigLIP the half that sees.

    Code that comes with a model is never run, and weights are read from safetensors files only. A GPU is used where
    there is one.

    Args:
        source: a folder that ``save_pretrained`` wrote, or the name of a repository on the Hugging Face Hub.

    Attributes:
        name: of the folder, or of the repository.

    Raises:
        DataError: there is no such model, or it is not a model of single pictures.
    """

    def __init__(self, source: str) -> None:
        import torch
        from PIL import Image
        from transformers import AutoImageProcessor, AutoModel

        self.name = Path(source).resolve().name if Path(source).is_dir() else source
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        safe: dict[str, bool] = {"trust_remote_code": False, "use_safetensors": True}
        try:
            self._processor: Any = AutoImageProcessor.from_pretrained(source, trust_remote_code=False)
            net = AutoModel.from_pretrained(source, **safe)
            self._net: Any = getattr(net, "vision_model", net).float().eval().to(self._device)
            self.features([Image.new("RGB", (480, 270), (90, 120, 150))])  # before hours of videos
        except (AttributeError, ImportError, KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
            why = f"cannot be loaded as an image model ({type(error).__name__})"
            fix = "Give a model of single pictures with safetensors weights, such as facebook/dinov2-base."
            raise DataError(f"--backbone {source}: {why}. {fix}") from error

    def features(self, pictures: Sequence[Image]) -> NDArray[np.float32]:
        """Mean features of some pictures, shape (width of the hidden state,)."""
        import torch

        batches = []
        for first in range(0, len(pictures), BATCH):
            ready = self._processor(images=list(pictures[first : first + BATCH]), return_tensors="pt")
            with torch.inference_mode():
                hidden = self._net(pixel_values=ready["pixel_values"].to(self._device)).last_hidden_state
            # (pictures, places, width), or of a convolutional network (pictures, width, rows, columns)
            batches.append((hidden.mean(1) if hidden.ndim == 3 else hidden.flatten(2).mean(2)).float().cpu().numpy())
        mean: NDArray[np.float32] = np.concatenate(batches).mean(0)
        return mean
