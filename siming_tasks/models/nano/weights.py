"""The trained weights: one safetensors file of this package, known by its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write

if TYPE_CHECKING:
    from torch import nn

__all__ = ["DIGEST_FILE", "WEIGHTS", "Facts", "load", "save"]

WEIGHTS = Path(__file__).with_name("siming_nano.safetensors")
DIGEST_FILE = Path(__file__).with_name("siming_nano.sha256")
_FORMAT = "1"


@dataclass(frozen=True)
class Facts:
    """Purpose of the weights: features, steps and threshold that they were trained for.

    Attributes:
        continuous: names of the continuous features that the encoder reads, in order.
        binary: names of the binary ones, which follow.
        steps: ids of the steps that the judge knows, in order.
        maxima: highest points of each.
        threshold: probability above which a step is called incorrect.
    """

    continuous: tuple[str, ...]
    binary: tuple[str, ...]
    steps: tuple[str, ...]
    maxima: tuple[float, ...]
    threshold: float


def save(encoder: nn.Module, judge: nn.Module, facts: Facts, path: Path = WEIGHTS) -> str:
    """Write both networks at half precision, and beside them the digest, which is returned."""
    from safetensors.torch import save as packed

    tensors = {
        f"{part}.{name}": value.detach().half().contiguous() if value.is_floating_point() else value
        for part, net in (("encoder", encoder), ("judge", judge))
        for name, value in net.state_dict().items()
    }
    content = packed(tensors, {"format": _FORMAT, "facts": json.dumps(asdict(facts))})
    digest = hashlib.sha256(content).hexdigest()
    with atomic_write(path, "wb") as stream:
        stream.write(content)
    with atomic_write(path.with_suffix(".sha256")) as stream:
        stream.write(f"{digest}\n")
    return digest


def load(path: Path = WEIGHTS, digest: str | None = None) -> tuple[Mapping[str, Any], Facts, str]:
    """The tensors by name, what they are for, and their digest.

    Args:
        path: the weights.
        digest: what their SHA-256 must be; default: what the file beside them says.

    Raises:
        DataError: the file is missing, or is not the one that belongs here.
    """
    from safetensors import safe_open
    from safetensors.torch import load as unpacked

    again = "Install siming-tasks again, or train them (utils/train_nano.py)."
    try:
        content = path.read_bytes()
        expected = digest or path.with_suffix(".sha256").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DataError(f"{error.filename}: the weights of siming_nano cannot be read. {again}") from None
    actual = hashlib.sha256(content).hexdigest()
    if actual != expected:
        raise DataError(f"{path}: the weights have the digest {actual[:12]}, not {expected[:12]}. {again}")
    with safe_open(str(path), "pt") as stored:
        facts = json.loads(stored.metadata()["facts"])
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
    }
    return unpacked(content), Facts(**settings), actual
