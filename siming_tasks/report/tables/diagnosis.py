"""Section on a diagnosis: short tables under headings, each followed by the sentence to read it by."""

from __future__ import annotations

from siming_tasks.analysis.diagnosis import Diagnostics
from siming_tasks.analysis.label_agreement import StepRow
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.metrics.thresholds import TRUSTED
from siming_tasks.report.formatting import (
    mean_and_range,
    plain_difference,
    plain_number,
    plain_proportion,
    plain_pvalue,
    plain_value,
)
from siming_tasks.report.table import Cell, Name, Section, Table

SHADE = "▒"
"""Mark of a step with too few imperfect videos to read anything into its kappa."""
_YES_NO = {True: "yes", False: "no"}


def diagnosis_section(diagnosis: Diagnostics, title: str) -> Section:
    """Everything in :class:`Diagnostics` under one heading."""
    coverage = "nothing was asked"
    if diagnosis.coverage is not None:
        coverage = f"{diagnosis.coverage:.1%} of the asked steps answered"
    resamples = f", from {diagnosis.options['resamples']:,} resamples" if "resamples" in diagnosis.options else ""
    few = FLAGS["few-videos" if diagnosis.unit == "video" else "few-clusters"]
    section: Section = [
        f"# Diagnostics: {literal(title)}",
        _answer(diagnosis),
        f"{diagnosis.videos} videos, {coverage}; metrics are of the answers alone where nothing else is said. "
        f"95 % intervals in brackets{resamples}; the unit of resampling is the "
        f"{diagnosis.unit} ({diagnosis.n_clusters}). "
        "`*` marks an undefined value, `-` no data." + f" {few}" * (diagnosis.n_clusters < TRUSTED),
    ]
    section += [literal(diagnosis.estimand.sentence)] if diagnosis.estimand else []
    for part in (_equivalence, _severity, _calibration, _exam_decisions, _retest, _steps, _disputed, _history, _state,
                 _sequence, _groups, _physician_pairs):  # fmt: skip
        section += part(diagnosis)
    return section


def _answer(diagnosis: Diagnostics) -> str:
    """The diagnosis in one sentence: what the judge sees, how severe it is, how far it is from a physician."""
    imperfect, seen = sum(row.imperfect for row in diagnosis.steps.rows), sum(map(_seen, diagnosis.steps.rows))
    called, true = diagnosis.severity.called_wrong.value, diagnosis.severity.prevalence.value
    parts = [f"The judge sees {seen:,} of {imperfect:,} steps that are less than correct"] if imperfect else []
    if called is not None and true is not None:
        parts.append(f"{'it' if parts else 'The judge'} calls {called:.0%} of the steps wrong where {true:.0%} are")
    if found := diagnosis.equivalence:
        parts.append(found.sentence[0].lower() + found.sentence[1:].rstrip("."))
    return f"**{'; '.join(parts) or 'Nothing was answered that has a label'}.**"


def _seen(row: StepRow) -> int:
    """Number of the imperfect videos in which the judge calls a step so."""
    return round((row.sensitivity.value or 0.0) * row.imperfect)


def _steps(diagnosis: Diagnostics) -> Section:
    with_physicians = any(row.human for row in diagnosis.steps.rows)
    rows = []
    for row in diagnosis.steps.rows:
        share = None if row.prevalence.value is None else f"{row.imperfect} ({row.prevalence.value:.0%})"
        kappa: list[Cell] = [plain_value(row.kappa, 2), f"{row.kappa.stderr:.2f}" if row.kappa.stderr else None]
        rates: list[Cell] = [plain_value(rate, 2) for rate in (row.sensitivity, row.specificity)]
        human: Cell = plain_value(row.human, 2)
        if row.thin:  # a kappa of so few says nothing
            kappa = [f"{_seen(row)} of {row.imperfect} seen" if row.imperfect else "none imperfect", None]
            rates, human = [None, None], None
        cells = [Name(f"{SHADE} " * row.thin + row.step_id), share, *kappa, *rates]
        cells.append(plain_difference(row.bias, 2, interval=False))
        rows.append([*cells, human] if with_physicians else cells)
    head = ["step", "imperfect", "kappa", "SE", "sensitivity", "specificity", "bias"]
    table = Table.of([*head, "physicians"] if with_physicians else head, rows)
    return ["## Steps", table, f"{diagnosis.steps.caveat} {SHADE} = shaded."]


