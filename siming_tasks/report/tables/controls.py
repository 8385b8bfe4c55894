"""Sections on controls: what the video contributed to a run, and what survives each input ablation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from siming_tasks.analysis.video_contribution import NO_VIDEO_BASELINES, PARTS, VideoContribution
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.formatting import plain_difference, plain_pvalue, plain_value
from siming_tasks.report.table import Name, Section, Table

if TYPE_CHECKING:
    from siming_tasks.analysis.input_controls import AblationResult

__all__ = ["ABLATION_CAPTION", "READS_LABELS", "ablation_section", "contribution_section"]

ABLATION_CAPTION = (
    "Ablations ask the same questions on altered evidence and are no benchmark rows. Kept: ablation / plain, on the "
    "steps that were answered both times, both resampled by the same videos; 1 is a judge that did not need what the "
    "ablation took away. History: the steps that depend on what went before."
)
READS_LABELS = "This judge reads labels, not videos: no ablation can change its answers."
CONTRIBUTION_CAPTION = (
    "prior: which steps are usually failed, needs no video; video: an overall impression; local: this step in this "
    "video. They add up to the metric. p: the predictions fit another video as well. Lift: the metric minus that of "
    "the best no-video baseline, paired."
)
MISMATCH_CAPTION = "Above 0 the totals agree more than the steps account for: an overall impression, not the steps."


def contribution_section(runs: Mapping[str, VideoContribution], order: Sequence[str] = ()) -> Section:
    """The split of every run's metric with its p-value and lift, then the no-video baselines.

    The no-video baselines are over the steps that the first run answered; the shuffled self is made of its answers.

    Args:
        runs: what the video contributed, by run.
        order: of the rows (default: as given).
    """
    first_name, first = next(iter(runs.items()))
    metric, runs = first.metric, {name: runs[name] for name in order or runs if name in runs}
    split = Table.of(
        ["run", CATALOGUE[metric].label, *PARTS, "p", "lift"],
        [
            [
                Name(name),
                str(contribution.parts["total"]),
                *(str(contribution.parts[part]) for part in PARTS),
                plain_pvalue(contribution.shuffle_p.get(metric)),
                f"{contribution.lift[metric].estimate} over {contribution.lift[metric].over}"
                if metric in contribution.lift
                else "-",
            ]
            for name, contribution in runs.items()
        ],
    )
    metrics = [name for name in first.rows["run"] if CATALOGUE[name].compared]
    baselines = Table.of(
        ["no-video baseline", *(CATALOGUE[name].label for name in metrics)],
        [[row, *(str(first.rows[row][name]) for name in metrics)] for row in NO_VIDEO_BASELINES],
    )
    section: Section = [split.explained(), CONTRIBUTION_CAPTION, baselines.explained()]
    section.append("; ".join(f"{row}: {meaning}" for row, meaning in NO_VIDEO_BASELINES.items()) + ".")
    if len(runs) > 1:
        section.append(f"The run whose answers these are: {literal(first_name)}.")
    if any(contribution.excess_correlation for contribution in runs.values()):
        rows = [
            [Name(name), *(str(contribution.excess_correlation[key]) for key in ("plcc", "implied", "excess"))]
            for name, contribution in runs.items()
        ]
        head = ["run", CATALOGUE["plcc"].label, "implied by the steps", "excess"]
        section.append(Table.of(head, rows, caption=MISMATCH_CAPTION))
    return section


def ablation_section(ablations: Sequence[AblationResult], *, reads_labels: bool = False) -> Section:
    """A table and one sentence for each input ablation of one setting of one run.

    Args:
        ablations: at least one.
        reads_labels: the judge is one of the reference judges.
    """
    section: Section = []
    rows = [
        [
            f"{item.ablation.name}: {item.ablation.title}",
            plain_value(item.headline.plain),
            str(item.headline.ablated),
            plain_difference(item.headline.change),
            str(item.headline.retained),
            str(item.history.retained) if item.history else "-",
            "-" if item.headline.ablated.coverage is None else f"{item.headline.ablated.coverage:.1%}",
        ]
        for item in ablations
        if item.headline
    ]
    if rows:
        metric = next(item.headline.metric for item in ablations if item.headline)
        plain = f"{CATALOGUE[metric].label}, plain"
        head = ["ablation", plain, "ablation", "change", "kept", "kept, history", "both answered"]
        section.append(Table.of(head, rows))
    section.append("\n".join(f"* {item.sentence}" for item in ablations))
    return [*section, *([READS_LABELS] if reads_labels else []), ABLATION_CAPTION]
