"""Do the intervals cover and do the tests hold their size? A simulation, printed as Markdown.

Synthetic data sets from the suite's own model of raters and judges (siming_tasks.planning.model): 33 steps, 18.6 %
of them not fully correct, two raters at kappa .732. Judges: null (sees nothing), weak, strong. The truth of each metric
is its value over 40,000 videos of the same model.

    python utils/validate_intervals.py --quick      a minute or two
    python utils/validate_intervals.py              about ten minutes; the table in docs/metrics.md
    python utils/validate_intervals.py --full       two hours
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
from tqdm import tqdm

from siming_tasks.metrics import Panel
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.metrics.compare.significance import pseudo_values, sign_flip
from siming_tasks.metrics.panel import FloatArray
from siming_tasks.metrics.resample import bootstrap, interval, jackknife_spread, observed
from siming_tasks.metrics.tally import Tally
from siming_tasks.metrics.video.split import shuffle_p
from siming_tasks.planning.model import Design, draw
from siming_tasks.present.cells import table

JUDGES = {"null": 0.0, "weak": 0.25, "strong": 0.8}
METRICS = select(compared=True)
TESTED = select(corrected=True)
COUNTED = select(headline=True)
DESIGN = Design()


def panel_of(reference: np.ndarray, judged: np.ndarray) -> Panel:
    """Labels 0..3 as points of steps that are worth three."""
    videos, steps = reference.shape
    return Panel(
        video_ids=tuple(f"v{v}" for v in range(videos)),
        step_ids=tuple(f"s{s}" for s in range(steps)),
        skills=("all",) * steps,
        max_score=np.full(steps, 3.0),
        reference=reference,
        predicted=judged,
        asked=np.ones(reference.shape, bool),
        answer="score",
    )


def tally_of(reference: np.ndarray, judged: np.ndarray) -> Tally:
    """Every metric that is validated."""
    return Tally.of(panel_of(reference, judged), metrics=METRICS)


def severe(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same judge with more positives: three in four of its full marks become a label 2, blindly."""
    return np.where((labels == 3) & (rng.random(labels.shape) < 0.75), 2, labels)


