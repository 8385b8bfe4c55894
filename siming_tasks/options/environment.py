"""Options in the environment: reading them, and noticing a variable that is misspelt."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from siming_tasks.options.option import Option

__all__ = ["values_in"]

PREFIX = "SIMING_"
_log = logging.getLogger(__name__)


def values_in(env: Mapping[str, str] | None, options: Iterable[Option]) -> dict[str, Any]:
    """By field, the value of every variable that is set and not blank.

    Args:
        env: variables; None: those of this process.
        options: what can be set. A variable that begins with ``SIMING_`` and sets none of them is warned of, once.

    Raises:
        OptionsError: a variable has an unusable value.
    """
    env = os.environ if env is None else env
    known = {option.variable: option for option in options}
    for name in sorted(env):
        if name.startswith(PREFIX) and name not in known:
            _warn(name, tuple(known))
    texts = {name: env.get(name, "").strip() for name in known}
    return {option.name: option.read(texts[name]) for name, option in known.items() if texts[name]}


@lru_cache(maxsize=64)
def _warn(name: str, known: tuple[str, ...]) -> None:
    import difflib  # needed for a slip of the pen only

    ends = [other.removeprefix(PREFIX) for other in known]  # the common beginning would make all of them look alike
    near = difflib.get_close_matches(name.removeprefix(PREFIX), ends, n=1)
    way_out = f"did you mean {PREFIX}{near[0]}?" if near else f"the variables are {', '.join(known)}."
    _log.warning("%s is no variable of siming-tasks and changes nothing; %s", name, way_out)
