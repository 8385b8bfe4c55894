"""Pages of the exams: a list with totals, and for each a player, its step spans and every judge's answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup, escape

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.metrics.correlation import totals
from siming_tasks.benchmark.metrics.labels import ordinal_labels
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.types import CONSENSUS, Answer
from siming_tasks.common.choices import LabelMapping
from siming_tasks.common.errors import MediaError
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import visible
from siming_tasks.data import Dataset
from siming_tasks.media import has_sound
from siming_tasks.study.report.formatting import page_points, short_names
from siming_tasks.study.report.pages.site import VERDICTS, DifferenceKind, Page, ReportContents, Site, neighbours
from siming_tasks.study.report.run_analysis import RunAnalysis
from siming_tasks.study.report.viewer_files import (
    PromptFiles,
    VideoLinker,
    reasons_for_lost_points,
    write_frame_times,
    write_rubric_script,
    write_transcript,
)
from siming_tasks.study.results.discovery import RunSource


def _write(contents: ReportContents, share: int, shares: int) -> None:
    """Write every ``shares``-th video's page, beginning with the ``share``-th; the first share writes the index too."""
    site, dataset = contents.site, contents.dataset
    ids = [video.video_id for video in dataset.videos]
    answers, rater = answers_by_rank(contents), contents.report["options"]["rater"]
    if share == 0:
        list_videos(site, dataset, answers, contents.link, rater)
        write_rubric_script(site.out, dataset.rubric)
    mapping: LabelMapping = contents.report["options"]["mapping"]
    slugs = {run.source.slug for runs in answers.values() for run in runs}
    prompts = PromptFiles(site.out, dataset, answers)
    for index in range(share, len(ids), shares):
        video = dataset.videos[index]
        # no page may load a file of replies that is not there
        silent = {slug for slug in slugs if not (site.out / "data" / slug / f"{video.video_id}.js").is_file()}
        source = contents.link(video)
        steps = step_rows(video, dataset, mapping, reasons_for_lost_points(dataset, video), rater)
        prompts.write(video)
        site.page(
            f"videos/{ids[index]}.html",
            "video.html",
            video={"id": ids[index]},
            **neighbours(ids, index),
            media=source,
            frames=write_frame_times(site.out, ids[index], dataset.media_path(video)) if source else "unknown",
            sound=bool(source) and _is_heard(dataset.media_path(video)),
            transcript=bool(source) and write_transcript(site.out, video),
            skills=dataset.rubric.skills,
            duration=video.duration,
            raters=dataset.physicians,
            critical=any(dataset.rubric.by_id[label.step_id].critical for label in video.applicable),
            parts=[
                _sheet(name, video, dataset, runs, mapping, steps, rater, first=not place)
                for place, (name, runs) in enumerate(answers.items())
            ],
            silent=silent,
        )


def _is_heard(media: Path) -> bool:
    """Test whether a video can be read and has sound; a player without any is muted, so that links may start it."""
    try:
        return has_sound(media)
    except MediaError:
        return False


def answers_by_rank(contents: ReportContents) -> dict[str, list[RunAnswers]]:
    """The answers of all runs by setting, in the order of that setting's table."""
    found = {}
    for name in TASKS:
        standing = contents.standings.get(name)
        place = {row.slug: index for index, row in enumerate(standing.rows if standing else ())}
        runs = [run for run in contents.analyses if name in run.matrices]
        runs.sort(key=lambda run: place.get(run.source.slug, len(place)))
        if runs:
            found[name] = [RunAnswers(run, run.matrices[name], name) for run in runs]
    return found


@lru_cache(maxsize=4096)
def _label(points: float | None, top: float, mapping: LabelMapping) -> str:
    """Class of a label of these points, for the time line: ``k3`` (fully correct) to ``k0`` (failed), or empty."""
    return "" if points is None else f"k{int(ordinal_labels(points, top, mapping))}"


def _people_totals(video: Video, dataset: Dataset, answer: Answer, reference: str) -> dict[str, Any]:
    """Points of the ``reference`` and of each rater, or for verdicts steps called wrong; None if points are missing."""

    def total(rater: str) -> float | None:
        given = [(label.scores.get(rater), dataset.rubric.by_id[label.step_id].max_score) for label in video.applicable]
        points = [value if answer == "score" else float(value < top) for value, top in given if value is not None]
        return sum(points) if points and len(points) == len(given) else None

    return {"reference": total(reference), "raters": [total(rater) for rater in dataset.physicians]}


class StepRow(NamedTuple):
    """One step of an exam: attributes of its row, and by answer the cells of label and raters."""

    id: str
    top: float
    reference: float | None
    attributes: str
    lost: str
    cells: Mapping[Answer, str]


