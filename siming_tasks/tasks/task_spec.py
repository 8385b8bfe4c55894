"""What a setting is: everything that the rest of the suite needs to know of one, said once."""

from __future__ import annotations

from dataclasses import dataclass

from siming_tasks.common.schema import Answer, Scope
from siming_tasks.tasks.ablations import InputAblation

__all__ = ["TaskSpec"]


@dataclass(frozen=True)
class TaskSpec:
    """One way of asking a model about an exam.

    Attributes:
        name: stands in record ids, prediction files, reports; its task is called ``siming_<name>``.
        title: for people, in a few words.
        question: what is shown and asked, in a sentence.
        scope: one request shows the whole video (``full``) or one step's seconds (``clip``).
        answer: the model gives points (``score``) or a verdict (``error``).
        role: how the prompt begins: who the model is and what it sees; ``{of}``, ``{called}`` and ``{where}`` are the
            exam's (:class:`siming_tasks.tasks.exam_context.Exam`).
        task: what the prompt asks for.
        reply: the form of the answer; ``{n}`` is the number of steps, ``{max_score}`` the scale of the first.
        group: the group of lmms-eval tasks that it belongs to.
        halves: ``task`` and ``reply`` where a step that is asked about has half points; None: the same.
        benchmark: one of the paper's four; the others are controls, which no table mixes with them.
        step_times: the prompt says of every step when the video shows it.
        abstain: the model may say of a step that it is not visible (:mod:`siming_tasks.tasks.answer_formats`).
        evidence: the model says of every answer on which seconds of the video it rests (as there).
        ablation: how the evidence is altered; None: it is not.
        plain: of an ablation, the name of the setting whose evidence is altered.
    """

    name: str
    title: str
    question: str
    scope: Scope
    answer: Answer
    role: str
    task: str
    reply: str
    group: str
    benchmark: bool = True
    step_times: bool = False
    halves: tuple[str, str] | None = None
    abstain: bool = False
    evidence: bool = False
    ablation: InputAblation | None = None
    plain: str = ""

    def asks(self, halves: bool) -> tuple[str, str]:
        """``task`` and ``reply``, for whole points only or for half points as well."""
        return self.halves if halves and self.halves else (self.task, self.reply)

    @property
    def field(self) -> str:
        """Key of the answer in prediction files and in the reply: ``scores``, ``verdicts``, ``score``, ``verdict``."""
        word = "score" if self.answer == "score" else "verdict"
        return word if self.scope == "clip" else f"{word}s"

    @property
    def task_name(self) -> str:
        """What lmms-eval calls it."""
        return f"siming_{self.name}"
