"""Cost of an ablation beside the plain task: every message of both built from nothing, frames decoded: ``DATA``.

Processor seconds of ``doc_to_messages`` for all requests of a task, with an empty store before each, in turn; the least
of all repeats. A model's own time is the same or less: an ablation shows as many frames as the plain task, or fewer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.tasks import ABLATION_TASKS, BENCHMARK_TASKS, TASKS

MODES = {"frames": {"media": "frames"}, "proxy": {"media": "proxy"}}


def once(name: str, table: dict[str, str], data: Path) -> float:
    """Processor seconds of all messages of one task; the store is empty before."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"SIMING_DATA": str(data), "SIMING_CACHE": cache}
        RUN.begin()
        docs = [dict(doc) for doc in getattr(hooks, f"docs_{name}")(None)]
        began = time.process_time()
        for doc in docs:
            for part in hooks.doc_to_messages(doc, table)[0]["content"]:
                if part["type"] == "image":
                    part["url"].load()
        return time.process_time() - began


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path, metavar="DATA", help="a data set")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument(
        "--settings", default=",".join(name for name in BENCHMARK_TASKS if TASKS[name].answer == "score")
    )
    arguments = options.parse_args()
    worst = 0.0
    for mode, table in MODES.items():
        for plain in arguments.settings.split(","):
            names = [plain, *(name for name in ABLATION_TASKS if TASKS[name].base_task == plain)]
            once(plain, table, arguments.data)  # imports
            times: dict[str, list[float]] = {name: [] for name in names}
            for _ in range(arguments.repeats):
                for name in names:
                    times[name].append(once(name, table, arguments.data))
            fastest = {name: min(each) for name, each in times.items()}
            print(f"{mode}, {plain}: {fastest[plain]:.2f} CPU s")
            for name in names[1:]:
                ablation = TASKS[name].ablation
                ratio = fastest[name] / fastest[plain]
                worst = max(worst, ratio)
                print(f"  {ablation.name if ablation else name:10}{fastest[name]:8.2f}{ratio:8.2f} x")
    print(f"most: {worst:.2f} x (aim: 1.1)")
    sys.exit(worst > 1.1)


if __name__ == "__main__":
    main()
