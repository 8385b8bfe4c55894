"""Run: what is asked, shown and scored, as a function of the options and the data set.

lmms-eval calls plain functions, which look the run up (:func:`current_run`): the one that a block of
:func:`running` is about, else that of the environment. Nothing is reset, and nothing else is remembered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import RLock
from typing import Any

from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.rubrics import RubricStep
from siming_tasks.benchmark.scoring import score
from siming_tasks.benchmark.tasks import TASKS, TaskSpec
from siming_tasks.benchmark.tasks.expected_requests import step_spans, steps_of
from siming_tasks.benchmark.tasks.mismatched_video import MismatchedVideos
from siming_tasks.benchmark.tasks.prompt import build_prompt, prompt_hash
from siming_tasks.benchmark.tasks.prompting import PromptOptions, steps_in_part
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, resolve_dataset, verify_media
from siming_tasks.data.consent import UNSTATED
from siming_tasks.data.splits import take_part
from siming_tasks.data.withholding import refuse_unknown_rater
from siming_tasks.media import UNKNOWN, Backend, MediaMode, Policy
from siming_tasks.options import Options
from siming_tasks.plugin import host

Doc = Mapping[str, Any]
"""A document: id, setting, video_id, step_id ("" for none); and its part, where an exam is asked about in parts."""

Item = Mapping[str, Any]
"""Part of a record that an aggregator gets: its id, its answers, and the beginning of its data set's digest."""

_LOCK = RLock()


@dataclass(frozen=True, eq=False)
class RunContext:
    """Options and data set of a run, and the model that is asked.

    Attributes:
        options: of the run.
        dataset: open and checked, with its media.
        backend: row of the model's class; of an unknown one, which gets frames, while no model is asked.
        recipient: address that the model sends requests to.
        modality: the model's argument of this name.
        named: the model was given by its name, so that its arguments describe it completely.
        verified: a test runs the class of the model, or the canary has passed with it.
    """

    options: Options
    dataset: Dataset
    backend: Backend = UNKNOWN
    recipient: str = UNSTATED
    modality: str | None = None
    named: bool = False
    verified: bool = True
    _steps: dict[Any, tuple[RubricStep, ...]] = field(default_factory=dict, repr=False)
    _prompts: dict[Any, tuple[str, str]] = field(default_factory=dict, repr=False)

    def asking(self, backend: Backend, recipient: str, modality: str | None = None) -> RunContext:
        """The same run with the model that is asked."""
        verified = backend.is_verified(self.options.cache_dir)
        return replace(self, backend=backend, recipient=recipient, modality=modality, verified=verified)

    @property
    def policy(self) -> Policy:
        """Frames that the run shows."""
        return Policy.of(self.options)

    def prompting_of(self, setting: TaskSpec) -> PromptOptions:
        """Prompt options for a task."""
        return PromptOptions.from_options(self.options).for_task(setting)

    def media_mode(self, table: Mapping[str, Any] | None = None, setting: TaskSpec | None = None) -> MediaMode:
        """Mode in which the model gets its media: ``SIMING_MEDIA``, else ``media`` of a task file, else its default.

        ``table`` contains the settings of a task file for the model. An ablation's file is a proxy.

        Raises:
            OptionsError: the model cannot see media of this mode.
        """
        policy = self.policy
        if policy.mode == "auto" and table and table.get("media"):
            policy = replace(policy, mode=str(table["media"]))
        return policy.mode_for(self.backend, self.modality, task=setting)

    def steps(self, doc: Doc) -> tuple[RubricStep, ...]:
        """Rubric steps that a document asks about, in rubric order."""
        name, video_id, step_id, part = key = (doc["setting"], doc["video_id"], doc["step_id"], doc.get("part", ""))
        if key not in self._steps:
            every = steps_of(TASKS[name], self.dataset.video(video_id), step_id)
            names = set(steps_in_part(part, every, self.dataset.rubric.skill_of))
            self._steps[key] = tuple(step for step in self.dataset.rubric.steps if step.id in names)
        return self._steps[key]

    def prompt(self, doc: Doc) -> tuple[str, str]:
        """Prompt of a document, and its hash."""
        # the key holds everything that the text depends on: thousands of documents share a prompt
        setting, steps, style = TASKS[doc["setting"]], self.steps(doc), self.options.prompt
        names = tuple(step.id for step in steps)
        spans = step_spans(setting, self.dataset.video(doc["video_id"]), names)
        key = (setting.name, names, spans)
        if key not in self._prompts:
            text = build_prompt(setting, steps, spans, self.dataset.rubric, style)
            self._prompts[key] = (text, prompt_hash(setting, text))
        return self._prompts[key]

    def reply_schema(self, doc: Doc) -> dict[str, Any] | None:
        """JSON schema of a document's reply, which the service is given; None without ``SIMING_SCHEMA``."""
        return None if self.options.schema == "off" else TASKS[doc["setting"]].reply_schema(self.steps(doc))

    @cached_property
    def mismatched(self) -> MismatchedVideos:
        """Videos whose frames the ablation ``mismatched_video`` shows."""
        return MismatchedVideos(self.dataset.videos, self.dataset.minimal_pairs)

    def parse(self, doc: Doc, reply: Any) -> Parsed:
        """Parsed reply to a document."""
        task = TASKS[doc["setting"]]
        return task.answer_format.parse(reply, self.steps(doc), task.answer)

    def evaluate(self, items: Sequence[Item]) -> Rows:
        """Metrics of one task's items; the aggregators, which get equal items one after the other, share them.

        Raises:
            DataError: the items are about another data set, or several.
        """
        digests = sorted({item["dataset"] for item in items})
        if len(digests) != 1:
            raise DataError(f"One table cannot cover replies about several data sets ({', '.join(digests)}).")
        if not self.dataset.digest.startswith(digests[0]):
            raise DataError(
                f"Replies about dataset {digests[0]} cannot be scored with {self.dataset.root}, which is "
                f"{self.dataset.digest[:12]}. Do not change the data during a run; score its logs with "
                "`siming score`."
            )
        return _rows(self, json.dumps(items, sort_keys=True))


