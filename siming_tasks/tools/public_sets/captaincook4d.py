"""CaptainCook4D: 384 recordings of 24 recipes in ten kitchens, half of them with errors of seven kinds.

Peddi et al., *CaptainCook4D: A Dataset for Understanding Errors in Procedural Activities*, NeurIPS 2024
(arXiv:2312.14556); annotations MIT, data Apache 2.0. A step is a node of its recipe's task graph, whose edges become
``requires``. A start of -1 means left out: an error, but for six that belong to another way through the graph.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import Any

from siming_tasks.common.files import read_bytes
from siming_tasks.common.schema import Attempt
from siming_tasks.tools.public_sets.public_set import (
    MAX_FILE,
    PublicSet,
    Published,
    Recording,
    annotation,
    one_point,
    read_json,
    rubric_of,
    span_of,
)

PUBLISHED = Published(
    "CaptainCook4D/annotations",
    "a8a920a3293c4db27099a20ddbe3a3a9be1283e3",
    (
        "annotation_json/complete_step_annotations.json",
        "annotation_json/error_annotations.json",
        "data_splits/*_data_split_combined.json",
        "metadata/video_information.csv",
        "task_graphs/*.json",
    ),
    "21687bcb3ca5ad2dca3b34cb7733de17838dcac4a496a656a7c7f78596f67087",
)
KINDS = {
    "order": "Does it in a wrong order.",
    "technique": "Does it with a wrong technique.",
    "preparation": "Prepares it wrongly.",
    "measurement": "Measures wrongly.",
    "timing": "Takes a wrong time.",
    "temperature": "Takes a wrong temperature.",
    "missing": "Leaves it out.",
    "other": "Makes another mistake.",
}
_TAGS = {"Missing Step": "missing", "Other": "other"}  # all others are "... Error"
_SPLITS = ("recordings", "person", "environment")  # those by recipe are empty lists


def read(folder: Path) -> PublicSet:
    """The set in a folder with its annotation files."""
    file = folder / "annotation_json" / "complete_step_annotations.json"
    annotations = read_json(file)
    errors = {one["recording_id"]: one for one in read_json(folder / "annotation_json" / "error_annotations.json")}
    recipes = {
        _key(name): _Recipe.of(name, read_json(folder / "task_graphs" / f"{_key(name)}.json"))
        for name in sorted({one["activity_name"] for one in annotations.values()})
    }
    lengths = csv.DictReader(
        io.StringIO(read_bytes(folder / "metadata" / "video_information.csv", MAX_FILE).decode("utf-8"))
    )
    seconds: dict[str, float] = {}
    for row in lengths:
        with annotation(folder / "metadata" / "video_information.csv", f"line {lengths.line_num}"):
            seconds[row["recording_id"]] = span_of(0, float(row["duration(sec)"]))[1]
    splits: dict[str, dict[str, str]] = defaultdict(dict)
    for kind in _SPLITS:
        parts = read_json(folder / "data_splits" / f"{kind}_data_split_combined.json")
        for part, names in parts.items():
            for name in names:
                splits[name][kind.removesuffix("s")] = part
    for recipe in recipes.values():
        recipe.learn(one["steps"] for one in annotations.values() if one["activity_name"] == recipe.skill["name"])
    recordings = []
    for name, one in annotations.items():
        with annotation(file, f"recording {name!r}"):
            recipe = recipes[_key(one["activity_name"])]
            recordings.append(_recording(file, one, errors[name], recipe, seconds.get(name, 0.0), splits[name]))
    skills = [recipe.skill for recipe in recipes.values()]
    return PublicSet(
        title="CaptainCook4D",
        rubric=rubric_of(
            "captaincook4d", "Recipes", "in a kitchen", skills, exam="{skill}", examiner="an examiner of cooking"
        ),
        recordings=tuple(recordings),
        rule="worst",
        labels="person",
        license="apache-2.0",
        citation="Peddi et al., CaptainCook4D, NeurIPS 2024, arXiv:2312.14556",
        videos_from="https://captaincook4d.github.io/captain-cook/ (360p, GoPro)",
    )


def _key(name: str) -> str:
    """Name of a recipe's graph file: its letters, in lower case."""
    return re.sub("[^a-z]", "", name.lower())


def _words(text: str) -> str:
    """Text of a step as graph and annotations both write it, without case, spaces and dashes."""
    return re.sub(r"\W", "", text.lower())


