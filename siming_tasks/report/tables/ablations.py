"""What survives each ablation, as Markdown: a table and one sentence an ablation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.tables.cells import short, signed, table

if TYPE_CHECKING:
    from siming_tasks.analysis.controls.ablation_effects import AblationEffect, AblationResult

__all__ = ["CAPTION", "READS_LABELS", "markdown"]

CAPTION = (
    "Ablations ask the same questions on altered evidence and are no benchmark rows. Kept: ablation / plain, on the "
    "steps that were answered both times, both resampled by the same videos; 1 is a judge that did not need what the "
    "ablation took away. History: the steps that depend on what went before."
)
READS_LABELS = "This judge reads labels, not videos: no ablation can change its answers."


def markdown(found: Sequence[AblationResult], *, reads_labels: bool = False) -> str:
    """The ablations of one setting of one run.

    Args:
        found: at least one.
        reads_labels: the judge is one of the reference judges.
    """
    measured = [one for one in found if one.headline]
    lines: list[str] = []
    if measured:
        first = measured[0].headline
        label = CATALOGUE[first.metric].label if first else ""
        head = ["ablation", f"{label}, plain", "ablation", "change", "kept", "kept, history", "both answered"]
        lines += table(head, (_row(one, one.headline) for one in measured if one.headline))
        lines.append("")
    lines += [f"* {one.sentence}" for one in found]
    lines += ["", READS_LABELS] if reads_labels else []
    return "\n".join([*lines, "", CAPTION]) + "\n"


def _row(one: AblationResult, found: AblationEffect) -> list[str]:
    coverage = found.ablated.coverage
    return [
        f"{one.ablation.name}: {one.ablation.title}",
        short(found.plain),
        str(found.ablated),
        signed(found.change),
        str(found.kept),
        str(one.history.kept) if one.history else "-",
        "-" if coverage is None else f"{coverage:.1%}",
    ]