def step_rows(
    video: Video, dataset: Dataset, mapping: LabelMapping, lost: Mapping[str, Sequence[str]], reference: str
) -> list[StepRow]:
    """The steps of an exam as HTML; ``lost``: by step, why points were lost; ``reference``: whose points it is."""
    rows = []
    for label in video.applicable:
        step = dataset.rubric.by_id[label.step_id]
        top, ids, span = step.max_score, escape(step.id), label.span
        attributes = f' data-step="{ids}" data-skill="{escape(dataset.rubric.skill_of[step.id])}"'
        attributes += f' data-max="{page_points(top)}"'
        attributes += f' data-start="{span[0]}" data-end="{span[1]}"' if span else ""
        why = json.dumps(list(map(visible, lost[step.id]))) if lost.get(step.id) else ""
        critical = ' class="critical"' if step.critical else ""
        head = f'<th scope="row"{critical}>{ids} <span class="sub">{escape(visible(step.name))}</span></th>'
        given, truth = [label.scores.get(rater) for rater in dataset.physicians], label.scores.get(reference)
        cells = {answer: head + _people_cells(truth, given, top, answer, mapping) for answer in _ANSWERS}
        lost_here = f' data-lost="{escape(why)}"' if why else ""
        rows.append(StepRow(step.id, top, truth, attributes, lost_here, cells))
    return rows


_ANSWERS: tuple[Answer, ...] = ("score", "error")
_SIGNS = ("✓", "✗")
"""Signs of a verdict; their number is that of the predicted class."""


def _people_cells(
    label: float | None, given: Sequence[float | None], top: float, answer: Answer, mapping: LabelMapping
) -> str:
    """Cells of the label and of each rater: points, or the sign of a verdict with the label's points behind it."""

    def text(points: float | None) -> str:
        return page_points(points) if points is None or answer == "score" else _SIGNS[points < top]

    of = f"{f' {page_points(label)}' if answer == 'error' else ''}/{page_points(top)}"
    cells = [f'<td class="num {_label(label, top, mapping)}">{text(label)}<span class="of">{of}</span></td>']
    for points in given:
        differs = points is not None and text(points) != text(label)
        cells.append(f'<td class="num{" differs" * differs}">{text(points)}</td>')
    return "".join(cells)


def _sheet(
    name: str, video: Video, dataset: Dataset, answers: Sequence[RunAnswers], mapping: LabelMapping,
    steps: Sequence[StepRow], reference: str, *, first: bool,
) -> dict[str, Any]:  # fmt: skip
    """One setting on a video's page: a row for each step with everybody's answers, and the totals.

    The errors that most judges missed come first. Why points were lost is stated once, in the ``first`` sheet.
    """
    rows, answer = [], TASKS[name].answer
    for step in steps:
        cells = [run.cell(video.video_id, step.id, step.reference, step.top) for run in answers]
        judged = "".join(cell for _, cell in cells)
        line = f"<tr{step.attributes}{step.lost if first else ''}>{step.cells[answer]}{judged}</tr>\n"
        rows.append((sum(kind == "miss" for kind, _ in cells), line))
    return {
        "setting": name,
        "scope": TASKS[name].scope,
        "title": TASKS[name].title,
        "runs": _heads(answers),
        "rows": Markup("".join(line for _, line in sorted(rows, key=lambda row: -row[0]))),
        "total": "Points" if answer == "score" else "Steps called wrong",
        "max": sum(step.top for step in steps) if answer == "score" else None,
        **_people_totals(video, dataset, answer, reference),
        "totals": [run.total(video.video_id) for run in answers],
    }


