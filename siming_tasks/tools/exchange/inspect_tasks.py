"""The four settings as tasks of Inspect: ``inspect eval siming_tasks/siming_full_score --model openai/gpt-4o``.

Requests are those of ``siming run requests``, prompts and frames byte for byte; replies are read and scored as by
``siming score``. The options of a run are the environment's (``SIMING_DATA``, ``SIMING_FRAMES``, ...), as for
lmms-eval. Inspect finds the tasks by the package's entry point.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, ContentVideo, GenerateConfig, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver

from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED
from siming_tasks.benchmark.parsing.parsed_reply import FAILURE_MARKER
from siming_tasks.benchmark.scoring import score
from siming_tasks.benchmark.tasks import TASKS, TaskSpec, benchmark_task
from siming_tasks.benchmark.tasks.expected_requests import expected_ids
from siming_tasks.benchmark.tasks.prompt import PROMPT_VERSION
from siming_tasks.common.errors import DataError, OptionsError, Problem
from siming_tasks.common.files import canonical_json
from siming_tasks.common.public_facts import public_name
from siming_tasks.common.sanitize import well_formed
from siming_tasks.data import gate, open_dataset
from siming_tasks.data.consent import HERE, UNSTATED
from siming_tasks.options import Options
from siming_tasks.plugin.hooks.docs import generation_kwargs
from siming_tasks.plugin.preflight import address_of
from siming_tasks.plugin.response_cache.attempt import count_of
from siming_tasks.study.results.record_parser import RecordParser
from siming_tasks.tools.exchange.requests import Asked, BatchRequest, MediaAddresses

_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Frames of the tasks of this process; they go when it ends."""
_EPOCHS: dict[tuple[str, str], set[int]] = {}
"""Epochs that were scored, by setting and data set: Inspect averages over them before it asks for a metric."""


@task  # type: ignore[untyped-decorator, unused-ignore]
def siming_full_score(data: str = "") -> Task:
    """Points for every step, from the whole exam; ``data`` names the data set (default: SIMING_DATA, else the demo)."""
    return _task(benchmark_task("full", "score"), data)


@task  # type: ignore[untyped-decorator, unused-ignore]
def siming_full_error(data: str = "") -> Task:
    """Correct or incorrect for every step, from the whole exam."""
    return _task(benchmark_task("full", "error"), data)


@task  # type: ignore[untyped-decorator, unused-ignore]
def siming_clip_score(data: str = "") -> Task:
    """Points for one step, from its clip."""
    return _task(benchmark_task("clip", "score"), data)


@task  # type: ignore[untyped-decorator, unused-ignore]
def siming_clip_error(data: str = "") -> Task:
    """Correct or incorrect for one step, from its clip."""
    return _task(benchmark_task("clip", "error"), data)


def _task(spec: TaskSpec, data: str) -> Task:
    """Task of a setting; every frame is decoded and encoded before the first request is sent."""
    options = Options.from_env()
    options = replace(options, data=data) if data else options
    if options.schema != "off":
        raise OptionsError("SIMING_SCHEMA does not work with Inspect: unset it, or use `siming run requests`.")
    _FOLDERS.append(folder := tempfile.TemporaryDirectory(prefix="siming-inspect-"))
    asked, model = Asked.by(options, [spec.name]), get_model()
    is_here = str(model).partition("/")[0] in ("hf", "mockllm", "none")
    recipient = address_of(model.api) or (HERE if is_here else UNSTATED)
    media = MediaAddresses(Path(folder.name), folder.name)
    samples = [_sample(request) for request in asked.requests(recipient, media)]
    dataset, blocks = asked.dataset, dict[str, ExitStack]()

    @solver  # type: ignore[untyped-decorator, unused-ignore]
    def watched() -> Solver:  # as setup it runs before whichever solver is chosen, as far as the cleanup
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            blocks[state.uuid] = stack = ExitStack()
            stack.enter_context(gate.requests(recipient))
            gate.built(dataset)
            return state

        return solve

    async def unwatched(state: TaskState) -> None:
        blocks.pop(state.uuid, ExitStack()).close()

    generation, root = generation_kwargs(asked.run), str(dataset.root)
    return Task(
        dataset=MemoryDataset(samples, name=dataset.name),
        setup=watched(),
        cleanup=unwatched,
        solver=generate(),
        scorer=siming_scorer(root),
        metrics=[] if dataset.withheld else [agreement(spec.name, root)],
        config=GenerateConfig(temperature=generation["temperature"], max_tokens=generation["max_new_tokens"]),
        display_name=f"{spec.title}{' [SYNTHETIC]' if dataset.synthetic else ''}",
        version=PROMPT_VERSION,
        metadata={"dataset": dataset.facts, "synthetic": dataset.synthetic},
        tags=["SYNTHETIC"] if dataset.synthetic else None,
    )


