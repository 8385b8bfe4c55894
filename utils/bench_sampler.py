"""Frames by content against evenly spaced ones: what they hit, and what they cost: ``[--videos V] [--film FILE]``.

* Hits: simulated exams at full length; the share of steps whose deciding moment
  (``siming_tasks.tools.simulator.contact_sheet``)
  has at least two shown frames within ``W`` seconds, by sampler and number of frames. SYNTHETIC: drawn exams.
* Cost: processor seconds of preparing the four settings of one film (that of ``bench_media.py``, or ``--film``), by
  content against uniform, in turn.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from bench_media import generate, requests

from siming_tasks.data import open_dataset
from siming_tasks.media import Budget, Job, prepare, view
from siming_tasks.tools.simulator import make_demo, simulate_labels
from siming_tasks.tools.simulator.contact_sheet import deciding_moments
from siming_tasks.tools.simulator.video import FPS, FULL, perform

SAMPLERS = ("uniform", "motion", "scene")
WINDOWS = (1.0, 1.5)
SEED = 0


def hits(folder: Path, videos: int, cache: Path) -> dict[tuple[str, int], list[float]]:
    """By sampler and frames: per window the share of moments with two frames, then with one."""
    dataset, exams = open_dataset(folder), simulate_labels(videos, SEED)
    rates: dict[tuple[str, int], list[list[float]]] = {}
    for video, exam in zip(dataset.videos, exams, strict=True):
        played = perform(exam.plan, pace=FULL, fps=FPS, seed=exam.look)
        moments = np.array(list(deciding_moments(played, FPS).values()))
        for sampler in SAMPLERS:
            for frames in (64, 240):
                path = dataset.media_path(video)
                shown = view(path, span=None, budget=Budget(frames), cache=cache, sampler=sampler)
                near = np.abs(np.asarray(shown.times) - moments[:, None])
                counts = [(near <= window).sum(1) for window in WINDOWS]
                row = [*(float((count >= 2).mean()) for count in counts), float((counts[0] >= 1).mean())]
                rates.setdefault((sampler, frames), []).append(row)
    return {key: np.mean(rows, axis=0).tolist() for key, rows in rates.items()}


def cost(film: Path, folder: Path, repeats: int) -> dict[str, float]:
    """By sampler, processor seconds of one preparation from nothing."""
    times: dict[str, list[float]] = {name: [] for name in SAMPLERS}
    for _ in range(repeats):
        for name in SAMPLERS:
            shutil.rmtree(folder, ignore_errors=True)
            asked = tuple(type(request)(request.span, request.budget, name) for request in requests(film))
            began = time.process_time()
            (outcome,) = prepare([Job(film, asked, digest="bench")], folder, cache_gb=1e9)
            times[name].append(time.process_time() - began)
            if outcome.errors:
                raise SystemExit(str(outcome.errors))
    return {name: min(each) for name, each in times.items()}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--videos", type=int, default=8)
    options.add_argument("--demo", type=Path, help=f"a demo of that many videos and seed {SEED}, instead of a new one")
    options.add_argument("--film", type=Path, help="for the cost; made if it is not there")
    options.add_argument("--b-frames", type=int, default=3)
    options.add_argument("--seconds", type=float, default=169)
    options.add_argument("--repeats", type=int, default=3)
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        demo = arguments.demo or make_demo(root / "demo", videos=arguments.videos, seed=SEED, contact=False)
        hit_rates = hits(demo, arguments.videos, root / "hits")
        print(f"SYNTHETIC: {arguments.videos} simulated exams, share of the 33 deciding moments")
        print(f"{'':16}{'two frames within':>26}{'one within':>14}")
        print(f"{'':16}" + "".join(f"{window:>10.1f} s " for window in (*WINDOWS, WINDOWS[0])))
        for (sampler, frames), row in sorted(hit_rates.items(), key=lambda item: item[0][1]):
            print(f"{frames:4} {sampler:10} " + "".join(f"{value:>11.1%} " for value in row))
        film = arguments.film or root / "film.mp4"
        if not film.exists():
            generate(film, arguments.seconds, arguments.b_frames)
        spent = cost(film, root / "cost", arguments.repeats)
        for name, seconds in spent.items():
            print(f"preparation, {name:8}{seconds:8.2f} CPU s{seconds / spent['uniform']:8.2f} x")
        sys.exit(max(spent.values()) > 1.3 * spent["uniform"])


if __name__ == "__main__":
    main()
