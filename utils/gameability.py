"""Gain of a judge by answering less: the table in docs/validation/answering-less.md, printed as Markdown.

Synthetic data sets from the suite's own model of raters and judges (siming_tasks.analysis.power), 200
videos of 33 steps; each number is the mean over some data sets. A judge leaves out answers in ways that pay or seem to;
beside each value of what it answered stand the imputed value (every missing answer as full points or "correct": what
ranks and tests use) and the one with zero points ("wrong") in place of it. The second table has the worst of three
judges, which answers its surest steps alone, with the step prior or full points in place of all others.

    python utils/gameability.py
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np

from siming_tasks.analysis.power import SimulatedRatings, StudyDesign, draw
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.evaluate import zero_fill
from siming_tasks.metrics.no_video_baselines import step_prior
from siming_tasks.metrics.resample import observed
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.report.formatting import plain_number
from siming_tasks.report.table import Table

JUDGES = {"weak": 0.25, "middling": 0.5, "physician": 0.97}
METRICS = {"qwk": "score", "plcc": "score", "mcc": "error", "f1": "error"}
Policy = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def surest(share: float) -> Policy:
    """The steps furthest from the border between two labels, this share of those called wrong and of the others."""

    def keep(labels: np.ndarray, sure: np.ndarray, _: np.random.Generator) -> np.ndarray:
        wrong = labels < 3
        return np.where(
            wrong, sure >= np.quantile(sure[wrong], 1 - share), sure >= np.quantile(sure[~wrong], 1 - share)
        )

    return keep


POLICIES: Mapping[str, Policy] = {
    "answers everything": lambda labels, _, __: np.ones(labels.shape, bool),
    "its surest 30 %": surest(0.3),
    "its surest 90 %": surest(0.9),
    "lists errors only": lambda labels, _, __: labels < 3,
    "loses 2 % of the videos": lambda labels, _, rng: np.broadcast_to(
        rng.random((len(labels), 1)) > 0.02, labels.shape
    ),
    "answers nothing but one step": lambda labels, _, __: np.arange(labels.size).reshape(labels.shape) == 0,
}


def judged(data: SimulatedRatings, skill: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels of a judge, and how far each lies from the next border."""
    latent = np.float32(skill) * data.quality[0] + np.float32(math.sqrt(1 - skill**2)) * data.errors[0][0]
    return data.judged(skill)[0], np.abs(latent[..., None] - data.design.cuts).min(axis=-1)


def build_score_matrix(reference: np.ndarray, labels: np.ndarray, kept: np.ndarray, answer: str) -> ScoreMatrix:
    """Labels 0..3 as points of steps that are worth three, or as verdicts; NaN where nothing is answered."""
    predicted = labels.astype(float) if answer == "score" else (labels < 3).astype(float)
    return ScoreMatrix(
        video_ids=tuple(map(str, range(len(labels)))),
        step_ids=tuple(map(str, range(labels.shape[1]))),
        skills=("all",) * labels.shape[1],
        max_score=np.full(labels.shape[1], 3.0),
        reference=reference,
        predicted=np.where(kept, predicted, np.nan),
        asked=np.ones(labels.shape, bool),
        answer=answer,
    )


def three(panel: ScoreMatrix, metric: str) -> list[float]:
    """Values of the answered steps, imputed, and with zeros."""
    tally = Tally.of(panel, metrics=[metric])
    zeros = Tally.of(panel.predicting(zero_fill(panel)), metrics=[metric])
    return [observed(side.compute, len(panel.video_ids))[metric] for side in (tally, tally.imputed(), zeros)]


def worst_of_three(sets: int, videos: int, rng: np.random.Generator) -> Table:
    """Values of the worst of three judges when it answers its surest steps only, and how often it is ranked higher."""
    skills, rows = (0.15, 0.2, 0.3), []
    for metric, share in (("qwk", 0.04), ("mcc", 0.04), ("srcc", 0.3)):
        answer = "error" if metric == "mcc" else "score"
        found = []
        for _ in range(sets):
            data = draw(StudyDesign(), videos, 1, rng, judges=3)
            latent = [np.float32(w) * data.quality[0] + np.float32(math.sqrt(1 - w**2)) * data.errors[k][0]
                      for k, w in enumerate(skills)]  # fmt: skip
            labels = [data.judged(w, k)[0] for k, w in enumerate(skills)]
            every = np.ones(labels[0].shape, bool)
            honest, *others = (build_score_matrix(data.reference[0], side, every, answer) for side in labels)
            sure = np.abs(latent[0][..., None] - data.design.cuts).min(axis=-1)
            kept = surest(share)(labels[0], sure, rng)
            shy = build_score_matrix(data.reference[0], labels[0], kept, answer)
            with_prior = np.where(kept, shy.predicted, step_prior(honest).predicted)
            filled = [honest, honest.predicting(with_prior), shy.imputed()]
            values = [Tally.of(panel, metrics=[metric]).observed[metric] for panel in (*filled, *others)]
            ranks = [1 + sum(other > value for other in values[3:]) for value in values[:3]]
            found.append([*values[:3], ranks[1] < ranks[0], ranks[2] < ranks[0]])
        *means, prior, full = np.mean(found, axis=0)
        rows.append([metric, f"{share:.0%}", *map(plain_number, means), f"{prior:.0%}", f"{full:.0%}"])
    head = ["answers everything", "step prior", "full points", "rises, step prior", "rises, full points"]
    return Table.of(["metric", "answered", *head], rows)


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--videos", type=int, default=200)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    values_by_policy: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for _ in range(arguments.sets):
        data = draw(StudyDesign(), arguments.videos, 1, rng, judges=1)
        for judge, skill in JUDGES.items():
            labels, sure = judged(data, skill)
            for policy, keep in POLICIES.items():
                kept = keep(labels, sure, rng)
                panels = {
                    answer: build_score_matrix(data.reference[0], labels, kept, answer) for answer in ("score", "error")
                }
                values = [value for metric, answer in METRICS.items() for value in three(panels[answer], metric)]
                values_by_policy[judge, policy].append([*values, kept.mean()])
    head = [f"{name} {kind}" for name in ("kappa", "PLCC", "MCC", "F1") for kind in ("answered", "imputed", "zeros")]
    rows = []
    for (judge, policy), values in values_by_policy.items():
        *numbers, share = np.array(values).mean(axis=0)
        cells = [plain_number(None if np.isnan(x) else float(x)) for x in numbers]
        rows.append([judge, policy, f"{share:.0%}", *cells])
    print(f"{arguments.sets} synthetic data sets of {arguments.videos} videos; -: undefined.\n")
    print(Table.of(["judge", "policy", "answered", *head], rows, left=(0, 1)).to_markdown() + "\n")
    print(worst_of_three(arguments.sets, arguments.videos, rng).to_markdown())


if __name__ == "__main__":
    main()
