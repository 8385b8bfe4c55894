"""Rater at a station: the name in the event log, and the order of the items that it decides."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable

import numpy as np

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.sanitize import visible
from siming_tasks.common.schema import CONSENSUS

__all__ = ["rater_name", "shuffled"]

MAX_NAME = 60
"""Characters of a rater's name."""


def rater_name(text: str) -> str:
    """A rater's name as the event log has it.

    Raises:
        OptionsError: it is empty, too long, holds characters that cannot be seen, or is the consensus'.
    """
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name or len(name) > MAX_NAME or visible(name) != name:
        raise OptionsError(f"--rater {text!r:.80} must be 1 to {MAX_NAME} visible characters.")
    if name.casefold() == CONSENSUS:
        raise OptionsError("--rater consensus is kept for --adjudicate. Give the physician's own name.")
    return name


def shuffled(keys: Iterable[str], rater: str, work: str) -> list[str]:
    """The items in an order that rater, work and data decide, the same whenever it is asked for."""
    ordered = sorted(keys)
    seed = hashlib.sha256("\0".join([rater, work, *ordered]).encode()).digest()
    return [ordered[place] for place in np.random.default_rng(list(seed)).permutation(len(ordered))]
