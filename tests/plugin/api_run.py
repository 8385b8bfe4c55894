"""``simple_evaluate`` as people call it from Python: ``api_run.py HOW MODEL_ARGS OUT FRAMES ...``.

HOW is ``name`` (model and task by their names), ``manager`` (with a ``TaskManager()`` of one's own), ``instance`` (the
model as an object), ``subclass`` (an object of a class derived from the host's) or ``task`` (the task as an object,
loaded once). There is a run of one clip for each number of FRAMES.
"""

import json
import os
import sys
from typing import Any

from lmms_eval.evaluator import simple_evaluate
from lmms_eval.models.chat.async_openai import AsyncOpenAIChat
from lmms_eval.tasks import TaskManager, get_task_dict

from siming_tasks.common.errors import SimingError


class Mine(AsyncOpenAIChat):
    """A user's own model."""


if __name__ == "__main__":
    how, arguments, out, *runs = sys.argv[1:]
    model: Any = "async_openai"
    more: dict[str, Any] = {"task_manager": TaskManager()} if how in ("manager", "task") else {}
    tasks: list[Any] = ["siming_clip_score"]
    if how == "task":
        tasks = list(get_task_dict(tasks, more["task_manager"], "chat").values())
    if how in ("instance", "subclass"):
        model = (Mine if how == "subclass" else AsyncOpenAIChat).create_from_arg_string(arguments)
    else:
        more["model_args"] = arguments
    said: list[Any] = []
    for frames in runs:
        os.environ["SIMING_CLIP_FRAMES"] = frames
        try:
            found = simple_evaluate(model=model, tasks=tasks, limit=1, batch_size=1, **more)
        except SimingError as error:
            said.append(f"{type(error).__name__}: {error}")
        else:
            said.append(found["samples"]["siming_clip_score"][0]["siming_stderr"]["media"])
    with open(out, "w", encoding="utf-8") as stream:
        json.dump(said, stream)
