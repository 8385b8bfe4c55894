"""What one process remembers between asking a model and scoring its replies: lmms-eval offers no place for it.

There is one :data:`SESSION`. Whatever lmms-eval fetches while it loads a task calls :meth:`Session.begin`, which reads
the environment; everything after that keeps to what was read then. What was shown is kept by data set *and* request, so
that data sets with the same video ids do not mix.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import RLock
from typing import Any

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, resolve_dataset
from siming_tasks.media import UNKNOWN, Backend, Mode, Policy, Sent
from siming_tasks.metrics import Evaluation
from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.plugin.hooks.dataset_cache import Doc, Opened, stamp_of
from siming_tasks.results.record import read_as
from siming_tasks.results.score import evaluate_panel
from siming_tasks.results.score_matrix import panel_of
from siming_tasks.tasks import TASKS, TaskSpec
from siming_tasks.tasks.prompting import Asking

__all__ = ["SESSION", "Item", "Session", "records_of"]

Item = Mapping[str, Any]
"""What an aggregator gets of a record: its id, its answers, and the beginning of its data set's digest."""

OPEN = 4
"""Data sets kept open; the longest unused is opened again when it is needed."""

READ = 20_000
"""Replies of which it is known how they read."""

SHORT = 2_000
"""Characters up to which a reply is remembered."""

SHOWN = 100_000
"""Requests of which it is known what was shown and what they took."""


