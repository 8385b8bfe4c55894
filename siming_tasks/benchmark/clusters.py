"""Clusters of exams: videos that are not independent, as they share a performance, a student or a site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from siming_tasks.benchmark.exams import Exams
from siming_tasks.benchmark.metrics.thresholds import FEWEST
from siming_tasks.benchmark.types import UNITS, Unit, UnitChoice
from siming_tasks.common.errors import DataError
from siming_tasks.common.person_names import alike_pairs

_Key = tuple[str, str]
"""What ties videos: the kind of thing that they share, and its name."""


class Clusters(NamedTuple):
    """The cluster of every video of a data set.

    ``unit`` is what a cluster is. ``names`` has the name of each video's, by video id: the id itself where every video
    is its own. ``fixed`` are larger units that the data state and that are not left out: what is computed is then
    about these sites (students, performances) alone.
    """

    unit: Unit
    names: Mapping[str, str]
    fixed: tuple[Unit, ...] = ()


def clusters_of(exams: Exams, unit: UnitChoice = "auto") -> Clusters:
    """The videos of a data set that belong together.

    * ``performance``: one act before several cameras, or one recording altered: the same ``performance`` in
      ``videos.jsonl``, the same media file, or a pair of ``pairs.jsonl``.
    * ``student``: the same ``student``. A video that states none is a student of its own.
    * ``site``: the same ``site``. All videos that state none are one site.

    What shares a smaller unit shares the larger one: the two sites of a student who was examined at both are one
    cluster, since neither is independent of the other. Names that are alike
    (:mod:`siming_tasks.common.person_names`) are one, unless the data set says that they are two.

    Args:
        exams: what is clustered.
        unit: ``auto`` is the largest unit that any video states, with at least
            :data:`siming_tasks.benchmark.metrics.thresholds.FEWEST` members.

    Raises:
        DataError: the data set does not state the unit; or as :func:`siming_tasks.data.dataset.read_pairs`.
    """
    ties = _ties(exams)
    stated = tuple(name for name in UNITS if name == "video" or ties[name])
    if unit != "auto" and unit not in stated:
        what = f"no video states a {unit}, so that none can be left out"
        raise DataError(f"{exams.name}: {what}. It states {', '.join(stated)}; `cluster=auto` takes the largest.")
    ids = [video.video_id for video in exams.videos]
    levels = {name: tied_together(ids, [ties[lower] for lower in UNITS[: UNITS.index(name) + 1]])
              for name in stated}  # fmt: skip
    sizes = {name: len(set(first.values())) for name, first in levels.items()}
    enough = [name for name in stated if name == "video" or sizes[name] >= FEWEST]
    chosen = enough[-1] if unit == "auto" else unit
    larger = [name for name in stated if UNITS.index(name) > UNITS.index(chosen) and sizes[name] < sizes[chosen]]
    # A single site is what the data set is about; nothing in it could tell how sites differ.
    several_sites = len({key for keys in ties["site"].values() for key in keys}) > 1
    fixed = tuple(name for name in larger if name != "site" or several_sites)
    return Clusters(chosen, _names(chosen, levels[chosen], ties[chosen]), fixed)


def performances_of(exams: Exams) -> dict[str, str]:
    """By video, the first video of the same performance."""
    return tied_together([video.video_id for video in exams.videos], [_ties(exams)["performance"]])


def _ties(exams: Exams) -> dict[Unit, dict[str, list[_Key]]]:
    """By unit and video, what ties it to others; an empty dictionary for a unit that no video states."""
    files: dict[str, list[str]] = {}
    for video in exams.videos:
        files.setdefault(video.media, []).append(video.video_id)
    performances = _stated(exams, "performance")
    shared = [*(names for names in files.values() if len(names) > 1), *map(sorted, exams.minimal_pairs)]
    for names in shared:
        for name in names:
            performances.setdefault(name, []).append(("video", names[0]))
    sites = _stated(exams, "site")
    unstated = {video.video_id: [("site", "")] for video in exams.videos} if sites else {}
    return {
        "video": {},
        "performance": performances,
        "student": _stated(exams, "student"),
        "site": unstated | sites,
    }


def _stated(exams: Exams, key: str) -> dict[str, list[_Key]]:
    """By video that states one, the name of its student, performance or site; of names that are alike the first."""
    values = ((video.video_id, video.site if key == "site" else video.extra.get(key)) for video in exams.videos)
    names = {video_id: str(value) for video_id, value in values if value not in (None, "")}
    pairs = alike_pairs(names.values(), exams.different_names)
    first = tied_together(names.values(), ({name: [(key, known)], known: [(key, known)]} for name, known in pairs))
    return {video_id: [(key, first[name])] for video_id, name in names.items()}


def tied_together(ids: Iterable[str], ties: Iterable[Mapping[str, Iterable[_Key]]]) -> dict[str, str]:
    """By video, the first video that it is tied to, directly or through others (union-find).

    Each of ``ties`` has by video the kinds and names of what it shares with others; what shares one is tied.
    """
    ids = list(ids)
    parent: dict[str | _Key, str | _Key] = {}

    def root(node: str | _Key) -> str | _Key:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for level in ties:
        for name, keys in level.items():
            for key in keys:
                parent[root(key)] = root(name)
    first: dict[str | _Key, str] = {}
    for name in ids:
        first.setdefault(root(name), name)
    return {name: first[root(name)] for name in ids}


def _names(unit: Unit, first: Mapping[str, str], ties: Mapping[str, Iterable[_Key]]) -> dict[str, str]:
    """The name of every video's cluster: what its videos state (several if they are tied), else its first video."""
    if unit == "video":
        return dict(first)
    stated: dict[str, dict[str, None]] = {}
    for name, start in first.items():
        words = (f"{kind} {value}" if value else f"no {kind}" for kind, value in ties.get(name, ()) if kind == unit)
        stated.setdefault(start, {}).update(dict.fromkeys(words))
    return {name: " + ".join(stated[start]) or f"video {start}" for name, start in first.items()}
