"""Requests of lmms-eval as the dispatcher gets them, without a run."""

from typing import Any, cast

from siming_tasks.plugin.reply import AskedRequest
from siming_tasks.plugin.response_cache.key import KeyedRequest


def keyed(instance: Any, key: str = "", schema: Any = None) -> KeyedRequest:
    return KeyedRequest(instance, {}, AskedRequest(cast("Any", None), key, []), schema=schema)
