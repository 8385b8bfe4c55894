"""A run's ablations beside its plain tasks: what of the headline survives when the evidence is altered."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from siming_tasks.analysis.controls.survival import Survival, survival
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.estimate import plain
from siming_tasks.options import Options
from siming_tasks.results.comparable import CONDITIONS, Entrant
from siming_tasks.results.run import Run
from siming_tasks.tasks import ABLATION_TASKS, TASKS, InputAblation, TaskSpec

__all__ = ["Ablated", "ablations_of"]

FREE = {
    "no_video": ("prompt", "media", "frames", "size", "density", "encoding", "sampler"),
    "single_frame": ("frames",),
    "shuffled_frames": ("prompt",),
    "mismatched_video": ("frames",),
}
"""The conditions that an ablation changes by what it is; in all others it must be asked as the plain task was."""


@dataclass(frozen=True)
class Ablated:
    """One ablation of one setting of a run.

    Attributes:
        setting: name of the ablation's setting, which is also that of its task.
        ablation: how the evidence was altered.
        answer: of the plain setting: ``score`` or ``error``.
        refused: why it cannot stand beside the plain task; empty if it can.
        metrics: by metric, what survives; empty if it was refused.
        history: the headline on the steps that depend on what went before; None without such a step.
    """

    setting: str
    ablation: InputAblation
    answer: Any
    refused: str
    metrics: Mapping[str, Survival]
    history: Survival | None

    @property
    def headline(self) -> Survival | None:
        """The metric that orders tables; None if the ablation was refused."""
        return self.metrics.get(headline(self.answer))

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        found = self.headline
        if found is None:
            return f"{self.ablation.title[0].upper()}{self.ablation.title[1:]}: not compared. {self.refused}"
        label = CATALOGUE[found.metric].title
        label = label if label.isupper() else label[0].lower() + label[1:]
        kept = found.kept
        if kept.value is None or kept.undefined:
            return f"What of {label} survives {self.ablation.without} has no value: {kept.reason}"
        ends = "" if kept.low is None or kept.high is None else f" [{kept.low:.0%}, {kept.high:.0%}]"
        return f"{round(kept.value, 2) + 0.0:.0%}{ends} of {label} survives {self.ablation.without}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {
            "task": TASKS[self.setting].task_name,
            "ablation": self.ablation.name,
            "shown": self.ablation.shown,
            "sentence": self.sentence,
            "refused": self.refused or None,
            "metrics": plain(self.metrics),
            "history": plain(self.history) if self.history else None,
        }


def ablations_of(run: Run, setting: str, options: Options, allow: Collection[str] = ()) -> tuple[Ablated, ...]:
    """Every ablation that a run made of a setting, in their usual order; none if it was not asked plainly too.

    Args:
        run: whose records hold both.
        setting: name of the plain setting.
        options: rater, label mapping, positive class, resamples and seed.
        allow: differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
    """
    if not run.records.get(setting):
        return ()
    names = [name for name in ABLATION_TASKS if TASKS[name].plain == setting and run.records.get(name)]
    if not names:
        return ()
    first = Entrant.of(run, setting, options.rater)
    return tuple(_one(run, first, TASKS[name], options, allow) for name in names)


def _one(run: Run, first: Entrant, setting: TaskSpec, options: Options, allow: Collection[str]) -> Ablated:
    assert setting.ablation is not None
    other = Entrant.of(run, setting.name, options.rater)
    if refused := _differs(first, other, setting.ablation, allow):
        return Ablated(setting.name, setting.ablation, setting.answer, refused, {}, None)
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    steps = [step.id for step in run.dataset.rubric.steps if step.scope == "history"]
    history = survival(first.panel, other.panel, steps, **how)[headline(setting.answer)] if steps else None
    return Ablated(
        setting.name, setting.ablation, setting.answer, "", survival(first.panel, other.panel, **how), history
    )


def _differs(first: Entrant, other: Entrant, ablation: InputAblation, allow: Collection[str]) -> str:
    """In what the ablation was asked otherwise than it should have been, in a sentence; empty if in nothing."""
    plain = {request.partition("/")[2]: asked for request, asked in first.conditions.items()}
    for request, asked in other.conditions.items():
        before = plain.get(request.partition("/")[2])
        for name, one, two in zip(CONDITIONS, before or (), asked, strict=bool(before)):
            if None not in (one, two) and one != two and name not in (*allow, *FREE.get(ablation.name, ())):
                way = " (a ablation's file is a proxy: SIMING_MEDIA=proxy)" if (name, one) == ("media", "video") else ""
                return (
                    f"The plain task and the ablation differ in {name}: {one} against {two} ({request}). Ask both with "
                    f"the same {name}{way}, or allow the difference ({name})."
                )
    if not set(first.panel.video_ids) & set(other.panel.video_ids):
        return "The plain task and the ablation share no video."
    return ""
