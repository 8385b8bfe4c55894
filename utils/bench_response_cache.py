"""Cost of the response cache: of a run with 0.2 s a reply, and of a start with a full store.

    python utils/bench_response_cache.py [--requests 40] [--stored 13600]

A model object of lmms-eval's that sleeps 0.2 s a request answers the requests of a task about a small synthetic demo,
once as lmms-eval asks it and once with every reply kept. The processor time not spent in the model's own method,
that of the thread which brings replies onto the disk included, is the cost; the ratio is to 0.2 s a reply. Full videos
(33 answers a reply) are the dearest to read.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_eval import models
from lmms_eval.api.model import lmms
from lmms_eval.tasks import TaskManager, eval_logger, get_task_dict

from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.register import tasks_path
from siming_tasks.plugin.response_cache.cache import replies_kept
from siming_tasks.plugin.response_cache.store import CachedReply, ReplyStore
from siming_tasks.tools.simulator import make_demo

SECONDS = 0.2


class Sleeper(lmms):
    """Answers every request after 0.2 s; ``inside`` is the time spent here."""

    is_simple = False

    def __init__(self, name: str) -> None:
        super().__init__()
        self.batch_size, self.inside = 1, 0.0

    def generate_until(self, requests: list[Any]) -> list[str]:
        """One reply for each request."""
        began = time.process_time()
        replies = []
        for request in requests:
            time.sleep(SECONDS)
            steps = RUN.dataset_of(self.doc(request)).steps(self.doc(request))
            replies.append(json.dumps({step.id: 1 for step in steps}) if len(steps) > 1 else '{"score": 1}')
        self.inside += time.process_time() - began
        return replies

    def doc(self, request: Any) -> Any:
        """Document of a request."""
        doc_id, task, split = request.args[-3:]
        return self.task_dict[task][split][doc_id]

    def loglikelihood(self, requests: list[Any]) -> Any:
        """Not asked."""

    def generate_until_multi_round(self, requests: list[Any]) -> Any:
        """Not asked."""


def cost(task: str, number: int, replies: str) -> float:
    """Seconds a reply outside the model."""
    os.environ["SIMING_REPLIES"] = replies
    RUN.begin()
    manager = TaskManager(include_path=tasks_path(), include_defaults=False, model_name="async_openai")
    (task_object,) = get_task_dict([task], manager, "chat").values()
    assert models  # importing them is what lets the suite in
    model = Sleeper("bench")
    model.task_dict[task] = task_object.dataset
    task_object.build_all_requests(rank=0, world_size=1)
    requests = (task_object.instances * number)[:number]
    requests = [
        replace(request, metadata=request.metadata | {"siming_number": i}) for i, request in enumerate(requests)
    ]
    began = time.process_time()
    with replies_kept(model):
        model.generate_until(requests)
    return (time.process_time() - began - model.inside) / number


def start(folder: Path, stored: int) -> float:
    """Seconds until all of a full store is found."""
    store = ReplyStore(folder, "bench")
    text = json.dumps({f"step_{number:02}": 1 for number in range(33)})
    for number in range(stored):
        store.add(CachedReply(f"{number:064}", f"clip_score/v/{number}", text, 1e9))
    store.close()
    keys = [f"{number:064}" for number in range(stored)]
    began = time.process_time()
    assert len(ReplyStore(folder, "bench").find(keys)) == stored
    return time.process_time() - began


def main() -> None:
    """Print the table."""
    eval_logger.remove()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--stored", type=int, default=13_600)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = make_demo(folder / "demo", videos=4, seed=7, short=True, jobs=2, progress=False)
        sizes = {"SIMING_FRAMES": "2", "SIMING_CLIP_FRAMES": "2", "SIMING_FRAME_SIZE": "32"}
        os.environ |= {"SIMING_DATA": str(data), "SIMING_CACHE": str(folder / "cache"), **sizes}
        print(f"{'task':<18} {'plain':>9} {'kept':>9} {'of 0.2 s':>9}")
        for task in ("siming_full_score", "siming_clip_score"):
            plain = cost(task, arguments.requests, "off")
            kept = cost(task, arguments.requests, str(folder / "kept" / task))
            share = 100 * (kept - plain) / SECONDS
            print(f"{task:<18} {1000 * plain:6.2f} ms {1000 * kept:6.2f} ms {share:7.2f} %")
        seconds = start(folder / "store", arguments.stored)
        print(f"{arguments.stored:,} kept replies are found in {seconds:.2f} s")


if __name__ == "__main__":
    main()
