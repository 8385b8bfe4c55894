"""Kinds of judges that a row of a table can stand for, in the order of the tables."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ORDER", "ROLES", "Role"]


class Role(NamedTuple):
    """One kind of judge.

    Attributes:
        mark: its sign beside a name, the outline of its marks in charts.
        title: what it is called in a key.
        suffix: what follows its name where there is no mark.
    """

    mark: str
    title: str
    suffix: str


ROLES: dict[str, Role] = {
    "model": Role("●", "model", ""),
    "reference": Role("▲", "reference judge: no model", " (reference judge)"),
    "supervised": Role("▼", "supervised, cross-fitted: learnt from these labels", " (supervised, cross-fitted)"),
    "human": Role("◆", "physician against physician", " (physician)"),
    "no_video": Role("■", "no-video baseline: never sees a video", " (no video)"),
}
"""By key. A new kind is a row here, an outline in :mod:`siming_tasks.report.charts.svg` and a colour in the style."""

ORDER: dict[str, int] = {role: place for place, role in enumerate(ROLES)}
