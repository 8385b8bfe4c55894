"""Cells as people write them: text, names, numbers and times in many spellings, and the unit that a heading states."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from siming_tasks.common.errors import Problem
from siming_tasks.common.sanitize import cell_text

_CLOCK = re.compile(r"^(?:(\d{1,2}):)?(\d{1,3}):([0-5]?\d(?:[.,]\d+)?)$")
TIME_CODE = re.compile(r"^(\d{1,2}):([0-5]?\d):([0-5]?\d):(\d{1,3})$")
"""``hh:mm:ss:ff``, which needs a rate."""
_DECIMAL_COMMA = re.compile(r"^-?\d{1,5},\d{1,3}$")
THOUSANDS = re.compile(r"^-?[1-9]\d{0,2}[.,]\d{3}$")
"""``1,234``, which is a thousand to some and one to others."""

Unit = Literal["s", "ms", "us", "min", "h", "frames", "clock", "?"]
SECONDS: dict[Unit, Fraction] = {
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
    "us": Fraction(1, 1_000_000),
    "min": Fraction(60),
    "h": Fraction(3600),
}
"""Seconds of one."""
_UNIT_WORDS: dict[Unit, str] = {
    "s": "s sec secs second seconds sek sekunde sekunden seconde secondes segundo segundos 秒 秒数",
    "ms": "ms msec msecs millis millisecond milliseconds millisekunde millisekunden millisecondes 毫秒",
    "us": "us µs μs usec microsecond microseconds 微秒",
    "min": "min mins minute minutes minuten minuto minutos 分 分钟",
    "h": "h hr hrs hour hours std stunde stunden heure heures hora horas 小时",
    "frames": "f fr frame frames frameno bild bilder image images 帧 帧号 帧数",
}
_UNITS: dict[str, Unit] = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}
_FILLING = frozenset(("in", "time", "at", "of", "the", "zeit", "nr", "no", "number", "index", "timestamp", "时间"))
"""Words that a heading of times may have beside `start` and the unit."""
_STRANGE = re.compile(r"[^\w.,:;#()\[\]{}【】<>-]|(?<![^\W_])\d")
"""Signs, and numbers that stand alone, which make a unit another one: `1/100 s`, `s/100`, `%`."""
_BRACKETED = re.compile(r"[(\[{【<]([^()\[\]{}【】<>]*)[)\]}】>]")
_PATTERN = re.compile(r"(?<![a-z])(h{1,2}:)?(m{1,2}:)(s{1,2})([.,][a-z0-9]+)?(?![a-z:])")
_ANY_PATTERN = re.compile(r"(?<![a-z])[hms]{1,2}(?::[hmsf]{1,3})+(?![a-z])")


def trimmed(value: Any) -> Any:
    """A cell without blanks around it and without the apostrophe of our own tables; None if nothing is left."""
    if isinstance(value, str):
        value = cell_text(value.replace("\ufeff", "").strip())
    return None if value == "" else value


def plain(value: Any) -> Any:
    """A cell as text or number: full-width forms folded, blanks trimmed; None if nothing is left.

    The sign of a footnote stays one: ``1¹`` is no 11.
    """
    return trimmed(spelled(value)) if isinstance(value, str) else value


def text_of(value: Any) -> str | None:
    """A cell as text, spelled as it is; Excel keeps numbers such as 7 as 7.0.

    Example:
        >>> text_of(7.0), text_of("7.0"), text_of(None)
        ('7', '7.0', None)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def folded(name: Any) -> str:
    """Text without the differences that people overlook in headings and names.

    Example:
        >>> folded("Rater A"), folded("ｒａｔｅｒ-a")
        ('rater_a', 'rater_a')
    """
    return re.sub(r"[\s_-]+", "_", str(plain(name)).casefold())


def spelled(name: str) -> str:
    """A file's name in one normal form: composed letters, half-width forms; a superscript stays what it is.

    Example:
        >>> spelled("考试（１）"), spelled("Fall²")
        ('考试(1)', 'Fall²')
    """
    wide = ("<wide>", "<narrow>")
    letters = (unicodedata.normalize("NFKC", c) if unicodedata.decomposition(c).startswith(wide) else c for c in name)
    return unicodedata.normalize("NFC", "".join(letters))


