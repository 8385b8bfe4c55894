"""Inputs: what is left without some of the evidence, what sound adds, and whether one act moves the one step.

A metric that a judge keeps without the video, or on another exam's video, was not earned by watching.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, headline, select, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate, Rows
from siming_tasks.benchmark.metrics.formats import mean_of
from siming_tasks.benchmark.metrics.jackknife import combine, jackknife
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.common.choices import LabelMapping
from siming_tasks.study.analysis.pairs import aligned, paired_rows
from siming_tasks.study.analysis.tables import TableText, table_row

if TYPE_CHECKING:
    from siming_tasks.options import Options
    from siming_tasks.study.results.run import Run

CORRECTED = ("plcc", "srcc", "qwk", "mcc")
"""Metrics that are 0 for a judge that answers at random, so that a share of them means something."""
NO_AGREEMENT = "The plain task is not shown to agree beyond chance (an interval above 0), so no share is reported."
_METRICS = {key: CATALOGUE[key].label for key in select(symmetric=True)}
_WITHOUT_PICTURES = ("media", "frames", "size", "density", "encoding", "sampler", "pixels")

TABLES: Mapping[str, TableText] = {
    "ablations": TableText(
        "Ablations", "The judge against {reference} with the plain input and without some of it.", _METRICS
    ),
    "sound": TableText(
        "Sound", "The judge against {reference} with pictures alone, with sound, and with a transcript.", _METRICS
    ),
    "minimal pairs": TableText(
        "Minimal pairs",
        "Shares of the pairs of exams that differ in one act, by {reference}, and were both answered.",
        {"right": "right", "moved": "moved the right way", "wrong_way": "moved the wrong way",
         "elsewhere": "steps moved elsewhere", "local": "local pairs"},
    ),
}  # fmt: skip


def changed_input(
    table: str, name: str, plain: ScoreMatrix, changed: ScoreMatrix, rubric: Rubric,
    *, mapping: LabelMapping = "absolute",
) -> Rows:  # fmt: skip
    """Table ``ablations`` or ``sound`` of one change of a judge's input.

    Rows ``name: plain``, ``name: changed``, ``name: change`` and, of ablations, ``name: survives``: changed / plain,
    where the plain value is shown to be above 0. Over the videos of both, on the steps that were answered both times;
    ablations also on the steps that depend on earlier ones, sound on the steps that need it and on the others.

    Raises:
        DataError: they share no video or step, or are scored against different labels.
    """
    by_id = {step: rubric.by_id[step] for step in plain.step_ids if step in rubric.by_id}
    past = [step for step, rule in by_id.items() if rule.scope == "history"]
    heard = [step for step, rule in by_id.items() if rule.evidence.is_heard]
    others = [step for step in by_id if step not in heard]
    parts = {", history steps": past} if table == "ablations" else {", need sound": heard, ", others": others}
    rows, keys = Rows(), select(plain.answer, symmetric=True)
    for part, steps in {"": plain.step_ids, **parts}.items():
        if not steps:
            continue
        sides = aligned(*(side.subset(steps) if part else side for side in (plain, changed)))
        both = sides[0].answered & sides[1].answered
        before, after = (side.predicting(np.where(both, side.predicted, np.nan)) for side in sides)
        names = (f"{name}{part}: plain", f"{name}{part}: changed", f"{name}{part}: change")
        found = paired_rows(table, names, before, after, keys, ranked=False, mapping=mapping)
        rows += found
        for key in CORRECTED if table == "ablations" else ():
            if key in keys:
                values = [jackknife(statistic(key, mapping), side) for side in (after, before)]
                share, low = Estimate(None, why=NO_AGREEMENT), found.one(row=names[0], metric=key).low
                if low is not None and low > 0:
                    share = combine(values, lambda a, b: a / b).estimate()
                rows += [share.at(table, f"{name}{part}: survives", key)]
    return rows


def minimal_pairs(matrix: ScoreMatrix, pairs: Sequence[Mapping[str, Any]]) -> Rows:
    """Table ``minimal pairs``: none if no pair's videos are both in the matrix.

    ``right``: the answer to the step moved the right way and no answer moved to a step of equal truth; ``moved``: the
    right way, whatever happened elsewhere; ``elsewhere``: mean share of the steps of equal truth whose answer moved.
    A pair belongs to the cluster of its first video, and n counts first videos. ``pairs`` are lines of ``pairs.jsonl``
    (:func:`siming_tasks.data.dataset.read_pairs`).
    """
    row = {name: place for place, name in enumerate(matrix.video_ids)}
    column = {name: place for place, name in enumerate(matrix.step_ids)}
    heads = list(TABLES["minimal pairs"].heads)
    asked = [pair for pair in pairs if {pair["video_a"], pair["video_b"]} <= row.keys()]
    values, of = np.zeros((2, len(heads), len(row), len(asked)))
    for place, pair in enumerate(asked):
        first, second = row[pair["video_a"]], row[pair["video_b"]]
        change = matrix.predicted[second] - matrix.predicted[first]
        moved = change[column[pair["step_id"]]] * pair["direction"] * (1 if matrix.answer == "score" else -1)
        others = change[[column[name] for name in pair["unchanged_steps"]]]
        others = others[~np.isnan(others)] != 0
        if np.isnan(moved):
            continue
        found = {"right": moved > 0 and not others.any(), "moved": moved > 0, "wrong_way": moved < 0}
        found |= {"local": pair["kind"] == "local"} | ({"elsewhere": others.mean()} if len(others) else {})
        for key, value in found.items():
            values[heads.index(key), first, place], of[heads.index(key), first, place] = value, 1
    shares = [mean_of(value, known > 0, "No pair was answered.") for value, known in zip(values, of, strict=True)]
    found = {key: jackknife(replace(each, share=True), matrix) for key, each in zip(heads, shares, strict=True)}
    return table_row("minimal pairs", "judge", found if asked else {})


def run_inputs(run: Run, setting: str, options: Options, allow: Collection[str] = ()) -> Rows:
    """Tables ``ablations`` and ``sound`` of every control that a run made of a setting; none without the plain task.

    One that cannot be compared with the plain task has a row with the reason and no value. ``allow`` has differences to
    accept (:data:`siming_tasks.benchmark.exams.DIFFERENCES`).
    """
    from siming_tasks.benchmark.tasks import ABLATION_TASKS, SOUND_TASKS, TASKS
    from siming_tasks.study.results.comparable import TaskRun, comparable

    def asked(name: str, called: str) -> TaskRun:
        found = TaskRun.of(run, name, options.rater)
        conditions = {request.partition("/")[2]: each for request, each in found.conditions.items()}
        return replace(found, name=called, conditions=conditions)  # requests of two tasks differ in the task alone

    controls = [TASKS[name] for name in (*ABLATION_TASKS, *SOUND_TASKS) if run.records.get(name)]
    controls = [task for task in controls if task.base_task == setting and run.records.get(setting)]
    rows = Rows()
    for task in controls:
        name = task.ablation.name or task.modality.name
        differs = task.ablation.changes or ("prompt", *(() if task.modality.pictures else _WITHOUT_PICTURES))
        plain, other = asked(setting, "plain task"), asked(task.name, name)
        table = "ablations" if task.ablation else "sound"
        if reasons := comparable(plain, other, (*allow, *differs, "videos", "steps")):
            rows += [Estimate(None, why=reasons[0]).at(table, f"{name}: change", headline(task.answer))]
        else:
            book, mapping = run.dataset.rubric, options.mapping
            rows += changed_input(table, name, plain.panel, other.panel, book, mapping=mapping)
    return rows
