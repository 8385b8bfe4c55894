"""Sections on raters: their agreement step by step and in totals, and runs in ratio to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.analysis.rater_agreement import InterRaterTable
from siming_tasks.analysis.rater_totals import RaterTotals
from siming_tasks.common.printed_value import resampled
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.report.formatting import (
    mean_and_range,
    plain_difference,
    plain_percent,
)
from siming_tasks.report.table import Cell, Name, Section, Table
from siming_tasks.report.tables.comparison import labels

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
    verdicts = raters.agreement.extra["positive"]["error"]
    symmetric = ", ".join(f"{CATALOGUE[name].label} {verdicts[name]}" for name in select("error", symmetric=True))
    parts = [("all", overall, raters.differ)]
    if len(per_skill) > 1:
        parts += [(skill, row, raters.per_skill[skill]) for skill, row in per_skill.items()]
    rows = []
    for name, row, differ in parts:
        shares = [plain_percent(differ["steps"]), plain_percent(differ["videos"])]
        rows.append([Name(name), *map(row.get, metrics), *shares, row["qwk"].n_videos, row["qwk"].n_items])
    head = ["", *labels(metrics), "steps that differ", "videos that differ", "videos", "steps"]
    caption = f"95 % intervals over {resampled([raters.agreement.options])}. What differs needs adjudication."
    section: Section = [
        f"{_against(raters)}, before adjudication.",
        Table.of(head, rows, caption=caption),
        f"As verdicts (below full points is wrong): {symmetric}.",
        *dict.fromkeys(note for name in ("qwk", *metrics) for note in overall[name].notes),
    ]
    if raters.inflation:
        inflation = [
            [Name(rater), *(plain_difference(row[name]) for name in metrics)] for rater, row in raters.inflation.items()
        ]
        section.append(Table.of(["inflation", *labels(metrics)], inflation, caption=INFLATION))
    steps = [
        [
            Name(step),
            _differing(row.differ) if row.imperfect < THIN else row.qwk,
            plain_percent(row.differ),
            row.imperfect,
        ]
        for step, row in raters.per_step.items()
    ]
    thin = (
        f"No kappa: fewer than {THIN} videos in which either rater took points off, of which it says next to nothing. "
        "The steps are exploratory: no test or interval here is corrected for their number."
    )
    return [*section, Table.of(["step", CATALOGUE["qwk"].label, "differ", "imperfect videos"], steps, caption=thin)]


def _differing(share: Estimate) -> str:
    return "-" if share.value is None else f"{round(share.value * share.n_items)} of {share.n_items} differ"


def _against(raters: InterRaterTable) -> str:
    return f"{literal(raters.raters[1])} against {literal(raters.raters[0])}"


def rater_pairs_section(tables: Sequence[InterRaterTable]) -> Section:
    """Physicians pair by pair: agreement of each pair, the mean and the range, then each pair's own section."""
    metrics = select("score", compared=True)
    rows: list[list[Cell]] = []
    for pair in tables:
        name = Name(f"{pair.raters[1]} against {pair.raters[0]}")
        rows.append([name, *map(pair.agreement.metrics.get, metrics), plain_percent(pair.differ["steps"])])
    spreads = [mean_and_range([pair.agreement.metrics[name].value for pair in tables]) for name in metrics]
    rows += [["mean", *(mean for mean, _ in spreads), ""], ["range", *(spread for _, spread in spreads), ""]]
    head = ["pair", *labels(metrics), "steps that differ"]
    section: Section = [
        f"{len(tables)} pairs of physicians, before adjudication.",
        Table.of(head, rows, caption=f"95 % intervals over {resampled([tables[0].agreement.options])}."),
    ]
    for pair in tables:
        section += [f"### {_against(pair)}", *rater_section(pair)]
    return section


def human_ratio_section(runs: Mapping[str, Mapping[str, Estimate]], raters: Sequence[str]) -> Section:
    """Agreement of several runs with the raters, in ratio to the raters' agreement with each other."""
    rows = [[Name(run), *row.values()] for run, row in runs.items()]
    beside = (estimate for row in runs.values() for estimate in row.values())
    table = Table.of(["human ratio", *labels(next(iter(runs.values())), beside)], rows).explained()
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


def rater_totals_section(totals: RaterTotals) -> Section:
    """Reliability of the raters' totals, and the limits of agreement of each pair."""
    videos, steps = totals.complete
    rows: list[list[Cell]] = []
    if icc := totals.icc:
        rows = [
            ["ICC(A,1): one rater, as it stands", icc.agreement],
            ["ICC(C,1): one rater, offsets apart", icc.consistency],
            [f"ICC(A,{icc.raters}): mean of the raters", icc.mean_agreement],
        ]
    rows += [[Name(f"Lin's concordance, {pair}"), of.concordance] for pair, of in totals.limits.items()]
    for pair, limits in totals.limits.items():
        rows += [
            [Name(f"{pair}: mean difference"), plain_difference(limits.bias)],
            [Name(f"{pair}: lower limit of agreement"), plain_difference(limits.lower)],
            [Name(f"{pair}: upper limit of agreement"), plain_difference(limits.upper)],
            [Name(f"{pair}: slope over the mean"), plain_difference(limits.slope)],
        ]
    return [
        "### Totals",
        f"Shares of the points of {steps} steps in the {videos} of {totals.videos} videos whose "
        f"steps all of {', '.join(map(literal, totals.raters))} scored.",
        Table.of(["", "value"], rows),
        f"Intervals: t of the jackknife over {totals.unit}s. Where a few trainees are far weaker than all "
        "others they are too short: with up to 50 videos they hold the truth in about 80 to 90 % of such samples.",
    ]