def coverage(n: int, sets: int, resamples: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Rows: judge, videos, and by metric the truth, the coverage of bootstrap and jackknife, and the median width."""
    big = draw(DESIGN, 40_000, 1, rng, judges=1)
    for name, skill in JUDGES.items():
        truth = observed(tally_of(big.reference[0], big.judged(skill)[0]).compute, 40_000)
        hits: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
        for _ in tqdm(range(sets), desc=f"coverage, {name}, {n} videos", leave=False, file=sys.stderr, disable=None):
            data = draw(DESIGN, n, 1, rng, judges=1)
            tally = tally_of(data.reference[0], data.judged(skill)[0])
            values, left = observed(tally.compute, n), tally.left_out()
            drawn = bootstrap(tally.compute, n, resamples=resamples, seed=int(rng.integers(2**31)))
            for metric in METRICS:
                _, low, high = interval(drawn[metric])
                _, low_j, high_j, _ = jackknife_spread(np.nan_to_num(values[metric]), left[metric])
                hit = low <= truth[metric] <= high, low_j <= truth[metric] <= high_j
                hits[metric].append((*hit, high - low))
        boot, jack, width = np.moveaxis(np.array([hits[metric] for metric in METRICS], float), -1, 0)
        for what, values in (
            ("true value", [f"{truth[metric]:.3f}" for metric in METRICS]),
            ("bootstrap covers", [f"{share:.1%}" for share in boot.mean(axis=1)]),
            ("jackknife covers", [f"{share:.1%}" for share in jack.mean(axis=1)]),
            ("median width", [f"{value:.3f}" for value in np.median(width, axis=1)]),
        ):
            yield [name, str(n), what, *values]


def swap_p(a: Tally, b: Tally, flips: int, rng: np.random.Generator) -> dict[str, float]:
    """The usual permutation test, for contrast: exchange the two judges' answers within whole videos."""
    swapped = rng.random((flips, len(a.asked))) < 0.5
    swapped[0] = False
    found = {}
    for metric in COUNTED:
        delta = []
        for kept in (~swapped, swapped):
            counts = [kept @ side.counts(CATALOGUE[metric].family) for side in (a, b)]
            other = [~kept @ side.counts(CATALOGUE[metric].family) for side in (a, b)]
            delta.append(_values(metric, counts[0] + other[1]) - _values(metric, counts[1] + other[0]))
        found[metric] = float((np.abs(delta[0]) >= abs(delta[0][0]) - 1e-12).mean())
    return found


def _values(metric: str, counts: FloatArray) -> FloatArray:
    return np.nan_to_num(CATALOGUE[metric].function(counts))


SCENES: Mapping[str, tuple[float, float, bool]] = {
    "size: null against null": (0.0, 0.0, False),
    "size: null against null, other positive rate": (0.0, 0.0, True),
    "size: strong against strong": (0.8, 0.8, False),
    "power: weak against null": (0.25, 0.0, False),
    "power: strong against weaker": (0.8, 0.7, False),
}


def tests(n: int, sets: int, flips: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Rows: scene, videos, share of p <= .05 by metric, and of the swap test for kappa and MCC."""
    for scene, (first, second, shifted) in SCENES.items():
        p: dict[str, list[float]] = defaultdict(list)
        for _ in tqdm(range(sets), desc=f"{scene}, {n} videos", leave=False, file=sys.stderr, disable=None):
            data = draw(DESIGN, n, 1, rng)
            judged = [data.judged(skill, judge)[0] for judge, skill in enumerate((first, second))]
            judged[1] = severe(judged[1], rng) if shifted else judged[1]
            sides = [tally_of(data.reference[0], labels) for labels in judged]
            columns = []
            for side in sides:
                value, left = observed(side.compute, n), side.left_out()
                values = np.nan_to_num([value[metric] for metric in TESTED])
                columns.append(pseudo_values(values, np.nan_to_num(np.stack([left[m] for m in TESTED], axis=1))))
            found = sign_flip(columns[0] - columns[1], flips=flips, seed=int(rng.integers(2**31)))
            for metric, value in zip(TESTED, found, strict=True):
                p[metric].append(value)
            for metric, value in swap_p(*sides, flips, rng).items():
                p[f"swap {metric}"].append(value)
        yield [scene, str(n), *(f"{np.mean(np.array(values) <= 0.05):.1%}" for values in p.values())]


def shuffles(n: int, sets: int, rng: np.random.Generator) -> Iterable[list[str]]:
    """Rows: judge, videos, share of video-shuffle p <= .05 for kappa and PLCC."""
    for name in ("null", "weak"):
        found = []
        for _ in tqdm(range(sets), desc=f"shuffle, {name}, {n} videos", leave=False, file=sys.stderr, disable=None):
            data = draw(DESIGN, n, 1, rng, judges=1)
            panel = panel_of(data.reference[0], data.judged(JUDGES[name])[0])
            p = shuffle_p(panel, permutations=199, seed=int(rng.integers(2**31)))
            found.append([np.nan if p[metric] is None else p[metric] for metric in ("qwk", "plcc")])
        yield [name, str(n), *(f"{share:.1%}" for share in (np.array(found, float) <= 0.05).mean(axis=0))]


def main() -> None:
    """Run the simulations and print their tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    sets, resamples = (100, 300) if arguments.quick else (3000, 2000) if arguments.full else (500, 800)
    rng = np.random.default_rng(arguments.seed)
    error = np.sqrt(0.95 * 0.05 / sets)
    print(f"Simulation, synthetic judges: {sets} data sets a row, {resamples} resamples or flips each; the simulation "
          f"error of a share near 95 % or 5 % is {error:.1%} (one standard error).\n")  # fmt: skip
    head = ["judge", "videos", "", *(CATALOGUE[metric].label for metric in METRICS)]
    print("\n".join(table(head, [row for n in (200, 50) for row in coverage(n, sets, resamples, rng)])) + "\n")
    head = [
        "share of p <= .05",
        "videos",
        *(CATALOGUE[m].label for m in TESTED),
        *(f"swap test, {CATALOGUE[m].label}" for m in COUNTED),
    ]
    print("\n".join(table(head, [row for n in (200, 50) for row in tests(n, sets, resamples, rng)])) + "\n")
    head = ["video shuffle, share of p <= .05", "videos", CATALOGUE["qwk"].label, CATALOGUE["plcc"].label]
    print("\n".join(table(head, [row for n in (200, 50) for row in shuffles(n, sets, rng)])))


if __name__ == "__main__":
    main()
