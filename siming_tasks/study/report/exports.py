"""Files of a report for further use: answers.csv, each setting's comparison as CSV, TeX and Markdown, its figure.

Every table is built once from the rows of a standing, and written by :class:`siming_tasks.study.report.table.Table`.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, select
from siming_tasks.benchmark.metrics.estimate import Rows
from siming_tasks.benchmark.metrics.evaluate import RANKED
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.files import atomic_write
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import cell, literal, one_line
from siming_tasks.study.analysis.comparison import NO_VIDEO, shown_value
from siming_tasks.study.analysis.physicians import EACH_OTHER, MEAN
from siming_tasks.study.report.answer_lines import answer_lines, answer_list
from siming_tasks.study.report.figure import forest_plot
from siming_tasks.study.report.row_tables import number
from siming_tasks.study.report.standings import JudgeRow, Standing
from siming_tasks.study.report.table import Name, Number, Section, Table, tex_file, to_markdown
from siming_tasks.study.results.comparable import TaskRun
from siming_tasks.study.results.run import Run
from siming_tasks.study.words import say

ANSWERS = ("setting", "run", "video", "student", "site", "step", "truth", "answer", "status", "reference", "data")
"""Columns of ``answers.csv``: one line for each step that was asked about; points, or 1 (incorrect) and 0."""
SYNTHETIC_DATA = "SYNTHETIC data."


def write_answers(out: Path, run: Run, task_runs: Mapping[str, TaskRun], rater: str) -> None:
    """Write one run's share of ``answers.csv``, which :func:`join_answers` joins; ``rater`` is the reference."""
    data = "SYNTHETIC " * run.dataset.synthetic + one_line(run.dataset.name)
    end = [cell(one_line(rater)), cell(data)]
    with atomic_write(out / "answers" / f"{run.source.slug}.csv") as stream:
        lines = csv.writer(stream, lineterminator="\n")
        name = cell(one_line(run.name))
        for setting, task_run in task_runs.items():
            matrix, score = task_run.panel, TASKS[setting].answer == "score"
            truth = matrix.reference if score else matrix.reference_wrong.astype(float)
            status = {(record.video_id, step): record.missing.get(step) or record.status
                      for record in run.records[setting]
                      for step in (*record.answers, *record.missing, *record.parsed.abstained)}  # fmt: skip
            sides = zip(
                truth.tolist(), matrix.counted.tolist(), matrix.predicted.tolist(), matrix.asked.tolist(), strict=True
            )
            for video_id, (true, known, said, asked) in zip(matrix.video_ids, sides, strict=True):
                video = run.dataset.video(video_id)
                student, site = (cell(one_line(text or "")) for text in (video.extra.get("student"), video.site))
                about = [setting, name, cell(video_id), student, site]
                lines.writerows(
                    [*about, step, f"{true[s]:g}" if known[s] else "", "" if said[s] != said[s] else f"{said[s]:g}",
                     status.get((video_id, step), "no_line"), *end]
                    for s, step in enumerate(matrix.step_ids) if asked[s]
                )  # fmt: skip


def join_answers(out: Path, slugs: list[str]) -> None:
    """Write ``answers.csv`` from the shares of the runs."""
    with atomic_write(out / "answers.csv", "wb") as stream:
        stream.write((",".join(ANSWERS) + "\n").encode())
        for slug in slugs:
            with (out / "answers" / f"{slug}.csv").open("rb") as part:
                shutil.copyfileobj(part, stream)
    shutil.rmtree(out / "answers")


def comparison_table(standing: Standing, *, alone: bool = False) -> Table:
    """The one table of a setting, as files print it; the page shows the same cells.

    ``alone``: nothing surrounds the rows, as in CSV, so each states its reference, and that its data are synthetic.
    """
    rows = [*standing.rows, *standing.apart_rows]
    humans = any(row.physicians for row in rows)
    with_each = [f"With each {standing.people[:-1]}", f"Minus the {standing.people}"] if humans else []
    heads = ["Judge", "Kind", "Rank", standing.metric, *with_each, "Lead over no-video baselines", "Deciding baseline",
             "Beats all no-video baselines", "Better than", "Answered", *_NOTES[: 1 + alone]]  # fmt: skip
    lines = []
    for row in rows:
        mark = {None: "not tested" if row.over else None, True: "yes", False: "no"}[row.beats]
        physicians = [number(row.physicians), number(row.minus, signed=True)] if humans else []
        lines.append([Name(row.name), row.role.replace("_", "-"), row.rank or None, number(row.value), *physicians,
                      number(row.over, signed=True), row.rival or None, mark, better_text(row) or None,
                      answered(row), *_notes(standing, row, alone)])  # fmt: skip
    notes = [say("missing"), *([SYNTHETIC_DATA] if standing.synthetic else [])]
    notes += [Name(say("reference", rater=standing.reference))] if standing.reference else []
    left = (0, 1, *(place for place, head in enumerate(heads) if head in ("Deciding baseline", *_NOTES)))
    return Table(heads, lines, left=left, caption=f"{TASKS[standing.setting].title}.", notes=notes).explained()


