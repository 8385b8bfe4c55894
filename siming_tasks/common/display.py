"""Objects at a prompt and in a notebook: a repr of one line, and a card as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import Any

from siming_tasks.common.sanitize import one_line

LONGEST = 400
"""Characters of a repr."""

_STYLE = (
    "border:1px solid #8886;border-radius:6px;padding:.6em .9em;max-width:60em;font-family:sans-serif;line-height:1.4"
)


class ShortRepr:
    """Base of dataclasses (``repr=False``) with large fields: their repr is one line of at most :data:`LONGEST`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The class and the fields that differ from their defaults; long texts are cut, containers counted."""
        shown = {field.name: getattr(self, field.name) for field in fields(self) if field.repr  # type: ignore[arg-type]
                 and not _same(getattr(self, field.name), field.default)}  # fmt: skip
        return short_repr(type(self).__name__, shown)


def short_repr(name: str, values: Mapping[str, Any]) -> str:
    """``Name(field=value, ...)`` in at most :data:`LONGEST` characters.

    Example:
        >>> short_repr("Run", {"name": "qwen", "records": {"full_score": list(range(200))}, "problems": ()})
        "Run(name='qwen', records=<1>, problems=())"
    """
    text = f"{name}({', '.join(f'{field}={_brief(value)}' for field, value in values.items())})"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 5]} ...)"


def _same(value: Any, default: Any) -> bool:
    """True if a value is a field's default; arrays are none."""
    return value is default or (not hasattr(value, "shape") and bool(value == default))


def _brief(value: Any) -> str:
    """A value in a few characters: texts are cut, arrays give their shape, containers their number."""
    if isinstance(value, str | Path):
        text = str(value)
        return repr(text if len(text) <= 60 else f"{text[:57]}...")
    if hasattr(value, "shape"):
        return f"<{' x '.join(map(str, value.shape)) or value}>"
    if isinstance(value, Mapping | Sequence | Set):
        few = len(value) <= 4 and not isinstance(value, Mapping) and all(isinstance(each, str | int) for each in value)
        return text if few and len(text := repr(value)) <= 60 else f"<{len(value)}>"
    if isinstance(value, bool | int | float | None):
        return repr(value)
    name = getattr(value, "name", None)
    return f"<{type(value).__name__} {_brief(name)}>" if isinstance(name, str) else f"<{type(value).__name__}>"


@dataclass(frozen=True)
class Card:
    """A heading, a sentence and a small table; texts may come from strangers.

    Attributes:
        note: printed beneath the table.
    """

    title: str
    sentence: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    note: str = ""

    def html(self) -> str:
        """The card for a notebook; every text is escaped, and nothing is loaded."""

        def row(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(one_line(str(cell)))}</{tag}>" for cell in cells) + "</tr>"

        table = row(self.head, "th") + "".join(row(cells, "td") for cells in self.rows)
        parts = [f"<strong>{escape(one_line(self.title))}</strong>"]
        parts += [f"<p>{escape(one_line(self.sentence))}</p>"] if self.sentence else []
        parts += [f"<table>{table}</table>"] if self.head or self.rows else []
        parts += [f"<p><small>{escape(one_line(self.note))}</small></p>"] if self.note else []
        return f'<div style="{_STYLE}">{"".join(parts)}</div>'


class Shown(ShortRepr):
    """Base of objects with a card, which a notebook shows."""

    __slots__ = ()

    @property
    def card(self) -> Card:
        """Heading, sentence and table to be shown."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """The card, for a notebook."""
        return self.card.html()
