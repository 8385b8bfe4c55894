"""Diagnostics as Markdown: short tables, each followed by the sentence to read it by."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from siming_tasks.analysis.diagnosis.diagnose import Diagnostics
from siming_tasks.analysis.diagnosis.severity import Limits
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.metrics.thresholds import TRUSTED
from siming_tasks.report.tables.cells import counted, plain_value, pvalue, short, signed, table

__all__ = ["to_markdown"]

SHADE = "▒"


def to_markdown(found: Diagnostics, title: str) -> str:
    """Everything in :class:`Diagnostics` under one heading."""
    coverage = "nothing was asked" if found.coverage is None else f"{found.coverage:.1%} of the asked steps answered"
    sections = [
        f"# Diagnostics: {literal(title)}",
        f"{found.videos} videos, {coverage}. 95 % intervals in brackets{_drawn(found)}; the unit of resampling is the "
        "video. "
        "`*` marks an undefined value, `-` no data." + f" {FLAGS['few-videos']}" * (found.videos < TRUSTED),
        *_steps(found),
        *_severity(found),
        *_history(found),
        *_state(found),
        *_sequence(found),
        *_disputed(found),
        *_exam(found),
        *_clusters(found),
        *_replaced(found),
        *_pairs(found),
        *_choices(found),
    ]
    return "\n\n".join(sections)


def _drawn(found: Diagnostics) -> str:
    return f", from {found.options['resamples']:,} resamples" if "resamples" in found.options else ""


def _steps(found: Diagnostics) -> list[str]:
    human = any(row.human for row in found.steps.rows)
    head = [
        "step",
        "imperfect",
        "kappa",
        "SE",
        "sensitivity",
        "specificity",
        "bias",
        *(["physicians"] if human else []),
    ]
    rows = []
    for row in found.steps.rows:
        error = f"{row.kappa.stderr:.2f}" if row.kappa.stderr else "-"
        share = "-" if row.prevalence.value is None else f"{row.imperfect} ({row.prevalence.value:.0%})"
        cells = [
            short(row.kappa, 2),
            error,
            short(row.sensitivity, 2),
            short(row.specificity, 2),
            signed(row.bias, 2, interval=False),
        ]
        rows.append(
            [f"{SHADE} " * row.thin + literal(row.step_id), share, *cells, *([short(row.human, 2)] if human else [])]
        )
    return ["## Steps", _table(head, rows), f"{found.steps.caveat} {SHADE} = shaded."]


def _severity(found: Diagnostics) -> list[str]:
    s = found.severity
    rows = [["called less than correct", str(s.called_wrong)], ["less than correct", str(s.prevalence)],
            ["offset", signed(s.offset)]]  # fmt: skip
    for who, limits in (("judge - reference", s.totals), ("physician A - B", s.human)):
        rows += [[f"{who}: {name}", text] for name, text in _limits(limits)]
    return ["## Severity", _table(["", "value"], rows), s.caveat]


def _limits(limits: Limits | None) -> Iterable[tuple[str, str]]:
    if limits:
        yield "bias, points", signed(limits.bias, 2)
        yield "standard deviation", f"{short(limits.sd, 2)}"
        yield (
            "limits of agreement",
            f"{signed(limits.lower, 2)} to {signed(limits.upper, 2)}",
        )
        yield "slope: change of the difference per point", signed(limits.slope, 2)
        yield "ICC(A,1) of totals", f"{limits.icc}"
        yield "Lin's concordance of totals", f"{limits.concordance}"


def _history(found: Diagnostics) -> list[str]:
    h = found.history
    rows = [
        [f"{name} ({h.steps[name]} steps)", str(kappa), *([str(h.human_kappa[name])] if h.human_kappa else [])]
        for name, kappa in h.kappa.items()
    ]
    rows.append(["local - history", signed(h.contrast),
                 *([signed(h.human)] if h.human else [])])  # fmt: skip
    text = "" if h.rank is None else f"A share of {h.rank:.3f} of random assignments has a contrast at least as large. "
    if h.excess:
        text += f"Judge minus physicians: {signed(h.excess)}. "
    head = ["scope", "kappa", *(["physicians"] if h.human_kappa else [])]
    return ["## Local and history steps", _table(head, rows), text + h.caveat]


def _state(found: Diagnostics) -> list[str]:
    s = found.state
    rows = [["kappa, a required step failed", str(s.kappa_failed), f"{s.kappa_failed.n_items}"],
            ["kappa, none failed", str(s.kappa_passed), f"{s.kappa_passed.n_items}"]]  # fmt: skip
    for name, value in (
        ("physicians, a required step failed", s.human_failed),
        ("physicians, none failed", s.human_passed),
    ):
        rows += [[name, str(value), f"{value.n_items}"]] if value else []
    for name, value in (
        ("carried forward: reference", s.propagation_reference),
        ("carried forward: judge, by the true state", s.propagation_judge),
        ("carried forward: judge, by its own answers", s.propagation_own_state),
        ("... expected from its hit rate", s.expected),
        ("shortfall: expected - judge, by the true state", s.shortfall),
    ):
        rows.append([name, signed(value), f"{value.n_items}"])
    note = (
        f"{s.requirements} requirements. *Carried forward* is the share of steps less than fully correct after a "
        "failed requirement, minus the share of the same steps after none."
    )
    return ["## State carried forward", _table(["", "value", "steps"], rows), f"{note} {s.caveat}"]


def _sequence(found: Diagnostics) -> list[str]:
    s = found.sequence
    median = "no video diverges" if s.median is None else f"step {s.median:g}"
    rows = [["gain over the best constant", signed(s.gain)], ["credit", str(s.credit)],
            ["best constant", str(s.constant)], ["videos without divergence", str(s.flawless)],
            ["median first divergence", median]]  # fmt: skip
    return ["## Sequence", _table(["", "value"], rows), s.caveat]


def _disputed(found: Diagnostics) -> list[str]:
    d = found.disputed
    if d is None:
        return ["## Agreed and disputed steps", "Needs the labels of both physicians."]
    rows = [["agreed", counted(d.agreed), counted(d.agreed_constant)],
            ["disputed", counted(d.disputed), counted(d.disputed_constant)]]  # fmt: skip
    sides = f"On disputed steps the judge has physician A's label in {counted(d.with_a)}, B's in {counted(d.with_b)}."
    return [
        "## Agreed and disputed steps",
        _table(["steps", "accuracy", "always correct"], rows),
        f"{sides} {d.caveat}",
    ]


def _exam(found: Diagnostics) -> list[str]:
    e = found.exam
    if e is None:
        return ["## Exam decisions", "Needs points; this setting asks for verdicts."]
    rows = [
        ["false pass (unsafe)", counted(e.false_pass)],
        ["false fail", counted(e.false_fail)],
        ["pass by the reference", counted(e.pass_rate_reference)],
        ["passed by the judge", counted(e.pass_rate_judge)],
        ["failed must-pass steps not seen", counted(e.missed_must_pass)],
        ["decided alike", counted(e.consistency)],
        ["kappa of decisions", str(e.kappa)],
    ]
    if e.human and e.human_kappa:
        rows += [["physicians decide alike", counted(e.human)], ["their kappa", str(e.human_kappa)]]
    marks = [
        [f"{m.pass_mark:.0%}", *(counted(p) for p in (m.consistency, m.false_pass, m.false_fail))] for m in e.marks
    ]
    must = ", ".join(map(literal, e.must_pass)) or "none"
    return [
        "## Exam decisions",
        f"Pass: {e.pass_mark:.0%} of the points and no failed must-pass step ({must}).",
        _table(["", "value"], rows),
        _table(["pass mark", "decided alike", "false pass", "false fail"], marks),
        e.caveat,
    ]


def _clusters(found: Diagnostics) -> list[str]:
    out = []
    for each in found.clusters:
        few = any(row.left_out for row in each.metrics.values())
        rows = []
        for name, row in each.metrics.items():
            known = [value for value in row.left_out.values() if value is not None]
            spread = f"{min(known):.3f} to {max(known):.3f}" if known else "-"
            cells = [plain_value(value) for value in (row.value, row.by_video, row.by_cluster)]
            rows.append([CATALOGUE[name].label, *cells, *([spread] if few else [])])
        head = ["", "value", "SE over videos", f"SE over {each.kind}s", *([f"without one {each.kind}"] if few else [])]
        note = (
            f"{each.names} {each.kind}s, up to {each.largest} videos each. Videos of one {each.kind} are not "
            "independent: where the second standard error is larger, the intervals over videos are too short. It is "
            f"that of leaving out each {each.kind} in turn, and says little with fewer than ten."
        )
        out += [f"## If {each.kind}s are what was sampled", _table(head, rows), note]
    return out


def _replaced(found: Diagnostics) -> list[str]:
    r = found.replaced
    if r is None:
        return ["## In the place of a physician", "Needs two physicians' labels of the same videos."]
    rows = [
        [literal(name), f"{row.judge:.3f}", f"{row.physician:.3f}", pvalue(row.p_value), "yes" if row.holds else "no"]
        for name, row in r.physicians.items()
    ]
    note = (
        f"At what share of the steps is the judge, and the physician, at least as near to the others? Not inferior: "
        f"the physician is less than {r.margin:g} ahead (one-sided t test over videos, Benjamini-Yekutieli). Win rate "
        f"{r.win_rate:.2f}; at least 0.5 speaks for the judge. A missing answer counts as worse than any."
    )
    head = ["left out", "judge", "physician", "p", "not inferior"]
    return ["## In the place of a physician", _table(head, rows), note]


def _pairs(found: Diagnostics) -> list[str]:
    """Physicians pair by pair, with the mean and the range over the pairs; nothing with two physicians."""
    if not found.pairs:
        return []
    rows = []
    for name in next(iter(found.pairs.values())):
        values = [pair.get(name) for pair in found.pairs.values()]
        known = [value for value in values if value is not None]
        spread = f"{sum(known) / len(known):.3f} ({min(known):.3f} to {max(known):.3f})" if known else "-"
        rows.append([name, *("-" if value is None else f"{value:.3f}" for value in values), spread])
    note = (
        f"{len(found.pairs)} pairs of physicians. The columns and rows of physicians in the tables above are "
        f"{next(iter(found.pairs))}; here every pair, with the mean and the range over the pairs."
    )
    return ["## Physicians pair by pair", "\n".join(table(["", *found.pairs, "mean (range)"], rows)), note]


def _choices(found: Diagnostics) -> list[str]:
    tables = []
    for choice, group in groupby(found.choices.options, key=lambda option: option.choice):
        options = list(group)
        rows = [[o.option, *map(plain_value, o.values.values())] for o in options]
        tables.append(_table([choice, *(CATALOGUE[name].label for name in options[0].values)], rows))
    return ["## Choices left open", *tables, found.choices.caveat]


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(table(head, rows))