@dataclass
class Session:
    """The memory of a process. Safe to use from several threads."""

    _options: Options | None = None
    _root: Path | None = None
    _cache: Path | None = None
    _opened: OrderedDict[str, Opened] = field(default_factory=OrderedDict)
    _shown: OrderedDict[tuple[str, str], tuple[dict[str, Any], Sent | None]] = field(default_factory=OrderedDict)
    _used: OrderedDict[tuple[str, str], dict[str, Any]] = field(default_factory=OrderedDict)
    _read: OrderedDict[tuple[str, ...], Parsed] = field(default_factory=OrderedDict)
    _used_last: tuple[str, Opened] | None = None
    _last: tuple[list[Item], Options, Evaluation] | None = None
    _asked: tuple[Backend, str | None] = (UNKNOWN, None)
    _lock: RLock = field(default_factory=RLock)

    def begin(self, options: Options | None = None) -> None:
        """A task is being loaded: take the options (the environment's), notice data that changed on disk, start anew.

        lmms-eval loads all tasks of a run before it asks anything, so what was shown before belongs to an earlier run:
        a reply from the cache must not be recorded with it.
        """
        with self._lock:
            options = options or Options.from_env()
            if options != self._options:
                self._options, self._root = options, None
            self._cache, self._used_last = options.cache_dir, None
            self._shown.clear()
            self._used.clear()
            self._read.clear()
            self._last = None
            for root in [root for root, opened in self._opened.items() if opened.stamp != stamp_of(Path(root))]:
                del self._opened[root]

    @property
    def options(self) -> Options:
        """The options of the run, as they were when a task was loaded last."""
        if self._options is None:
            self.begin()
        assert self._options is not None
        return self._options

    @property
    def cache(self) -> Path:
        """The cache folder, as it was then."""
        if self._cache is None:
            self.begin()
        assert self._cache is not None
        return self._cache

    @property
    def policy(self) -> Policy:
        """What the run shows."""
        return _policy(self.options)

    def asking_of(self, setting: TaskSpec) -> Asking:
        """How the run puts a setting's questions."""
        return Asking.of(self.options).of_setting(setting)

    @contextmanager
    def asking(self, backend: Backend, modality: str | None = None) -> Iterator[None]:
        """While the block runs, this class of model is asked; at any other time an unknown one, which gets frames."""
        before, self._asked = self._asked, (backend, modality)
        try:
            yield
        finally:
            self._asked = before

    @property
    def backend(self) -> Backend:
        """The class of model that is being asked."""
        return self._asked[0]

    def mode(self, table: Mapping[str, Any] | None = None, setting: TaskSpec | None = None) -> Mode:
        """How the asked model gets its media: by ``SIMING_MEDIA``, else ``media`` of a task file, else its own way.

        Args:
            table: what a task file says for the model.
            setting: what is asked; an ablation's file is a proxy (:mod:`siming_tasks.media.perturb`).

        Raises:
            OptionsError: it cannot see what is wanted.
        """
        policy, (backend, modality) = self.policy, self._asked
        if policy.mode == "auto" and table and table.get("media"):
            policy = replace(policy, mode=str(table["media"]))
        return policy.mode_for(backend, modality, ablation=setting.ablation if setting else None)

    def current(self) -> Dataset:
        """The data set of the run: ``SIMING_DATA``, or the synthetic demo, made on first use.

        Raises:
            DataError: it is missing or wrong.
        """
        with self._lock:
            options = self.options
            if self._root is None:
                self._root = resolve_dataset(options)
            return self.opened(str(self._root)).dataset

    def opened(self, root: str) -> Opened:
        """The data set in a folder, opened and checked once.

        Raises:
            DataError: it is wrong.
        """
        last = self._used_last
        if last is not None and last[0] == root:
            return last[1]
        with self._lock:
            if root not in self._opened:
                self._opened[root] = Opened.at(Path(root), self.cache)
                while len(self._opened) > OPEN:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(root)
            self._used_last = root, self._opened[root]
            return self._opened[root]

    def of(self, doc: Doc) -> Opened:
        """The data set of a document."""
        return self.opened(doc["root"])

    def asked_about(self, digest: str) -> Dataset:
        """The data set with this (beginning of a) digest, among those that are open.

        Raises:
            DataError: it is not open (any more).
        """
        with self._lock:
            for opened in reversed(self._opened.values()):
                if opened.dataset.digest.startswith(digest):
                    return opened.dataset
            found = self.current()
        if not found.digest.startswith(digest):
            raise DataError(
                f"Replies about dataset {digest} cannot be scored with {found.root}, which is "
                f"{found.digest[:12]}. Leave the data alone while a run goes on; score its logs with `siming score`."
            )
        return found

    def show(self, doc: Doc, facts: dict[str, Any], sent: Sent | None = None, *, again: bool = True) -> None:
        """Remember what was shown for a document; with ``again=False`` only if nothing is known yet.

        Args:
            doc: the document.
            facts: what is known before it is sent.
            sent: what will tell how its images were encoded.
            again: whether this takes the place of what is known.
        """
        key = (self.of(doc).dataset.digest, doc["id"])
        with self._lock:
            if again or key not in self._shown:
                self._shown[key] = facts, sent
            while len(self._shown) > SHOWN:
                self._shown.popitem(last=False)

    def shown(self, doc: Doc) -> dict[str, Any]:
        """What the model was shown for a document; ``mode: unknown`` where the reply came from a cache."""
        facts, sent = self._shown.get((self.of(doc).dataset.digest, doc["id"]), ({"mode": "unknown"}, None))
        return {**facts, **(sent.facts() if sent else {})}

    def use(self, doc: Doc, usage: dict[str, Any]) -> None:
        """Remember what a document's reply took (:mod:`siming_tasks.results.usage`)."""
        key = (self.of(doc).dataset.digest, doc["id"])
        with self._lock:
            self._used[key] = usage
            while len(self._used) > SHOWN:
                self._used.popitem(last=False)

    def used(self, doc: Doc) -> dict[str, Any] | None:
        """What a document's reply took; None where nothing is known of it."""
        return self._used.get((self.of(doc).dataset.digest, doc["id"]))

    def parsed(self, doc: Doc, reply: Any) -> Parsed:
        """A reply to a document, read; do not change it.

        Each is read when it arrives and when it is scored, and most replies about one step say one of a few things:
        short ones are read once.
        """
        opened, setting = self.of(doc), doc["setting"]
        key = None
        if type(reply) is str and len(reply) <= SHORT:
            key = (opened.dataset.digest, setting, doc["step_id"] or doc["id"], reply)
            if (known := self._read.get(key)) is not None:
                return known
        parsed = read_as(TASKS[setting], reply, opened.steps(doc))
        if key is not None:
            with self._lock:
                self._read[key] = parsed
                while len(self._read) > READ:
                    self._read.popitem(last=False)
        return parsed

    def _one(self, items: Iterable[Item]) -> Dataset:
        """The one data set that items are about."""
        digests = sorted({item["dataset"] for item in items})
        if len(digests) != 1:
            raise DataError(f"One table cannot hold replies about several data sets ({', '.join(digests)}).")
        return self.asked_about(digests[0])

    def evaluated(self, items: list[Item]) -> Evaluation:
        """The metrics of one task's items; lmms-eval hands equal items to one aggregator after the other."""
        with self._lock:
            options = self.options
            if self._last is None or self._last[:2] != (items, options):
                records = records_of(items)
                panel = panel_of(records, self._one(items), records[0]["setting"], options.rater)
                self._last = (items, options, evaluate_panel(panel, options))
            return self._last[2]


def records_of(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Items as records again: their id says which request they answer."""
    names = ("setting", "video_id", "step_id")
    return [{**dict.fromkeys(names), **dict(zip(names, item["id"].split("/"), strict=False)), **item} for item in items]


@functools.lru_cache(maxsize=8)
def _policy(options: Options) -> Policy:
    return Policy.of(options)


SESSION = Session()
"""The process's only one: lmms-eval calls plain functions, which have nowhere else to look."""
