"""Size of requests against the limits of the service that a model object asks, checked before the first request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import StoredImage
from siming_tasks.models.recipes import Service, Weight, service_at, service_of_backend
from siming_tasks.plugin.hooks.dataset_cache import Doc
from siming_tasks.plugin.hooks.messages import shown_view
from siming_tasks.plugin.hooks.run_context import RUN

__all__ = ["check_request_sizes", "service_of_model"]

SAMPLE_SIZE = 3
"""Requests of each task that are encoded and weighed."""


def check_request_sizes(lm: Any, tasks: Iterable[Any]) -> None:
    """Encode a few requests of each task and compare them with the limits of the service that the model object asks.

    Nothing is checked for a service that is not known. A heavier request than those looked at can still be refused by
    the service, and counts as failed.

    Raises:
        OptionsError: a request is too large; names the task, what is too much, and how many frames fit.
        MediaError: a video cannot be shown.
    """
    service = service_of_model(lm)
    if service is None or RUN.options.limits == "off":
        return
    for task in tasks:
        table = task.lmms_eval_specific_kwargs
        sample = _spread_sample(task.test_docs())
        weights = [weight for doc in sample if (weight := _weight(doc, table, jpeg=service.name == "anthropic"))]
        heaviest = max(weights, key=lambda weight: (weight.total, weight.images), default=None)
        if heaviest and (reasons := service.refuses(heaviest)):
            name = task.config.task
            variable = "SIMING_CLIP_FRAMES" if "_clip_" in name else "SIMING_FRAMES"
            raise OptionsError(
                f"a request of {name} has {'; '.join(reasons)} by {service.title} (as of {service.checked}). "
                f"{variable}={service.fitting(heaviest)} fits; so may a smaller SIMING_FRAME_SIZE or "
                "SIMING_IMAGE_FORMAT=jpeg75. If the limits have grown: SIMING_LIMITS=off."
            )


def service_of_model(lm: Any) -> Service | None:
    """Service that a model object sends its requests to, if its limits are known."""
    url = getattr(getattr(lm, "client", None), "base_url", None)
    if host := urlsplit(str(url)).hostname if url else None:
        return service_at(host)
    if getattr(lm, "vertexai", False):
        return None
    return service_of_backend(type(lm).__module__.rpartition(".")[2])


def _spread_sample(docs: Sequence[Doc]) -> list[Doc]:
    """A few documents of different parts of a data set."""
    if not docs:
        return []
    places = {round(number * (len(docs) - 1) / (SAMPLE_SIZE - 1)) for number in range(SAMPLE_SIZE)}
    return [docs[place] for place in sorted(places)]


def _weight(doc: Doc, table: Mapping[str, Any] | None, *, jpeg: bool) -> Weight | None:
    """Weight of a document's images as the model gets them; None where it gets no images.

    Args:
        doc: the document.
        table: settings that its task file has for the model.
        jpeg: the model's class sends JPEG whatever the run's format.
    """
    view = shown_view(doc, table) if RUN.media_mode(table).images else None
    if view is None:
        return None
    images, _ = view.to_send(RUN.policy.encoding, decode=False)
    sizes = [len(image.as_jpeg() if jpeg else image.encoded()[1]) for image in images if isinstance(image, StoredImage)]
    side = max(max(image.size) for image in images)
    return Weight(len(images), sum(sizes), max(sizes, default=0), side)