_NOTES = ("Notes", "Reference")
"""Heads of what a row says of itself; the second where nothing else says it."""


def _notes(standing: Standing, row: JudgeRow, alone: bool) -> list[Name]:
    notes = [*row.notes, *([SYNTHETIC_DATA] if standing.synthetic and alone else [])]
    return [Name(" ".join(notes)), Name(standing.reference)][: 1 + alone]


def metrics_table(standing: Standing, *, alone: bool = False) -> Table:
    """The other metrics of a setting, one line for each judge, the no-video baselines, and the physicians."""
    known = standing.comparison.rows if standing.comparison else Rows()
    keys = [key for key in select(TASKS[standing.setting].answer, compared=True) if key != standing.headline]
    heads = ["Judge", *(CATALOGUE[key].title for key in keys), *(_NOTES if alone else ())]
    lines = []
    for row in standing.rows:
        places = {"human": (EACH_OTHER, MEAN), "no_video": (NO_VIDEO, row.source)}
        found = {each.metric: shown_value(each, row.answered) if row.answered else each
                 for each in known.of(*places.get(row.role, (RANKED, row.name)))}  # fmt: skip
        notes = _notes(standing, row, alone) if alone else []
        lines.append([Name(row.name), *(number(found.get(key)) for key in keys), *notes])
    left = (0, len(keys) + 1, len(keys) + 2)
    return Table(heads, lines, left=left).explained()


def better_text(row: JudgeRow) -> str:
    """``3 of 11``; empty without a rank, or alone."""
    return f"{row.better_than[0]} of {row.better_than[1]}" if row.better_than and row.better_than[1] else ""


def answered(row: JudgeRow) -> Number | None:
    """The share of the steps that a judge answered, without its interval."""
    return Number(row.answered.value, percent=True) if row.answered else None


def setting_section(standing: Standing, level: str = "##") -> Section:
    """A setting in Markdown: the four answers, the one table, and the other metrics."""
    title = f"{level} {TASKS[standing.setting].title}"
    return [title, answer_list(standing), comparison_table(standing), metrics_table(standing)]


def write_exports(out: Path, standing: Standing) -> None:
    """Write ``figures/<setting>.svg`` and ``tables/<setting>.csv|tex|md``."""
    name, table = standing.setting, comparison_table(standing)
    told = [Name(f"{head}. {said}") for head, said in answer_lines(standing)]
    texts = {
        f"tables/{name}.csv": comparison_table(standing, alone=True).to_csv(),
        f"tables/{name}_metrics.csv": metrics_table(standing, alone=True).to_csv(),
        f"tables/{name}.tex": tex_file(replace(table, notes=(*told, *table.notes))),
        f"tables/{name}.md": to_markdown(setting_section(standing)),
    }
    if figure := forest_plot(standing):
        texts[f"figures/{name}.svg"] = figure.file()
    for path, text in texts.items():
        with atomic_write(out / path) as stream:
            stream.write(text)


def summary_markdown(report: Mapping[str, Any], standings: Mapping[str, Standing]) -> str:
    """The report as GitHub-flavoured Markdown: a table for each setting, and the warnings."""
    dataset, options = report["dataset"], report["options"]
    section: Section = [f"# {literal(report['title'])}"]
    if report["synthetic"]:
        section.append(f"> **SYNTHETIC DATA.** {say('synthetic')}")
    section.append(
        f"{counted(dataset['videos'], 'video')} of {literal(dataset['name'])} {literal(dataset['version'])}, digest "
        f"`{dataset['digest'][:12]}`; {counted(dataset['steps'], 'step')}, rubric `{report['rubric']['id']}` "
        f"{report['rubric']['version']}; reference {literal(options['rater'])}."
        + (f" {say('machines', machines=dataset['machines'])}" if dataset["machines"] else "")
    )
    for standing in standings.values():
        section += setting_section(standing)
    warnings = [f"- {literal(run['name'])}: {literal(note)}" for run in report["runs"] for note in run["warnings"]]
    if warnings:
        section += ["## Warnings", "\n".join(warnings)]
    return to_markdown(section)