@dataclass(frozen=True)
class _Recipe:
    """One recipe: its part of the rubric, its step ids by the words of a description, and those by the set's number.

    Descriptions of two recordings differ from the graph's; the number of the step says which one is meant.
    """

    skill: Mapping[str, Any]
    by_words: Mapping[str, tuple[str, ...]]
    usual_words: dict[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, graph: Mapping[str, Any]) -> _Recipe:
        """A recipe from its task graph, in an order that the edges allow."""
        nodes = [node for node, text in graph["steps"].items() if text not in ("START", "END")]
        before: dict[str, list[str]] = {node: [] for node in nodes}
        for first, then in graph["edges"]:
            if str(first) in before and str(then) in before:
                before[str(then)].append(str(first))
        steps: list[dict[str, Any]] = []
        by_words: dict[str, tuple[str, ...]] = {}
        key = _key(name)[:40]
        for node in TopologicalSorter(before).static_order():
            step, text = f"{key}_{int(node):02d}", graph["steps"][node]
            needs = [{"id": f"{key}_{int(other):02d}", "effect": "context"} for other in before[node]]
            requires = {"requires": needs} if needs else {}
            steps.append(one_point(step, text.partition("-")[2].strip() or text, KINDS, **requires))
            by_words[_words(text)] = (*by_words.get(_words(text), ()), step)
        return cls({"id": key, "name": name, "steps": steps}, by_words)

    def learn(self, recordings: Iterable[Iterable[Mapping[str, Any]]]) -> None:
        """Note which words the set's number of a step usually stands beside."""
        seen: dict[int, Counter[str]] = defaultdict(Counter)
        for step in chain.from_iterable(recordings):
            if (words := _words(step["description"])) in self.by_words:
                seen[step["step_id"]][words] += 1
        self.usual_words.update((number, words.most_common(1)[0][0]) for number, words in seen.items())

    def nodes(self, step: Mapping[str, Any]) -> tuple[str, ...]:
        """Ids of the steps that an annotated one may be; none if neither its words nor its number are known."""
        words = _words(step["description"])
        return self.by_words.get(words) or self.by_words.get(self.usual_words.get(step["step_id"], ""), ())


def _recording(
    file: Path,
    annotated: Mapping[str, Any],
    errors: Mapping[str, Any],
    recipe: _Recipe,
    seconds: float,
    splits: Mapping[str, str],
) -> Recording:
    """One recording. A text that stands at several nodes is at each of them in turn; once more is a repeat."""
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    times_seen: dict[tuple[str, ...], int] = defaultdict(int)
    every = {step["id"] for step in recipe.skill["steps"]}
    optional: set[str] = set()
    unassigned = 0
    pairs = zip(annotated["steps"], errors["step_annotations"], strict=True)
    for number, (step, tagged) in enumerate(pairs):
        if not (nodes := recipe.nodes(step)):
            unassigned += 1
            continue
        name = nodes[min(times_seen[nodes], len(nodes) - 1)]
        times_seen[nodes] += 1
        kinds = [_TAGS.get(one["tag"], one["tag"].partition(" ")[0].lower()) for one in tagged.get("errors", ())]
        with annotation(file.with_name("error_annotations.json"), f"{annotated['recording_id']!r}: step {number}"):
            if unknown := [kind for kind in kinds if kind not in KINDS]:
                raise ValueError(f"the tag of {unknown[0]!r} is no kind of error")
        found = tuple(f"{name}.{kind}" for kind in dict.fromkeys(kinds))
        reason = "; ".join(one["description"] for one in tagged.get("errors", ()) if one["description"])
        left_out = step["start_time"] == -1
        if left_out and not step["has_errors"]:
            optional.add(name)
            continue
        start, end = None, None
        if not left_out:
            with annotation(file, f"recording {annotated['recording_id']!r}: steps[{number}]"):
                start, end = span_of(step["start_time"], step["end_time"])
        attempts[name].append(Attempt(start, end, not step["has_errors"], found, reason))
    ordered = {name: tuple(sorted(each, key=lambda one: one.start or 0.0)) for name, each in attempts.items()}
    last = max((one.end or 0.0 for each in ordered.values() for one in each), default=0.0)
    return Recording(
        video_id=annotated["recording_id"],
        skill=recipe.skill["id"],
        duration=max(seconds, last),
        attempts=ordered,
        not_asked=frozenset(every - attempts.keys()),
        unassigned=unassigned,
        about={"site": f"kitchen_{annotated['environment']}", "student": f"person_{annotated['person_id']}"},
        splits=splits,
    )
