"""Coverage of the 95 % intervals in simulated studies: ``python utils/validate_intervals.py [--sets 1000]``.

Eighteen cells of independent videos and fifteen of videos of the same students; SYNTHETIC. A judge copies the truth in
a share of the steps and otherwise gives what another trainee might have got. The truth of a cell is its metric over
150,000 videos. A set without an interval counts as not covering; its share is printed. Cells under 92 % are named.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

from siming_tasks import ScoreMatrix
from siming_tasks.benchmark.metrics.catalogue import select, statistic
from siming_tasks.benchmark.metrics.jackknife import jackknife

STEPS, TRUTH = 33, 150_000
INDEPENDENT = list(product((10, 30, 200), (0.2, 0.5, 0.8), ("score", "error")))
CLUSTERED = [(clusters, icc) for clusters in (5, 8, 12, 20, 40) for icc in (0.0, 0.2, 0.5)]
Cell = tuple[int, int, float, float, str]
"""Videos, clusters (0: each video its own), intraclass correlation, share of steps that are copied, answer."""


def exams(
    rng: np.random.Generator, videos: int, clusters: int, icc: float, agreement: float, answer: str
) -> ScoreMatrix:
    """One study: trainees differ, and students within them; steps are the same in every study."""
    steps = np.random.default_rng(5)
    top, ease = steps.choice([1.0, 2.0, 3.0, 5.0], STEPS), steps.normal(1.2, 0.8, STEPS)
    member = np.arange(videos) % clusters if clusters else np.arange(videos)

    def points(shared: np.ndarray) -> np.ndarray:
        quality = shared[:, None] + ease + rng.normal(0, 1, (videos, STEPS))
        return np.where(quality > 0, top, np.floor(top * np.clip(1 + quality / 2, 0, 0.99)))

    def ability() -> np.ndarray:
        own, of_cluster = rng.normal(0, 1, videos), rng.normal(0, 1, int(member.max()) + 1)[member]
        return 0.6 * (np.sqrt(1 - icc) * own + np.sqrt(icc) * of_cluster)

    mine = ability()
    reference = points(mine)
    said = np.where(rng.random((videos, STEPS)) < agreement, reference, points(ability()))
    return ScoreMatrix(
        video_ids=tuple(f"v{v:06d}" for v in range(videos)),
        step_ids=tuple(f"s{s:02d}" for s in range(STEPS)),
        skills=("cpr",) * STEPS,
        max_score=top,
        reference=reference,
        predicted=said if answer == "score" else said < top,
        asked=np.ones((videos, STEPS), bool),
        answer=answer,  # type: ignore[arg-type]
        clusters=tuple(f"c{c:06d}" for c in member) if clusters else tuple(f"v{v:06d}" for v in range(videos)),
        unit="student" if clusters else "video",
    )


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
    from dataclasses import replace

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
    options = parser.parse_args()
    print(f"SYNTHETIC, {options.sets:,} data sets a cell; below 92 % in bold; in brackets: sets without an interval.\n")
    keys = select(compared=True)
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
