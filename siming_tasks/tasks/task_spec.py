"""The description of a task: everything that the rest of the suite needs to know of one, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from siming_tasks.common.schema import Answer, Scope, answer_key
from siming_tasks.tasks.ablations import UNALTERED, InputAblation
from siming_tasks.tasks.answer_formats import BENCHMARK_FORMAT, AnswerFormat

__all__ = ["TaskSpec"]


@dataclass(frozen=True)
class TaskSpec:
    """One way of asking a model about an exam.

    Attributes:
        name: stands in record ids, prediction files, reports; its task is called ``siming_<name>``.
        title: for people, in a few words.
        description: what is shown and asked, in a sentence.
        scope: one request shows the whole video (``full``) or one step's seconds (``clip``).
        answer: the model gives points (``score``) or a verdict (``error``).
        role: how the prompt begins: who the model is and what it sees; ``{of}``, ``{called}`` and ``{where}`` are the
            exam's (:class:`siming_tasks.tasks.exam_context.ExamContext`).
        question: what the prompt asks for.
        reply: the form of the answer; ``{n}`` is the number of steps, ``{max_score}`` the scale of the first.
        half_point_texts: ``question`` and ``reply`` where a step that is asked about has half points.
        group: the group of lmms-eval tasks that it belongs to.
        folder: where its task file lies below ``yaml_tasks``; empty for the top.
        is_benchmark: one of the paper's four; the others are controls, which no table mixes with them.
        shows_step_times: the prompt says of every step when the video shows it.
        answer_format: what the reply must state, how it is read and scored.
        ablation: how the input is altered; false where it is not.
        base_task: of an ablation, the name of the task whose input is altered.
    """

    name: str
    title: str
    description: str
    scope: Scope
    answer: Answer
    role: str
    question: str
    reply: str
    half_point_texts: tuple[str, str]
    group: str
    folder: str = ""
    is_benchmark: bool = True
    shows_step_times: bool = False
    answer_format: AnswerFormat = BENCHMARK_FORMAT
    ablation: InputAblation = UNALTERED
    base_task: str = ""

    def texts(self, half_points: bool) -> tuple[str, str]:
        """``question`` and ``reply``, for whole points only or for half points as well."""
        return self.half_point_texts if half_points else (self.question, self.reply)

    @property
    def is_standard(self) -> bool:
        """Test for the benchmark's answer format and unaltered input: such tasks cost and show the same."""
        return self.answer_format is BENCHMARK_FORMAT and not self.ablation

    @property
    def field(self) -> str:
        """Key of the answer in prediction files and in the reply: ``scores``, ``verdicts``, ``score``, ``verdict``."""
        return answer_key(self.answer, self.scope)

    @property
    def task_name(self) -> str:
        """The name under which lmms-eval lists it."""
        return f"siming_{self.name}"
