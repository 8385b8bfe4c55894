"""Input ablations of a run: the share of the headline metric that remains when the evidence is altered.

A metric that a model keeps without the video, or on another exam's video, was not earned by watching. Both values are
computed on the steps that were answered both times and on the same resamples of videos, so that their difference and
their ratio are paired.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from siming_tasks.media import VIDEO
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import derived
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.score_matrix import FloatArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.options import Options
from siming_tasks.results.comparable import CONDITIONS, TaskRun
from siming_tasks.results.run import Run
from siming_tasks.tasks import ABLATION_TASKS, TASKS, InputAblation, TaskSpec

__all__ = ["AblationEffect", "AblationResult", "analyse_ablations", "survival"]


@dataclass(frozen=True)
class AblationResult:
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
    metrics: Mapping[str, AblationEffect]
    history: AblationEffect | None

    @property
    def headline(self) -> AblationEffect | None:
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


def analyse_ablations(
    run: Run, setting: str, options: Options, allow: Collection[str] = ()
) -> tuple[AblationResult, ...]:
    """Every ablation that a run made of a setting, in their usual order; none if it was not asked plainly too.

    Args:
        run: whose records hold both.
        setting: name of the plain setting.
        options: rater, label mapping, positive class, resamples and seed.
        allow: differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
    """
    if not run.records.get(setting):
        return ()
    names = [name for name in ABLATION_TASKS if TASKS[name].base_task == setting and run.records.get(name)]
    if not names:
        return ()
    first = TaskRun.of(run, setting, options.rater)
    return tuple(_ablation_result(run, first, TASKS[name], options, allow) for name in names)


def _ablation_result(
    run: Run, first: TaskRun, setting: TaskSpec, options: Options, allow: Collection[str]
) -> AblationResult:
    other = TaskRun.of(run, setting.name, options.rater)
    if refused := _unequal_condition(first, other, setting.ablation, allow):
        return AblationResult(setting.name, setting.ablation, setting.answer, refused, {}, None)
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    steps = [step.id for step in run.dataset.rubric.steps if step.scope == "history"]
    history = survival(first.panel, other.panel, steps, **how)[headline(setting.answer)] if steps else None
    return AblationResult(
        setting.name, setting.ablation, setting.answer, "", survival(first.panel, other.panel, **how), history
    )


def _unequal_condition(first: TaskRun, other: TaskRun, ablation: InputAblation, allow: Collection[str]) -> str:
    """In what the ablation was asked otherwise than it should have been, in a sentence; empty if in nothing."""
    plain = {request.partition("/")[2]: asked for request, asked in first.conditions.items()}
    for request, asked in other.conditions.items():
        before = plain.get(request.partition("/")[2])
        for name, one, two in zip(CONDITIONS, before or (), asked, strict=bool(before)):
            if None not in (one, two) and one != two and name not in (*allow, *ablation.changes):
                file = (name, one) == ("media", VIDEO.name)
                way = " (an ablation's file is a proxy: SIMING_MEDIA=proxy)" if file else ""
                return (
                    f"The plain task and the ablation differ in {name}: {one} against {two} ({request}). Ask both with "
                    f"the same {name}{way}, or allow the difference ({name})."
                )
    if not set(first.panel.video_ids) & set(other.panel.video_ids):
        return "The plain task and the ablation share no video."
    return ""


NO_AGREEMENT = "The plain task shows no agreement beyond chance, so there is nothing to survive."


@dataclass(frozen=True)
class AblationEffect:
    """One metric, with and without the evidence, on the steps that were answered both times.

    Attributes:
        metric: its key.
        plain: of the plain task.
        ablated: of the ablation.
        change: ``ablated - plain``, paired.
        kept: ``ablated / plain``, paired: 1 is a judge that did not need what the ablation took away. Undefined where
            ``plain`` is not above 0, in the data or in a resample.
    """

    metric: str
    plain: Estimate
    ablated: Estimate
    change: Estimate
    kept: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: getattr(self, name).to_json() for name in ("plain", "ablated", "change", "kept")}


def survival(
    plain: ScoreMatrix,
    ablated: ScoreMatrix,
    steps: Sequence[str] | None = None,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, AblationEffect]:
    """By metric, what survives.

    Args:
        plain: the answers to the plain task.
        ablated: those to the ablation, about the same rubric; videos that are not in both are left out.
        steps: only these; None: all.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples.
        seed: of them.

    Returns:
        Every metric but those that can be had by answering the same everywhere. ``coverage`` of the estimates is the
        share of the asked steps that were answered both times.
    """
    shared = sorted(set(plain.video_ids) & set(ablated.video_ids))
    chosen = plain.step_ids if steps is None else tuple(steps)
    one, other = (_pick_videos(panel, shared).subset(chosen) for panel in (plain, ablated))
    asked = one.asked & other.asked
    both = one.answered & other.answered
    metrics = select(plain.answer, lifted=True)
    metrics = tuple(name for name in metrics if CATALOGUE[name].compared)
    sides = []
    for panel in (one, other):
        said = np.where(both, panel.predicted, np.nan)
        sides.append(Tally.of(replace(panel, asked=asked, predicted=said), mapping, positive, metrics))

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        before, after = (side.compute(weights) for side in sides)
        found: dict[tuple[str, str], FloatArray] = {}
        for name in metrics:
            a, b = before[name], after[name]
            kept: FloatArray = np.divide(b, a, out=np.full(len(a), np.nan), where=a > 0)
            found |= {(name, "plain"): a, (name, "ablated"): b, (name, "change"): b - a, (name, "kept"): kept}
        return found

    values, drawn = sample(compute, len(shared), resamples=resamples, seed=seed)
    spread = spreads(drawn, {key: sides[0].size(key[0])[0] for key in drawn})

    def made(name: str, part: str) -> Estimate:
        silent = next((side for side, p in zip(sides, ("plain", "ablated"), strict=True)
                       if np.isnan(values[name, p]) and part in (p, "change", "kept")), None)  # fmt: skip
        why = silent.reason(name) if silent else NO_AGREEMENT
        return derived(sides[0], name, values[name, part], spread.get((name, part)), why=why)

    return {
        name: AblationEffect(name, *(made(name, part) for part in ("plain", "ablated", "change", "kept")))
        for name in metrics
    }


def _pick_videos(panel: ScoreMatrix, videos: Sequence[str]) -> ScoreMatrix:
    row = {name: index for index, name in enumerate(panel.video_ids)}
    return panel.videos([row[name] for name in videos])