def _severity(diagnosis: Diagnostics) -> Section:
    severity = diagnosis.severity
    rows: list[tuple[str, Cell]] = [
        ("called less than correct", severity.called_wrong),
        ("less than correct", severity.prevalence),
        ("offset", plain_difference(severity.offset)),
    ]
    for pair, totals in (("judge - reference", severity.totals), ("physician A - B", severity.human)):
        if totals:
            limits = f"{plain_difference(totals.lower, 2)} to {plain_difference(totals.upper, 2)}"
            rows += [
                (f"{pair}: bias, points", plain_difference(totals.bias, 2)),
                (f"{pair}: standard deviation", plain_value(totals.sd, 2)),
                (f"{pair}: limits of agreement", limits),
                (f"{pair}: slope: change of the difference per point", plain_difference(totals.slope, 2)),
                (f"{pair}: ICC(A,1) of totals", totals.icc),
                (f"{pair}: Lin's concordance of totals", totals.concordance),
            ]
    return ["## Severity", Table.of(["", "value"], rows), severity.caveat]


def _history(diagnosis: Diagnostics) -> Section:
    history = diagnosis.history
    rows: list[list[Cell]] = []
    for scope, kappa in history.kappa.items():
        physicians = [history.human_kappa[scope]] if history.human_kappa else []
        rows.append([f"{scope} ({history.steps[scope]} steps)", kappa, *physicians])
    contrast = [plain_difference(history.human)] if history.human else []
    rows.append(["local - history", plain_difference(history.contrast), *contrast])
    text = ""
    if history.rank is not None:
        text = f"A share of {history.rank:.3f} of random assignments has a contrast at least as large. "
    if history.excess:
        text += f"Judge minus physicians: {plain_difference(history.excess)}. "
    head = ["scope", "kappa", *(["physicians"] if history.human_kappa else [])]
    return ["## Local and history steps", Table.of(head, rows), text + history.caveat]


def _state(diagnosis: Diagnostics) -> Section:
    state = diagnosis.state
    kappas = {
        "kappa, a required step failed": state.kappa_failed,
        "kappa, none failed": state.kappa_passed,
        "physicians, a required step failed": state.human_failed,
        "physicians, none failed": state.human_passed,
    }
    differences = {
        "carried forward: reference": state.propagation_reference,
        "carried forward: judge, by the true state": state.propagation_judge,
        "carried forward: judge, by its own answers": state.propagation_own_state,
        "... expected from its hit rate": state.expected,
        "shortfall: expected - judge, by the true state": state.shortfall,
    }
    rows: list[list[Cell]] = [[name, value, value.n_items] for name, value in kappas.items() if value]
    rows += [[name, plain_difference(value), value.n_items] for name, value in differences.items()]
    note = (
        f"{state.requirements} requirements. *Carried forward* is the share of steps less than fully correct after a "
        "failed requirement, minus the share of the same steps after none."
    )
    return ["## State carried forward", Table.of(["", "value", "steps"], rows), f"{note} {state.caveat}"]


def _sequence(diagnosis: Diagnostics) -> Section:
    sequence = diagnosis.sequence
    rows = [
        ("gain over the best constant", plain_difference(sequence.gain)),
        ("credit", sequence.credit),
        ("best constant", sequence.constant),
        ("videos without divergence", sequence.flawless),
        ("median first divergence", "no video diverges" if sequence.median is None else f"step {sequence.median:g}"),
    ]
    return ["## Sequence", Table.of(["", "value"], rows), sequence.caveat]


def _disputed(diagnosis: Diagnostics) -> Section:
    disputed = diagnosis.disputed
    if disputed is None:
        return ["## Agreed and disputed steps", "Needs the labels of both physicians."]
    rows = [
        ["agreed", *map(plain_proportion, (disputed.agreed, disputed.agreed_constant))],
        ["disputed", *map(plain_proportion, (disputed.disputed, disputed.disputed_constant))],
    ]
    sides = (
        f"On disputed steps the judge has physician A's label in {plain_proportion(disputed.with_a)}, B's in "
        f"{plain_proportion(disputed.with_b)}."
    )
    table = Table.of(["steps", "accuracy", "always correct"], rows)
    return ["## Agreed and disputed steps", table, f"{sides} {disputed.caveat}"]


def _exam_decisions(diagnosis: Diagnostics) -> Section:
    exam = diagnosis.exam
    if exam is None:
        return ["## Exam decisions", "Needs points; this setting asks for verdicts."]
    shares = {
        "false pass (unsafe)": exam.false_pass,
        "false fail": exam.false_fail,
        "pass by the reference": exam.pass_rate_reference,
        "passed by the judge": exam.pass_rate_judge,
        "failed must-pass steps not seen": exam.missed_must_pass,
        "decided alike": exam.consistency,
    }
    rows: list[tuple[str, Cell]] = [(name, plain_proportion(share)) for name, share in shares.items()]
    rows.append(("kappa of decisions", exam.kappa))
    if exam.human and exam.human_kappa:
        rows += [("physicians decide alike", plain_proportion(exam.human)), ("their kappa", exam.human_kappa)]
    marks = [
        [f"{mark.pass_mark:.0%}", *map(plain_proportion, (mark.consistency, mark.false_pass, mark.false_fail))]
        for mark in exam.marks
    ]
    must_pass = ", ".join(map(literal, exam.must_pass)) or "none"
    return [
        "## Exam decisions",
        f"Pass: {exam.pass_mark:.0%} of the points and no failed must-pass step ({must_pass}).",
        Table.of(["", "value"], rows),
        Table.of(["pass mark", "decided alike", "false pass", "false fail"], marks),
        exam.caveat,
    ]


