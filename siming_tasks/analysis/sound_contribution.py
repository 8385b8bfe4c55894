"""Contribution of sound: the benchmark's question with and without it, apart for the steps that need it.

Both values are of the steps that were answered both times and of the same resamples, so that their difference is
paired. Sound helps where labels were made with sound and can hurt where they were made from pictures (MVEB,
arXiv 2606.14958): the data say who heard.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from siming_tasks.analysis.input_controls import AblationEffect, ablation_effects, reason_not_comparable
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.options import Options
from siming_tasks.results.comparable import TaskRun
from siming_tasks.results.run import Run
from siming_tasks.rubrics import Rubric
from siming_tasks.tasks import SOUND_TASKS, TASKS, Modality

ALL, NEED_SOUND, OTHER = "all", "need sound", "others"
"""Parts of a rubric's steps: all, those whose evidence is heard, and the rest."""

_WITHOUT_PICTURES = ("media", "frames", "size", "density", "encoding", "sampler")


@dataclass(frozen=True)
class SoundContribution:
    """One modality of one setting of a run, beside the benchmark's pictures.

    Attributes:
        setting: name of the task that gives sound or a transcript.
        modality: what it gives.
        answer: ``score`` or ``error``.
        refused: reason why it cannot stand beside the plain task; empty if it can.
        steps: number of steps by part (:data:`ALL`, :data:`NEED_SOUND`, :data:`OTHER`); empty parts are left out.
        effects: by part, effect on the metric that orders tables: ``ablated`` is with the modality and ``change`` what
            it adds. Empty if it was refused.
    """

    setting: str
    modality: Modality
    answer: Any
    refused: str
    steps: Mapping[str, int]
    effects: Mapping[str, AblationEffect]

    @property
    def sentence(self) -> str:
        """Result in one sentence."""
        begin = f"{self.modality.title[0].upper()}{self.modality.title[1:]}"
        if self.refused:
            return f"{begin}: not compared. {self.refused}"
        label = CATALOGUE[headline(self.answer)].title
        label = label if label.isupper() else label[0].lower() + label[1:]
        parts = [
            f"{_change(self.effects[part])} on the {self.steps[part]} steps that {words}"
            for part, words in ((NEED_SOUND, "need sound"), (OTHER, "do not"))
            if part in self.effects
        ]
        return f"{begin}, against pictures alone: {label} changes by {' and by '.join(parts)}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {
            "task": TASKS[self.setting].task_name,
            "modality": self.modality.name,
            "title": self.modality.title,
            "sentence": self.sentence,
            "refused": self.refused or None,
            "steps": dict(self.steps),
            "metric": headline(self.answer),
            "effects": {part: effect.to_json() for part, effect in self.effects.items()},
        }


def _change(effect: AblationEffect) -> str:
    change = effect.change
    if change.value is None or change.undefined:
        return f"no value ({change.reason})" if change.reason else "no value"
    ends = "" if change.low is None or change.high is None else f" [{change.low:+.3f}, {change.high:+.3f}]"
    return f"{change.value:+.3f}{ends}"


def steps_by_sound(rubric: Rubric) -> dict[str, tuple[str, ...]]:
    """Ids of a rubric's steps by part; parts without a step are left out."""
    heard = tuple(step.id for step in rubric.steps if step.evidence.is_heard)
    parts = {
        ALL: tuple(step.id for step in rubric.steps),
        NEED_SOUND: heard,
        OTHER: tuple(step.id for step in rubric.steps if step.id not in heard),
    }
    return {part: steps for part, steps in parts.items() if steps}


def analyse_sound(
    run: Run, setting: str, options: Options, allow: Collection[str] = ()
) -> tuple[SoundContribution, ...]:
    """Every modality that a run was asked a setting in, in their usual order; none if the plain task was not asked.

    ``allow`` has differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
    """
    names = [name for name in SOUND_TASKS if TASKS[name].base_task == setting and run.records.get(name)]
    if not names or not run.records.get(setting):
        return ()
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    plain_run = TaskRun.of(run, setting, options.rater, options.cluster)
    parts = steps_by_sound(run.dataset.rubric)
    results = []
    for name in names:
        task = TASKS[name]
        heard_run = TaskRun.of(run, name, options.rater, options.cluster)
        differs = ("prompt", *(() if task.modality.pictures else _WITHOUT_PICTURES))
        refused = reason_not_comparable(plain_run, heard_run, (*allow, *differs), task.modality.title)
        effects: dict[str, AblationEffect] = {}
        for part, steps in parts.items() if not refused else ():
            effects[part] = ablation_effects(plain_run.panel, heard_run.panel, steps, **how)[headline(task.answer)]
        counts = {part: len(steps) for part, steps in parts.items()}
        results.append(SoundContribution(name, task.modality, task.answer, refused, counts, effects))
    return tuple(results)
