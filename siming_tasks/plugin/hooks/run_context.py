"""State of a run in one process, from asking the model to scoring its replies: lmms-eval offers no place for it.

There is one :data:`RUN`. Whatever lmms-eval fetches while it loads a task calls :meth:`RunContext.begin`, which reads
the environment; everything after that uses what was read then. What was shown is kept by data set *and* request, so
that data sets with the same video ids do not mix.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
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
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, resolve_dataset, verify_media
from siming_tasks.data.consent import UNSTATED
from siming_tasks.data.splits import take_part
from siming_tasks.media import UNKNOWN, Backend, MediaMode, Policy, SentImages
from siming_tasks.options import Options

Doc = Mapping[str, Any]
"""A document: id, setting, video_id, step_id ("" for none), root, the folder of its data set; and its part, where an
exam is asked about in parts."""

Item = Mapping[str, Any]
"""Part of a record that an aggregator gets: its id, its answers, and the beginning of its data set's digest."""

MAX_REMEMBERED_REQUESTS = 100_000  # their media and usage are remembered until they are scored


@dataclass(frozen=True, eq=False)
class OpenDataset:
    """An open data set with the steps and prompts of its documents, each derived once."""

    dataset: Dataset
    stamp: tuple[Any, ...]
    _steps: dict[Any, tuple[RubricStep, ...]] = field(default_factory=dict)
    _prompts: dict[Any, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def at(cls, root: Path, cache: Path, part: str = "") -> OpenDataset:
        """Data set in a folder, or a ``part`` of a split, checked with its media (DataError if anything is wrong)."""
        stamp = cls.stamp_of(root)  # before reading: a change while the files are read must be noticed later
        dataset = take_part(open_dataset(root), part)
        verify_media(dataset, cache)
        return cls(dataset, stamp)

    @staticmethod
    def stamp_of(root: Path) -> tuple[Any, ...]:
        """Name, size and date of a data set's files; another stamp means that it must be opened again."""
        files = [root / name for name in ("dataset.yaml", "rubric.yaml", "videos.jsonl")]
        return tuple((path.name, (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files if path.is_file())

    def steps(self, doc: Doc) -> tuple[RubricStep, ...]:
        """Rubric steps that a document asks about, in rubric order."""
        name, video_id, step_id, part = key = (doc["setting"], doc["video_id"], doc["step_id"], doc.get("part", ""))
        if key not in self._steps:
            every = steps_of(TASKS[name], self.dataset.video(video_id), step_id)
            names = set(steps_in_part(part, every, self.dataset.rubric.skill_of))
            self._steps[key] = tuple(step for step in self.dataset.rubric.steps if step.id in names)
        return self._steps[key]

    def prompt(self, doc: Doc, style: str = "plain") -> tuple[str, str]:
        """Prompt of a document in a style, and its hash."""
        # the key holds everything that the text depends on: thousands of documents share a prompt
        setting, steps = TASKS[doc["setting"]], self.steps(doc)
        names = tuple(step.id for step in steps)
        spans = step_spans(setting, self.dataset.video(doc["video_id"]), names)
        key = (setting.name, names, spans, style)
        if key not in self._prompts:
            text = build_prompt(setting, steps, spans, self.dataset.rubric, style)
            self._prompts[key] = (text, prompt_hash(setting, text))
        return self._prompts[key]

    @cached_property
    def mismatched(self) -> MismatchedVideos:
        """Videos whose frames the ablation ``mismatched_video`` shows."""
        return MismatchedVideos(self.dataset.videos, self.dataset.minimal_pairs)


@dataclass
class RunContext:
    """Options, open data sets, media and usage of the current run. Safe to use from several threads."""

    public_set: str | None = None  # whose group of tasks is run
    _options: Options | None = None
    _root: Path | None = None
    _datasets: dict[str, OpenDataset] = field(default_factory=dict)
    _media: OrderedDict[tuple[str, str], tuple[dict[str, Any], SentImages | None]] = field(default_factory=OrderedDict)
    _usage: OrderedDict[tuple[str, str], dict[str, Any]] = field(default_factory=OrderedDict)
    _last_evaluation: tuple[list[Item], Rows] | None = None  # with the options of the run
    backend: Backend = UNKNOWN  # row of the model class that is being evaluated
    modality: str | None = None  # the model's argument of this name
    recipient: str = UNSTATED  # address that the model sends requests to
    verified: bool = True  # a test runs the class that is evaluated, or the canary has passed with it
    _lock: RLock = field(default_factory=RLock)

    def begin(self, options: Options | None = None) -> None:
        """Start anew because a task is being loaded: read the options (of the environment) and notice changed data."""
        # lmms-eval loads all tasks of a run before it asks anything, so the media recorded so far belong to an earlier
        # run. A reply from a cache must not be recorded with them.
        with self._lock:
            options = options or Options.from_env()
            if self.public_set and not options.data:
                options = replace(options, data=self.public_set)
            if options != self._options:
                self._options, self._root = options, None
            self._last_evaluation = None
            for remembered in (self._media, self._usage):
                remembered.clear()
            for root, opened in list(self._datasets.items()):
                if opened.stamp != OpenDataset.stamp_of(Path(root)) or opened.dataset.part != options.split:
                    del self._datasets[root]

    @property
    def options(self) -> Options:
        """Options of the run, as they were when a task was last loaded."""
        if self._options is None:
            self.begin()
        assert self._options is not None
        return self._options

    @property
    def policy(self) -> Policy:
        """Frames that the run shows."""
        return Policy.of(self.options)

    def prompting_of(self, setting: TaskSpec) -> PromptOptions:
        """Prompt options of the run for a task."""
        return PromptOptions.from_options(self.options).for_task(setting)

    def reply_schema(self, doc: Doc) -> dict[str, Any] | None:
        """JSON schema of a document's reply, which the service is given; None without ``SIMING_SCHEMA``."""
        if self.options.schema == "off":
            return None
        return TASKS[doc["setting"]].reply_schema(self.dataset_of(doc).steps(doc))

    @contextmanager
    def evaluating(self, backend: Backend, recipient: str, modality: str | None = None) -> Iterator[None]:
        """While the block runs, a class of models is evaluated; at other times an unknown one, which gets frames."""
        before = self.backend, self.modality, self.recipient, self.verified
        self.backend, self.modality, self.recipient = backend, modality, recipient
        self.verified = backend.is_verified(self.options.cache_dir)
        try:
            yield
        finally:
            self.backend, self.modality, self.recipient, self.verified = before

    def media_mode(self, table: Mapping[str, Any] | None = None, setting: TaskSpec | None = None) -> MediaMode:
        """Mode in which the model gets its media: ``SIMING_MEDIA``, else ``media`` of a task file, else its default.

        ``table`` holds the settings of a task file for the model. An ablation's file is a proxy.

        Raises:
            OptionsError: the model cannot see media of this mode.
        """
        policy = self.policy
        if policy.mode == "auto" and table and table.get("media"):
            policy = replace(policy, mode=str(table["media"]))
        return policy.mode_for(self.backend, self.modality, task=setting)

    def current_dataset(self) -> Dataset:
        """Data set of the run: ``SIMING_DATA``, or the synthetic demo, which is made on first use.

        Raises:
            DataError: it is missing or wrong.
        """
        with self._lock:
            options = self.options
            if self._root is None:
                self._root = resolve_dataset(options, draw_demo=True)
            return self.open_dataset(str(self._root)).dataset

    def open_dataset(self, root: str) -> OpenDataset:
        """Data set in a folder, opened and checked once (DataError if it is wrong)."""
        with self._lock:
            if root not in self._datasets:
                self._datasets[root] = OpenDataset.at(Path(root), self.options.cache_dir, self.options.split)
            return self._datasets[root]

    def dataset_of(self, doc: Doc) -> OpenDataset:
        """Data set of a document."""
        return self.open_dataset(doc["root"])

    def dataset_with_digest(self, digest: str) -> Dataset:
        """Open data set with this (beginning of a) digest.

        Raises:
            DataError: no such data set is open (any more).
        """
        with self._lock:
            for opened in reversed(list(self._datasets.values())):
                if opened.dataset.digest.startswith(digest):
                    return opened.dataset
            dataset = self.current_dataset()
        if not dataset.digest.startswith(digest):
            raise DataError(
                f"Replies about dataset {digest} cannot be scored with {dataset.root}, which is "
                f"{dataset.digest[:12]}. Leave the data alone while a run goes on; score its logs with `siming score`."
            )
        return dataset

    def _key_of(self, doc: Doc) -> tuple[str, str]:
        return self.dataset_of(doc).dataset.digest, doc["id"]

    def record_media(
        self, doc: Doc, facts: dict[str, Any], sent: SentImages | None = None, *, overwrite: bool = True
    ) -> None:
        """Remember the media that were shown for a document: facts, and ``sent``, which knows later how images left."""
        key = self._key_of(doc)
        with self._lock:
            if overwrite or key not in self._media:
                _remember(self._media, key, (facts, sent))

    def media_of(self, doc: Doc) -> dict[str, Any]:
        """Media that the model was shown for a document; ``mode: unknown`` where the reply came from a cache."""
        facts, sent = self._media.get(self._key_of(doc), ({"mode": UNKNOWN_MODE}, None))
        return {**facts, **(sent.facts() if sent else {})}

    def record_usage(self, doc: Doc, usage: dict[str, Any]) -> None:
        """Remember the usage of a document's reply (:mod:`siming_tasks.study.results.usage`)."""
        key = self._key_of(doc)
        with self._lock:
            _remember(self._usage, key, usage)

    def usage_of(self, doc: Doc) -> dict[str, Any] | None:
        """Usage of a document's reply; None where nothing is known of it."""
        return self._usage.get(self._key_of(doc))

    def parse_reply(self, doc: Doc, reply: Any) -> Parsed:
        """Parsed reply to a document."""
        task = TASKS[doc["setting"]]
        return task.answer_format.parse(reply, self.dataset_of(doc).steps(doc), task.answer)

    def evaluate_items(self, items: list[Item]) -> Rows:
        """Metrics of one task's items. lmms-eval hands equal items to one aggregator after the other.

        Raises:
            DataError: the items are about several data sets.
        """
        with self._lock:
            options = self.options
            if self._last_evaluation is None or self._last_evaluation[0] != items:
                digests = sorted({item["dataset"] for item in items})
                if len(digests) != 1:
                    raise DataError(f"One table cannot hold replies about several data sets ({', '.join(digests)}).")
                records, dataset = list(map(Record.from_json, items)), self.dataset_with_digest(digests[0])
                rows = score(records, dataset, records[0].setting, rater=options.rater, mapping=options.mapping)
                self._last_evaluation = (items, rows)
            return self._last_evaluation[1]


def _remember(entries: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    """Add an entry, and forget the oldest beyond :data:`MAX_REMEMBERED_REQUESTS`."""
    entries[key] = value
    if len(entries) > MAX_REMEMBERED_REQUESTS:
        entries.popitem(last=False)


RUN = RunContext()
"""The only instance of the process: lmms-eval calls plain functions, which have nowhere else to look."""
