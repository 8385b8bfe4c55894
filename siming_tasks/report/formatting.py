"""Numbers in words and digits: one function for each kind of value that pages, tables and charts print.

Text for terminals and files uses ASCII signs and ``-`` for no value; pages use a true minus sign and an en dash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import category, combining, east_asian_width

from siming_tasks.common.printed_value import fixed, marks, share_text
from siming_tasks.common.sanitize import visible

if TYPE_CHECKING:  # tables of words need no arrays
    from siming_tasks.metrics.estimate import Estimate
    from siming_tasks.metrics.intervals import Proportion

HEAD_COLUMNS = 14
"""Columns of a name that stands upright in the head of an exam's grid."""


def short_names(names: Sequence[str]) -> list[str]:
    """Names for narrow heads: without the organization, and the first words that tell them apart, in few columns.

    Only a path of plain signs, such as ``organization/model``, loses its first part: another slash divides nothing.

    Example:
        >>> short_names(["Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-32B-Instruct", "org/GLM-4.5V", "mine"])
        ['Qwen3-VL-8B', 'Qwen3-VL-32B', 'GLM-4.5V', 'mine']
    """
    alone = (re.sub(r"^(?:[\w.-]*/)+(?=[\w.-]+$)", "", visible(name).rstrip("/")) for name in names)
    words = [re.split(r"(?=[-\s])", name) for name in alone]

    def first(place: int, count: int) -> str:
        return "".join(words[place][:count])

    found = []
    for place in range(len(names)):
        lengths = range(2, len(words[place]) + 1)
        others = [other for other in range(len(names)) if other != place]
        unlike = (n for n in lengths if all(first(other, n) != first(place, n) for other in others))
        found.append(first(place, next(unlike, len(words[place]))))
    shown = [shortened(short, HEAD_COLUMNS) for short in found]
    clear = [short if shown.count(short) == 1 else found[place] for place, short in enumerate(shown)]
    return [short if found.count(found[place]) == 1 else names[place] for place, short in enumerate(clear)]


def columns(text: str) -> int:
    """Width of a text in columns of a terminal: a Chinese sign takes two, a sign that joins another none."""
    return sum(
        2 if east_asian_width(sign) in "WF" else not (combining(sign) or category(sign) == "Cf") for sign in text
    )


