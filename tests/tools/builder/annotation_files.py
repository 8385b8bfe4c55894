"""Files of annotation tools, as small as the tools' own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

ELAN = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="2026-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0">
    <HEADER MEDIA_FILE="" TIME_UNITS="{units}">
{media}
    </HEADER>
    <TIME_ORDER>
{slots}
    </TIME_ORDER>
{tiers}
</ANNOTATION_DOCUMENT>
"""
MEDIA = '<MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/Users/li/exams/IMG_1.mp4" MIME_TYPE="video/mp4"/>'


def elan(
    *tiers: tuple[str, Sequence[tuple[Any, ...]]],
    media: str = MEDIA,
    units: str = "milliseconds",
    refs: str = "",
) -> str:
    """An ``.eaf``: tiers of annotations ``(start ms or None, end ms or None, value)``; ``refs`` are further tiers.

    Slots are ``ts1``, ``ts2``..., annotations ``a1``, ``a2``... in order.
    """
    slots: list[str] = []
    shown = []
    number = 0
    for name, notes in tiers:
        lines = []
        for start, end, value in notes:
            number += 1
            for time in (start, end):
                given = "" if time is None else f' TIME_VALUE="{time}"'
                slots.append(f'<TIME_SLOT TIME_SLOT_ID="ts{len(slots) + 1}"{given}/>')
            lines.append(
                f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a{number}" TIME_SLOT_REF1="ts{2 * number - 1}" '
                f'TIME_SLOT_REF2="ts{2 * number}"><ANNOTATION_VALUE>{value}</ANNOTATION_VALUE>'
                "</ALIGNABLE_ANNOTATION></ANNOTATION>"
            )
        shown.append(f'<TIER LINGUISTIC_TYPE_REF="default" TIER_ID="{name}">{"".join(lines)}</TIER>')
    return ELAN.format(units=units, media=media, slots="\n".join(slots), tiers="\n".join(shown) + refs)


def ref(tier: str, *notes: tuple[str, str, str, str | None]) -> str:
    """A dependent tier: ``(id, the annotation it belongs to, value, the part before it)``."""
    lines = []
    for name, parent, value, previous in notes:
        before = f' PREVIOUS_ANNOTATION="{previous}"' if previous else ""
        lines.append(
            f'<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="{name}" ANNOTATION_REF="{parent}"{before}>'
            f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>"
        )
    return f'<TIER LINGUISTIC_TYPE_REF="sub" PARENT_REF="x" TIER_ID="{tier}">{"".join(lines)}</TIER>'


AGGREGATED = (
    "Observation id,Observation date,Description,Observation type,Source,Time offset (s),Coding duration,"
    "Media duration (s),FPS (frame/s),Subject,Observation duration by subject by observation,Behavior,"
    "Behavioral category,Modifier #1,Behavior type,Start (s),Stop (s),Duration (s),Media file name,Image index start,"
    "Image index stop,Image file path start,Image file path stop,Comment start,Comment stop"
)
"""Headings of BORIS 8 and 9."""
TABULAR = "Time\tMedia file path\tTotal length\tFPS\tSubject\tBehavior\tBehavioral category\tComment\tStatus"
"""Headings of BORIS 7's events, which stand below lines about the observation."""


def boris(
    behavior: str,
    start: str,
    stop: str,
    *,
    kind: str = "STATE",
    source: str = "player #1:D:/exams/IMG_1.mp4",
    media: str = "D:/exams/IMG_1.mp4",
    offset: str = "0.000",
    subject: str = "No focal subject",
    modifier: str = "",
) -> str:
    """A row below AGGREGATED."""
    return (
        f"obs 1,2026-01-01 10:00:00,,Media file,{source},{offset},2.0,2.0,10.000,{subject},2.0,{behavior},Not defined,"
        f"{modifier},{kind},{start},{stop},NA,{media},NA,NA,NA,NA,,"
    )


def timeline(label: str, start: Any, end: Any, **more: Any) -> dict[str, Any]:
    """A region of Label Studio's TimelineLabels."""
    value = {"ranges": [{"start": start, "end": end}], "timelinelabels": [label]}
    return {"value": {**value, **more}, "id": "r1", "from_name": "t", "to_name": "video", "type": "timelinelabels"}


def region(value: dict[str, Any], kind: str = "videorectangle") -> dict[str, Any]:
    """Any other region of Label Studio."""
    return {"value": value, "id": "r2", "from_name": "b", "to_name": "video", "type": kind}


def tasks(*results: dict[str, Any], by: Any = 1, data: dict[str, Any] | None = None, **more: Any) -> str:
    """An export of Label Studio with one task and one annotation."""
    annotation = {"id": 5, "completed_by": by, "was_cancelled": False, "result": list(results), **more}
    data = {"video": "/data/upload/1/3d3ad63e-IMG_1.mp4"} if data is None else data
    return json.dumps([{"id": 7, "annotations": [annotation], "data": data, "predictions": []}])
