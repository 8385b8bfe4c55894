"""A process that has imported lmms-eval and runs its command in forks of itself: the import costs more than a run.

One job a line on stdin (``argv``, ``cwd``, ``env``, ``output``, perhaps a Python ``script`` to run instead); for each,
one line with the fork's pid and one with its exit code. A fork goes through the console script's own ``main`` and ends
as any interpreter does. What is kept from fork to fork is what is imported, and the index of lmms-eval's own 1,600 task
files; ours are indexed anew.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import runpy
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from lmms_eval import tasks
from lmms_eval.cli.dispatch import main

LATER = (
    "lmms_eval.__main__",
    "av",
    "lmms_eval.models.chat.openai",
    "nltk",
    "pytablewriter",
    "siming_tasks.plugin.reference_model",
)
"""Modules that a run imports late; runs share the modules and no other state."""


def index_once(manager: Any) -> None:
    own, index = f"{Path(tasks.__file__).parent}/", manager._get_task_and_group
    known = index(manager(include_defaults=False), own)

    @functools.wraps(index)
    def get_task_and_group(self: Any, task_dir: str) -> Any:
        return known if task_dir == own else index(self, task_dir)

    manager._get_task_and_group = get_task_and_group


def become(job: dict[str, Any]) -> None:
    """Make this fork what ``lmms-eval ...`` would be in its folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    output = os.open(job["output"], os.O_WRONLY | os.O_CREAT)
    for descriptor, target in ((os.open(os.devnull, os.O_RDONLY), 0), (output, 1), (output, 2)):
        os.dup2(descriptor, target)
    sys.argv = [job.get("script", "lmms-eval"), *job["argv"]]


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for name in LATER:
        import_module(name)
    index_once(tasks.TaskManager)
    gc.freeze()  # a fork's collector leaves what it was born with alone, so that those pages stay shared
    print("ready", file=answers)
    for line in iter(sys.stdin.readline, ""):
        if (pid := os.fork()) == 0:
            answers.close()
            become(job := json.loads(line))
            break
        print(pid, file=answers)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=answers)
    else:
        os._exit(0)
    if "script" in job:
        sys.path.insert(0, str(Path(job["script"]).parent))
        runpy.run_path(job["script"], run_name="__main__")
    else:
        main()
