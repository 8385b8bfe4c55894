"""Section on readers against an instrument: one sentence, each reader, each physician with each model, each step."""

from __future__ import annotations

from siming_tasks.analysis.second_reader import Accuracy, McNemar, ReaderStudy, SecondReader
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.thresholds import THIN
from siming_tasks.report.formatting import plain_difference, plain_pvalue
from siming_tasks.report.table import Cell, Name, Section, Table

_COUNTS = ("found", "missed", "false alarms", "passed")


def reader_section(study: ReaderStudy, resamples: int) -> Section:
    """All tables of a study, after the sentence that says what was found."""
    against = literal(study.reference)
    head = ["reader", "judged", *_COUNTS, "sensitivity", "specificity", "LR+", "LR-", f"p against {against}"]
    rows: list[list[Cell]] = []
    for row in study.readers.values():
        name, *counts = _accuracy(row)
        rows.append([name, row.judged, *counts, plain_pvalue(row.against.p)])
    caption = (
        f"Positive is a wrong step. judged: of the {study.steps:,} steps that {against} judged. 95 % intervals over "
        f"{study.clusters:,} clusters of {study.videos:,} videos, "
        f"{resamples:,} resamples; none where fewer than {THIN} steps are wrong, or right. p: McNemar, exact, false "
        "alarms against misses; of single steps, so that steps of one exam make it too small."
    )
    section: Section = [literal(study.sentence), *(f"**Note**: {literal(note)}" for note in study.notes)]
    section.append(Table.of(head, rows, caption=caption).explained())
    for pair in study.pairs:
        section += _pair(pair)
    if study.per_step:
        section += ["### Step by step", _per_step(study)]
    return section


def _accuracy(row: Accuracy, name: str = "") -> list[Cell]:
    ratios = [row.sensitivity, row.specificity, row.lr_positive, row.lr_negative]
    return [Name(name or row.name), row.tp, row.fn, row.fp, row.tn, *ratios]


def _pair(pair: SecondReader) -> Section:
    """A physician with a second reader: the work, the rules, and the two against each other."""
    work = Table.of(
        ["second reading", "steps", "share"],
        [
            ["misses of the first reader", pair.misses, ""],
            ["of these caught", pair.caught_count, pair.caught],
            ["re-reads asked for (the first passed, the second did not)", pair.reread_count, pair.rereads],
            ["of these misses", pair.caught_count, pair.worth],
            ["disagreements (what a third opinion decides)", _of(pair), pair.disagreements],
        ],
    )
    first, second = (_accuracy(row, f"{row.name} alone") for row in (pair.first, pair.second))
    rules = [_accuracy(row, rule) for rule, row in pair.rules.items()]
    table = Table.of(["wrong by", *_COUNTS, "sensitivity", "specificity", "LR+", "LR-"], [first, second, *rules])
    gains = Table.of(
        ["second minus first", "difference", "second alone", "first alone", "p"],
        [
            ["sensitivity", plain_difference(pair.sensitivity_gain), *_test(pair.on_wrong)],
            ["specificity", plain_difference(pair.specificity_gain), *_test(pair.on_right)],
        ],
        caption="second alone, first alone: steps on which that reader alone is right. p: McNemar, exact.",
    )
    heading = f"### {literal(pair.human)} with {literal(pair.model)} as second reader"
    return [heading, work.explained(), table.explained(), gains]


def _of(pair: SecondReader) -> int:
    return round((pair.disagreements.value or 0.0) * pair.disagreements.n_items)


def _test(test: McNemar) -> list[Cell]:
    return [test.first_only, test.second_only, plain_pvalue(test.p)]


def _per_step(study: ReaderStudy) -> Table:
    rows: list[list[Cell]] = []
    for step, readers in study.per_step.items():
        for row in readers.values():
            rows.append([Name(step), *_accuracy(row)[:7]])
    head = ["step", "reader", *_COUNTS, "sensitivity", "specificity"]
    return Table.of(
        head, rows, left=(0, 1), caption="Exploratory: nothing corrects for the number of steps."
    ).explained()