def _equivalence(diagnosis: Diagnostics) -> Section:
    title, found = "## Judge and physicians", diagnosis.equivalence
    if found is None:
        return [title, "Needs two physicians' labels of the same steps."]
    rows: list[list[Cell]] = []
    for name, test in {"this judge": found.judge, **found.no_video}.items():
        interval = "-" if test.low is None or test.high is None else f"[{test.low:+.3f}, {test.high:+.3f}]"
        cells = ["-" if p is None else plain_pvalue(p) for p in (test.p_inferior, test.p_different)]
        value = "-" if test.value is None else f"{test.value:+.3f}"
        known = test.p_inferior is not None
        verdicts = [_YES_NO[holds] if known else "-" for holds in (test.not_inferior, test.equivalent)]
        rows.append([name.replace("-", " "), value, interval, cells[0], verdicts[0], cells[1], verdicts[1]])
    label = CATALOGUE[found.metric].label
    head = ["", f"{label} less the physicians'", "90 %", "p, worse", "not inferior", "p, different", "equivalent"]
    pairs = f"mean of {found.pairs} pairs" if found.pairs > 1 else "one pair"
    note = (
        "Mean agreement with each physician minus that of the physicians with each other "
        f"({plain_number(found.physicians)}, {pairs}); margin {found.margin:.3f} ({found.margin_from}). Two one-sided "
        f"t tests over {found.clusters} {found.unit}s, missing answers imputed. The no-video baselines take the same "
        "test: where one is not inferior it cannot tell a judge that looks from one that does not."
    )
    return [title, f"**{found.sentence}**", Table.of(head, rows), note]


def _calibration(diagnosis: Diagnostics) -> Section:
    calibration = diagnosis.calibration
    if calibration is None:
        return []
    rows: list[list[Cell]] = [[name, plain_difference(value, 2)] for name, value in calibration.levels.items()]
    rows.append(["all videos", plain_difference(calibration.whole, 2)])
    return [
        "## Calibration of totals",
        Table.of(["judge's total", "reference - judge, points"], rows),
        calibration.caveat,
    ]


def _retest(diagnosis: Diagnostics) -> Section:
    found = diagnosis.retest
    if found is None:
        return []
    rows: list[list[Cell]] = []
    for name, own in found.itself.items():
        human = found.physicians.get(name)
        cells = [plain_value(own), plain_value(found.reference[name]), "-" if human is None else f"{human:.3f}"]
        rows.append([CATALOGUE[name].label, *cells])
    note = f"{found.same:.1%} of {found.steps:,} steps have the same answer in both runs. {found.caveat}"
    return ["## The model with itself", Table.of(["", "itself", "reference", "physicians"], rows), note]


def _groups(diagnosis: Diagnostics) -> Section:
    biases = diagnosis.groups
    if biases is None or not biases.groups:
        return []
    rows: list[list[Cell]] = [
        [Name(group.column), Name(group.group), str(group.videos), str(group.clusters),
         plain_difference(group.error, 3), plain_difference(group.difference, 3)]
        for group in biases.groups
    ]  # fmt: skip
    head = ["column", "group", "videos", f"{diagnosis.unit}s", "error", "less that of the others"]
    return ["## Bias by group (exploratory)", Table.of(head, rows), biases.caveat]


def _physician_pairs(diagnosis: Diagnostics) -> Section:
    """Physicians pair by pair, with the mean and the range over the pairs; empty with two physicians."""
    pairs = diagnosis.pairs
    if not pairs:
        return []
    rows = []
    for name in next(iter(pairs.values())):
        values = [pair.get(name) for pair in pairs.values()]
        mean, spread = mean_and_range(values)
        cells = [None if value is None else f"{value:.3f}" for value in values]
        rows.append([name, *cells, "-" if mean == "-" else f"{mean} ({spread})"])
    note = (
        f"{len(pairs)} pairs of physicians. The columns and rows of physicians in the tables above are "
        f"{next(iter(pairs))}; here every pair, with the mean and the range over the pairs."
    )
    return ["## Physicians pair by pair", Table.of(["", *pairs, "mean (range)"], rows), note]
