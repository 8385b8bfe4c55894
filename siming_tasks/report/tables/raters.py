"""The inter-rater table as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.analysis.inter_rater.rater_agreement import InterRaterTable
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.report.tables.cells import key, percent, signed, table

__all__ = ["INFLATION", "NO_CEILING", "markdown", "pairs_markdown", "ratio_markdown"]

INFLATION = (
    "Inflation: agreement with the consensus minus agreement with the other rater. A rater against the consensus is "
    "inflated, because the raters made the consensus; the human row is rater against rater."
)
NO_CEILING = (
    "The human ceiling cannot be computed: it needs the labels of two raters before adjudication; this data set has "
    "those of {found}. A rater's agreement with the consensus would be inflated and is no substitute."
)


def markdown(found: InterRaterTable) -> str:
    """Agreement by skill, shares to adjudicate, the inflation against the consensus, and a row for each step."""
    whole, per_skill = found.agreement.metrics, found.agreement.per_skill
    shown = select("score", compared=True)
    labels = [CATALOGUE[name].label for name in shown]
    verdicts = found.agreement.extra["positive"]["error"]
    both = ", ".join(f"{CATALOGUE[name].label} {verdicts[name]}" for name in select("error", symmetric=True))
    lines = [f"{literal(found.raters[1])} against {literal(found.raters[0])}, before adjudication.", ""]
    rows = [_agreement("all", whole, found.differ)]
    rows += [_agreement(skill, row, found.per_skill[skill]) for skill, row in per_skill.items() if len(per_skill) > 1]
    head = ["", *labels, "steps that differ", "videos that differ", "videos", "steps"]
    lines += table(head, rows)
    lines += ["", "95 % intervals over videos. What differs needs adjudication.", ""]
    lines += [f"As verdicts (below full points is wrong): {both}."]
    notes = dict.fromkeys(note for name in ("qwk", *shown) for note in whole[name].notes)
    lines += [line for note in notes for line in ("", note)]
    if found.inflation:
        rows = [[literal(rater), *(signed(row[name]) for name in shown)] for rater, row in found.inflation.items()]
        lines += ["", *table(["inflation", *labels], rows)]
        lines += ["", INFLATION]
    rows = [
        [
            literal(step),
            f"{row.qwk}{' (thin)' * (row.imperfect < THIN)}",
            percent(row.differ),
            str(row.imperfect),
        ]
        for step, row in found.per_step.items()
    ]
    lines += ["", *table(["step", CATALOGUE["qwk"].label, "differ", "imperfect videos"], rows), ""]
    lines.append(f"thin: either rater took points off in fewer than {THIN} videos; such a kappa says next to nothing.")
    return "\n".join(lines) + "\n"


def pairs_markdown(tables: Sequence[InterRaterTable]) -> str:
    """Physicians pair by pair: agreement of each pair, the mean and the range, then each pair's own table."""
    shown = select("score", compared=True)
    rows = []
    for found in tables:
        whole = found.agreement.metrics
        cells = [str(whole[name]) for name in shown]
        rows.append(
            [f"{literal(found.raters[1])} against {literal(found.raters[0])}", *cells, percent(found.differ["steps"])]
        )
    middle, reach = ["mean"], ["range"]
    for name in shown:
        values = [found.agreement.metrics[name].value for found in tables]
        known = [value for value in values if value is not None]
        middle.append(f"{sum(known) / len(known):.3f}" if known else "-")
        reach.append(f"{min(known):.3f} to {max(known):.3f}" if known else "-")
    head = ["pair", *(CATALOGUE[name].label for name in shown), "steps that differ"]
    lines = [f"{len(tables)} pairs of physicians, before adjudication.", ""]
    lines += [*table(head, [*rows, [*middle, ""], [*reach, ""]]), "", "95 % intervals over videos.", ""]
    for found in tables:
        lines += [f"### {literal(found.raters[1])} against {literal(found.raters[0])}", "", markdown(found)]
    return "\n".join(lines)


def ratio_markdown(runs: Mapping[str, Mapping[str, Estimate]], raters: Sequence[str]) -> str:
    """The human ratio of several runs."""
    names = list(next(iter(runs.values())))
    rows = [[literal(run), *map(str, row.values())] for run, row in runs.items()]
    raters = [literal(name) for name in raters]
    lines = table(["human ratio", *(CATALOGUE[name].label for name in names)], rows) + key(rows)
    if len(raters) == 2:
        a, b = raters
        lines += ["", f"mean(metric(run, {a}), metric(run, {b})) / metric({a}, {b}): 1 agrees as the raters do."]
    else:
        lines += ["", f"Mean of metric(run, rater) over {', '.join(raters)} / mean of metric(rater, rater) over their"]
        lines += ["pairs, on what all of them have scored: 1 agrees as the raters do."]
    lines += ["The consensus is left out: it would flatter the raters, who made it. A run that is one of the raters is"]
    lines += ["above 1, as it is compared with itself."]
    return "\n".join(lines) + "\n"


def _agreement(name: str, row: Mapping[str, Estimate], differ: Mapping[str, Estimate]) -> list[str]:
    shares = [percent(differ["steps"]), percent(differ["videos"])]
    size = [str(row["qwk"].n_videos), str(row["qwk"].n_items)]
    return [literal(name), *(str(row[metric]) for metric in select("score", compared=True)), *shares, *size]
