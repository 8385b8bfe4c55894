"""Wins of judges that see no video over the no-video baselines: ``python utils/blind_judges.py [--sets 40]``.

SYNTHETIC: 120 exams of 60 students; columns state year, examiner, device and student, and the first two tell how often
each step goes wrong, or nothing does. Ten judges go by the labels of other exams alone; the last looks at the truth in
35 % of the steps. Printed are the studies in which a judge is better than every baseline, and the same where the
baselines know no column.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import replace

import numpy as np

from siming_tasks import ScoreMatrix
from siming_tasks.study.analysis.comparison import compare_judges

VIDEOS, STEPS = 120, 20


def study(rng: np.random.Generator, tells: bool) -> dict[str, ScoreMatrix]:
    """Judges of one study, by name."""
    student, year = np.arange(VIDEOS) // 2, np.arange(VIDEOS) // 2 % 4
    examiner, device = (rng.integers(0, number, VIDEOS // 2)[student] for number in (5, 3))
    top, ease = rng.choice([1.0, 2.0, 3.0, 5.0], STEPS), rng.normal(1.1, 0.8, STEPS)
    told = rng.normal(0, 0.9, (4, STEPS))[year] + rng.normal(0, 0.5, (5, STEPS))[examiner]
    ability = rng.normal(0, 0.6, VIDEOS // 2)[student][:, None]
    quality = ease + ability + tells * told + rng.normal(0, 1, (VIDEOS, STEPS))
    truth = np.where(quality > 0, top, np.floor(top * np.clip(1 + quality / 2, 0, 0.99)))

    def usual(group: np.ndarray) -> np.ndarray:
        """The labels of the other students of a group, in their spread, by how the steps go there."""
        said = np.empty_like(truth)
        for v in range(VIDEOS):
            near = (group == group[v]) & (student != student[v])
            share = truth[near if near.any() else student != student[v]] / top
            place = (np.argsort(np.argsort(share.mean(axis=0), kind="stable")) + 0.5) / STEPS
            said[v] = np.sort(share.ravel())[(place * share.size).astype(int)] * top
        return said

    def mean(group: np.ndarray) -> np.ndarray:
        """Mean points of the other exams of a group, those of the same student too."""
        others = [(group == group[v]) & (np.arange(VIDEOS) != v) for v in range(VIDEOS)]
        return np.stack([truth[near].mean(axis=0) for near in others])

    all_alike, both = np.zeros(VIDEOS, int), 10 * year + examiner
    said = {
        f"usual of {name}": usual(group)
        for name, group in (
            ("all", all_alike),
            ("year", year),
            ("examiner", examiner),
            ("device", device),
            ("year x examiner", both),
        )
    }
    for name, group in (("student", student), ("year", year)):
        said[f"mean of {name}"] = np.clip(np.round(mean(group)), 0, top)
        said[f"cut of {name}"] = np.where(mean(group) < 0.75 * top, np.floor(top / 2), top)
    mixed = rng.random(truth.shape) < 0.5
    said["half noise"] = np.where(mixed, said["usual of all"], rng.permuted(truth, axis=0))
    said["LOOKS"] = np.where(rng.random(truth.shape) < 0.35, truth, said["usual of all"])
    stated = {"year": year, "examiner": examiner, "device": device, "student": student, "performance": range(VIDEOS)}
    first = ScoreMatrix(
        tuple(f"v{v:03d}" for v in range(VIDEOS)), tuple(f"s{s:02d}" for s in range(STEPS)), ("cpr",) * STEPS, top,
        truth, truth, np.ones(truth.shape, bool), "score", clusters=tuple(map(str, student)), unit="student",
        columns={name: tuple(map(str, values)) for name, values in stated.items()},
    )  # fmt: skip
    return {name: first.predicting(own) for name, own in said.items()}


def main() -> None:
    """Print the wins of each judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=40)
    sets, rng = parser.parse_args().sets, np.random.default_rng(3)
    for tells in (True, False):
        for answer in ("score", "error"):
            wins, bare = Counter[str](), Counter[str]()
            for _ in range(sets):
                judges = study(rng, tells)
                if answer == "error":
                    judges = {name: replace(made, answer="error", predicted=made.predicted < made.max_score)
                              for name, made in judges.items()}  # fmt: skip
                without = {name: replace(made, columns={}) for name, made in judges.items()}
                for found, of in ((wins, judges), (bare, without)):
                    found.update(name for name, won in compare_judges(of, against="LOOKS").beats.items() if won)
            print(f"columns tell: {tells}, {answer}, {sets} studies")
            for name in judges:
                print(f"  {name}: {wins[name]} (without columns {bare[name]})", flush=True)


if __name__ == "__main__":
    main()