def list_videos(
    site: Site,
    dataset: Dataset,
    answers: Mapping[str, Sequence[RunAnswers]],
    link: VideoLinker,
    reference: str = CONSENSUS,
) -> None:
    """Write the list of all videos with all totals in the first setting, those judged worst first.

    The browser pages and searches it.
    """
    name = next(iter(answers))
    models = [run for run in answers[name] if run.source.role == "model"]
    unit = "points, full marks " + page_points(dataset.rubric.max_score)
    rows = []
    for video in dataset.videos:
        cells = [(run.total(video.video_id), run.source.slug) for run in answers[name]]
        shares = [run.wrong[run.row[video.video_id]] for run in models or answers[name] if video.video_id in run.row]
        spans = [label.span for label in video.applicable if label.span]
        facts = {
            "id": video.video_id,
            "site": video.site,
            "duration": video.duration,
            "cells": cells,
            "media": link(video),
            "time": sum(spans[len(spans) // 2] if spans else (0.0, video.duration)) / 2,
            "wrong": float(np.mean(known)) if (known := [share for share in shares if share == share]) else None,
        }
        rows.append(facts | _people_totals(video, dataset, TASKS[name].answer, reference))
    rows.sort(key=lambda row: -(row["wrong"] or 0.0))
    site.page(
        "videos/index.html",
        "videos.html",
        title=f"{TASKS[name].title}: {unit if TASKS[name].answer == 'score' else 'steps called wrong'}",
        setting=name,
        sites=any(video.site for video in dataset.videos),
        raters=dataset.physicians,
        runs=_heads(answers[name]),
        judges="models" if models else "judges",
        videos=rows,
        incomplete=any(total.rests_on for row in rows for total, _ in row["cells"]),
    )


def _heads(answers: Sequence[RunAnswers]) -> list[tuple[RunSource, str]]:
    """The runs with names for narrow heads."""
    sources = [run.source for run in answers]
    return list(zip(sources, short_names([source.name for source in sources]), strict=True))


class VideoTotal(NamedTuple):
    """A judge's points for one exam, or for verdicts the number of steps called incorrect.

    Attributes:
        value: the total; None where too little was answered.
        answered: steps that it rests on.
        due: steps that were asked; of points, those with a reference.
    """

    value: float | None
    answered: int
    due: int

    @property
    def rests_on(self) -> str:
        """Text on the steps that it rests on, such as ``29/33 steps``; empty if it is complete."""
        return "" if self.answered == self.due else f"{self.answered}/{counted(self.due, 'step')}"


def video_totals(matrix: ScoreMatrix) -> list[VideoTotal]:
    """The totals of a matrix's videos, in their order; those of points are correlated with the reference's."""
    due = matrix.counted if matrix.answer == "score" else matrix.asked
    known = due & matrix.answered
    if matrix.answer == "score":
        values = totals(matrix)[1] * (due * matrix.max_score).sum(axis=1)  # a total is a share of the points
    else:
        called = (matrix.predicted_wrong & known).sum(axis=1).astype(float)
        values = np.where(known.any(axis=1), called, np.nan)
    rests = zip(values.tolist(), known.sum(axis=1).tolist(), due.sum(axis=1).tolist(), strict=True)
    return [VideoTotal(None if value != value else value, answered, due) for value, answered, due in rests]


class RunAnswers:
    """One run's answers to one setting, by video and step."""

    def __init__(self, run: RunAnalysis, matrix: ScoreMatrix, setting: str) -> None:
        self.source, self.answer = run.source, matrix.answer
        self.claimed = run.claimed.get(setting, {})
        self.row = {video: index for index, video in enumerate(matrix.video_ids)}
        self.column = {step: index for index, step in enumerate(matrix.step_ids)}
        # lists: millions of single cells are read, which NumPy is slow at
        self.predicted, self.asked = matrix.predicted.tolist(), matrix.asked.tolist()
        self.reasons = run.reasons.get(setting, {})
        self.totals = video_totals(matrix)
        differs, known = matrix.reference_wrong != matrix.predicted_wrong, matrix.counted & matrix.answered
        with np.errstate(invalid="ignore"):  # nothing was answered: no share
            self.wrong = (np.sum(differs & known, axis=1) / known.sum(axis=1)).tolist()

    def total(self, video_id: str) -> VideoTotal:
        """The total of an exam; of nothing where the run was not asked about it."""
        return self.totals[self.row[video_id]] if video_id in self.row else VideoTotal(None, 0, 0)

    def cell(
        self, video_id: str, step_id: str, reference: float | None, top: float
    ) -> tuple[DifferenceKind | None, str]:
        """Kind of an answer's difference from the reference, and the cell of a sheet, which is coloured by it.

        ``data-d`` says how it differs, ``data-claim`` what it rests on: starts and ends in seconds
        of the video, for the time line.
        """
        v, s = self.row.get(video_id), self.column[step_id]
        if v is None or not self.asked[v][s]:
            return None, '<td class="j"></td>'
        value = self.predicted[v][s]
        kind = difference_kind(value, reference, top, self.answer) if value == value else "none"
        if value != value:
            why = self.reasons.get((video_id, step_id), "no answer").replace("_", " ")
            text, said = "–", str(escape(why))
        elif self.answer == "error":
            text, said = _SIGNS[bool(value)], VERDICTS[bool(value)]
        else:
            text = said = page_points(value)
        attributes = f' data-d="{kind}"' if kind else ""
        if said != text or kind:
            attributes += f' aria-label="{said}{f", {_IN_WORDS[kind]}" if kind in _IN_WORDS else ""}"'
        if value == value and (claim := self.claimed.get((video_id, step_id))):
            attributes += f' data-claim="{" ".join(f"{second:.2f}" for part in claim for second in part)}"'
        return kind, f'<td class="j {kind or ""}"><button type="button"{attributes}>{text}</button></td>'


_IN_WORDS: dict[str | None, str] = {
    "miss": "missed",
    "alarm": "false alarm",
    "lenient": "too lenient",
    "strict": "too strict",
}


def difference_kind(value: float, reference: float | None, top: float, answer: Answer) -> DifferenceKind | None:
    """Kind of difference between an answer and the reference's points; None if it does not, or if there is none.

    ``value`` is points, or for verdicts 1.0 (wrong) and 0.0; ``top`` is the step's maximum.
    """
    if reference is None:
        return None
    called, wrong = (value < top if answer == "score" else bool(value)), reference < top
    if called != wrong:
        return "alarm" if called else "miss"
    if answer == "error" or value == reference:
        return None
    return "lenient" if value > reference else "strict"


PAGE = Page(_write, "Exams", "videos/index.html", shared=True, place=1)
