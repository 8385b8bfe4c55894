"""What is said of the replies that are kept: in the log, and in a file beside them."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.plugin.response_cache.store import Kept

__all__ = ["aged", "explain", "say"]


def aged(known: Mapping[str, Kept]) -> str:
    """When the oldest of them came."""
    if not known:
        return ""
    return f" (the oldest since {time.strftime('%Y-%m-%d %H:%M', time.localtime(min(k.at for k in known.values())))})"


def explain(folder: Path, made: dict[str, Any]) -> None:
    """What the replies of a folder depend on, for people who look."""
    path = folder / "model.json"
    try:
        if not path.exists():
            with atomic_write(path) as stream:
                stream.write(json.dumps(made, indent=1) + "\n")
    except OSError:
        pass  # the store will say that nothing can be written there


def say(text: str, *, loud: bool = False) -> None:
    """Into the host's log; ``loud`` as a warning."""
    from lmms_eval.tasks import eval_logger

    (eval_logger.warning if loud else eval_logger.info)(f"siming-tasks: {text}")
