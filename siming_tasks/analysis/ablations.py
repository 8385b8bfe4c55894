"""A run's probes beside its plain tasks: what of the headline survives when the evidence is altered."""

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
from siming_tasks.tasks import PROBED, SETTINGS, Probe, Setting

__all__ = ["Probed", "probes_of"]

FREE = {
    "blind": ("prompt", "media", "frames", "size", "density", "encoding", "sampler"),
    "single": ("frames",),
    "shuffled": ("prompt",),
    "foreign": ("frames",),
}
"""The conditions that a probe changes by what it is; in all others it must be asked as the plain task was."""


@dataclass(frozen=True)
class Probed:
    """One probe of one setting of a run.

    Attributes:
        setting: name of the probe's setting, which is also that of its task.
        probe: how the evidence was altered.
        answer: of the plain setting: ``score`` or ``error``.
        refused: why it cannot stand beside the plain task; empty if it can.
        metrics: by metric, what survives; empty if it was refused.
        history: the headline on the steps that depend on what went before; None without such a step.
    """

    setting: str
    probe: Probe
    answer: Any
    refused: str
    metrics: Mapping[str, Survival]
    history: Survival | None

    @property
    def headline(self) -> Survival | None:
        """The metric that orders tables; None if the probe was refused."""
        return self.metrics.get(headline(self.answer))

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        found = self.headline
        if found is None:
            return f"{self.probe.title[0].upper()}{self.probe.title[1:]}: not compared. {self.refused}"
        label = CATALOGUE[found.metric].title
        label = label if label.isupper() else label[0].lower() + label[1:]
        kept = found.kept
        if kept.value is None or kept.undefined:
            return f"What of {label} survives {self.probe.without} has no value: {kept.reason}"
        ends = "" if kept.low is None or kept.high is None else f" [{kept.low:.0%}, {kept.high:.0%}]"
        return f"{round(kept.value, 2) + 0.0:.0%}{ends} of {label} survives {self.probe.without}."

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {
            "task": SETTINGS[self.setting].task_name,
            "probe": self.probe.name,
            "shown": self.probe.shown,
            "sentence": self.sentence,
            "refused": self.refused or None,
            "metrics": plain(self.metrics),
            "history": plain(self.history) if self.history else None,
        }


def probes_of(run: Run, setting: str, options: Options, allow: Collection[str] = ()) -> tuple[Probed, ...]:
    """Every probe that a run made of a setting, in their usual order; none if it was not asked plainly too.

    Args:
        run: whose records hold both.
        setting: name of the plain setting.
        options: rater, label mapping, positive class, resamples and seed.
        allow: differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
    """
    if not run.records.get(setting):
        return ()
    names = [name for name in PROBED if SETTINGS[name].plain == setting and run.records.get(name)]
    if not names:
        return ()
    first = Entrant.of(run, setting, options.rater)
    return tuple(_one(run, first, SETTINGS[name], options, allow) for name in names)


def _one(run: Run, first: Entrant, setting: Setting, options: Options, allow: Collection[str]) -> Probed:
    assert setting.probe is not None
    other = Entrant.of(run, setting.name, options.rater)
    if refused := _differs(first, other, setting.probe, allow):
        return Probed(setting.name, setting.probe, setting.answer, refused, {}, None)
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    steps = [step.id for step in run.dataset.rubric.steps if step.scope == "history"]
    history = survival(first.panel, other.panel, steps, **how)[headline(setting.answer)] if steps else None
    return Probed(setting.name, setting.probe, setting.answer, "", survival(first.panel, other.panel, **how), history)


def _differs(first: Entrant, other: Entrant, probe: Probe, allow: Collection[str]) -> str:
    """In what the probe was asked otherwise than it should have been, in a sentence; empty if in nothing."""
    plain = {request.partition("/")[2]: asked for request, asked in first.conditions.items()}
    for request, asked in other.conditions.items():
        before = plain.get(request.partition("/")[2])
        for name, one, two in zip(CONDITIONS, before or (), asked, strict=bool(before)):
            if None not in (one, two) and one != two and name not in (*allow, *FREE.get(probe.name, ())):
                way = " (a probe's file is a proxy: SIMING_MEDIA=proxy)" if (name, one) == ("media", "video") else ""
                return (
                    f"The plain task and the probe differ in {name}: {one} against {two} ({request}). Ask both with "
                    f"the same {name}{way}, or allow the difference ({name})."
                )
    if not set(first.panel.video_ids) & set(other.panel.video_ids):
        return "The plain task and the probe share no video."
    return ""
