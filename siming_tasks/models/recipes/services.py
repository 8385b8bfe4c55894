"""Limits of services on one request, and the number of images that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_yaml

__all__ = ["BASE64", "Service", "Weight", "heaviest", "service_at", "service_of_backend", "services"]

BASE64 = 4 / 3
"""Characters a byte."""

OVERHEAD = 100_000
"""Bytes of a request that are no image: the prompt, the times, names of fields."""


@dataclass(frozen=True)
class Service:
    """One service's limits on a request.

    Attributes:
        name: of the entry.
        title: of the service.
        checked: when the limits were looked up.
        source: where, in words.
        request_mb: megabytes (10^6 bytes) of the whole request.
        images: number of images.
        image_mb: megabytes of one image; None: not stated.
        side_above_20_images: pixels of a side if there are more than 20 images; None: no such rule.
        reply_tokens: tokens that lmms-eval lets it reply at most; None: what the task asks.
        hosts: ends of the host names that it answers at.
        backends: of lmms-eval that always ask it.
        note: what else to know.
    """

    name: str
    title: str
    checked: date
    source: str
    request_mb: float
    images: int
    image_mb: float | None = None
    side_above_20_images: int | None = None
    reply_tokens: int | None = None
    hosts: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    note: str = ""

    def refuses(self, weight: Weight) -> list[str]:
        """Reasons to refuse a request, with the number of images that would fit; empty if it is accepted."""
        reasons = []
        if weight.images > self.images:
            reasons.append(f"{weight.images} images, and at most {self.images} are taken")
        if weight.request > self.request_mb * 1e6:
            fits = self.fitting(weight)
            reasons.append(
                f"{weight.request / 1e6:.1f} MB, and at most {self.request_mb:g} MB are taken: {fits} such images fit"
            )
        if self.image_mb and weight.largest * BASE64 > self.image_mb * 1e6:
            reasons.append(
                f"an image of {weight.largest * BASE64 / 1e6:.1f} MB, and at most {self.image_mb:g} are taken"
            )
        side = self.side_above_20_images
        if side and weight.images > 20 and weight.side > side:
            reasons.append(f"more than 20 images with a side above {side} pixels")
        return reasons

    def fitting(self, weight: Weight) -> int:
        """Number of images of this kind that fit into a request."""
        mean = weight.total / max(1, weight.images)
        return min(self.images, int((self.request_mb * 1e6 - OVERHEAD) / (mean * BASE64))) if mean else self.images


@dataclass(frozen=True)
class Weight:
    """Contents of one request: images, bytes of all and of the largest (before base64), the longest side in pixels."""

    images: int
    total: int
    largest: int
    side: int

    @property
    def request(self) -> float:
        """Bytes of the request."""
        return self.total * BASE64 + OVERHEAD


def heaviest(weights: Sequence[Weight]) -> Weight:
    """The heaviest of some requests."""
    return max(weights, key=lambda weight: (weight.total, weight.images))


@lru_cache(maxsize=1)
def services() -> dict[str, Service]:
    """Every service whose limits are known, by name."""
    path = Path(str(resources.files("siming_tasks.models.recipes") / "services.yaml"))
    rows: dict[str, dict[str, Any]] = read_yaml(path)
    by_name = {}
    for name, row in rows.items():
        row = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        try:
            by_name[name] = Service(name=name, **row)
        except TypeError as error:
            raise DataError(f"{path}: {name}: {error}.") from None
    return by_name


def service_at(host: str) -> Service | None:
    """The service that answers at a host name; None for one's own servers and others of which nothing is known."""
    ends = {end: service for service in services().values() for end in service.hosts}
    return next((ends[end] for end in ends if host == end or host.endswith(f".{end}")), None)


def service_of_backend(name: str) -> Service | None:
    """The service that a backend of lmms-eval always asks; None where its arguments say."""
    return next((service for service in services().values() if name in service.backends), None)
