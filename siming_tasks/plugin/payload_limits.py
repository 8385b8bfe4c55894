"""A run that cannot fit is refused before its first request: by then the model object says which service it asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from siming_tasks.common.errors import OptionsError
from siming_tasks.models.recipes import Service, service_at, service_of_backend
from siming_tasks.plugin.hooks.payload import spread, weight_of
from siming_tasks.plugin.hooks.run_context import RUN

__all__ = ["refuse_what_does_not_fit", "service_asked_by"]


def refuse_what_does_not_fit(lm: Any, tasks: Iterable[Any]) -> None:
    """Nothing, if a few requests of each task, really encoded, fit the service that the model object asks.

    Of a service that is not known, nothing is said; a heavier request than those looked at can still be refused by the
    service, and counts as failed.

    Raises:
        OptionsError: names the task, what is too much, and how many frames fit.
        MediaError: a video cannot be shown.
    """
    service = service_asked_by(lm)
    if service is None or RUN.options.limits == "off":
        return
    for task in tasks:
        table = task.lmms_eval_specific_kwargs
        found = [weight_of(doc, table, jpeg=service.name == "anthropic") for doc in spread(task.test_docs())]
        weights = [weight for weight in found if weight]
        heavy = max(weights, key=lambda weight: (weight.total, weight.images), default=None)
        if heavy and (reasons := service.refuses(heavy)):
            name = task.config.task
            variable = "SIMING_CLIP_FRAMES" if "_clip_" in name else "SIMING_FRAMES"
            raise OptionsError(
                f"a request of {name} has {'; '.join(reasons)} by {service.title} (as of {service.checked}). "
                f"{variable}={service.fitting(heavy)} fits; so may a smaller SIMING_FRAME_SIZE or "
                "SIMING_IMAGE_FORMAT=jpeg75. If the limits have grown: SIMING_LIMITS=off."
            )


def service_asked_by(lm: Any) -> Service | None:
    """The service that a model object sends its requests to, if its limits are known."""
    url = getattr(getattr(lm, "client", None), "base_url", None)
    if host := urlsplit(str(url)).hostname if url else None:
        return service_at(host)
    if getattr(lm, "vertexai", False):
        return None
    return service_of_backend(type(lm).__module__.rpartition(".")[2])
