"""Sections of a leak audit: a table of the probes, and a sentence for each that tells something."""

from __future__ import annotations

import math
from collections.abc import Iterator

from siming_tasks.analysis.leak_audit import LeakAudit, ProbeResult
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.roc import Area
from siming_tasks.metrics.thresholds import ALPHA
from siming_tasks.report.formatting import plain_number, plain_pvalue, plain_value
from siming_tasks.report.table import Name, Section, Table

CAPTION = (
    "AUC: chance that a wrong step is thought likelier to be wrong than a right one, over all steps; above the prior: "
    "minus that of a judge who knows the step alone. Within steps: the same among the videos of one step, where 0.5 is "
    "nothing. What is said of a {unit} is learnt from the others; 95 % intervals over {number} {unit}s. p: within "
    "steps, by exchanges of whole {unit}s, Holm's correction over the probes; of the step that stands out most, p for "
    "the largest of all steps."
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
    head = ["probe", "AUC", "above the prior", "within steps", "p", "step that stands out", *metrics, "it knows"]
    facts = {"unit": audit.unit, "number": audit.clusters}
    table = Table.of(head, rows, left=(0, 5, 8), caption=CAPTION.format(**facts))
    sentences = list(_sentences(audit)) or [NOTHING.format(**facts)]
    section: Section = [table.explained(), "\n".join(f"* {sentence}" for sentence in sentences)]
    if audit.absent:
        section.append("Left out: " + "; ".join(f"{name} ({literal(why)})" for name, why in audit.absent.items()))
    return section


def _row(probe: ProbeResult) -> list[str | Name]:
    p = None if math.isnan(probe.p_holm) else probe.p_holm
    step = f"{probe.step} {plain_number(probe.step_auc, 2)} (p {plain_pvalue(probe.step_p)})" if probe.step else "-"
    areas = [_area(probe.auc), _area(probe.gain, signed=True), _area(probe.within)]
    agreement = [plain_value(probe.qwk), plain_value(probe.plcc)]
    return [Name(probe.name), *areas, plain_pvalue(p), step, *agreement, probe.what]


def _area(area: Area, *, signed: bool = False) -> str:
    if math.isnan(area.value):
        return "-"
    value, low, high = (f"{number:{'+' if signed else ''}.3f}" for number in area)
    return f"{value} [{low}, {high}]"


def _sentences(audit: LeakAudit) -> Iterator[str]:
    prior, label = plain_value(audit.prior.qwk, 2), CATALOGUE["qwk"].label
    for probe in audit.probes:
        if probe.tells:
            found = f"AUC {plain_number(probe.within.value, 2)} within steps, {label} {plain_value(probe.qwk, 2)}"
            found += f" (step prior {prior}), PLCC {plain_value(probe.plcc, 2)}"
            end = SENT if probe.kind == "sent" else IN_THE_FILE
            yield f"{probe.name}: {probe.what} tell of the labels: {found}. {end}"
        elif probe.step_p <= ALPHA / len(audit.probes):
            step = f"AUC {plain_number(probe.step_auc, 2)}, p {plain_pvalue(probe.step_p)}"
            yield f"{probe.name}: {probe.what} tell of the step {probe.step}: {step}. {SENT}"
