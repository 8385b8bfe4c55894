"""Measure how many hidden labels somebody gets out of a board by choosing answers, beyond what the step prior gives.

Verdicts are drawn for exams whose steps go wrong at known rates; the attacker knows the rates. Each number that he gets
counts the wrong ones among some doubtful cells: he calls them wrong, and all else correct but a set of cells that are
almost surely correct. That set shrinks from archive to archive, so that each sheet is better beyond chance than the
one before, and a board that shows better sheets shows each. All four settings ask about the same labels, so an archive
has four numbers, those of points taken to tell as much as those of verdicts. From our board he also takes the word
that a sheet is better than the one before, and *better than* between the sheets of neighbouring senders. The open board
gives the MCC of every archive with all digits; ours follows :mod:`siming_tasks.tools.board.disclosure`.

    python utils/attack_board.py
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product

import numpy as np
from scipy import stats

from siming_tasks.benchmark.metrics.catalogue import statistic
from siming_tasks.benchmark.metrics.jackknife import difference, jackknife
from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.tools.board.disclosure import NUMBERS, VALUE_DIGITS

STEPS, DOUBTFUL, STUDIES, SETTINGS, DRAWS = 33, 6, 40, 4, 200
"""Steps of an exam, those that the attacker asks about, repeats, numbers of an archive, and guesses tried on a bit."""
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


def better(truth: np.ndarray, new: np.ndarray, old: np.ndarray) -> bool:
    """True if a sheet is better than another beyond chance."""
    return (difference(MCC, matrix(truth, new), matrix(truth, old)).low or 0.0) > 0


def numbers(truth: np.ndarray, sheets: Iterable[np.ndarray], ours: bool) -> Iterator[float | None]:
    """Numbers that a board shows of a sender's sheets in one setting: exactly every one, or ours; None: nothing."""
    shown, left = None, NUMBERS
    for new in sheets:
        if not ours:
            yield jackknife(MCC, matrix(truth, new)).value
            continue
        told, left = left > 0, left - 1
        if not told or (shown is not None and not better(truth, new, shown)):
            yield None
        else:
            shown = new
            yield round(jackknife(MCC, matrix(truth, new)).value, VALUE_DIGITS)


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


