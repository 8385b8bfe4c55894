"""Two runs of one process with the same task objects: ``task_objects_run.py MODEL_ARGS OUT``."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from lmms_eval.evaluator import simple_evaluate
from lmms_eval.tasks import TaskManager, get_task_dict

from siming_tasks.common.errors import SimingError

if __name__ == "__main__":
    arguments, out = sys.argv[1:3]
    manager = TaskManager()
    (task,) = get_task_dict(["siming_clip_score"], manager, "chat").values()
    said: list[Any] = []
    for frames in ("3", "5"):
        os.environ["SIMING_CLIP_FRAMES"] = frames
        tasks = ["siming_clip_score"] if sys.argv[3:] else [task]
        try:
            found = simple_evaluate("async_openai", arguments, tasks=tasks, limit=1, batch_size=1, task_manager=manager)
        except SimingError as error:
            said.append(f"{type(error).__name__}: {error}")
        else:
            said.append(found["samples"]["siming_clip_score"][0]["siming_stderr"]["media"]["n_frames"])
    with open(out, "w", encoding="utf-8") as stream:
        json.dump(said, stream)