def shortened(name: str, most: int) -> str:
    """A name of at most so many columns, without its middle: models of one family differ at the end.

    Example:
        >>> shortened("organisation/model-72B-Instruct", 15)
        'organis…nstruct'
        >>> shortened("书生-万象三点五-视觉模型", 13)
        '书生-…觉模型'
    """
    if columns(name) <= most:
        return name
    first = next(k for k in range(len(name), -1, -1) if columns(name[:k]) <= (most - 1) // 2)
    last = next(k for k in range(len(name) + 1) if columns(name[k:]) <= most // 2)
    return f"{name[:first]}…{name[last:]}"


def named_people(text: str, people: str) -> str:
    """A text of ours with the noun for those who scored; ours say physicians.

    Example:
        >>> named_people("Physicians agree; with one physician", "raters")
        'Raters agree; with one rater'
    """
    if people == "physicians":
        return text
    return text.replace("physician", people[:-1]).replace("Physician", people[:-1].capitalize())


def plain_number(value: float | None, digits: int = 3) -> str:
    """A number without a negative zero; ``-`` for none."""
    return "-" if value is None else fixed(value, digits)


def plain_value(estimate: Estimate | None, digits: int = 3) -> str:
    """An estimate's value with its marks (:mod:`siming_tasks.common.printed_value`) and without its interval."""
    if estimate is None or estimate.value is None:
        return "-"
    return fixed(estimate.value, digits) + marks(estimate.undefined, estimate.flags)


def plain_difference(estimate: Estimate, digits: int = 3, *, interval: bool = True) -> str:
    """A difference with its sign and, if there is one, its interval."""
    if estimate.value is None:
        return "-"
    text = f"{estimate.value:+.{digits}f}" + marks(estimate.undefined, estimate.flags)
    if not interval or estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{estimate.low:+.{digits}f}, {estimate.high:+.{digits}f}]"


def plain_pvalue(p: float | None) -> str:
    """``.021``; ``<.001``; ``-`` for none."""
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def plain_percent(estimate: Estimate) -> str:
    """A share as a percentage with its interval."""
    if estimate.value is None:
        return "-"
    interval = "" if estimate.low is None or estimate.high is None else f" [{estimate.low:.1%}, {estimate.high:.1%}]"
    return f"{estimate.value:.2%}{interval}"


def plain_proportion(share: Proportion) -> str:
    """A share with its interval and what it was counted from."""
    if share.value is None:
        return "- (0)"
    interval = "" if share.low is None or share.high is None else f" [{share.low:.2f}, {share.high:.2f}]"
    return f"{share.value:.2f}{interval} ({share.count}/{share.n})"


def mean_and_range(values: Iterable[float | None]) -> tuple[str, str]:
    """The mean, and the smallest ``to`` the largest, of those values that are known; ``-`` for none."""
    known = [value for value in values if value is not None]
    if not known:
        return "-", "-"
    return f"{sum(known) / len(known):.3f}", f"{min(known):.3f} to {max(known):.3f}"


def page_number(value: float | None, digits: int = 3) -> str:
    """A number with a true minus sign and no negative zero; an en dash for None."""
    return "–" if value is None else plain_number(value, digits).replace("-", "−")


def page_signed(value: float | None, digits: int = 3) -> str:
    """A difference: :func:`page_number` with a plus sign where it is above 0."""
    text = page_number(value, digits)
    return f"+{text}" if value is not None and round(value, digits) > 0 else text


def page_percent(value: float | None) -> str:
    """A share as a percentage; 100 % is all and 0 % none."""
    return "–" if value is None else share_text(value).replace(".0 %", " %")


def page_points(value: float | None) -> str:
    """Points without needless decimals; an en dash for None."""
    if value is None or value != value:
        return "–"
    return page_number(value, next((digits for digits in (0, 1) if round(value, digits) == value), 2))


def page_pvalue(p: float | None) -> str:
    """A p-value: ``.021``, ``< .001``; an en dash for None."""
    return "–" if p is None else plain_pvalue(p).replace("<", "< ")


def page_interval(estimate: Mapping[str, Any], *, signed: bool = False) -> str:
    """The interval of an estimate in its JSON form, with a leading space; empty without one."""
    low, high = estimate["low"], estimate["high"]
    write = page_signed if signed else page_number
    return "" if low is None or high is None else f" [{write(low)}, {write(high)}]"


def page_estimate(estimate: Mapping[str, Any]) -> str:
    """An estimate in its JSON form with its marks and its interval."""
    return f"{page_number(estimate['value'])}{page_marks(estimate)}{page_interval(estimate)}"


def page_marks(estimate: Mapping[str, Any]) -> str:
    """The marks behind the value of an estimate in its JSON form."""
    return marks(bool(estimate.get("undefined")), estimate.get("flags") or ())


def usage_line(usage: Mapping[str, Any], videos: int) -> str:
    """Tokens, money and time of a setting's requests in one line.

    Args:
        usage: :func:`siming_tasks.results.usage.usage_summary` of them.
        videos: among which the money is divided.

    Example:
        >>> tokens = {"total": 4000, "requests": 4}
        >>> usage_line({"requests": 4, "kept": 0, "prompt_tokens": tokens, "completion_tokens": None, "cost": {}}, 4)
        '4,000 tokens in, ? out'
    """

    def known_for(total: Mapping[str, Any]) -> str:
        return "" if total["requests"] == usage["requests"] else f" (of {total['requests']:,} requests)"

    read, written = (
        f"{total['total']:,}{known_for(total)}" if (total := usage.get(name)) else "?"
        for name in ("prompt_tokens", "completion_tokens")
    )
    parts = [f"{read} tokens in, {written} out"]
    for currency, cost in (usage.get("cost") or {}).items():
        share = f", {cost['total'] / videos:.4g} a video" if videos and cost["requests"] == usage["requests"] else ""
        parts.append(f"{cost['total']:.4g} {currency}{share}{known_for(cost)}")
    if seconds := usage.get("latency"):
        parts.append(f"{seconds['median']:g} s a reply (95 %: {seconds['p95']:g})")
    if truncated := (usage.get("finish_reasons") or {}).get("length"):
        parts.append(f"{truncated:,} cut at the limit of tokens")
    if failed := (usage.get("attempts") or {}).get("failed"):
        parts.append(f"{failed:,} of {usage['attempts']['total']:,} attempts failed")
    for wait in usage.get("waits") or ():
        seconds = "a time-out that is not known" if wait["timeout"] is None else f"{wait['timeout']:g} s"
        parts.append(f"at most {wait['tries']} tries of {seconds}")
    if usage["kept"]:
        parts.append(f"{usage['kept']:,} of {usage['requests']:,} replies were kept")
    if usage.get("not_stored"):
        parts.append("no reply was stored (SIMING_REPLIES=off)")
    return "; ".join(parts)