def guessed(guesses: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """For each guess at the truth, what :func:`better` says of two sheets, for all guesses at once."""

    def mcc(right: np.ndarray, called: np.ndarray, wrong: np.ndarray, cells: int) -> np.ndarray:
        return (cells * right - called * wrong) / np.sqrt(called * (cells - called) * wrong * (cells - wrong))

    leads = np.zeros((2, *guesses.shape[:2]))  # over all exams, and without each
    for sheet, sign in ((a, 1), (b, -1)):
        right, called, wrong = (guesses * sheet).sum(axis=2), sheet.sum(axis=1), guesses.sum(axis=2)
        whole = [each.sum(axis=-1, keepdims=True) for each in (right, called, wrong)]
        leads[0] += sign * mcc(*whole, guesses[0].size)
        without = [total - each for total, each in zip(whole, (right, called, wrong), strict=True)]
        leads[1] += sign * mcc(*without, guesses[0].size - STEPS)
    exams = guesses.shape[1]
    stderr = np.sqrt((exams - 1) * leads[1].var(axis=1))
    return np.asarray(leads[0][:, 0] > stats.t.ppf(0.975, exams - 1) * stderr)


def sharpened(chances: np.ndarray, truth: np.ndarray, a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> None:
    """Correct the chances of the cells that two sheets call differently by whether ``a`` is better than ``b``.

    How many are wrong is taken from those guesses at the truth that agree, as far as these differ beyond chance.
    """
    guesses = (rng.random((DRAWS, *truth.shape)) < chances) * 1.0
    agree = guessed(guesses, a, b) == better(truth, a, b)
    for cells in (a > b, b > a):
        totals = guesses[:, cells].sum(axis=1)
        if agree.any() and cells.any():
            shift = totals[agree].mean() - totals.mean()
            if abs(shift) > 2 * totals.std() / np.sqrt(agree.sum()):
                total = np.clip(chances[cells].sum() + shift, 0.1, cells.sum() - 0.1)
                chances[cells] = tilted(chances[cells], float(total))


def recovered(
    exams: int, senders: int, archives: int, ours: bool, group: int, rng: np.random.Generator, bits: bool = False
) -> float:
    """Labels that the attacker has right beyond those of the step prior, in percent of all labels."""
    rates = np.clip(rng.beta(1.2, 2.5, STEPS), 0.01, 0.99)
    truth = (rng.random((exams, STEPS)) < rates).astype(float)
    chances = np.tile(rates, (exams, 1))
    prior, of_cell = chances > 0.5, chances.flatten()
    asked = np.isin(np.arange(STEPS), np.argsort(np.abs(rates - 0.5))[:DOUBTFUL])
    doubtful = np.flatnonzero(np.tile(asked, exams))
    sure = np.arange(exams) * STEPS + int(np.argmin(rates))  # the step that is most surely correct
    groups = iter(np.array_split(rng.permutation(doubtful), max(1, len(doubtful) // group)))
    told: list[tuple[np.ndarray, np.ndarray]] = []
    last: list[np.ndarray] = []
    for _ in range(senders * SETTINGS):
        taken = list(islice(groups, min(archives, NUMBERS) if ours else archives))
        bad = [sure[: STAIR * left * ours] for left in reversed(range(len(taken)))]
        called = [np.isin(np.arange(truth.size), [*a, *b]) for a, b in zip(taken, bad, strict=True)]
        sheets = [each.reshape(truth.shape) * 1.0 for each in called]
        told += zip(sheets[1:], sheets, strict=False)
        last += sheets[-1:]
        for cells, few, sheet, number in zip(taken, bad, sheets, numbers(truth, sheets, ours), strict=True):
            if number is None:
                continue
            of_group, of_bad = of_cell[cells], of_cell[few]
            noise, spread = (float((each * (1 - each)).sum()) for each in (of_bad, of_group))
            surprise = counted(number, sheet, rates) - of_bad.sum() - of_group.sum()
            total = np.clip(of_group.sum() + surprise * spread / (spread + noise), 0.1, len(cells) - 0.1)
            chances.flat[cells] = tilted(of_group, float(total))
    if bits:  # the replacements of each sender, then better_than between senders of one setting
        for a, b in [*told, *zip(last, last[SETTINGS:], strict=False)]:
            sharpened(chances, truth, a, b, rng)
    return 100 * float(((chances > 0.5) == truth).mean() - (prior == truth).mean())


@cache
def studies(exams: int, senders: int, archives: int, ours: bool, bits: bool = False) -> str:
    """Mean and standard deviation over the studies, with the group that is best for the attacker."""

    def over(group: int, bits: bool = False) -> list[float]:
        rngs = map(np.random.default_rng, range(STUDIES))
        return [recovered(exams, senders, archives, ours, group, rng, bits) for rng in rngs]

    found = {group: over(group) for group in GROUPS}
    best = max(found, key=lambda group: statistics.fmean(found[group]))
    each = over(best, bits=True) if bits else found[best]
    return f"{statistics.fmean(each):+.2f} ± {statistics.stdev(each):.2f} %"


def half(exams: int, senders: int, archives: int) -> str:
    """The same of a board that keeps half of the exams out of sight, in percent of all labels."""
    mean, _, spread, _ = studies(exams // 2, senders, archives, True).split()
    return f"{float(mean) / 2:+.2f} ± {float(spread) / 2:.2f} %"


def main() -> None:
    """Print the table of docs/reference/validation.md."""
    print(
        "| exams | senders | archives each | every digit of every archive | this board | half of the exams kept out |"
    )
    print("|---|---|---|---|---|---|")
    for case in product((84, 200), (1, 10), (1, 3, 50)):
        few = (*case[:2], min(case[2], NUMBERS))  # a fourth is not answered
        found = studies(*case, ours=False), studies(*few, ours=True, bits=True), half(*few)
        print(f"| {' | '.join([*map(str, case), *found])} |", flush=True)


if __name__ == "__main__":
    main()
