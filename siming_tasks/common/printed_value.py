"""Printed values: their digits, numbers with their noun, and the mark of values that are not comparable.

Whatever prints an estimate (tables, pages, figures, TeX, a terminal) writes its number by these functions.
"""

from __future__ import annotations

NOT_COMPARABLE = "‡"
"""Mark after a value that rests on too few answers to be compared with complete ones."""
_MOST_DIGITS = 6


def fixed(value: float, digits: int = 3) -> str:
    """A number with this many digits after the point: no negative zero, and never 1 for a value below 1.

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


def p_text(value: float) -> str:
    """A p-value with three digits, or ``< 0.001``.

    Example:
        >>> p_text(0.0123), p_text(0.0004), p_text(1.0)
        ('0.012', '< 0.001', '1.000')
    """
    return fixed(value) if value >= 0.001 else "< 0.001"


def p_sentence(value: float) -> str:
    """A p-value with its letter.

    Example:
        >>> p_sentence(0.0123), p_sentence(0.0004)
        ('p = 0.012', 'p < 0.001')
    """
    return f"p = {p_text(value)}".replace("= <", "<")


def counted(number: float, noun: str) -> str:
    """A number with its noun, in the singular for 1 and in the plural for all others.

    Example:
        >>> counted(1, "exam"), counted(1200, "SYNTHETIC exam"), counted(0, "reply"), counted(2.5, "point")
        ('1 exam', '1,200 SYNTHETIC exams', '0 replies', '2.5 points')
    """
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:{'g' if isinstance(number, float) else ','}} {noun if number == 1 else plural}"


def share_text(value: float) -> str:
    """A share as a percentage with one digit; ``100 %`` and ``0 %`` mean all and none.

    Example:
        >>> share_text(0.12345), share_text(1.0), share_text(0.9996), share_text(0.00001)
        ('12.3 %', '100 %', '99.9 %', '0.1 %')
    """
    if value in (0, 1):
        return f"{100 * value:.0f} %"
    return f"{min(max(round(100 * value, 1), 0.1), 99.9):.1f} %" if 0 < value < 1 else f"{100 * value:.1f} %"
