"""How far a run is from the human ceiling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from siming_tasks.errors import DataError
from siming_tasks.metrics.agreement.classification import Positive
from siming_tasks.metrics.agreement.labels import LabelMapping
from siming_tasks.metrics.catalogue import select
from siming_tasks.metrics.estimate import Estimate
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.humans.raters import rater_panel
from siming_tasks.metrics.panel import FloatArray, Panel
from siming_tasks.metrics.resample import sample, spreads
from siming_tasks.metrics.summary import derived
from siming_tasks.metrics.tally import Tally

__all__ = ["human_ratio"]


def human_ratio(
    run: Panel,
    first: Panel,
    second: Panel,
    *,
    mapping: LabelMapping = "absolute",
    positive: Positive = "error",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """``mean(metric(run, A), metric(run, B)) / metric(A, B)``, like against like, bootstrapped jointly.

    1 is a run that agrees with a physician as well as another physician does. Comparing with the consensus instead
    would flatter the physicians, who made it.

    Args:
        run: the run; its own reference is ignored.
        first: rater one's points as the reference of the run's videos and steps.
        second: rater two's.
        mapping: how points become labels for kappa.
        positive: the class of F1.
        resamples: bootstrap resamples.
        seed: of them.

    Returns:
        By symmetric metric (which physician is called the reference must not matter);
            undefined where the raters do not agree beyond chance.

    Raises:
        DataError: the panels are not of the same videos and steps, or no step was scored by both raters.
    """
    nothing = np.full(first.reference.shape, np.nan)
    humans = rater_panel(replace(first, answer=run.answer, predicted=nothing), second).sorted()
    if not humans.asked.any():
        raise DataError("No step was scored by both raters: the human ratio cannot be computed.")
    run = run.sorted()
    if (run.video_ids, run.step_ids) != (humans.video_ids, humans.step_ids):
        raise DataError("The run and the raters' labels are not of the same videos and steps.")
    metrics = select(run.answer, symmetric=True)
    asked = run.asked & humans.asked
    sides = {
        "human": replace(humans, asked=asked),
        "a": replace(run, asked=asked, reference=humans.reference),
        "b": replace(run, asked=asked, reference=second.sorted().reference),
    }
    tallies = {side: Tally.of(panel, mapping, positive, metrics) for side, panel in sides.items()}

    def compute(weights: FloatArray) -> dict[str, FloatArray]:
        found = {side: tally.compute(weights) for side, tally in tallies.items()}
        return {name: _ratio(*(found[side][name] for side in ("a", "b", "human"))) for name in metrics}

    values, drawn = sample(compute, len(run.video_ids), resamples=resamples, seed=seed)
    spread = spreads(drawn)
    why = "The raters do not agree beyond chance, so there is no ceiling to compare with."
    return {
        name: derived(tallies["a"], values[name], spread.get(name), videos=size[0], items=size[1], why=why)
        for name, size in ((name, tallies["a"].size(name)) for name in metrics)
    }


def _ratio(a: FloatArray, b: FloatArray, human: FloatArray) -> FloatArray:
    """Undefined agreement of the run counts as 0; without agreement of the raters there is no ratio."""
    mean = (np.nan_to_num(a) + np.nan_to_num(b)) / 2
    ratio: FloatArray = np.divide(mean, human, out=np.full(len(human), np.nan), where=np.nan_to_num(human) > 0)
    return ratio
