"""A data set as it goes to a hub: the files of the contract and nothing else, labels only where that is wanted."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write, read_text, read_yaml
from siming_tasks.common.schema import CONSENSUS
from siming_tasks.data.dataset import Dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.withholding import checked_digest, write_public
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.tasks import BENCHMARK_TASKS, TASKS

GATE = (
    "These are recordings of examinations. By asking for access you agree not to hand the files on, not to try to find "
    "out who is seen or heard, not to train models on them, and to keep the canary string with every copy."
)
"""What is put before people who ask for access to a gated data set."""

_CARD = "README.md"
_MOST = 4_000_000
_CONFIGS = [
    {"config_name": "default", "default": True, "data_files": [{"split": "test", "path": "videos.jsonl"}]},
    {"config_name": "steps", "data_files": [{"split": "test", "path": "steps.jsonl"}]},
]
"""What the hub's viewer shows: the videos, and one row for each of their steps."""


def stage(dataset: Dataset, folder: Path, *, labels: bool = False, gated: bool = False) -> list[str]:
    """Lay out what is to be uploaded in an empty folder; videos are links to the files that are there.

    ``dataset.yaml``, ``rubric.yaml``, ``videos.jsonl``, ``steps.jsonl`` (one flat row per step, for viewers), the card,
    ``croissant.json``, ``eval.yaml`` (the hub's registration as a benchmark) and the videos. Every data set has a
    canary from here on. An owner's own card is kept where it can hold no label; the lines for the viewer at its head
    are ours. Without ``labels`` it is what ``siming data split`` makes public; ``gated``: the card tells people what
    they agree to.
    The result is the files, relative to the folder.

    Raises:
        DataError: labels are wanted and withheld, or a video is not the one that is stated.
    """
    if labels and dataset.withheld:
        raise DataError(f"{dataset.root}: holds no labels. Leave --with-labels out.")
    made = f"SIMING-BENCH-CANARY-{uuid.uuid5(uuid.NAMESPACE_OID, dataset.digest)}"
    canary = {"canary": dataset.meta.get("canary") or made}
    if labels:
        media = {}
        for video in dataset.videos:
            path = dataset.media_path(video)
            media[video.media] = checked_digest(dataset, video, path)
            _link(path, folder / video.media)
        rows = [row for _, row in read_jsonl(dataset.root / "videos.jsonl") if isinstance(row, dict)]
        info = read_yaml(dataset.root / "dataset.yaml")
        write_folder(folder, dataset.root / "rubric.yaml", rows, {**info, **canary}, media)
    else:
        write_public(dataset, folder, canary, _link)
    own = dataset.root / _CARD
    card = own if own.is_file() and (labels or dataset.withheld) else folder / _CARD
    text = _headed(read_text(card, _MOST), gated)
    if canary["canary"] not in text:
        text += f"\nPlease keep this canary with every copy: {canary['canary']}\n"
    with atomic_write(folder / _CARD) as stream:
        stream.write(text)
    with atomic_write(folder / "steps.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _steps(dataset, labels))
    with atomic_write(folder / "eval.yaml") as stream:
        yaml.safe_dump(_benchmark(dataset), stream, sort_keys=False, allow_unicode=True, width=1000)
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _benchmark(dataset: Dataset) -> dict[str, Any]:
    """Content of ``eval.yaml``: a leaderboard for each setting (https://huggingface.co/docs/hub/eval-results).

    The optional ``evaluation_framework`` is left out until the hub's list knows this suite: it refuses other names.
    """
    label = "SYNTHETIC (simulated exams, no finding about any model). " if dataset.synthetic else ""
    ranked = {name: CATALOGUE[headline(TASKS[name].answer)].title for name in BENCHMARK_TASKS}
    leaderboards = "; ".join(f"{name} by {title}" for name, title in ranked.items())
    return {
        "name": f"{'SYNTHETIC ' if dataset.synthetic else ''}{dataset.name}",
        "description": f"{label}A model judges clinical exams by a rubric, against physicians. Ranked: {leaderboards}; "
        "missing answers count as full points or correct. Scored by siming-tasks.",
        "tasks": [{"id": name, "config": "default", "split": "test"} for name in BENCHMARK_TASKS],
    }


def _link(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(path.resolve(), target)


def _headed(text: str, gated: bool) -> str:
    """A card whose head says what the viewer shows, and, if gated, what people agree to."""
    head: Any = {}
    if text.startswith("---\n") and "\n---\n" in text[4:]:
        first, _, text = text[4:].partition("\n---\n")
        try:
            head = yaml.safe_load(first)
        except yaml.YAMLError as error:
            raise DataError(
                f"{_CARD}: the lines between --- are not YAML ({type(error).__name__}). Mend them."
            ) from None
    head = {**(head if isinstance(head, dict) else {}), "configs": _CONFIGS}
    if gated:
        head.setdefault("extra_gated_prompt", GATE)
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n{text}"


def _steps(dataset: Dataset, labels: bool) -> Iterator[dict[str, Any]]:
    rubric = dataset.rubric
    skills = {step.id: skill.id for skill in rubric.skills for step in skill.steps}
    for video in dataset.videos:
        for step in video.steps:
            rule = rubric.by_id[step.step_id]
            yield {
                "video_id": video.video_id,
                "step_id": step.step_id,
                "skill": skills[step.step_id],
                "name": rule.name,
                "requirement": rule.requirement,
                "max_score": rule.max_score,
                "applicable": step.applicable,
                "start": step.start,
                "end": step.end,
                "synthetic": dataset.synthetic,
                **({"consensus": step.scores.get(CONSENSUS)} if labels else {}),
            }
