"""Sections of a leak audit: a table of the probes, and a sentence for each that tells something."""

from __future__ import annotations

import math
from collections.abc import Iterator

from siming_tasks.analysis.leak_audit import LeakAudit, ProbeResult
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.report.formatting import plain_number, plain_pvalue, plain_value
from siming_tasks.report.table import Name, Section, Table

CAPTION = (
    "AUC: chance that a wrong step is thought likelier to be wrong than a right one, over all steps; above the prior: "
    "minus that of a judge who knows the step alone. Within steps: the same among the videos of one step, where 0.5 is "
    "nothing. What is said of a {unit} is learnt from the others; 95 % intervals by the jackknife over {number} "
    "{unit}s. p: within steps, Holm's correction over the probes. Largest step: not tested."
)
NOTHING = (
    "None of these tells anything of the labels beyond chance. That is no proof: what may have escaped an audit of "
    "{number} {unit}s is shown by the upper ends of the intervals."
)
SENT = "A judge that reaches no more than this has shown nothing."
IN_THE_FILE = "A model that is given the file, or its name, may use it."


def audit_section(audit: LeakAudit) -> Section:
    """The table, what it says in sentences, and which probes were left out and why."""
    rows = [_row(probe) for probe in (audit.prior, *audit.probes)]
    metrics = [CATALOGUE[name].label for name in ("qwk", "plcc")]
    head = ["probe", "AUC", "above the prior", "within steps", "p", "largest step", *metrics, "it knows"]
    facts = {"unit": audit.unit, "number": audit.clusters}
    table = Table.of(head, rows, left=(0, 5, 8), caption=CAPTION.format(**facts))
    sentences = list(_sentences(audit)) or [NOTHING.format(**facts)]
    section: Section = [table.explained(), "\n".join(f"* {sentence}" for sentence in sentences)]
    if audit.absent:
        section.append("Left out: " + "; ".join(f"{name} ({literal(why)})" for name, why in audit.absent.items()))
    return section


def _row(probe: ProbeResult) -> list[str | Name]:
    p = None if math.isnan(probe.p_holm) else probe.p_holm
    step, area = max(probe.step_aucs.items(), key=lambda item: item[1], default=("-", None))
    largest = Name(f"{step} {plain_number(area, 2)}") if area is not None else "-"
    areas = [_number(probe.auc), _number(probe.gain, "+"), _within(probe)]
    agreement = [plain_value(probe.qwk), plain_value(probe.plcc)]
    return [Name(probe.name), *areas, plain_pvalue(p), largest, *agreement, probe.what]


def _number(value: float, sign: str = "") -> str:
    return "-" if math.isnan(value) else f"{value:{sign}.3f}"


def _within(probe: ProbeResult) -> str:
    """Area within steps, with its interval where there is one."""
    value, low, high = (_number(0.5 + each) for each in (probe.within.value, probe.within.low, probe.within.high))
    return value if low == "-" else f"{value} [{low}, {high}]"


def _sentences(audit: LeakAudit) -> Iterator[str]:
    prior, label = plain_value(audit.prior.qwk, 2), CATALOGUE["qwk"].label
    for probe in audit.probes:
        if probe.tells:
            found = f"AUC {plain_number(0.5 + probe.within.value, 2)} within steps, {label} {plain_value(probe.qwk, 2)}"
            found += f" (step prior {prior}), PLCC {plain_value(probe.plcc, 2)}"
            end = SENT if probe.kind == "sent" else IN_THE_FILE
            yield f"{probe.name}: {probe.what} tell of the labels: {found}. {end}"
