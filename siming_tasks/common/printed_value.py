"""A value in print: its digits, and the marks that say what it must not be taken for.

Whatever prints an estimate (tables, pages, figures, TeX, a terminal) writes its number and its marks by these
functions: what forbids a number travels with it. Formats of other programs carry the same words as fields.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

State = Literal["no data", "undefined", "not comparable", "value"]
UNDEFINED, NOT_COMPARABLE = "*", "‡"
"""Marks behind a number: 0/0, printed as zero; and a value that rests on too little to stand beside complete ones."""
_MOST_DIGITS = 6


def fixed(value: float, digits: int = 3) -> str:
    """A number with so many digits after the point: no negative zero, and no 1 for what is not 1.

    A value that would round to 1 or -1 keeps more digits (up to six), so that ``1.000`` is perfect agreement.

    Example:
        >>> fixed(0.12345), fixed(-0.0001), fixed(0.9996), fixed(1.0), fixed(-0.99999)
        ('0.123', '0.000', '0.9996', '1.000', '-0.99999')
    """
    text = f"{value:.{digits}f}"
    while digits and abs(value) < 1 == abs(float(text)) and digits < _MOST_DIGITS:
        digits += 1
        text = f"{value:.{digits}f}"
    return text if float(text) else text.removeprefix("-")


def share_text(value: float) -> str:
    """A share as a percentage with one digit; ``100 %`` and ``0 %`` mean all and none.

    Example:
        >>> share_text(0.12345), share_text(1.0), share_text(0.9996), share_text(0.00001)
        ('12.3 %', '100 %', '99.9 %', '0.1 %')
    """
    if value in (0, 1):
        return f"{100 * value:.0f} %"
    return f"{min(max(round(100 * value, 1), 0.1), 99.9):.1f} %" if 0 < value < 1 else f"{100 * value:.1f} %"


def marks(undefined: bool, flags: Collection[str]) -> str:
    """The marks of a value, given whether its formula is 0/0 and the flags of its estimate."""
    return UNDEFINED * bool(undefined) + NOT_COMPARABLE * ("not-comparable" in flags)


def ranked(answered: Mapping[str, Any], imputed: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The estimate that every form prints, both in their JSON form: the value by which rows are ranked.

    Missing answers are imputed in it; it is marked for what the answers rest on, and ``answered`` is the value of what
    was answered where that is another one. Where nothing was answered, or nothing is imputed, it is ``answered``.

    Example:
        >>> some = {"value": 0.74, "undefined": False, "coverage": 0.7, "flags": ["not-comparable"]}
        >>> all_of_it = {"value": 0.67, "undefined": False, "coverage": 1.0, "flags": []}
        >>> shown = ranked(some, all_of_it)
        >>> shown["value"], shown["answered"], shown["coverage"], shown["flags"]
        (0.67, 0.74, 0.7, ['not-comparable'])
    """
    if imputed is None or answered["value"] is None:
        return answered
    carried = [flag for flag in answered["flags"] if flag == "not-comparable" and flag not in imputed["flags"]]
    shown = {**imputed, "coverage": answered["coverage"], "flags": [*imputed["flags"], *carried]}
    same = all(answered[key] == imputed[key] for key in ("value", "undefined"))
    return shown if same else {**shown, "answered": answered["value"]}


def state_of(estimate: Mapping[str, Any]) -> State:
    """The state of an estimate in its JSON form, in words; the first of them that holds.

    Example:
        >>> state_of({"value": None}), state_of({"value": 0.4, "undefined": False, "flags": ["not-comparable"]})
        ('no data', 'not comparable')
    """
    if estimate["value"] is None:
        return "no data"
    if estimate["undefined"]:
        return "undefined"
    return "not comparable" if "not-comparable" in estimate["flags"] else "value"


def resampled(options: Iterable[Mapping[str, Any]]) -> str:
    """Units that intervals are over, in words, from the options of evaluations: ``24 students``, ``videos``.

    Example:
        >>> resampled([{"unit": "student", "n_clusters": 24}]), resampled([{"unit": "video"}, {"unit": "site"}])
        ('24 students', 'videos and sites')
    """
    found: dict[str, set[Any]] = {}
    for each in options:
        found.setdefault(each.get("unit", "video"), set()).add(each.get("n_clusters"))
    counts = {unit: next(iter(numbers)) if len(numbers) == 1 else None for unit, numbers in found.items()}
    return " and ".join(f"{'' if n is None else f'{n:,} '}{unit}{'s' * (n != 1)}" for unit, n in counts.items())
