"""Numbers as text: one function for each kind of value that pages, tables and charts print; templates.

Text for terminals and files uses ASCII signs and ``-`` for no value; pages use a true minus sign and an en dash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from unicodedata import category, combining, east_asian_width

from jinja2 import Environment, PackageLoader, StrictUndefined

from siming_tasks.common.printed_value import counted, fixed, share_text
from siming_tasks.common.sanitize import visible

HEAD_COLUMNS = 14
"""Columns of a name that is written upright in the head of an exam's grid."""


def short_names(names: Sequence[str]) -> list[str]:
    """Names for narrow heads: without the organization, and the first words that tell them apart, in few columns.

    Only a path of plain signs, such as ``organization/model``, loses its first part: another slash divides nothing.

    Example:
        >>> short_names(["Qwen/Qwen3-VL-8B-Instruct", "Qwen/Qwen3-VL-32B-Instruct", "org/GLM-4.5V", "mine"])
        ['Qwen3-VL-8B', 'Qwen3-VL-32B', 'GLM-4.5V', 'mine']
    """
    alone = (re.sub(r"^(?:[\w.-]*/)+(?=[\w.-]+$)", "", visible(name).rstrip("/")) for name in names)
    words = [re.split(r"(?=[-\s])", name) for name in alone]
    found = []
    for own in words:
        unlike = (n for n in range(2, len(own) + 1) if [each[:n] for each in words].count(own[:n]) == 1)
        found.append("".join(own[: next(unlike, len(own))]))
    shown = [shortened(short, HEAD_COLUMNS) for short in found]
    clear = [short if shown.count(short) == 1 else found[place] for place, short in enumerate(shown)]
    return [short if found.count(found[place]) == 1 else names[place] for place, short in enumerate(clear)]


def columns(text: str) -> int:
    """Width of a text in columns of a terminal: a Chinese sign takes two, a sign that joins another none."""
    return sum(
        2 if east_asian_width(sign) in "WF" else not (combining(sign) or category(sign) == "Cf") for sign in text
    )


def shortened(name: str, most: int) -> str:
    """A name of at most this many columns, without its middle: models of one family differ at the end.

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


def plain_number(value: float | None, digits: int = 3) -> str:
    """A number without a negative zero; ``-`` for none."""
    return "-" if value is None else fixed(value, digits)


def page_number(value: float | None, digits: int = 3) -> str:
    """A number with a true minus sign and no negative zero; an en dash for None."""
    return "–" if value is None else plain_number(value, digits).replace("-", "−")


def page_percent(value: float | None) -> str:
    """A share as a percentage; an en dash for None."""
    return "–" if value is None else share_text(value)


@lru_cache(maxsize=4096)
def page_points(value: float | None) -> str:
    """Points without needless decimals; an en dash for None."""
    if value is None or value != value:
        return "–"
    value = round(value, 2)  # a sum of shares has a rest beyond that
    return page_number(value, next((digits for digits in (0, 1) if round(value, digits) == value), 2))


def templates() -> Environment:
    """The templates of the pages: every text is escaped, and signs that nobody sees are spelled out."""

    def seen(value: Any) -> Any:
        return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value

    made = Environment(loader=PackageLoader("siming_tasks.study.report"), autoescape=True, undefined=StrictUndefined,
                       finalize=seen, trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    made.filters |= {
        "num": page_number,
        "pct": page_percent,
        "points": page_points,
        "counted": counted,
        "minus": lambda text: text.replace("-", "−"),
    }
    return made


def usage_line(usage: Mapping[str, Any], videos: int) -> str:
    """Tokens, money and time of a setting's requests in one line, as far as they are known; empty: nothing is.

    Args:
        usage: :func:`siming_tasks.study.results.usage.usage_summary` of the requests.
        videos: among which the money is divided.

    Example:
        >>> tokens = {"total": 4000, "requests": 4}
        >>> usage_line({"requests": 4, "kept": 0, "prompt_tokens": tokens, "completion_tokens": None, "cost": {}}, 4)
        '4,000 tokens in'
    """

    def known_for(total: Mapping[str, Any]) -> str:
        return "" if total["requests"] == usage["requests"] else f" (of {counted(total['requests'], 'request')})"

    ways = {"in": usage.get("prompt_tokens"), "out": usage.get("completion_tokens")}
    tokens = [f"{counted(of['total'], 'token')} {way}{known_for(of)}" for way, of in ways.items() if of]
    parts = [", ".join(tokens)] if tokens else []
    for currency, cost in (usage.get("cost") or {}).items():
        share = f", {cost['total'] / videos:.4g} a video" if videos and cost["requests"] == usage["requests"] else ""
        parts.append(f"{cost['total']:.4g} {currency}{share}{known_for(cost)}")
    if seconds := usage.get("latency"):
        parts.append(f"{seconds['median']:g} s a reply (95 %: {seconds['p95']:g})")
    if truncated := (usage.get("finish_reasons") or {}).get("length"):
        parts.append(f"{truncated:,} cut at the limit of tokens")
    if failed := (usage.get("attempts") or {}).get("failed"):
        parts.append(f"{failed:,} of {counted(usage['attempts']['total'], 'attempt')} failed")
    for wait in usage.get("waits") or ():
        seconds = "a time-out that is not known" if wait["timeout"] is None else f"{wait['timeout']:g} s"
        parts.append(f"at most {wait['tries']} tries of {seconds}")
    if usage["kept"]:
        parts.append(f"{usage['kept']:,} of {counted(usage['requests'], 'reply')} came from an earlier command")
    if usage.get("not_stored"):
        parts.append("no reply was stored (SIMING_REPLIES=off)")
    return "; ".join(parts)
