"""``simple_evaluate`` as people call it from Python: ``api_run.py HOW MODEL_ARGS TASK LIMIT OUT``.

HOW is ``name`` (the model by its name), ``manager`` (the same with a ``TaskManager()`` of one's own), ``instance`` (the
model as an object), or ``subclass`` (an object of a class derived from the host's).
"""

from __future__ import annotations

import json
import sys

from lmms_eval.evaluator import simple_evaluate
from lmms_eval.models.chat.async_openai import AsyncOpenAIChat
from lmms_eval.tasks import TaskManager


class Mine(AsyncOpenAIChat):
    """A user's own model."""


if __name__ == "__main__":
    how, arguments, task, limit, out = sys.argv[1:6]
    more = {"task_manager": TaskManager()} if how == "manager" else {}
    if how in ("instance", "subclass"):
        model = (Mine if how == "subclass" else AsyncOpenAIChat).create_from_arg_string(arguments)
    else:
        model, more = "async_openai", {**more, "model_args": arguments}
    found = simple_evaluate(model=model, tasks=[task], limit=int(limit), batch_size=1, **more)
    with open(out, "w", encoding="utf-8") as stream:
        json.dump({"results": found["results"], "samples": found["samples"]}, stream, default=str)
