"""An open data set with everything that is derived from it once for all documents and threads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from siming_tasks.data import Dataset, open_dataset, verify_media
from siming_tasks.data.minimal_pairs import minimal_pairs_of
from siming_tasks.media import Policy, Request
from siming_tasks.rubrics import RubricStep
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import Span, step_spans, steps_of
from siming_tasks.tasks.mismatched_video import MismatchedVideos
from siming_tasks.tasks.prompt import build_prompt, prompt_hash
from siming_tasks.tasks.prompting import steps_in_part

__all__ = ["Doc", "OpenDataset", "Stamp", "stamp_of"]

Doc = Mapping[str, Any]
"""A document: id, setting, video_id, step_id ("" for none), root, the folder of its data set; and its part, where an
exam is asked about in parts."""

Stamp = tuple[tuple[str, int, int], ...]
"""Name, size and date of the files that describe a data set."""


def stamp_of(root: Path) -> Stamp:
    """Current stamp of a data set's files; another stamp means that the data set must be opened again."""
    files = [root / name for name in ("dataset.yaml", "rubric.yaml", "videos.jsonl")]
    return tuple((path.name, (stat := path.stat()).st_size, stat.st_mtime_ns) for path in files if path.is_file())


@dataclass(frozen=True, eq=False)
class OpenDataset:
    """An open data set with the steps, prompts and media requests of its documents, each derived once."""

    dataset: Dataset
    stamp: Stamp
    _steps: dict[tuple[str, str, str, str], tuple[RubricStep, ...]] = field(default_factory=dict)
    _prompts: dict[tuple[str, tuple[str, ...], tuple[Span, ...] | None, str], tuple[str, str]] = field(
        default_factory=dict
    )
    _requests: dict[tuple[Policy, str], tuple[Request, ...]] = field(default_factory=dict)

    @classmethod
    def at(cls, root: Path, cache: Path) -> OpenDataset:
        """Data set in a folder, checked with its media (DataError if anything is wrong)."""
        stamp = stamp_of(root)  # before reading: a change while the files are read must be noticed later
        dataset = open_dataset(root)
        verify_media(dataset, cache)
        return cls(dataset, stamp)

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
        return MismatchedVideos(self.dataset.videos, minimal_pairs_of(self.dataset))

    def requests(self, policy: Policy, video_id: str) -> tuple[Request, ...]:
        """Media requests of all settings for one video."""
        key = (policy, video_id)
        if key not in self._requests:
            self._requests[key] = policy.requests(self.dataset.video(video_id))
        return self._requests[key]
