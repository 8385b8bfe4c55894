"""Section on the raters' psychometrics: totals, variance components, difficulty, cut scores and decisions."""

from __future__ import annotations

from siming_tasks.analysis.generalizability import COMPONENTS, raters_needed
from siming_tasks.analysis.psychometrics import Psychometrics
from siming_tasks.analysis.rasch import LARGE, Facet
from siming_tasks.common.sanitize import literal
from siming_tasks.report.formatting import plain_difference, plain_number, plain_pvalue
from siming_tasks.report.table import Cell, Name, Section, Table

__all__ = ["psychometrics_section"]

DEPENDABILITY_GOALS = (0.8, 0.9)
_TITLES = {
    "generalizability": "Generalisability",
    "rasch": "Rasch model",
    "sites": "Difficulty by site",
    "cuts": "Cut score",
    "decisions": "Accuracy of decisions",
}


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
        rows += [
            ["ICC(A,1): one rater, as it stands", str(icc.agreement)],
            ["ICC(C,1): one rater, offsets apart", str(icc.consistency)],
            [f"ICC(A,{icc.raters}): mean of the raters", str(icc.mean_agreement)],
        ]
    rows += [[Name(f"Lin's concordance, {pair}"), str(value)] for pair, value in psychometrics.concordance.items()]
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
        "Intervals by normal theory (F, Fisher's z, t); skewed totals make them too short.",
    ]


def _generalizability(psychometrics: Psychometrics) -> Section:
    study = psychometrics.generalizability
    if study is None:
        return []
    components = [
        [COMPONENTS[name], f"{part.variance:.5f}", plain_number(part.stderr, 5), f"{part.share:.1%}"]
        for name, part in study.components.items()
    ]
    designs = [
        [
            "these steps" if design.fixed else "steps as a sample",
            str(design.raters),
            plain_number(design.relative),
            plain_number(design.absolute),
            f"{design.sem:.3f}",
        ]
        for design in psychometrics.designs
    ]
    section: Section = [
        "### Generalisability",
        Table.of(["source", "variance", "SE", "share"], components),
        f"Points / maximum of {study.trainees} trainees x {study.steps} steps x {study.raters} raters; SE: jackknife.",
        Table.of(["exam", "raters", "generalisability", "dependability", "SEM"], designs),
        "SEM: standard error of measurement of a total, as a share of the points.",
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

    def row(name: str, facet: Facet) -> list[Cell]:
        fit = (plain_number(facet.infit, 2), plain_number(facet.outfit, 2))
        return [Name(name), f"{facet.measure:+.2f}", f"{facet.stderr:.2f}", *fit]

    hardest_first = sorted(model.steps.items(), key=lambda item: -item[1].measure)
    section: Section = [
        "### Difficulty and severity (Rasch)",
        Table.of(["rater", "severity", "SE", "infit", "outfit"], [row(*item) for item in model.raters.items()]),
        Table.of(["step", "difficulty", "SE", "infit", "outfit"], [row(*item) for item in hardest_first]),
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
        cuts = [[cut.method, f"{cut.value:.1%}", plain_number(cut.stderr), str(cut.n)] for cut in psychometrics.cuts]
        section += ["### Where to pass", Table.of(["method", "cut score", "SE", "examinees"], cuts)]
    if psychometrics.decisions:
        rows = [
            [
                f"{decision.cut:.1%}",
                *(
                    f"{share:.3f}"
                    for share in (decision.accuracy, decision.false_pass, decision.false_fail, decision.consistency)
                ),
                plain_number(decision.kappa),
            ]
            for decision in psychometrics.decisions
        ]
        first = psychometrics.decisions[0]
        section += [
            "### How often decisions are right (Livingston-Lewis)",
            Table.of(["cut score", "accuracy", "false pass", "false fail", "consistency", "kappa"], rows),
            f"Totals with dependability {first.reliability:.3f}, as reliable as {first.length} independent items; "
            f"true scores: beta distribution fitted to {first.true.moments} moments. Points alone: without must-pass "
            "steps.",
        ]
    return section
