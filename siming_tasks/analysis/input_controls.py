"""Controls of the input: ablations (evidence is altered) and minimal pairs (evidence differs in one act).

Ablations give the share of a metric that is retained when the evidence is altered. A metric that a model keeps without
the video, or on another exam's video, was not earned by watching. Both values are computed on the steps that were
answered both times and on the same resamples of videos, so that their difference and their ratio are paired.

Minimal pairs: two exams of a pair differ in one act. A judge is right on a pair if its answer to the step whose true
score differs moves in that direction, and its answers to the steps whose true scores are equal do not move. In a
*history* pair the frames of the step's clip are the same in both videos. A judge that sees only the clip and answers
equal inputs equally cannot move there: at most the share of *local* pairs can be right.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from siming_tasks.common.schema import CONDITIONS
from siming_tasks.media import VIDEO
from siming_tasks.metrics.catalogue import CATALOGUE, headline, select
from siming_tasks.metrics.classification import Positive
from siming_tasks.metrics.estimate import Estimate, plain
from siming_tasks.metrics.evaluate import RESAMPLES
from siming_tasks.metrics.intervals import derived, fieller, share
from siming_tasks.metrics.kappa import LabelMapping
from siming_tasks.metrics.resample import Clusters, n_clusters, per_cluster, quantile_of_t, sample, spreads
from siming_tasks.metrics.score_matrix import BoolArray, FloatArray, IntArray, ScoreMatrix
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import FEWEST
from siming_tasks.options import Options
from siming_tasks.results.comparable import TaskRun
from siming_tasks.results.run import Run
from siming_tasks.tasks import ABLATION_TASKS, TASKS, InputAblation

NO_AGREEMENT = (
    "The plain task is not shown to agree beyond chance (an interval above 0), so there is nothing to survive."
)
NO_ZERO = "A judge that answers at random has more than 0 of this metric, so a share of it says nothing."


@dataclass(frozen=True)
class AblationEffect:
    """One metric with and without the evidence, on the steps that were answered both times.

    Attributes:
        plain: of the plain task; ``ablated``: of the ablation.
        change: ``ablated - plain``, paired.
        retained: ``ablated / plain``, paired, with Fieller's interval: 1 is a judge that did not need what the ablation
            took away. No value where the interval of ``plain`` reaches 0 or there is none (two noises have any ratio),
            nor for a metric that is not 0 at chance.
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

    ``allow`` has differences to accept (:data:`siming_tasks.results.comparable.DIFFERENCES`).
    """
    names = [name for name in ABLATION_TASKS if TASKS[name].base_task == setting and run.records.get(name)]
    if not names or not run.records.get(setting):
        return ()
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    how |= {"resamples": options.resamples, "seed": options.seed}
    history_steps = [step.id for step in run.dataset.rubric.steps if step.scope == "history"]
    plain_run = TaskRun.of(run, setting, options.rater, options.cluster)
    results = []
    for name in names:
        task = TASKS[name]
        ablated_run = TaskRun.of(run, name, options.rater, options.cluster)
        refused = reason_not_comparable(plain_run, ablated_run, (*allow, *task.ablation.changes), "ablation")
        effects: Mapping[str, AblationEffect] = {}
        history = None
        if not refused:
            effects = ablation_effects(plain_run.panel, ablated_run.panel, **how)
        if history_steps and not refused:
            on_history = ablation_effects(plain_run.panel, ablated_run.panel, history_steps, **how)
            history = on_history[headline(task.answer)]
        results.append(AblationResult(name, task.ablation, task.answer, refused, effects, history))
    return tuple(results)


def reason_not_comparable(plain_run: TaskRun, ablated_run: TaskRun, accepted: Collection[str], what: str) -> str:
    """First difference of a control from its plain task that is not accepted, in a sentence; empty if there is none.

    ``what`` is the control's name in the sentence: ``ablation``, or a modality.
    """
    conditions = {request.partition("/")[2]: asked for request, asked in plain_run.conditions.items()}
    for request, asked in ablated_run.conditions.items():
        before = conditions.get(request.partition("/")[2])
        for name, plain_value, value in zip(CONDITIONS, before or (), asked, strict=bool(before)):
            if None in (plain_value, value) or plain_value == value or name in accepted:
                continue
            proxy = what == "ablation" and (name, plain_value) == ("media", VIDEO.name)
            way = " (an ablation's file is a proxy: SIMING_MEDIA=proxy)" if proxy else ""
            return (
                f"The plain task and the {what} differ in {name}: {plain_value} against {value} ({request}). Ask "
                f"both with the same {name}{way}, or accept the difference (--allow {name})."
            )
    shared = set(plain_run.panel.video_ids) & set(ablated_run.panel.video_ids)
    return "" if shared else f"The plain task and the {what} share no video."


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
    """Effect of an ablation by metric, on ``steps`` (None: all) of the videos that are in both.

    Returns:
        Every metric but those that can be had by answering the same everywhere. ``coverage`` of the estimates is the
        share of the asked steps that were answered both times.
    """
    shared = sorted(set(plain.video_ids) & set(ablated.video_ids))
    matrices = []
    for matrix in (plain, ablated):
        row = {name: index for index, name in enumerate(matrix.video_ids)}
        matrices.append(
            matrix.videos([row[name] for name in shared]).subset(plain.step_ids if steps is None else steps)
        )
    asked = matrices[0].asked & matrices[1].asked
    both = matrices[0].answered & matrices[1].answered
    metrics = tuple(name for name in select(plain.answer, lifted=True) if CATALOGUE[name].compared)
    kept = [replace(matrix, asked=asked, predicted=np.where(both, matrix.predicted, np.nan)) for matrix in matrices]
    tallies = [Tally.of(matrix, mapping, positive, metrics) for matrix in kept]

    def compute(weights: FloatArray) -> dict[tuple[str, str], FloatArray]:
        before, after = (tally.compute(weights) for tally in tallies)
        parts: dict[tuple[str, str], FloatArray] = {}
        for name in metrics:
            a, b = before[name], after[name]
            parts |= {(name, "plain"): a, (name, "ablated"): b, (name, "change"): b - a}
        return parts

    values, drawn = sample(compute, tallies[0].clusters, resamples=resamples, seed=seed)
    spread = spreads(drawn, {key: tallies[0].size(key[0]).clusters for key in drawn})
    effects: dict[str, AblationEffect] = {}
    for name in metrics:
        parts = {}
        for part in ("plain", "ablated", "change"):
            sides = zip(tallies, ("plain", "ablated"), strict=True)
            undefined = [tally for tally, side in sides if np.isnan(values[name, side]) and part in (side, "change")]
            why = undefined[0].reason(name) if undefined else ""
            parts[part] = derived(tallies[0], name, values[name, part], spread.get((name, part)), why=why)
        retained = _retained(tallies, name, values, drawn, parts["plain"])
        effects[name] = AblationEffect(name, **parts, retained=retained)
    return effects


def _retained(
    tallies: Sequence[Tally],
    name: str,
    values: Mapping[tuple[str, str], float],
    drawn: Mapping[tuple[str, str], FloatArray],
    plain_estimate: Estimate,
) -> Estimate:
    """Ratio of the ablated to the plain value; None where there is no agreement to survive."""
    plain, ablated = (values[name, part] for part in ("plain", "ablated"))
    coverage = plain_estimate.coverage
    if not plain_estimate.n_items or (np.isnan(ablated) and not np.isnan(plain)):
        side = tallies[int(not np.isnan(plain))]
        return derived(side, name, np.nan, None, why=side.reason(name))
    if not CATALOGUE[name].corrected:
        return Estimate(None, reason=NO_ZERO, coverage=coverage)
    base, rest = (drawn.get((name, part), np.empty(0)) for part in ("plain", "ablated"))
    spread = fieller(ablated, plain, rest, base, plain_estimate.n_clusters)
    # Without an interval a plain value is above chance only where nothing varies, as for a judge that reads labels.
    certain = plain_estimate.low > 0 if plain_estimate.low is not None else plain_estimate.stderr == 0
    if spread is None or not certain:
        return Estimate(None, reason=NO_AGREEMENT, coverage=coverage)
    return derived(tallies[0], name, ablated / plain, spread, why="")


@dataclass(frozen=True)
class MinimalPairScores:
    """Scores of a judge on minimal pairs; each number is a share of the answered pairs.

    Intervals are Wilson's of the effective number of pairs (:func:`siming_tasks.metrics.intervals.share`).

    Attributes:
        right: moved the right way on the step and nowhere else.
        moved: moved the right way on the step, whatever happened elsewhere.
        wrong_way: moved the wrong way on the step.
        elsewhere: mean share of the steps with equal truth on which the answer moved all the same.
        bound: largest ``right`` (and ``moved``) that a clip-only deterministic judge can reach: the share of local
            pairs; None without pairs.
    """

    right: Estimate
    moved: Estimate
    wrong_way: Estimate
    elsewhere: Estimate
    bound: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def score_minimal_pairs(
    first: FloatArray,
    second: FloatArray,
    target: IntArray,
    direction: FloatArray,
    unchanged: BoolArray,
    kinds: Sequence[str],
    answer: Literal["score", "error"] = "score",
    clusters: Sequence[str] | None = None,
) -> MinimalPairScores:
    """Score a judge on P pairs over S steps.

    Args:
        first: answers for video a, shape (P, S): points, or 1.0 wrong / 0.0 correct; NaN: no answer.
        second: the same for video b.
        target: index of the step whose true score differs, shape (P,).
        direction: +1 if video b scores truly higher there, -1 if lower, shape (P,).
        unchanged: steps whose true scores are equal in both, shape (P, S).
        kinds: "history" or "local" for each pair.
        answer: "error" turns the direction round (a higher score is a lower verdict).
        clusters: the cluster of each pair, as two pairs of one exam or one student are not independent; each its own
            by default.

    Returns:
        Pairs without an answer to the target step in both videos are left out of every share and lower ``coverage``.
        Steps elsewhere count if both answers are there.

    Raises:
        ValueError: shapes do not belong together, a direction is not +1 or -1, or a target step is ``unchanged``.
    """
    number = int(first.shape[0])
    shapes = (second.shape == first.shape, unchanged.shape == first.shape, target.shape == (number,))
    if not all(shapes) or direction.shape != (number,) or len(kinds) != number:
        raise ValueError("answers and `unchanged` must be (pairs, steps); target, direction and kinds one per pair")
    if not np.isin(direction, (-1, 1)).all():
        raise ValueError("direction must be +1 or -1")
    row = np.arange(number)
    if unchanged[row, target].any():
        raise ValueError("a target step is listed as unchanged; nothing could move there")

    change = second - first
    movement = change[row, target] * direction * (1.0 if answer == "score" else -1.0)
    answered = np.isfinite(movement)
    comparable = unchanged & np.isfinite(change)
    strayed = (np.nan_to_num(change) != 0) & comparable
    share_strayed = strayed.sum(1) / np.maximum(comparable.sum(1), 1)
    moved = movement[answered] > 0
    elsewhere = answered & (comparable.sum(1) > 0)
    coverage = float(answered.mean()) if number else None
    scored = [kind for kind, known in zip(kinds, answered, strict=True) if known]

    names = range(number) if clusters is None else clusters
    numbers = np.unique(np.array(names), return_inverse=True)[1].astype(np.intp)
    return MinimalPairScores(
        right=_mean_over_pairs(moved & ~strayed[answered].any(1), coverage, numbers[answered]),
        moved=_mean_over_pairs(moved, coverage, numbers[answered]),
        wrong_way=_mean_over_pairs(movement[answered] < 0, coverage, numbers[answered]),
        elsewhere=_mean_over_pairs(share_strayed[elsewhere], coverage, numbers[elsewhere], " elsewhere"),
        bound=sum(kind == "local" for kind in scored) / len(scored) if scored else None,
    )


def _mean_over_pairs(values: NDArray[Any], coverage: float | None, clusters: Clusters, where: str = "") -> Estimate:
    """Share of hits with its Wilson interval, or mean of shares with Student's over the clusters of pairs."""
    n = len(values)
    if n == 0:
        return Estimate(None, reason=f"No pair was answered{where}.", coverage=coverage)
    clusters = np.unique(clusters, return_inverse=True)[1].astype(np.intp)
    k, value = n_clusters(clusters), float(values.mean())
    stderr = math.sqrt(k / (k - 1) * float((per_cluster(values - value, clusters) ** 2).sum())) / n if k > 1 else None
    low: float | None = None
    high: float | None = None
    if values.dtype == np.bool_:
        found = share(values, np.ones_like(values), clusters)
        low, high = found.low, found.high
        stderr = math.sqrt(value * (1 - value) / n) if k == n else stderr
    elif stderr is not None and k >= FEWEST:
        reach = quantile_of_t(k - 1) * stderr
        low, high = max(value - reach, 0.0), min(value + reach, 1.0)
    return Estimate(value, stderr, low, high, n_videos=2 * n, n_items=n, n_clusters=k, coverage=coverage)
