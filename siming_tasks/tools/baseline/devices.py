"""Choice of the device on which a baseline computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siming_tasks.common.errors import OptionsError
from siming_tasks.models.nano.frame_features import best_device

if TYPE_CHECKING:
    import torch

__all__ = ["device_of"]


def device_of(name: str) -> torch.device:
    """The device of that name; ``auto`` is a GPU where there is one.

    Raises:
        OptionsError: there is none, or nothing can be put on it.
    """
    import torch

    try:
        device = best_device(None if name == "auto" else name)
        torch.zeros(1, device=device).cpu()
    except (AssertionError, NotImplementedError, RuntimeError) as error:  # what torch says of a device not there
        reason = str(error).splitlines()[0][:200]
        raise OptionsError(f"--device {name!r} cannot be used here ({reason}). Leave it out, or say cpu.") from None
    return device
