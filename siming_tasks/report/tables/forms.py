"""Abstention and evidence of one setting in a few lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["form_lines"]


def form_lines(setting: str, result: Mapping[str, Any]) -> list[str]:
    """What stands beneath a table of metrics for a setting with another form of the reply; nothing for any other.

    Args:
        setting: its name.
        result: from :func:`siming_tasks.results.score.evaluate_records`.
    """
    lines = []
    if found := result.get("abstention"):
        full = f"{_value(found['headline'])}, {_value(found['gain'], '+')} over the step prior"
        justified = f"precision {_value(found['precision'])}, recall {_value(found['recall'])}"
        lines += [
            f"{setting}: {_share(found['abstained'])} called not visible ({justified}); AURC {_value(found['area'])}",
            f"  at full coverage, with the step prior for these: {full}",
        ]
    if found := result.get("evidence"):
        lines.append(f"{setting}: seconds named for {_share(found['claimed'])} of the answers")
        if found["iou"]["value"] is not None:
            for key, name in (("iou", "temporal IoU"), ("hit", "pointed into the step")):
                beside = ", ".join(f"{row} {_value(values[key])}" for row, values in found["chance"].items())
                lines.append(f"  {name} {_value(found[key])} (by chance: {beside})")
            wrong = (
                f"{_share(found['elsewhere'])} of the right answers, {_share(found['elsewhere_wrong'])} of the wrong"
            )
            lines.append(f"  rest on other seconds than the step's: {wrong}")
    return lines


def _value(estimate: Mapping[str, Any], sign: str = "") -> str:
    return "-" if estimate["value"] is None else f"{estimate['value']:{sign}.3f}"


def _share(estimate: Mapping[str, Any]) -> str:
    return "-" if estimate["value"] is None else f"{100 * estimate['value']:.0f} %"
