"""Options in the environment: reading them, and noticing a variable that is misspelt."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from siming_tasks.common.errors import OptionsError
from siming_tasks.options.option import Option
from siming_tasks.options.values import Refused, Whole

__all__ = ["host_variables", "values_in"]

PREFIX = "SIMING_"
FORMAT = "SIMING_IMAGE_FORMAT"
HOST = ("LMMS_IMAGE_ENCODE_FORMAT", "LMMS_IMAGE_JPEG_QUALITY")
"""Variables of lmms-eval: format and quality of the images that its chat backends send."""
_READERS = "LMMS_VIDEO_DECODE"

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
    if FORMAT in known and not texts[FORMAT] and (text := _of_the_host(env)):
        texts[FORMAT] = text
    return {option.name: option.read(texts[name]) for name, option in known.items() if texts[name]}


def _of_the_host(env: Mapping[str, str]) -> str:
    """What lmms-eval's own variables say of the encoding of images; empty if neither is set.

    Raises:
        OptionsError: lmms-eval would fail at, or make something else of, their value.
    """
    form, quality = (env.get(name, "").strip() for name in HOST)
    try:
        number = str(Whole(1, 100).read(quality)) if quality else ""
    except Refused as refused:
        raise OptionsError(f"{HOST[1]}={quality!r} {refused}") from None
    if form.upper() not in ("", "PNG", "JPEG", "JPG", "WEBP"):
        raise OptionsError(f"{HOST[0]}={form!r} is not one of PNG, JPEG, WEBP.")
    if form.upper() == "PNG":
        return "png"
    return f"{form or 'jpeg'}{number}" if form or number else ""


@lru_cache(maxsize=64)
def _warn(name: str, known: tuple[str, ...]) -> None:
    import difflib  # needed for a slip of the pen only

    ends = [other.removeprefix(PREFIX) for other in known]  # the common beginning would make all of them look alike
    near = difflib.get_close_matches(name.removeprefix(PREFIX), ends, n=1)
    way_out = f"did you mean {PREFIX}{near[0]}?" if near else f"the variables are {', '.join(known)}."
    _log.warning("%s is no variable of siming-tasks and changes nothing; %s", name, way_out)


def host_variables() -> dict[str, str]:
    """The variables of lmms-eval that change what its models read of a video, where they are set."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(_READERS)}
