"""One progress bar over all calls of a model's class, which would show one of its own for each."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["one_bar"]


@contextmanager
def one_bar(model: Any, total: int) -> Iterator[Any]:
    """One progress bar over all calls; the class's own, one a call, are left out meanwhile."""
    from tqdm import std

    bars: Any = std.tqdm
    shown = bars(total=total, disable=getattr(model, "rank", 0) != 0, desc="Model Responding")
    made = bars.__init__
    bars.__init__ = _unseen(made)
    try:
        yield shown
    finally:
        bars.__init__ = made
        shown.close()


class _Nowhere(io.TextIOBase):
    """A stream that forgets."""

    def write(self, text: str) -> int:
        return len(text)


def _unseen(made: Callable[..., None]) -> Callable[..., None]:
    """A ``tqdm.__init__`` whose bars are not shown, and go on counting: vLLM divides by the seconds of its own."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **{**kwargs, "file": _Nowhere()})

    return __init__
