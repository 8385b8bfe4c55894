"""Time and memory of ``siming report`` at the benchmark's size: 200 videos x 4 settings x 12 models (SYNTHETIC).

    python utils/bench_report.py [--videos 200] [--models 12] [--jobs 2]

Makes labels without rendering videos (a second of grey stands for all) and prediction files with replies, runs the
report in a fresh process and prints wall time, CPU time and the largest resident set of any process. Wall time on a
busy machine says little: CPU time divided by the number of cores in use is the lower bound.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulated_judges import make_labels, make_runs

from siming_tasks.benchmark.tasks import BENCHMARK_TASKS


def main() -> None:
    """Make the data, run the report, print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", type=int, default=200)
    parser.add_argument("--models", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench_report.") as folder:
        root = Path(folder)
        dataset = make_labels(root / "data", arguments.videos)
        judges = {f"model-{number:02d}": 0.1 + 0.06 * number for number in range(arguments.models)}
        runs = make_runs(dataset, root, judges, BENCHMARK_TASKS)
        command = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())", "report"]
        command += [*runs, "--data", str(dataset.root), "--out", str(root / "out"), "--jobs", str(arguments.jobs)]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        wall, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu, files = used.ru_utime + used.ru_stime, [path for path in (root / "out").rglob("*") if path.is_file()]
        print(f"{arguments.videos} videos x 4 settings x {arguments.models} models, {arguments.jobs} jobs (SYNTHETIC)")
        print(f"report, wall         {wall:8.1f} s")
        print(f"report, CPU          {cpu:8.1f} s  ({cpu / arguments.jobs:.1f} s for each of {arguments.jobs} jobs)")
        print(f"largest process      {used.ru_maxrss / 1024:8.0f} MB")
        print(f"report on disk       {sum(path.stat().st_size for path in files) / 1e6:8.0f} MB in {len(files)} files")


if __name__ == "__main__":
    main()
