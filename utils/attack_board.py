"""Measure how many hidden labels somebody gets out of a board by choosing answers, beyond what the step prior gives.

Verdicts are drawn for exams whose steps go wrong at known rates. The attacker knows the rates and sends whole answer
sheets. Each of his senders climbs: it turns some answers to the steps whose rates are nearest to one half round, and
keeps the sheet if its number on the board has risen. At the end the senders' best sheets vote. The open board gives
every submission its MCC with all digits; ours follows :mod:`siming_tasks.tools.board.disclosure`.

    python utils/attack_board.py
"""

from __future__ import annotations

import statistics
import sys

import numpy as np
from tqdm import tqdm

from siming_tasks.metrics.catalogue import statistic
from siming_tasks.metrics.jackknife import difference, jackknife
from siming_tasks.metrics.score_matrix import ScoreMatrix
from siming_tasks.tools.board.disclosure import VALUE_DIGITS

STEPS, DOUBTFUL, TURNED, STUDIES = 33, 6, 0.04, 5
"""Steps of an exam, those that the attacker plays with, the share of their answers that he turns, and repeats."""
MCC = statistic("mcc")


def matrix(truth: np.ndarray, sheet: np.ndarray) -> ScoreMatrix:
    """Verdicts of exams x steps (1: wrong) as a board compares them."""
    videos, steps = (tuple(f"{kind}{k:03}" for k in range(n)) for kind, n in zip("vs", truth.shape, strict=True))
    asked = np.ones(truth.shape, bool)
    return ScoreMatrix(videos, steps, ("cpr",) * len(steps), [1] * len(steps), 1.0 - truth, sheet, asked, "error")


class Board:
    """Answers of a board to one sender: exactly every number, or ours."""

    def __init__(self, truth: np.ndarray, ours: bool) -> None:
        self.truth, self.ours = truth, ours
        self.shown: ScoreMatrix | None = None

    def number(self, sheet: np.ndarray) -> float:
        """The number that stands on the board after this sheet was sent."""
        new = matrix(self.truth, sheet)
        if not self.ours:
            return jackknife(MCC, new).value
        if self.shown is None or (difference(MCC, new, self.shown).low or 0.0) > 0:
            self.shown = new
        return round(jackknife(MCC, self.shown).value, VALUE_DIGITS)


def turn(sheet: np.ndarray, rates: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A sheet with some of its most doubtful answers turned round."""
    doubtful = np.isin(np.arange(STEPS), np.argsort(np.abs(rates - 0.5))[:DOUBTFUL])
    return np.where(doubtful & (rng.random(sheet.shape) < TURNED), 1 - sheet, sheet)


def climb(board: Board, sheet: np.ndarray, rates: np.ndarray, archives: int, rng: np.random.Generator) -> np.ndarray:
    """A sender's best sheet after so many archives."""
    best, top = sheet, board.number(sheet)
    for _ in range(archives - 1):
        tried = turn(best, rates, rng)
        if (number := board.number(tried)) > top:
            best, top = tried, number
    return best


def recovered(exams: int, senders: int, archives: int, ours: bool, rng: np.random.Generator) -> float:
    """Labels that the attacker has right beyond those of the step prior, in percent of all labels."""
    rates = rng.beta(1.2, 2.5, STEPS)
    truth = (rng.random((exams, STEPS)) < rates).astype(float)
    prior = np.tile((rates > 0.5).astype(float), (exams, 1))
    sheets = []
    for sender in range(senders):
        start = prior if sender == 0 else turn(prior, rates, rng)
        sheets.append(climb(Board(truth, ours), start, rates, archives, rng))
    vote = np.mean(sheets, axis=0)
    guess = np.where(vote == 0.5, prior, (vote > 0.5).astype(float))
    return 100 * float((guess == truth).mean() - (prior == truth).mean())


def main() -> None:
    """Print the table of docs/reference/validation.md."""
    print("| exams | senders | archives each | every digit of every archive | this board |\n|---|---|---|---|---|")
    cells = [(e, s, a) for e in (84, 200) for s in (1, 10) for a in (1, 3, 50)]
    for exams, senders, archives in tqdm(cells, file=sys.stderr):
        found = [
            statistics.fmean(
                recovered(exams, senders, archives, ours, np.random.default_rng(k)) for k in range(STUDIES)
            )
            for ours in (False, True)
        ]
        print(f"| {exams} | {senders} | {archives} | {found[0]:+.2f} % | {found[1]:+.2f} % |")


if __name__ == "__main__":
    main()
