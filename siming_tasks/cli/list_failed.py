"""``siming score --list-failed``: which requests failed, and how they are asked again."""

from __future__ import annotations

import argparse
import json
import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

from siming_tasks.cli.terminal import say

if TYPE_CHECKING:
    from siming_tasks.data import Dataset
    from siming_tasks.results.discovery import RunSource

__all__ = ["list_failed"]


def list_failed(arguments: argparse.Namespace, source: RunSource, dataset: Dataset) -> int:
    """Print the failed requests of a run and the commands that ask them again; 0."""
    from siming_tasks.common.redact import MASK, redact
    from siming_tasks.results.retry_failed import commands, failed_requests, joined_at
    from siming_tasks.results.run import read_run

    run = read_run(source, dataset, partial=arguments.partial, allow=arguments.allow)
    failed = failed_requests(run)
    again = commands(run, failed)
    empty = sum(record["status"] == "empty" for records in run.records.values() for record in records)
    join = shlex.join(["siming", "score", str(dataset.root), str(joined_at(run))])
    if arguments.json:
        found = {"failed": [asdict(one) for one in failed], "empty": empty, "commands": again, "join": join}
        print(json.dumps(redact(found), indent=1))
        return 0
    for one in failed:
        print(f"{one.id}  {one.task} {one.document}")
    print(
        f"{len(failed)} requests failed." + (f" {empty} empty replies are the model's own and stay." if empty else "")
    )
    if not failed:
        return 0
    print("\nThese commands ask exactly those again:\n")
    say("\n".join(again))
    print()
    if not source.facts.get("model"):
        print("What was run is not known here (no results file of lmms-eval): fill in MODEL and MODEL_ARGS.")
    elif any(MASK in command for command in again):
        print(f"Secrets are not shown: fill them in where {MASK} stands.")
    say(f"Then join the parts: {join}\nAn answer takes the place of a failed request; one that fails again stays so.")
    return 0
