"""The exam as a prompt describes it: its name and where the trainee works, in the rubric's own words."""

from __future__ import annotations

from dataclasses import dataclass

from siming_tasks.rubrics import DEFAULT_ID, Rubric

__all__ = ["EMERGENCY_EXAM", "ExamContext", "exam_context"]


@dataclass(frozen=True)
class ExamContext:
    """The words in the blanks of a task's role; each begins with a space or is empty.

    Attributes:
        of: what the examiner examines.
        called: the exam's name.
        where: where the trainee performs it.
    """

    of: str
    called: str
    where: str

    def fill(self, role: str) -> str:
        """A task's role with these words in it."""
        return role.format(of=self.of, called=self.called, where=self.where)


EMERGENCY_EXAM = ExamContext(of=" of emergency skills", called="", where=" on a manikin")
"""Context of the embedded rubric, and of a rubric that says nothing of its exam."""


def exam_context(rubric: Rubric | None) -> ExamContext:
    """The exam as a rubric describes it: by its ``setting`` and ``title``.

    The embedded rubric's title is about the rubric, so that one counts only beside a setting.
    """
    title, where = (" ".join((text or "").split()) for text in (rubric and rubric.title, rubric and rubric.setting))
    if rubric is None or not (where or (title and rubric.rubric_id != DEFAULT_ID)):
        return EMERGENCY_EXAM
    return ExamContext(of="", called=f' ("{title}")' if title else "", where=f" {where}" if where else "")
