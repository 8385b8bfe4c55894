"""Coverage of the 95 % intervals in simulated studies: ``python utils/validate_intervals.py [--sets 1000]``.

Eighteen cells of independent videos and fifteen of videos of the same students; with ``--hard`` twelve others, and how
often Holm's test finds a difference among six equal judges. SYNTHETIC. A judge copies the truth in
a share of the steps and otherwise gives what another trainee might have got. The truth of a cell is its metric over
150,000 videos. A set without an interval counts as not covering; its share is printed. Cells under 92 % are named.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from siming_tasks import ScoreMatrix
from siming_tasks.benchmark.metrics.catalogue import select, statistic
from siming_tasks.benchmark.metrics.jackknife import holm, jackknife

STEPS, TRUTH = 33, 150_000
INDEPENDENT = list(product((10, 30, 200), (0.2, 0.5, 0.8), ("score", "error")))
CLUSTERED = [(clusters, icc) for clusters in (5, 8, 12, 20, 40) for icc in (0.0, 0.2, 0.5)]
Cell = tuple[int, int, float, float, str]
"""Videos, clusters (0: each video its own), intraclass correlation, share of steps that are copied, answer."""


@dataclass(frozen=True)
class Hard:
    """Studies that strain an interval.

    ``sizes``: videos of each cluster; ``wrong``: share of steps that are wrong, None: 26 %; ``heavy``: abilities by t
    with 3 degrees of freedom; ``collapsed``: share of the exams in which a judge gives no points.
    """

    sizes: tuple[int, ...]
    icc: float = 0.3
    agreement: float = 0.5
    wrong: float | None = None
    heavy: bool = False
    collapsed: float = 0.0


_UNEVEN, _SINGLE = (2, 2, 3, 4, 6, 9, 14, 20), (1,) * 60
HARD = {
    "8 students of 2 to 20 videos": Hard(_UNEVEN),
    "the same, agreement .9": Hard(_UNEVEN, agreement=0.9),
    "5 students x 6": Hard((6,) * 5),
    "8 x 8": Hard((8,) * 8),
    "8 sites x 8, heavy tails": Hard((8,) * 8, heavy=True),
    "20 x 3": Hard((3,) * 20),
    "20 x 3, 2 % wrong": Hard((3,) * 20, wrong=0.02),
    "60 videos": Hard(_SINGLE),
    "60 videos, 2 % wrong": Hard(_SINGLE, wrong=0.02),
    "60 videos, 5 % wrong": Hard(_SINGLE, wrong=0.05),
    "60 videos, 8 % collapsed": Hard(_SINGLE, collapsed=0.08),
    "30 videos, agreement .97": Hard((1,) * 30, agreement=0.97),
}


def exams(
    rng: np.random.Generator, videos: int, clusters: int, icc: float, agreement: float, answer: str
) -> ScoreMatrix:
    """One study: trainees differ, and students within them; steps are the same in every study."""
    member = np.arange(videos) % clusters if clusters else np.arange(videos)
    made = sheets(rng, member, Hard((), icc, agreement))[0]
    made = made if answer == "score" else replace(made, predicted=made.predicted < made.max_score, answer="error")
    own = {"clusters": made.video_ids, "unit": "video"}
    return made if clusters else replace(made, **own)  # type: ignore[arg-type]


def sheets(rng: np.random.Generator, member: np.ndarray, how: Hard, judges: int = 1) -> list[ScoreMatrix]:
    """Points of some equal judges beside one reference; ``member``: the cluster of each video."""
    steps, videos = np.random.default_rng(5), len(member)
    top, ease = steps.choice([1.0, 2.0, 3.0, 5.0], STEPS), steps.normal(1.2, 0.8, STEPS)
    if how.wrong is not None:
        wide = np.random.default_rng(9)
        quality = 0.6 * wide.normal(0, 1, (4000, 1)) + ease + wide.normal(0, 1, (4000, STEPS))
        ease = ease - np.quantile(quality, how.wrong)

    def points(shared: np.ndarray) -> np.ndarray:
        quality = shared[:, None] + ease + rng.normal(0, 1, (videos, STEPS))
        return np.where(quality > 0, top, np.floor(top * np.clip(1 + quality / 2, 0, 0.99)))

    def ability() -> np.ndarray:
        own, of_cluster = (drawn(size) for size in (videos, int(member.max()) + 1))
        return 0.6 * (np.sqrt(1 - how.icc) * own + np.sqrt(how.icc) * of_cluster[member])

    def drawn(size: int) -> np.ndarray:
        return rng.standard_t(3, size) / np.sqrt(3) if how.heavy else rng.normal(0, 1, size)

    def judge() -> np.ndarray:
        said = np.where(rng.random((videos, STEPS)) < how.agreement, reference, points(ability()))
        return np.where(rng.random((videos, 1)) < how.collapsed, 0.0, said) if how.collapsed else said

    reference = points(ability())
    first = ScoreMatrix(
        video_ids=tuple(f"v{v:06d}" for v in range(videos)),
        step_ids=tuple(f"s{s:02d}" for s in range(STEPS)),
        skills=("cpr",) * STEPS,
        max_score=top,
        reference=reference,
        predicted=judge(),
        asked=np.ones((videos, STEPS), bool),
        answer="score",
        clusters=tuple(f"c{c:06d}" for c in member),
        unit="student",
    )
    return [first, *(first.predicting(judge()) for _ in range(judges - 1))]


def hard(job: tuple[str, int]) -> str:
    """A row of the second table: coverage of each metric, and Holm's test among six judges in kappa and MCC."""
    (name, sets), keys = job, list(select(compared=True))
    how, held, flags = HARD[name], dict.fromkeys(keys, 0.0), list[str]()
    rng = np.random.default_rng([1, list(HARD).index(name)])
    member, found_any = np.repeat(np.arange(len(how.sizes)), how.sizes), {"qwk": 0.0, "mcc": 0.0}
    many = np.repeat(np.arange(TRUTH // 2 // len(member) * len(how.sizes)), how.sizes * (TRUTH // 2 // len(member)))
    large = _as_one(sheets(rng, many, how)[0])
    truth = {key: jackknife(statistic(key), large).value for key in keys}
    for _ in range(sets):
        judges = sheets(rng, member, how, 6)
        for key in keys:
            found = jackknife(statistic(key), judges[0]).estimate()
            held[key] += (found.low is not None and found.low <= truth[key] <= found.high) / sets  # type: ignore[operator]
            flags += [flag for flag in found.flags if key == "qwk"]
        for key in found_any:
            each = [jackknife(statistic(key), judge) for judge in judges]
            tests = [(a - b).estimate(tested=True).p for a, b in combinations(each, 2)]
            found_any[key] += min(holm([p for p in tests if p is not None]), default=1.0) <= 0.05
    often = [flag for flag in dict.fromkeys(flags) if flags.count(flag) > sets / 2 and max(how.sizes) > 1]
    different = ", ".join(f"{100 * found_any[key] / sets:.1f}" for key in found_any)
    return f"| {name} | {' | '.join(_cell(held[key], 0) for key in keys)} | {different} | {', '.join(often)} |"


def coverage(job: tuple[Cell, int]) -> tuple[Cell, dict[str, tuple[float, float]]]:
    """Per metric, the share of sets whose interval holds the truth, and the share without an interval."""
    (videos, clusters, icc, agreement, answer), sets = job
    rng = np.random.default_rng([videos, clusters, int(100 * icc), int(100 * agreement), answer == "error"])
    keys = select(answer, compared=True)  # type: ignore[arg-type]
    large = exams(rng, TRUTH, TRUTH // max(1, videos // clusters) if clusters else 0, icc, agreement, answer)
    truth = {key: jackknife(statistic(key), _as_one(large)).value for key in keys}
    held, none = dict.fromkeys(keys, 0), dict.fromkeys(keys, 0)
    for _ in range(sets):
        matrix = exams(rng, videos, clusters, icc, agreement, answer)
        for key in keys:
            found = jackknife(statistic(key), matrix).estimate()
            if found.low is None or found.high is None:
                none[key] += 1
            else:
                held[key] += found.low <= truth[key] <= found.high
    return job[0], {key: (held[key] / sets, none[key] / sets) for key in keys}


def _as_one(matrix: ScoreMatrix) -> ScoreMatrix:
    """The same in two clusters: only its value is wanted."""
    names = tuple(str(v % 2) for v in range(len(matrix.video_ids)))
    return replace(matrix, clusters=names, unit="student")


def cells() -> Iterator[Cell]:
    """All cells, in the order in which they are printed."""
    for videos, agreement, answer in INDEPENDENT:
        yield videos, 0, 0.0, agreement, answer
    for clusters, icc in CLUSTERED:
        for answer in ("score", "error"):
            yield 5 * clusters, clusters, icc, 0.5, answer


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--hard", action="store_true", help="the other cells")
    options = parser.parse_args()
    print(f"SYNTHETIC, {options.sets:,} data sets a cell; below 92 % in bold; in brackets: sets without an interval.\n")
    keys = select(compared=True)
    if options.hard:
        print(f"| cell | {' | '.join(keys)} | kappa, MCC: a difference among six | flag |\n|{'---|' * (3 + len(keys))}")
        with ProcessPoolExecutor(options.jobs) as pool:
            for row in pool.map(hard, [(name, options.sets) for name in HARD]):
                print(row, flush=True)
        return
    print(f"| videos | students | {' | '.join(keys)} |\n|{'---|' * (2 + len(keys))}")
    rows: dict[tuple[int, int], dict[str, list[str]]] = {}  # in a cell: shares copied .2, .5, .8, or icc 0, .2, .5
    with ProcessPoolExecutor(options.jobs) as pool:
        for (videos, clusters, *_), found in pool.map(coverage, [(cell, options.sets) for cell in cells()]):
            for key, shares in found.items():
                rows.setdefault((videos, clusters), {}).setdefault(key, []).append(_cell(*shares))
    for (videos, clusters), shown in rows.items():
        print(f"| {videos} | {clusters or '-'} | {' | '.join(', '.join(shown[key]) for key in keys)} |")


def _cell(covered: float, none: float) -> str:
    text = f"{100 * covered:.1f}"
    return (f"**{text}**" if covered < 0.92 else text) + (f" ({100 * none:.1f})" if none else "")


if __name__ == "__main__":
    main()
