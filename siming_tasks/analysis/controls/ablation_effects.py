"""Input ablations of a run: the share of a metric that is retained when the evidence is altered.

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
from siming_tasks.tasks import ABLATION_TASKS, TASKS, InputAblation

__all__ = ["AblationEffect", "AblationResult", "ablation_effects", "analyse_ablations"]

NO_AGREEMENT = "The plain task shows no agreement beyond chance, so there is nothing to survive."


@dataclass(frozen=True)
class AblationEffect:
    """One metric with and without the evidence, on the steps that were answered both times.

    Attributes:
        metric: key of the metric.
        plain: of the plain task.
        ablated: of the ablation.
        change: ``ablated - plain``, paired.
        retained: ``ablated / plain``, paired: 1 is a judge that did not need what the ablation took away. Undefined
            where ``plain`` is not above 0, in the data or in a resample.
    """

    metric: str
    plain: Estimate
    ablated: Estimate
    change: Estimate
    retained: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; no NaN."""
        return {name: getattr(self, name).to_json() for name in ("plain", "ablated", "change", "retained")}


@dataclass(frozen=True)
class AblationResult:
    """One ablation of one setting of a run.

    Attributes:
        setting: name of the ablation's setting, which is also that of its task.
        ablation: the alteration of the evidence.
        answer: of the plain setting: ``score`` or ``error``.
        refused: reason why it cannot stand beside the plain task; empty if it can.
        metrics: effect by metric; empty if it was refused.
        history: effect on the headline at the steps that depend on earlier steps; None without such a step.
    """

    setting: str
    ablation: InputAblation
    answer: Any
    refused: str
    metrics: Mapping[str, AblationEffect]
    history: AblationEffect | None

    @property
    def headline(self) -> AblationEffect | None:
        """Effect on the metric that orders tables; None if the ablation was refused."""
        return self.metrics.get(headline(self.answer))

    @property
    def sentence(self) -> str:
        """Result in one sentence."""
        effect = self.headline
        if effect is None:
            return f"{self.ablation.title[0].upper()}{self.ablation.title[1:]}: not compared. {self.refused}"
        label = CATALOGUE[effect.metric].title
        label = label if label.isupper() else label[0].lower() + label[1:]
        retained = effect.retained
        if retained.value is None or retained.undefined:
            return f"The share of {label} that survives {self.ablation.without} has no value: {retained.reason}"
        ends = "" if retained.low is None or retained.high is None else f" [{retained.low:.0%}, {retained.high:.0%}]"
        # Adding 0.0 turns a rounded -0.0 into 0.0, which prints without a sign.
        return f"{round(retained.value, 2) + 0.0:.0%}{ends} of {label} survives {self.ablation.without}."

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
    """Every ablation that a run made of a setting, in their usual order; none if the plain task was not asked.

    Args:
        run: run whose records hold both.
        setting: name of the plain setting.
        options: rater, label mapping, positive class, resamples and seed.
        allow: differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
    """
    names = [name for name in ABLATION_TASKS if TASKS[name].base_task == setting and run.records.get(name)]
    if not names or not run.records.get(setting):
        return ()
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    history_steps = [step.id for step in run.dataset.rubric.steps if step.scope == "history"]
    plain_run = TaskRun.of(run, setting, options.rater)
    results = []
    for name in names:
        task = TASKS[name]
        ablated_run = TaskRun.of(run, name, options.rater)
        refused = _reason_not_comparable(plain_run, ablated_run, task.ablation, allow)
        effects: Mapping[str, AblationEffect] = {}
        history = None
        if not refused:
            if history_steps:
                on_history = ablation_effects(plain_run.panel, ablated_run.panel, history_steps, **how)
                history = on_history[headline(task.answer)]
            effects = ablation_effects(plain_run.panel, ablated_run.panel, **how)
        results.append(AblationResult(name, task.ablation, task.answer, refused, effects, history))
    return tuple(results)


def _reason_not_comparable(
    plain_run: TaskRun, ablated_run: TaskRun, ablation: InputAblation, allow: Collection[str]
) -> str:
    """First difference that the ablation itself does not explain, in a sentence; empty if there is none."""
    conditions = {request.partition("/")[2]: asked for request, asked in plain_run.conditions.items()}
    accepted = (*allow, *ablation.changes)
    for request, asked in ablated_run.conditions.items():
        before = conditions.get(request.partition("/")[2])
        for name, plain_value, value in zip(CONDITIONS, before or (), asked, strict=bool(before)):
            if None in (plain_value, value) or plain_value == value or name in accepted:
                continue
            proxy = (name, plain_value) == ("media", VIDEO.name)
            way = " (an ablation's file is a proxy: SIMING_MEDIA=proxy)" if proxy else ""
            return (
                f"The plain task and the ablation differ in {name}: {plain_value} against {value} ({request}). Ask "
                f"both with the same {name}{way}, or allow the difference ({name})."
            )
    if not set(plain_run.panel.video_ids) & set(ablated_run.panel.video_ids):
        return "The plain task and the ablation share no video."
    return ""


def ablation_effects(
    plain: ScoreMatrix,
    ablated: ScoreMatrix,
    steps: Sequence[str] | None = None,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, AblationEffect]:
    """Effect of an ablation by metric.

    Args:
        plain: answers to the plain task.
        ablated: answers to the ablation, about the same rubric; videos that are not in both are left out.
        steps: only these; None: all.
        mapping: how points become labels for kappa.
        positive: the class of precision, recall and F1.
        resamples: bootstrap resamples.
        seed: of the resamples.

    Returns:
        Every metric but those that can be had by answering the same everywhere. ``coverage`` of the estimates is the
        share of the asked steps that were answered both times.
    """
    shared = sorted(set(plain.video_ids) & set(ablated.video_ids))
    chosen = plain.step_ids if steps is None else tuple(steps)
    matrices = []
    for matrix in (plain, ablated):
        row = {name: index for index, name in enumerate(matrix.video_ids)}
        matrices.append(matrix.videos([row[name] for name in shared]).subset(chosen))
    asked = matrices[0].asked & matrices[1].asked
    both = matrices[0].answered & matrices[1].answered
    metrics = tuple(name for name in select(plain.answer, lifted=True) if CATALOGUE[name].compared)
    tallies = [
        Tally.of(
            replace(matrix, asked=asked, predicted=np.where(both, matrix.predicted, np.nan)), mapping, positive, metrics
        )
        for matrix in matrices
    ]

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        before, after = (tally.compute(weights) for tally in tallies)
        parts: dict[tuple[str, str], FloatArray] = {}
        for name in metrics:
            a, b = before[name], after[name]
            retained: FloatArray = np.divide(b, a, out=np.full(len(a), np.nan), where=a > 0)
            parts |= {(name, "plain"): a, (name, "ablated"): b, (name, "change"): b - a, (name, "retained"): retained}
        return parts

    values, drawn = sample(compute, len(shared), resamples=resamples, seed=seed)
    spread = spreads(drawn, {key: tallies[0].size(key[0])[0] for key in drawn})

    def estimate(name: str, part: str) -> Estimate:
        undefined = (
            tally
            for tally, side in zip(tallies, ("plain", "ablated"), strict=True)
            if np.isnan(values[name, side]) and part in (side, "change", "retained")
        )
        tally = next(undefined, None)
        why = tally.reason(name) if tally else NO_AGREEMENT
        return derived(tallies[0], name, values[name, part], spread.get((name, part)), why=why)

    parts = ("plain", "ablated", "change", "retained")
    return {name: AblationEffect(name, *(estimate(name, part) for part in parts)) for name in metrics}
