"""Time-out of the user, handed to the clients of services that lmms-eval 0.7.3 leaves with one of their own.

``timeout=`` is an argument of the class that its client never sees: OpenAI's waits 600 seconds, Google's for ever.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from siming_tasks.common.doc_pages import see
from siming_tasks.media import Backend
from siming_tasks.models.recipes.transport import transports

logger = logging.getLogger(__name__)


@contextmanager
def timeout_kept(model: Any, backend: Backend, arguments: Mapping[str, Any] | None) -> Iterator[None]:
    """While the block runs, the client of a model waits for a reply as long as the user says, and never for ever.

    Args:
        model: lmms-eval's model object.
        backend: row of its class.
        arguments: that it was made with; None: not known, hence only an endless client is changed.

    Raises:
        OptionsError: the time-out is no number, or not above 0.
    """
    row, given = transports().get(backend.name), arguments or {}
    client = getattr(model, "client", None)
    if row is None:
        yield
        return
    seconds, wanted = row.with_arguments(given).timeout, given.get("timeout") is not None
    if row.by == "none" and wanted:
        logger.warning(
            "siming-tasks: timeout=%s is ignored by %s (%s).", given["timeout"], backend.name, see("replies")
        )
    changed = None
    if row.by == "siming-tasks" and client is not None and seconds and (wanted or row.endless):
        changed = _waiting(client, seconds)
    if changed is None:
        yield
        return
    logger.warning(
        "siming-tasks: the client of %s waits %g s a try, which lmms-eval does not tell it; a request that is never "
        "answered fails after %d tries.", backend.name, seconds, row.with_arguments(given).most_tries,
    )  # fmt: skip
    model.client = changed
    try:
        yield
    finally:
        model.client = client


def _waiting(client: Any, seconds: float) -> Any:
    """Client that waits so many seconds a try; None if it is of no known kind."""
    if callable(with_options := getattr(client, "with_options", None)):  # OpenAI's
        return with_options(timeout=seconds)
    if callable(getattr(getattr(client, "models", None), "generate_content", None)):
        return _Attributes(client, models=_Attributes(client.models, generate_content=_google_call(client, seconds)))
    if callable(create := getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)):

        def create_in_time(**kwargs: Any) -> Any:  # LiteLLM's
            return create(**{"timeout": seconds, **kwargs})

        completions = _Attributes(client.chat.completions, create=create_in_time)
        return _Attributes(client, chat=_Attributes(client.chat, completions=completions))
    return None


def _google_call(client: Any, seconds: float) -> Any:
    def generate_in_time(*, config: Any = None, **kwargs: Any) -> Any:
        types = importlib.import_module("google.genai.types")  # the user's: the class does not work without it
        options = types.HttpOptions(timeout=max(1, round(seconds * 1000)))  # milliseconds
        config = types.GenerateContentConfig() if config is None else config
        config = config.model_copy(update={"http_options": options})
        return client.models.generate_content(config=config, **kwargs)

    return generate_in_time


class _Attributes:
    """Object with some other attributes."""

    def __init__(self, inner: Any, **attributes: Any) -> None:
        self._inner = inner
        vars(self).update(attributes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
