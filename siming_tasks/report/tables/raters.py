"""Sections on raters: their agreement, runs in ratio to it, and their psychometrics from totals to cut scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from siming_tasks.analysis.generalizability import COMPONENTS, raters_needed
from siming_tasks.analysis.psychometrics import Psychometrics
from siming_tasks.analysis.rasch import LARGE, Facet
from siming_tasks.analysis.rater_agreement import InterRaterTable
from siming_tasks.common.printed_value import resampled
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.report.formatting import (
    mean_and_range,
    plain_difference,
    plain_number,
    plain_percent,
    plain_pvalue,
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
DEPENDABILITY_GOALS = (0.8, 0.9)
_TITLES = {
    "generalizability": "Generalisability",
    "rasch": "Rasch model",
    "sites": "Difficulty by site",
    "designs": "Reliability of other exams",
    "cuts": "Cut score",
    "decisions": "Accuracy of decisions",
}


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


def psychometrics_section(psychometrics: Psychometrics) -> Section:
    """Totals, variance components, difficulty and severity, sites, cut scores and decisions."""
    return [
        *_totals(psychometrics),
        *_generalizability(psychometrics),
        *_rasch(psychometrics),
        *_sites(psychometrics),
        *_decisions(psychometrics),
        *(f"{_TITLES[name]}: not computed. {literal(why)}" for name, why in psychometrics.missing.items()),
    ]


def _totals(psychometrics: Psychometrics) -> Section:
    videos, steps = psychometrics.complete
    rows: list[list[Cell]] = []
    if icc := psychometrics.icc:
        rows = [
            ["ICC(A,1): one rater, as it stands", icc.agreement],
            ["ICC(C,1): one rater, offsets apart", icc.consistency],
            [f"ICC(A,{icc.raters}): mean of the raters", icc.mean_agreement],
        ]
    rows += [[Name(f"Lin's concordance, {pair}"), of.concordance] for pair, of in psychometrics.limits.items()]
    for pair, limits in psychometrics.limits.items():
        rows += [
            [Name(f"{pair}: mean difference"), plain_difference(limits.bias)],
            [Name(f"{pair}: lower limit of agreement"), plain_difference(limits.lower)],
            [Name(f"{pair}: upper limit of agreement"), plain_difference(limits.upper)],
            [Name(f"{pair}: slope over the mean"), plain_difference(limits.slope)],
        ]
    return [
        "### Totals",
        f"Shares of the points of {steps} steps in the {videos} of {psychometrics.videos} videos whose "
        f"steps all of {', '.join(map(literal, psychometrics.raters))} scored.",
        Table.of(["", "value"], rows),
        f"Intervals: t of the jackknife over {psychometrics.unit}s. Where a few trainees are far weaker than all "
        "others they are too short: with up to 50 videos they hold the truth in about 80 to 90 % of such samples.",
    ]


def _generalizability(psychometrics: Psychometrics) -> Section:
    study = psychometrics.generalizability
    if study is None:
        return []
    components = [
        [COMPONENTS[name], f"{part.variance:.5f}", plain_number(part.stderr, 5), f"{part.share:.1%}"]
        for name, part in study.components.items()
    ]
    designs = []
    for design in psychometrics.designs:
        exam = "these steps" if design.fixed else "steps as a sample"
        coefficients = map(plain_number, (design.relative, design.absolute))
        designs.append([exam, design.raters, *coefficients, f"{design.sem:.3f}"])
    section: Section = [
        "### Generalisability",
        Table.of(["source", "variance", "SE", "share"], components),
        f"Points / maximum of {study.trainees} trainees x {study.steps} steps x {study.raters} raters; SE: jackknife.",
    ]
    if not designs:
        return section
    section += [
        Table.of(["exam", "raters", "generalisability", "dependability", "SEM"], designs),
        "SEM: standard error of measurement of a total, as a share of the points. These are estimates without "
        "intervals: they are as uncertain as the components above. A negative component of error counts as 0.",
    ]
    for goal in DEPENDABILITY_GOALS:
        raters = raters_needed(study, goal)
        needed = "no number of raters reaches it." if raters is None else f"{raters} rater{'s' * (raters > 1)}."
        section.append(f"Dependability {goal:g} on these steps: {needed}")
    return section


def _rasch(psychometrics: Psychometrics) -> Section:
    model = psychometrics.rasch
    if model is None:
        return []

    def facets(kind: str, measure: str, items: Sequence[tuple[str, Facet]]) -> Table:
        rows = [
            [Name(name), f"{facet.measure:+.2f}", f"{facet.stderr:.2f}", plain_number(facet.infit, 2),
             plain_number(facet.outfit, 2)]
            for name, facet in items
        ]  # fmt: skip
        return Table.of([kind, measure, "SE", "infit", "outfit"], rows)

    hardest_first = sorted(model.steps.items(), key=lambda item: -item[1].measure)
    section: Section = [
        "### Difficulty and severity (Rasch)",
        facets("rater", "severity", list(model.raters.items())),
        facets("step", "difficulty", hardest_first),
        f'Logits of "fully correct", by conditional maximum likelihood on {model.trainees} trainees; {model.extreme} '
        "were judged all right or all wrong and tell nothing here. Mean squares near 1 fit; above 1.3 is erratic. "
        "Standard errors take two raters of one step for independent and are too small where they err alike.",
    ]
    if model.left_out:
        steps = ", ".join(map(literal, model.left_out))
        section.append(f"Judged the same every time, hence without a difficulty: {steps}.")
    return section


def _sites(psychometrics: Psychometrics) -> Section:
    sites = psychometrics.sites
    if sites is None:
        return []
    rows = [
        [Name(item.step), Name(item.site), f"{item.value:+.2f}", f"{item.stderr:.2f}", plain_pvalue(item.p_value)]
        for item in sites.differences
        if item.large
    ]
    table = [Table.of(["step", "harder at", "logits", "SE", "p (Holm)"], rows)] if rows else []
    sizes = ", ".join(f"{literal(site)} ({n})" for site, n in sites.trainees.items())
    sentence = (
        f"{len(rows)} of {len(sites.differences)} comparisons differ by {LARGE} logits or more with Holm's p "
        f"below .05, for trainees of the same ability; videos: {sizes}."
    )
    return ["### Difficulty by site", *table, sentence]


def _decisions(psychometrics: Psychometrics) -> Section:
    section: Section = []
    if psychometrics.cuts:
        cuts = [[cut.method, f"{cut.value:.1%}", plain_number(cut.stderr), cut.n] for cut in psychometrics.cuts]
        section += ["### Where to pass", Table.of(["method", "cut score", "SE", "examinees"], cuts)]
    if psychometrics.decisions:
        rows = []
        for decision in psychometrics.decisions:
            shares = (decision.accuracy, decision.false_pass, decision.false_fail, decision.consistency)
            rows.append([f"{decision.cut:.1%}", *(f"{x:.3f}" for x in shares), plain_number(decision.kappa)])
        first = psychometrics.decisions[0]
        section += [
            "### How often decisions are right (Livingston-Lewis)",
            Table.of(["cut score", "accuracy", "false pass", "false fail", "consistency", "kappa"], rows),
            f"Totals with dependability {first.reliability:.3f}, as reliable as {first.length} independent items; "
            f"true scores: beta distribution fitted to {first.true.moments} moments. Points alone: without must-pass "
            "steps.",
        ]
    return section
