"""One run's answers to one setting, as the cells and totals of the video pages."""

from __future__ import annotations

import numpy as np

from siming_tasks.common.schema import Answer
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.agreement.correlation import totals
from siming_tasks.parsing.lexicon import NOT_VISIBLE
from siming_tasks.report.pages.links import Kind
from siming_tasks.report.pages.site import points
from siming_tasks.report.study.study import Study

__all__ = ["Answers", "difference"]


class Answers:
    """One run's answers to one setting, by video and step."""

    def __init__(self, study: Study, panel: ScoreMatrix, setting: str = "") -> None:
        self.source, self.panel = study.source, panel
        self.claimed = study.claimed.get(setting, {})
        self.abstained = panel.abstained.tolist()
        self.row = {video: index for index, video in enumerate(panel.video_ids)}
        self.column = {step: index for index, step in enumerate(panel.step_ids)}
        self.predicted = panel.predicted.tolist()
        self.asked = panel.asked.tolist()
        if panel.answer == "score":
            self.totals = totals(panel)[1].tolist()
        else:
            called = (panel.predicted_wrong & panel.asked).sum(axis=1).astype(float)
            self.totals = np.where(panel.answered.any(axis=1), called, np.nan).tolist()

    def total(self, video_id: str) -> float | None:
        """Predicted total, or the number of steps called wrong; None if there is none."""
        value = self.totals[self.row[video_id]] if video_id in self.row else float("nan")
        return None if value != value else float(value)

    def cell(self, video_id: str, step_id: str, reference: float | None, top: float) -> str:
        """One cell of a sheet.

        ``data-d`` says how it differs from the reference, ``data-claim`` what it rests on: starts and ends in seconds
        of the video, for the time line.
        """
        v, s = self.row.get(video_id), self.column[step_id]
        if v is None or not self.asked[v][s]:
            return "<td></td>"
        value = self.predicted[v][s]
        if value != value:
            word = NOT_VISIBLE if self.abstained[v][s] else "–"
            return f'<td class="num"><button type="button" class="m" data-d="none">{word}</button></td>'
        kind = difference(value, reference, top, self.panel.answer)
        mark = f' data-d="{kind}"' if kind else ""
        if claim := self.claimed.get((video_id, step_id)):
            mark += f' data-claim="{" ".join(f"{second:.2f}" for part in claim for second in part)}"'
        if self.panel.answer == "score":
            gap = "" if reference is None or value == reference else _gap(value - reference)
            return f'<td class="num"><button type="button"{mark}>{points(value)}{gap}</button></td>'
        word = "incorrect" if value else "correct"
        if kind:
            word += " <i>missed</i>" if kind == "miss" else " <i>false alarm</i>"
        return f'<td class="num"><button type="button"{mark}>{word}</button></td>'

    @property
    def head(self) -> dict[str, str]:
        """What a column's heading says."""
        return {"slug": self.source.slug, "name": self.source.name, "role": self.source.role}


def difference(value: float, reference: float | None, top: float, answer: Answer) -> Kind | None:
    """How an answer differs from the reference's points; None if it does not, or if there is none.

    Args:
        value: points, or for verdicts 1.0 (wrong) and 0.0.
        reference: points.
        top: the step's maximum.
        answer: which of the two ``value`` is.
    """
    if reference is None:
        return None
    called, wrong = (value < top if answer == "score" else bool(value)), reference < top
    if called != wrong:
        return "alarm" if called else "miss"
    if answer == "error" or value == reference:
        return None
    return "lenient" if value > reference else "strict"


def _gap(value: float) -> str:
    return f" <i>{'+' if value > 0 else ''}{points(value)}</i>"
