"""Sections on raters: agreement by skill and step, pairs of physicians, and runs in ratio to their agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.analysis.rater_agreement import InterRaterTable
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.report.formatting import plain_difference, plain_percent
from siming_tasks.report.table import Name, Section, Table

__all__ = ["INFLATION", "NO_CEILING", "human_ratio_section", "rater_pairs_section", "rater_section"]

INFLATION = (
    "Inflation: agreement with the consensus minus agreement with the other rater. A rater against the consensus is "
    "inflated, because the raters made the consensus; the human row is rater against rater."
)
NO_CEILING = (
    "The human ceiling cannot be computed: it needs the labels of two raters before adjudication; this data set has "
    "those of {found}. A rater's agreement with the consensus would be inflated and is no substitute."
)


def rater_section(raters: InterRaterTable) -> Section:
    """Agreement by skill, shares to adjudicate, the inflation against the consensus, and a row for each step."""
    overall, per_skill = raters.agreement.metrics, raters.agreement.per_skill
    metrics = select("score", compared=True)
    labels = [CATALOGUE[name].label for name in metrics]
    verdicts = raters.agreement.extra["positive"]["error"]
    symmetric = ", ".join(f"{CATALOGUE[name].label} {verdicts[name]}" for name in select("error", symmetric=True))

    rows = []
    skills = per_skill if len(per_skill) > 1 else {}
    for name, row, differ in [("all", overall, raters.differ)] + [
        (skill, row, raters.per_skill[skill]) for skill, row in skills.items()
    ]:
        shares = [plain_percent(differ["steps"]), plain_percent(differ["videos"])]
        size = [str(row["qwk"].n_videos), str(row["qwk"].n_items)]
        rows.append([Name(name), *(str(row[metric]) for metric in metrics), *shares, *size])
    head = ["", *labels, "steps that differ", "videos that differ", "videos", "steps"]
    caption = "95 % intervals over videos. What differs needs adjudication."
    section: Section = [
        f"{literal(raters.raters[1])} against {literal(raters.raters[0])}, before adjudication.",
        Table.of(head, rows, caption=caption),
        f"As verdicts (below full points is wrong): {symmetric}.",
        *dict.fromkeys(note for name in ("qwk", *metrics) for note in overall[name].notes),
    ]
    if raters.inflation:
        inflation = [
            [Name(rater), *(plain_difference(row[name]) for name in metrics)] for rater, row in raters.inflation.items()
        ]
        section.append(Table.of(["inflation", *labels], inflation, caption=INFLATION))
    steps = [
        [Name(step), f"{row.qwk}{' (thin)' * (row.imperfect < THIN)}", plain_percent(row.differ), str(row.imperfect)]
        for step, row in raters.per_step.items()
    ]
    thin = f"thin: either rater took points off in fewer than {THIN} videos; such a kappa says next to nothing."
    section.append(Table.of(["step", CATALOGUE["qwk"].label, "differ", "imperfect videos"], steps, caption=thin))
    return section


def rater_pairs_section(tables: Sequence[InterRaterTable]) -> Section:
    """Physicians pair by pair: agreement of each pair, the mean and the range, then each pair's own section."""
    metrics = select("score", compared=True)
    rows = [
        [
            Name(f"{pair.raters[1]} against {pair.raters[0]}"),
            *(str(pair.agreement.metrics[name]) for name in metrics),
            plain_percent(pair.differ["steps"]),
        ]
        for pair in tables
    ]
    means, ranges = ["mean"], ["range"]
    for name in metrics:
        values = [pair.agreement.metrics[name].value for pair in tables]
        known = [value for value in values if value is not None]
        means.append(f"{sum(known) / len(known):.3f}" if known else "-")
        ranges.append(f"{min(known):.3f} to {max(known):.3f}" if known else "-")
    head = ["pair", *(CATALOGUE[name].label for name in metrics), "steps that differ"]
    section: Section = [
        f"{len(tables)} pairs of physicians, before adjudication.",
        Table.of(head, [*rows, [*means, ""], [*ranges, ""]], caption="95 % intervals over videos."),
    ]
    for pair in tables:
        section += [f"### {literal(pair.raters[1])} against {literal(pair.raters[0])}", *rater_section(pair)]
    return section


def human_ratio_section(runs: Mapping[str, Mapping[str, Estimate]], raters: Sequence[str]) -> Section:
    """Agreement of several runs with the raters, in ratio to the raters' agreement with each other."""
    metrics = list(next(iter(runs.values())))
    rows = [[Name(run), *map(str, row.values())] for run, row in runs.items()]
    table = Table.of(["human ratio", *(CATALOGUE[name].label for name in metrics)], rows).explained()
    names = [literal(name) for name in raters]
    if len(names) == 2:
        a, b = names
        lines = [f"mean(metric(run, {a}), metric(run, {b})) / metric({a}, {b}): 1 agrees as the raters do."]
    else:
        lines = [
            f"Mean of metric(run, rater) over {', '.join(names)} / mean of metric(rater, rater) over their",
            "pairs, on what all of them have scored: 1 agrees as the raters do.",
        ]
    lines += [
        "The consensus is left out: it would flatter the raters, who made it. A run that is one of the raters is",
        "above 1, as it is compared with itself.",
    ]
    return [table, "\n".join(lines)]
