"""CaptainCook4D: 384 recordings of 24 recipes in ten kitchens, half of them with errors of seven kinds.

Peddi et al., *CaptainCook4D: A Dataset for Understanding Errors in Procedural Activities*, NeurIPS 2024
(arXiv:2312.14556); annotations MIT, data Apache 2.0. A step is a node of its recipe's task graph, whose edges become
``requires``. A start of -1 means left out: an error, but for six that belong to another way through the graph.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.exams import Attempt
from siming_tasks.tools.public_sets.public_set import AnnotatedRecording, PublicSet, one_point, read_json

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
"""Kinds of errors by the first word of the set's tags (``Order Error``, ``Missing Step``)."""
OTHER_WORDS = {
    "Microwave-Microwave for 1.5 minutes": "Microwave-Microwave for 1 more minute",
    "Add-1/2 teaspoon of chat masala powder to the bowl": "Add-1/2 teaspoon of chaat masala powder to the bowl",
}
"""Descriptions of two recordings that differ from the graph's text of that step."""
LEFT_OUT = -1
"""Start of a step that was left out."""
Row = Mapping[str, Any]


def read(folder: Path) -> tuple[list[dict[str, Any]], list[AnnotatedRecording]]:
    """Skills and recordings of a folder with the annotation files."""
    annotations = read_json(folder / "annotation_json" / "complete_step_annotations.json")
    errors = {one["recording_id"]: one for one in read_json(folder / "annotation_json" / "error_annotations.json")}
    skills = {name: _skill(name, folder) for name in sorted({one["activity_name"] for one in annotations.values()})}
    with (folder / "metadata" / "video_information.csv").open(encoding="utf-8") as stream:
        seconds = {row["recording_id"]: float(row["duration(sec)"]) for row in csv.DictReader(stream)}
    splits: dict[str, dict[str, str]] = defaultdict(dict)
    for kind in ("recordings", "person", "environment"):  # those by recipe are empty lists
        for part, names in read_json(folder / "data_splits" / f"{kind}_data_split_combined.json").items():
            for name in names:
                splits[name][kind.removesuffix("s")] = part
    recordings = [
        _recording(one, errors[name], skills[one["activity_name"]], seconds.get(name, 0.0), splits[name])
        for name, one in annotations.items()
    ]
    return list(skills.values()), recordings


def _text(description: str) -> str:
    """Text of a step behind its verb (``Cut-Cut 1/4 medium carrot``)."""
    verb, _, text = OTHER_WORDS.get(description, description).partition("-")
    return text.strip() or verb


def _words(text: str) -> str:
    """Text of a step as graph and annotations both write it, without case, spaces and dashes."""
    return re.sub(r"\W", "", text.lower())


def _skill(name: str, folder: Path) -> dict[str, Any]:
    """A recipe's part of the rubric: the nodes of its task graph in an order that the edges allow."""
    key = re.sub("[^a-z]", "", name.lower())
    graph = read_json(folder / "task_graphs" / f"{key}.json")
    before: dict[str, list[str]] = {node: [] for node, text in graph["steps"].items() if text not in ("START", "END")}
    for first, then in graph["edges"]:
        if str(first) in before and str(then) in before:
            before[str(then)].append(str(first))
    steps = []
    for node in TopologicalSorter(before).static_order():
        needs = [{"id": f"{key[:40]}_{int(other):02d}", "effect": "context"} for other in before[node]]
        requires = {"requires": needs} if needs else {}
        steps.append(one_point(f"{key[:40]}_{int(node):02d}", _text(graph["steps"][node]), KINDS, **requires))
    return {"id": key[:40], "name": name, "steps": steps}


def _recording(
    annotated: Row, errors: Row, skill: Row, seconds: float, splits: Mapping[str, str]
) -> AnnotatedRecording:
    """One recording.

    A text that stands at several nodes of the graph is done at each of them in turn: its n-th execution in time belongs
    to the n-th node in the graph's order, whatever the order of the rows. What was left out comes behind what was done,
    and one execution more than there are nodes is a repeat at the last.
    """
    nodes: dict[str, list[str]] = defaultdict(list)
    for step in skill["steps"]:
        nodes[_words(step["requirement"])].append(step["id"])
    attempts: dict[str, list[Attempt]] = defaultdict(list)
    times_seen: Counter[str] = Counter()
    rows = zip(annotated["steps"], errors["step_annotations"], strict=True)
    for step, tagged in sorted(rows, key=lambda row: (row[0]["start_time"] == LEFT_OUT, row[0]["start_time"])):
        words = _words(_text(step["description"]))
        name = nodes[words][min(times_seen[words], len(nodes[words]) - 1)]
        times_seen[words] += 1
        left_out = step["start_time"] == LEFT_OUT
        if left_out and not step["has_errors"]:  # another way through the graph
            continue
        kinds = dict.fromkeys(one["tag"].partition(" ")[0].lower() for one in tagged.get("errors", ()))
        reason = "; ".join(one["description"] for one in tagged.get("errors", ()) if one["description"])
        start, end = (None, None) if left_out else (step["start_time"], step["end_time"])
        attempts[name].append(
            Attempt(start, end, not step["has_errors"], tuple(f"{name}.{kind}" for kind in kinds), reason)
        )
    last = max((one.end or 0.0 for each in attempts.values() for one in each), default=0.0)
    return AnnotatedRecording(
        video_id=annotated["recording_id"],
        skill=skill["id"],
        duration=max(seconds, last),
        attempts={name: sorted(each, key=lambda one: one.start or 0.0) for name, each in attempts.items()},
        not_asked=frozenset(step["id"] for step in skill["steps"]) - attempts.keys(),
        about={"site": f"kitchen_{annotated['environment']}", "student": f"person_{annotated['person_id']}"},
        splits=splits,
    )


SET = PublicSet(
    repository="CaptainCook4D/annotations",
    commit="a8a920a3293c4db27099a20ddbe3a3a9be1283e3",
    patterns=(
        "annotation_json/complete_step_annotations.json",
        "annotation_json/error_annotations.json",
        "data_splits/*_data_split_combined.json",
        "metadata/video_information.csv",
        "task_graphs/*.json",
    ),
    digest="21687bcb3ca5ad2dca3b34cb7733de17838dcac4a496a656a7c7f78596f67087",
    rubric={"title": "Recipes", "setting": "in a kitchen", "exam": "{skill}", "examiner": "an examiner of cooking"},
    rule="worst",
    labels="person",
    license="apache-2.0",
    citation="Peddi et al., CaptainCook4D, NeurIPS 2024, arXiv:2312.14556",
    videos_from="https://captaincook4d.github.io/captain-cook/ (360p, GoPro)",
    read=read,
)
