"""Rules on the signals: one rule a step, a clip in, names of errors out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pixel_rules_cpr
import pixel_rules_devices
from numpy.typing import NDArray

__all__ = ["RULES"]

RULES: Mapping[str, tuple[Callable[[NDArray[np.uint8]], set[str]], frozenset[str]]] = {
    step: (rule, frozenset(names.split()))
    for step, (rule, names) in (pixel_rules_cpr.RULES | pixel_rules_devices.RULES).items()
}
"""By step: the rule, and the errors that it claims to recover (the *named set*)."""