def number(cell: Any) -> float | None:
    """The finite number in a cell, None if it holds none.

    Example:
        >>> number("2,5"), number(3), number("n/a"), number("nan"), number("1E1")
        (2.5, 3.0, None, None, None)
    """
    if isinstance(cell, bool) or not isinstance(cell, int | float | str):
        return None
    text = str(cell).strip()
    try:
        value = float(text.replace(",", ".") if _DECIMAL_COMMA.match(text) else text)
    except ValueError:
        return None
    written_out = not isinstance(cell, str) or not set(text) & set("_eE")  # 1E1 is no 10 to whoever wrote it
    return value if abs(value) < 1e9 and written_out else None  # refuses nan and inf as well


def seconds_of(cell: Any, rate: Fraction | None = None, unit: Unit = "s") -> float | None:
    """Seconds, from a number, from ``[h:]m:s``, or from ``hh:mm:ss:ff`` at a stated rate; None if it is none of these.

    A time code counts whole frames (SMPTE 12M, non-drop): at 29.97 per second, 00:00:01:00 is frame 30. A number is
    in the ``unit``; a frame's number is divided by the rate; with ``clock`` or ``?``, a number alone is no time.

    Example:
        >>> seconds_of("83.5"), seconds_of("1:23,5"), seconds_of("1:02:03"), seconds_of("00:00:04:12", Fraction(25))
        (83.5, 83.5, 3723.0, 4.48)
        >>> seconds_of("250", unit="ms"), seconds_of("50", Fraction(25), "frames"), seconds_of("1.30", unit="clock")
        (0.25, 2.0, None)
    """
    if (value := number(cell)) is not None:
        if unit == "frames":
            return float(Fraction(value) / rate) if rate and value.is_integer() else None
        return round(float(Fraction(value) * SECONDS[unit]), 9) if unit in SECONDS else None
    if unit in ("ms", "us", "frames", "?"):
        return None
    if clock := _CLOCK.match(str(cell)):
        hours, minutes = clock[1], int(clock[2])
        if (hours and minutes > 59) or (unit == "h" and not hours):
            return None
        return 3600 * int(hours or 0) + 60 * minutes + float(clock[3].replace(",", "."))
    if rate and (code := TIME_CODE.match(str(cell))):
        hour, minute, second, frame = map(int, code.groups())
        nominal = math.ceil(rate)
        if frame < nominal:
            return float((nominal * (3600 * hour + 60 * minute + second) + frame) / rate)
    return None


def unit_of(heading: str) -> tuple[str, Unit | None]:
    """Split a heading of times into its words without the unit, and the unit: None if none is stated, ``?`` if unclear.

    A unit is a known word alone: a number, a sign or another word in brackets makes it unclear.

    Example:
        >>> unit_of("Start [ms]"), unit_of("end_frame"), unit_of("start (hh:mm)"), unit_of("start")
        (('start', 'ms'), ('end', 'frames'), ('start', '?'), ('start', None))
        >>> unit_of("start (1/100 s)"), unit_of("end (%)")
        (('start', '?'), ('end', '?'))
    """
    name = folded(heading).replace("_/_", "_")  # the two lines of a heading
    clocks: tuple[tuple[re.Pattern[str], Unit], ...] = ((_PATTERN, "clock"), (_ANY_PATTERN, "?"))
    for pattern, unit in clocks:
        if pattern.search(name):
            name = pattern.sub(" ", name)
            return "_".join(_words(name)), "?" if _STRANGE.search(name.replace(" ", "_")) else unit
    words = _words(name)
    stated = [word for part in _BRACKETED.findall(name) for word in _words(part)]
    if _STRANGE.search(name) or any(word not in _UNITS for word in stated):
        return "_".join(word for word in words if word not in _UNITS), "?"
    units = list(dict.fromkeys(_UNITS[word] for word in words if word in _UNITS))
    if "frames" in units:  # `frame no`, `frame (s)` beside one another are frames of nothing
        units = ["frames"] if units == ["frames"] else ["?"]
    rest = "_".join(word for word in words if word not in _UNITS)
    return rest, units[0] if len(units) == 1 else "?" if units else None


def _words(name: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_][^\W_]*", name) if word not in _FILLING]


@dataclass(frozen=True)
class Line:
    """One line that is not empty: its number and its cells (None: empty).

    ``merged`` cells repeat a merged cell's value; ``unseen`` says of cells that a reader of the sheet sees otherwise,
    by column, how, and where they stand.
    """

    number: int
    cells: list[Any]
    merged: frozenset[int] = frozenset()
    unseen: dict[int, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Grid:
    """The lines of a worksheet, or of a CSV file (no title); ``noted`` are the cells that have a comment."""

    title: str | None
    lines: list[Line]
    problems: tuple[Problem, ...] = ()
    noted: tuple[str, ...] = ()
