"""What a prompt says of the exam: what it is called and where the trainee works, in the rubric's own words."""

from __future__ import annotations

from dataclasses import dataclass

from siming_tasks.rubrics import DEFAULT_ID, Rubric

__all__ = ["EMERGENCY", "Exam", "exam_of"]


@dataclass(frozen=True)
class Exam:
    """What stands in the blanks of a setting's role; each begins with a blank or is empty.

    Attributes:
        of: what the examiner examines.
        called: the exam's name.
        where: where the trainee performs it.
    """

    of: str
    called: str
    where: str

    def told(self, role: str) -> str:
        """A setting's role with these words in it."""
        return role.format(of=self.of, called=self.called, where=self.where)


EMERGENCY = Exam(of=" of emergency skills", called="", where=" on a manikin")
"""Of the embedded rubric, and of a rubric that says nothing of its exam."""


def exam_of(rubric: Rubric | None) -> Exam:
    """The exam as a rubric has it: by its ``setting`` and ``title``.

    The embedded rubric's title is about the rubric, so that one counts only beside a setting.
    """
    title, where = (" ".join((text or "").split()) for text in (rubric and rubric.title, rubric and rubric.setting))
    if rubric is None or not (where or (title and rubric.rubric_id != DEFAULT_ID)):
        return EMERGENCY
    return Exam(of="", called=f' ("{title}")' if title else "", where=f" {where}" if where else "")
