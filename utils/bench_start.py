"""Start-up time of commands that need no framework: each one's help, and the least that some of them do.

    python utils/bench_start.py [--repeats 5] [--limit 0.5]

Prints the median of processor seconds of each, beside an interpreter that imports nothing. Every command runs in a
process of its own, in turn, with files warm from a run before and modules compiled, as they are where a package is
installed; exits with 1 if one takes longer than the limit or fails.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from siming_tasks.cli.main import COMMANDS

LEAST = tuple(
    line.split()
    for line in (
        "--version",
        "tasks-path",
        "run recipe",
        "run recipe gpt-4o",
        "run plan --videos 200",
        "study power --videos 50 --replicates 100",
        "study power --videos 50",
    )
)
"""Uses that open no data set. The last one computes: it draws 2,000 data sets."""


def seconds(command: list[str], folder: str) -> tuple[float, int]:
    """Processor seconds of a command and its children, and how it ended."""
    before = os.times()
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= {"COLUMNS": "100", "PYTHONPYCACHEPREFIX": folder}
    code = subprocess.run(command, env=env, capture_output=True, check=False).returncode
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, code


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--limit", type=float, default=0.5)
    arguments = options.parse_args()
    siming = [sys.executable, "-c", "from siming_tasks.cli.main import main; raise SystemExit(main())"]
    rows = {"python": [sys.executable, "-c", "pass"], "siming --help": [*siming, "--help"]}
    rows |= {f"siming {name} --help": [*siming, *name.split(), "--help"] for name in COMMANDS}
    rows |= {f"siming {' '.join(words)}": [*siming, *words] for words in LEAST}
    slow = []
    print(f"{'cpu s':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in rows.items():
            times = [seconds(command, folder) for _ in range(arguments.repeats + 1)][1:]
            spent = statistics.median(took for took, _ in times)
            failed = {code for _, code in times} - {0}
            print(f"{spent:7.2f}  {name}{f'  (exit {failed})' if failed else ''}")
            if failed or spent > arguments.limit:
                slow.append(name)
    if slow:
        raise SystemExit(f"failed, or longer than {arguments.limit:g} s: {', '.join(slow)}")


if __name__ == "__main__":
    main()
