"""Prompt options: answer at once or reason first; all steps at once, a skill or a step; with a JSON schema or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, get_args

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.tasks.expected_requests import expected_requests, steps_of
from siming_tasks.benchmark.tasks.registry import TaskSpec
from siming_tasks.common.choices import AskUnit, PromptStyle, SchemaUse

MAX_TOKENS, MAX_TOKENS_REASONED = 4096, 16_384
"""Longest reply in tokens. All 33 steps take about 600 as JSON, twice that with evidence, and a hundred words of
reasoning on each about 5,000."""

CHOICES = (get_args(PromptStyle), get_args(AskUnit), get_args(SchemaUse))
"""Of ``SIMING_PROMPT``, ``SIMING_ASK`` and ``SIMING_SCHEMA``, the benchmark's own first."""


@dataclass(frozen=True)
class Question:
    """One request: of which video, for a clip about which step, and all steps that it asks about.

    ``part``: of the exam, where it is asked about in parts: ``step:cpr_01`` or ``skill:cpr``; otherwise empty.
    """

    video_id: str
    step_id: str | None
    part: str
    steps: tuple[str, ...]


@dataclass(frozen=True)
class PromptOptions:
    """The options that change how a task's questions are put."""

    style: PromptStyle = "plain"  # ``reasoned``: think step by step, then the JSON object
    unit: AskUnit = "all"  # what one request about a full video asks about: all its steps, one ``skill``, one ``step``
    schema: SchemaUse = "off"  # ``json``: the service is given the reply's JSON schema, to which it holds the model

    @classmethod
    def from_options(cls, options: Any) -> PromptOptions:
        """Those among a run's options (:class:`siming_tasks.Options`)."""
        return cls(options.prompt, options.ask, options.schema)

    @classmethod
    def from_label(cls, label: str) -> PromptOptions:
        """The prompt options of a record's :attr:`label` (ValueError: it is not one)."""
        for words in product(*CHOICES):
            if (options := cls(*words)).label == label:
                return options
        raise ValueError(f"{label[:64]!r} is not a way of asking")

    @property
    def label(self) -> str:
        """The text in records: ``reasoned``, ``step``, ``skill json``; empty for the benchmark's own."""
        return " ".join(self.changed_options().values())

    @property
    def title_suffix(self) -> str:
        """The end of a title: `` (by step, with JSON schema)``, or empty."""
        named = {"prompt": self.style, "ask": f"by {self.unit}", "schema": "with JSON schema"}
        words = [named[option] for option in self.changed_options()]
        return f" ({', '.join(words)})" if words else ""

    @property
    def most_tokens(self) -> int:
        """Tokens that a reply may have; a model that is to reason first may use more."""
        return MAX_TOKENS_REASONED if self.style == "reasoned" else MAX_TOKENS

    def for_task(self, task: TaskSpec) -> PromptOptions:
        """The same for one task: a clip is asked about its step whatever the unit."""
        return self if task.scope == "full" else replace(self, unit="all")

    def changed_options(self) -> dict[str, str]:
        """The options that differ from the benchmark's, under their own names; part of every cache key of a run."""
        options = {"prompt": self.style, "ask": self.unit, "schema": self.schema}
        usual = (values[0] for values in CHOICES)
        return {name: value for (name, value), plain in zip(options.items(), usual, strict=True) if value != plain}

    def questions(self, task: TaskSpec, videos: Iterable[Video], skill_of: Mapping[str, str]) -> Iterator[Question]:
        """Every request of a complete run over these videos, in the order in which they are made."""
        unit = self.for_task(task).unit
        for video in videos:
            for _, step_id in expected_requests(task, [video]):
                names = steps_of(task, video, step_id)
                if unit == "all":
                    yield Question(video.video_id, step_id, "", names)
                    continue
                for group in dict.fromkeys(name if unit == "step" else skill_of[name] for name in names):
                    part = f"{unit}:{group}"
                    yield Question(video.video_id, step_id, part, steps_in_part(part, names, skill_of))


DEFAULT_PROMPTING = PromptOptions()  # the benchmark's own prompt options


def steps_in_part(part: str, names: Sequence[str], skill_of: Mapping[str, str]) -> tuple[str, ...]:
    """The steps among these in a part of an exam; all steps if there is no part."""
    unit, _, group = part.partition(":")
    if not part:
        return tuple(names)
    return tuple(name for name in names if (name if unit == "step" else skill_of[name]) == group)
