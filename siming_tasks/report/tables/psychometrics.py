"""Psychometrics of the raters as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from siming_tasks.analysis.psychometrics.differential_functioning import LARGE
from siming_tasks.analysis.psychometrics.generalizability import COMPONENTS, raters_needed
from siming_tasks.analysis.psychometrics.rasch import Facet
from siming_tasks.analysis.psychometrics.rater_psychometrics import Psychometrics
from siming_tasks.common.sanitize import literal
from siming_tasks.report.tables.cells import plain_value, pvalue, signed, table

__all__ = ["psychometrics_markdown"]

_GOALS = (0.8, 0.9)
_NAMES = {
    "generalizability": "Generalisability",
    "rasch": "Rasch model",
    "sites": "Difficulty by site",
    "cuts": "Cut score",
    "decisions": "Accuracy of decisions",
}


def psychometrics_markdown(found: Psychometrics) -> str:
    """Totals, variance components, difficulty and severity, sites, cut scores and decisions."""
    videos, steps = found.complete
    lines = ["### Totals", "", f"Shares of the points of {steps} steps in the {videos} of {found.videos} videos whose "
             f"steps all of {', '.join(map(literal, found.raters))} scored.", ""]  # fmt: skip
    lines += [*_totals(found), *_generalisability(found), *_rasch(found), *_sites(found), *_decisions(found)]
    for name, why in found.missing.items():
        lines += ["", f"{_NAMES[name]}: not computed. {literal(why)}"]
    return "\n".join(lines) + "\n"


def _totals(found: Psychometrics) -> Iterable[str]:
    rows = []
    if found.icc:
        rows += [
            ["ICC(A,1): one rater, as it stands", str(found.icc.agreement)],
            ["ICC(C,1): one rater, offsets apart", str(found.icc.consistency)],
            [f"ICC(A,{found.icc.raters}): mean of the raters", str(found.icc.mean_agreement)],
        ]
    rows += [[f"Lin's concordance, {literal(pair)}", str(value)] for pair, value in found.concordance.items()]
    for pair, limits in found.limits.items():
        rows += [
            [f"{literal(pair)}: mean difference", signed(limits.bias)],
            [f"{literal(pair)}: lower limit of agreement", signed(limits.lower)],
            [f"{literal(pair)}: upper limit of agreement", signed(limits.upper)],
            [f"{literal(pair)}: slope over the mean", signed(limits.slope)],
        ]
    yield from table(["", "value"], rows)
    yield ""
    yield "Intervals by normal theory (F, Fisher's z, t); skewed totals make them too short."


def _generalisability(found: Psychometrics) -> Iterable[str]:
    study = found.generalizability
    if study is None:
        return
    yield from ("", "### Generalisability", "")
    rows = [
        [COMPONENTS[name], f"{part.variance:.5f}", plain_value(part.stderr, 5), f"{part.share:.1%}"]
        for name, part in study.components.items()
    ]
    yield from table(["source", "variance", "SE", "share"], rows)
    yield ""
    yield f"Points / maximum of {study.trainees} trainees x {study.steps} steps x {study.raters} raters; SE: jackknife."
    yield ""
    rows = [
        ["these steps" if d.fixed else "steps as a sample", str(d.raters), plain_value(d.relative),
         plain_value(d.absolute), f"{d.sem:.3f}"]
        for d in found.designs
    ]  # fmt: skip
    yield from table(["exam", "raters", "generalisability", "dependability", "SEM"], rows)
    yield ""
    yield "SEM: standard error of measurement of a total, as a share of the points."
    for goal in _GOALS:
        raters = raters_needed(study, goal)
        yield ""
        yield (
            f"Dependability {goal:g} on these steps: "
            + ("no number of raters reaches it." if raters is None else f"{raters} rater{'s' * (raters > 1)}.")
        )


def _rasch(found: Psychometrics) -> Iterable[str]:
    model = found.rasch
    if model is None:
        return
    yield from ("", "### Difficulty and severity (Rasch)", "")
    yield from table(["rater", "severity", "SE", "infit", "outfit"], [_facet(*item) for item in model.raters.items()])
    yield ""
    hardest = sorted(model.steps.items(), key=lambda item: -item[1].measure)
    yield from table(["step", "difficulty", "SE", "infit", "outfit"], [_facet(*item) for item in hardest])
    yield ""
    yield (
        f'Logits of "fully correct", by conditional maximum likelihood on {model.trainees} trainees; {model.extreme} '
        "were judged all right or all wrong and tell nothing here. Mean squares near 1 fit; above 1.3 is erratic. "
        "Standard errors take two raters of one step for independent and are too small where they err alike."
    )
    if model.left_out:
        yield from (
            "",
            f"Judged the same every time, hence without a difficulty: {', '.join(map(literal, model.left_out))}.",
        )


def _facet(name: str, facet: Facet) -> list[str]:
    numbers = [
        f"{facet.measure:+.2f}",
        f"{facet.stderr:.2f}",
        plain_value(facet.infit, 2),
        plain_value(facet.outfit, 2),
    ]
    return [literal(name), *numbers]


def _sites(found: Psychometrics) -> Iterable[str]:
    if found.sites is None:
        return
    rows = [
        [literal(d.step), literal(d.site), f"{d.value:+.2f}", f"{d.stderr:.2f}", pvalue(d.p_value)]
        for d in found.sites.differences
        if d.large
    ]
    yield from ("", "### Difficulty by site", "")
    if rows:
        yield from table(["step", "harder at", "logits", "SE", "p (Holm)"], rows)
        yield ""
    sizes = ", ".join(f"{literal(site)} ({n})" for site, n in found.sites.trainees.items())
    yield (
        f"{len(rows)} of {len(found.sites.differences)} comparisons differ by {LARGE} logits or more with Holm's p "
        f"below .05, for trainees of the same ability; videos: {sizes}."
    )


def _decisions(found: Psychometrics) -> Iterable[str]:
    if found.cuts:
        yield from ("", "### Where to pass", "")
        rows = [[cut.method, f"{cut.value:.1%}", plain_value(cut.stderr), str(cut.n)] for cut in found.cuts]
        yield from table(["method", "cut score", "SE", "examinees"], rows)
    if found.decisions:
        yield from ("", "### How often decisions are right (Livingston-Lewis)", "")
        rows = [
            [f"{d.cut:.1%}", f"{d.accuracy:.3f}", f"{d.false_pass:.3f}", f"{d.false_fail:.3f}", f"{d.consistency:.3f}",
             plain_value(d.kappa)]
            for d in found.decisions
        ]  # fmt: skip
        yield from table(["cut score", "accuracy", "false pass", "false fail", "consistency", "kappa"], rows)
        first = found.decisions[0]
        yield ""
        yield (
            f"Totals with dependability {first.reliability:.3f}, as reliable as {first.length} independent items; "
            f"true scores: beta distribution fitted to {first.true.moments} moments. Points alone: without must-pass "
            "steps."
        )