@lru_cache(maxsize=8)
def _rows(run: RunContext, items: str) -> Rows:
    records = list(map(Record.from_json, json.loads(items)))
    return score(records, run.dataset, records[0].setting, rater=run.options.rater, mapping=run.options.mapping)


def run_of(options: Options) -> RunContext:
    """The run with these options, its data set opened once for as long as its files look the same.

    Without ``options.data`` it is about the synthetic demo, which is made on first use.

    Raises:
        DataError: the data set is missing or wrong, or has no such rater.
    """
    with _LOCK:
        root = _root_of(options)
        return _run(options, root, _stamp_of(root))


@lru_cache(maxsize=8)
def _root_of(options: Options) -> Path:
    return resolve_dataset(options, draw_demo=True)


@lru_cache(maxsize=8)
def _run(options: Options, root: Path, stamp: object) -> RunContext:
    dataset = _dataset(root, stamp, options.split, options.cache_dir)
    if not dataset.withheld:
        refuse_unknown_rater(dataset, options.rater)
    return RunContext(options, dataset)


@lru_cache(maxsize=4)
def _dataset(root: Path, stamp: object, part: str, cache: Path) -> Dataset:
    dataset = take_part(open_dataset(root), part)
    verify_media(dataset, cache)
    return dataset


def _stamp_of(root: Path) -> tuple[Any, ...]:
    """Name, size and date of a data set's files; another stamp means that it must be opened again."""
    files = [root / name for name in ("dataset.yaml", "rubric.yaml", "videos.jsonl")]
    return tuple((path.name, (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files if path.is_file())


_RUNNING: ContextVar[RunContext] = ContextVar("RUNNING")


@contextmanager
def running(run: RunContext) -> Iterator[None]:
    """While the block runs, hooks in this context look up this run."""
    token = _RUNNING.set(run)
    try:
        yield
    finally:
        _RUNNING.reset(token)


@contextmanager
def threads_inherit() -> Iterator[None]:
    """While the block runs, a call that is submitted to a pool of threads runs in the context of the one who submits.

    lmms-eval scores replies in such threads, and classes of models ask in them.
    """
    submit = ThreadPoolExecutor.submit

    def submit_in_context(pool: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return submit(pool, copy_context().run, function, *args, **kwargs)

    with host.swapped("concurrent.futures:ThreadPoolExecutor.submit", ThreadPoolExecutor, submit_in_context):
        yield


def current_run() -> RunContext:
    """The run of this context, else that of the environment.

    Raises:
        OptionsError: a variable cannot be used.
        DataError: the data set is missing or wrong.
    """
    return _RUNNING.get(None) or run_of(Options.from_env())
