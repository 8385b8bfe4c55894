"""Measure what classes of lmms-eval do with our requests: ``python utils/measure_model_classes.py OUT [ROW ...]``.

The real class runs in lmms-eval's own evaluation of two tasks. A stand-in takes the place of its weights, tokenizer and
processor (whatever it loads by ``from_pretrained``) and of packages that are not installed. It writes down every
picture, text and argument that it is handed, and answers ``reply 0``, ``reply 1``, ...: hence it is known which request
a reply in the log belongs to. OUT gets what was seen, as JSON.

Data set, frames and the like are those of the environment (``SIMING_DATA``, ``SIMING_FRAMES``, ...).
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import av
import decord
import torch
from stand_ins import packages
from stand_ins.cases import CASES, Case, stand_ins
from stand_ins.notes import Notes
from transformers import BatchFeature

from siming_tasks.media import Backend, backends
from siming_tasks.media.modes import VIDEO

TOKENS = 777
"""New tokens that are asked for: no class's own number."""


def on_the_processor() -> None:
    """Keep on this machine's processor what a class sends to a graphics card."""

    def here(value: Any) -> Any:
        return "cpu" if str(value).startswith("cuda") else value

    for owner in (torch.Tensor, BatchFeature):
        old = owner.to

        def to(self: Any, *args: Any, old: Any = old, **kwargs: Any) -> Any:
            return old(self, *map(here, args), **{name: here(value) for name, value in kwargs.items()})

        owner.to = to
    torch.Tensor.cuda = lambda self, *_, **__: self  # type: ignore[method-assign, assignment]


@dataclass
class Measured:
    """Samples of the tasks in one run of a class, and what it was a run of; or the error that ended it."""

    row: str
    of: str
    error: str = ""
    samples: list[dict[str, Any]] = field(default_factory=list)


@functools.cache
def _task_manager() -> Any:
    from lmms_eval.tasks import TaskManager

    return TaskManager()  # reads all task files of lmms-eval, which takes longer than a run here


@contextmanager
def _unreadable(number: int) -> Iterator[None]:
    """While the block runs, lmms-eval cannot open the video of this number, by decord or PyAV; -1: it opens all."""
    opened = itertools.count()

    def damaged(read: Callable[..., Any]) -> Callable[..., Any]:
        def opening(*args: Any, **kwargs: Any) -> Any:
            ours = (
                not sys._getframe(1)
                .f_globals["__name__"]
                .startswith(("lmms_eval.", "siming_tasks.plugin.response_cache.dispatch"))
            )
            if not ours and next(opened) == number:
                if isinstance(args[0], decord.VideoReader):
                    args[0]._handle = None
                raise RuntimeError("the stand-in's file is damaged")
            return read(*args, **kwargs)

        return opening

    reader = patch.object(decord.VideoReader, "__init__", damaged(decord.VideoReader.__init__))
    with reader, patch.object(av, "open", damaged(av.open)):
        yield


RUNS: dict[str, dict[str, Any]] = {
    "single": {}, "pairs": {"batch_size": 2}, "failure": {"fails_at": 1}, "unread": {"unread_at": 1},
    "sound": {"prefix": "siming_sound_video_audio_"}, "sound alone": {"prefix": "siming_sound_audio_"},
}  # fmt: skip
"""Arguments of :func:`measure` by what a run is to show."""


def runs_of(row: Backend) -> list[str]:
    """Runs that a class is put through."""
    if row.listens:
        return ["sound alone"]
    asked = {
        "unread": row.unread and row.media is VIDEO,
        "sound": row.hears,
        "sound alone": row.hears,
    }
    return [name for name in RUNS if asked.get(name, True)]


def measure(
    case: Case,
    of: str = "single",
    *,
    batch_size: int = 1,
    fails_at: int = -1,
    unread_at: int = -1,
    prefix: str = "siming_",
    limit: int = 2,
) -> Measured:
    """Run a class with stand-ins through the evaluation of a task of full videos and one of clips.

    The weights fail at reply ``fails_at``, and decord at the file of number ``unread_at``.
    """
    from lmms_eval.evaluator import simple_evaluate

    notes, result = Notes(), Measured(case.row, of)
    decord.bridge.set_bridge("native")  # some modules change it for all
    notes.fails_at = fails_at
    try:
        packages_there = patch("siming_tasks.plugin.preflight._check_package")
        with stand_ins(case, notes), packages_there, _unreadable(unread_at):
            found = simple_evaluate(
                model=case.model, model_args=case.arguments, batch_size=batch_size, limit=limit,
                tasks=[f"{prefix}full_score", f"{prefix}clip_score"], task_manager=_task_manager(),
                force_simple=case.row.startswith("simple."), gen_kwargs=f"max_new_tokens={TOKENS}", log_samples=True,
            )  # fmt: skip
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a crash is what is measured
        traceback.print_exc(limit=-3)
        result.error = f"{type(error).__name__}: {error}"
        return result
    for task, samples in found["samples"].items():
        for sample in samples:
            record, reply = sample["siming_stderr"], str(sample["filtered_resps"][0])
            number = re.fullmatch(r"reply (\d+)", reply)
            seen = asdict(notes.replies[int(number[1])]) if number else None
            result.samples.append({
                "task": task, "video": sample["doc"]["video_id"], "step": sample["doc"]["step_id"], "reply": reply,
                "status": record["status"], "media": record["media"], "seen": seen,
            })  # fmt: skip
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure rows and write what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("rows", nargs="*")
    options = parser.parse_args(arguments)
    packages.installed()
    on_the_processor()
    chosen = ((row, of) for row in options.rows or CASES for of in runs_of(backends()[row]))
    results = [asdict(measure(CASES[row], of, **RUNS[of])) for row, of in chosen]
    options.out.write_text(json.dumps(results, default=str))


if __name__ == "__main__":
    main()