def _sample(request: BatchRequest) -> Sample:
    """Sample of a request whose media are files. It holds no label."""

    def content(part: Mapping[str, Any]) -> Any:
        if part["type"] == "text":
            return ContentText(text=part["text"])
        address = part[part["type"]]["url"]
        return ContentImage(image=address) if part["type"] == "image_url" else ContentVideo(video=address, format="mp4")

    (turn,) = request.messages
    turns = [ChatMessageUser(content=list(map(content, turn["content"])))]
    return Sample(id=request.id, input=turns, metadata={"facts": dict(request.facts)})


@scorer(metrics=[])  # type: ignore[untyped-decorator, unused-ignore]
def siming_scorer(data: str) -> Scorer:
    """Scorer that says of a reply whether it was read whole (1) or not (0), its status, and the answers read."""
    dataset = open_dataset(data)

    async def score(state: TaskState, target: Target) -> Score:
        line = {**state.metadata["facts"], **_reply(state.output)}
        problems: list[Problem] = []
        record = RecordParser(dataset, problems).parse(line, Path(str(state.sample_id)), state.epoch)
        if record is None:
            raise DataError.of(problems)
        _EPOCHS.setdefault((record.setting, data), set()).add(state.epoch)
        return Score(
            value=float(record.status == "ok"),
            answer=canonical_json(record.answers),
            explanation=record.status,
            metadata={"line": line},
        )

    return score


def _reply(output: Any) -> dict[str, Any]:
    """Response and usage of a sample's output."""
    if not output.choices:
        return {"response": f"{FAILURE_MARKER}] no output"}
    ended = output.choices[0].stop_reason
    usage = {
        "prompt_tokens": count_of(output.usage and output.usage.input_tokens),
        "completion_tokens": count_of(output.usage and output.usage.output_tokens),
        "finish_reason": "length" if ended in ("max_tokens", "model_length") else ended,
        "model": public_name(output.model)[:200] or None,
    }
    return {"response": well_formed(output.completion), "usage": usage}


@metric  # type: ignore[untyped-decorator, unused-ignore]
def agreement(setting: str, data: str) -> Metric:
    """Metrics of ``siming score`` with their standard errors, over all replies; one that is undefined is absent."""

    def compute(scores: list[SampleScore]) -> dict[str, float]:
        if not scores:  # Inspect asks once before the first reply
            return {}
        if len(epochs := _EPOCHS.get((setting, data), set())) > 1:
            advice = "Epochs are runs of their own: score the lines in the samples' metadata epoch by epoch."
            logging.getLogger(__name__).warning(advice)
            return {"epochs": len(epochs)}
        dataset, options, problems = open_dataset(data), Options.from_env(), list[Problem]()
        parser = RecordParser(dataset, problems)
        lines = ((each.score.metadata or {})["line"] for each in scores)
        records = [parser.parse(line, Path("replies"), number) for number, line in enumerate(lines, 1)]
        if None in records:
            raise DataError.of(problems)
        kept = [record for record in records if record]
        asked = frozenset(expected_ids(TASKS[setting], dataset.videos))
        rows = score(kept, dataset, setting, rater=options.rater, mapping=options.mapping, asked=asked)
        numbers: dict[str, float] = {}
        for found in rows.of(ANSWERED, ALL):
            numbers |= {found.metric: found.value} if found.value is not None else {}
            numbers |= {f"{found.metric}_stderr": found.stderr} if found.stderr is not None else {}
        return numbers

    return compute
