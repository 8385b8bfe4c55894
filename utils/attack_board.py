"""Measure how many hidden labels somebody gets out of a board by choosing answers, beyond what the step prior gives.

Verdicts are drawn for exams whose steps go wrong at known rates; the attacker knows the rates. Each number that he gets
counts the wrong ones among some doubtful cells: he calls them wrong, and all else correct but a set of cells that are
almost surely correct. That set shrinks from archive to archive, so that each sheet is better beyond chance than the
one before, and a board that shows better sheets shows each. All four settings ask about the same labels, so an archive
has four numbers, those of points taken to tell as much as those of verdicts. The open board gives the MCC of every
archive with all digits; ours follows
:mod:`siming_tasks.tools.board.disclosure`.

    python utils/attack_board.py
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from itertools import islice, product

import numpy as np

from siming_tasks.benchmark.metrics.catalogue import statistic
from siming_tasks.benchmark.metrics.jackknife import difference, jackknife
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.tools.board.disclosure import NUMBERS, VALUE_DIGITS

STEPS, DOUBTFUL, STUDIES, SETTINGS = 33, 6, 5, 4
"""Steps of an exam, those that the attacker asks about, repeats, and numbers of an archive."""
STAIR = 30
"""Cells by which the bad set shrinks."""
GROUPS = (1, 3, 7, 15, 31, 63)
"""Numbers of cells that one number may count; the best for the attacker is told."""
MCC = statistic("mcc")


def matrix(truth: np.ndarray, sheet: np.ndarray) -> ScoreMatrix:
    """Verdicts of exams x steps (1: wrong) as a board compares them."""
    videos, steps = (tuple(f"{kind}{k:03}" for k in range(n)) for kind, n in zip("vs", truth.shape, strict=True))
    asked = np.ones(truth.shape, bool)
    return ScoreMatrix(videos, steps, ("cpr",) * len(steps), [1] * len(steps), 1.0 - truth, sheet, asked, "error")


def numbers(truth: np.ndarray, sheets: Iterable[np.ndarray], ours: bool) -> Iterator[float | None]:
    """Numbers that a board shows of a sender's sheets in one setting: exactly every one, or ours; None: nothing."""
    shown, left = None, NUMBERS
    for new in (matrix(truth, sheet) for sheet in sheets):
        if not ours:
            yield jackknife(MCC, new).value
        elif not left or (shown and not (difference(MCC, new, shown).low or 0.0) > 0):
            yield None
        else:
            shown, left = new, left - 1
            yield round(jackknife(MCC, new).value, VALUE_DIGITS)


def counted(number: float, sheet: np.ndarray, rates: np.ndarray) -> float:
    """Wrong ones among the cells that a sheet calls wrong, by its MCC and the expected number of all wrong ones."""
    cells, called = sheet.size, sheet.sum()
    wrong = rates.sum() * len(sheet)
    spread = np.sqrt(called * (cells - called) * wrong * (cells - wrong))
    return float((number * spread + called * wrong) / cells)


def tilted(rates: np.ndarray, total: float) -> np.ndarray:
    """Chances of cells with these rates to be wrong if ``total`` of them are."""
    low, high = -20.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        chances = 1 / (1 + (1 / rates - 1) * np.exp(-middle))
        low, high = (middle, high) if chances.sum() < total else (low, middle)
    return chances


def recovered(exams: int, senders: int, archives: int, ours: bool, group: int, rng: np.random.Generator) -> float:
    """Labels that the attacker has right beyond those of the step prior, in percent of all labels."""
    rates = np.clip(rng.beta(1.2, 2.5, STEPS), 0.01, 0.99)
    truth = (rng.random((exams, STEPS)) < rates).astype(float)
    chances = np.tile(rates, (exams, 1))
    prior, of_cell = chances > 0.5, chances.flatten()
    asked = np.isin(np.arange(STEPS), np.argsort(np.abs(rates - 0.5))[:DOUBTFUL])
    doubtful = np.flatnonzero(np.tile(asked, exams))
    sure = np.arange(exams) * STEPS + int(np.argmin(rates))  # the step that is most surely correct
    groups = iter(np.array_split(rng.permutation(doubtful), max(1, len(doubtful) // group)))
    for _ in range(senders * SETTINGS):
        taken = list(islice(groups, min(archives, NUMBERS) if ours else archives))
        bad = [sure[: STAIR * left * ours] for left in reversed(range(len(taken)))]
        called = [np.isin(np.arange(truth.size), [*a, *b]) for a, b in zip(taken, bad, strict=True)]
        sheets = [each.reshape(truth.shape) * 1.0 for each in called]
        for cells, few, sheet, number in zip(taken, bad, sheets, numbers(truth, sheets, ours), strict=True):
            if number is None:
                continue
            of_group, of_bad = of_cell[cells], of_cell[few]
            noise, spread = (float((each * (1 - each)).sum()) for each in (of_bad, of_group))
            surprise = counted(number, sheet, rates) - of_bad.sum() - of_group.sum()
            total = np.clip(of_group.sum() + surprise * spread / (spread + noise), 0.1, len(cells) - 0.1)
            chances.flat[cells] = tilted(of_group, float(total))
    return 100 * float(((chances > 0.5) == truth).mean() - (prior == truth).mean())


def mean(exams: int, senders: int, archives: int, ours: bool) -> float:
    """Mean over the studies, with the group that is best for the attacker."""

    def over_studies(group: int) -> float:
        rngs = map(np.random.default_rng, range(STUDIES))
        return statistics.fmean(recovered(exams, senders, archives, ours, group, rng) for rng in rngs)

    return max(map(over_studies, GROUPS))


def main() -> None:
    """Print the table of docs/reference/validation.md."""
    print("| exams | senders | archives each | every digit of every archive | this board |\n|---|---|---|---|---|")
    for case in product((84, 200), (1, 10), (1, 3, 50)):
        found = (f"{mean(*case, ours):+.2f} %" for ours in (False, True))
        print(f"| {' | '.join([*map(str, case), *found])} |", flush=True)


if __name__ == "__main__":
    main()
