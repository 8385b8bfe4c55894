"""Estimand: whose exams, which raters and which answers a number is about, made in one place from the facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from siming_tasks.benchmark.metrics.score_matrix import ScoreMatrix
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import one_line
from siming_tasks.data import Dataset


@dataclass(frozen=True)
class Estimand:
    """Facts that say what a number is about.

    Attributes:
        setting: name; ``shown``: its title.
        videos: exams that it rests on.
        unit: what is a sample of others of its kind: intervals and tests are over it; ``clusters``: how many.
        fixed: larger units that the data state and that stand for themselves alone.
        sites: number of sites that the videos state.
        reference: rater whose points are the reference; ``raters``: physicians who made it or scored the same exams.
        machines: raters by kind where no person is among them (``2 models``); empty otherwise.
        heard: who heard what some steps need, where that is stated or the task gives it; empty otherwise.
        missing: share of asked steps without an answer; None for several runs, which differ in it.
        people: noun for the raters (:attr:`siming_tasks.data.Dataset.people`).
        part: of a split, whose videos these are; empty: the whole data set.
    """

    setting: str
    shown: str
    videos: int
    unit: str
    clusters: int
    fixed: tuple[str, ...]
    sites: int
    reference: str
    raters: tuple[str, ...]
    missing: float | None
    part: str = ""
    people: str = "physicians"
    machines: str = ""
    heard: str = ""

    @property
    def sentence(self) -> str:
        """The estimand in one sentence, plain text: escape it for Markdown, as a rater's name is in it."""
        of = "" if self.unit == "video" else f" of {counted(self.clusters, self.unit)}"
        part = f" of the split {one_line(self.part)}" if self.part else ""
        exams = f"{counted(self.videos, 'video')}{part}{of}, taken as a sample of {self.unit}s like these"
        if self.unit == "site":
            where = ""
        elif self.sites > 1:
            where = f" at these {self.sites} sites, not at others"
        else:
            where = " at this one site" if self.sites else ""
        kept = [unit for unit in self.fixed if unit != "site"]
        where += f"; these {' and '.join(f'{unit}s' for unit in kept)} stand for themselves" if kept else ""
        # the number and not the names: a name is somebody's text, and the raters are in the result beside this
        who = "the consensus" if self.reference == CONSENSUS else f"the points of {one_line(self.reference)}"
        if self.reference == CONSENSUS and self.raters:
            several = len(self.raters) > 1
            who += f" of these {len(self.raters)} {self.people}" if several else f" of this {self.people[:-1]}"
        raters = f"these raters, no others: {self.machines}, no person" if self.machines else "these raters, no others"
        missing = "missing answers" if self.missing is None else f"missing answers ({self.missing:.1%})"
        heard = f" {self.heard}" if self.heard else ""
        return (
            f"Estimand: agreement with {who} ({raters}) in “{self.shown}”, over {exams}{where}; {missing} are left out "
            f"of the metrics, and count as full points (“correct”) where imputed, in ranks and in tests.{heard}"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types, the sentence among them."""
        facts = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return {"sentence": self.sentence, **facts}


def estimand_of(
    matrix: ScoreMatrix, dataset: Dataset, setting: str, rater: str = CONSENSUS, *, several: bool = False
) -> Estimand:
    """Estimand of the metrics of a matrix of a data set; ``several``: of several runs with the same questions."""
    asked = int(matrix.asked.sum())
    unanswered = int((matrix.asked & np.isnan(matrix.predicted)).sum())
    sites = {site for name in matrix.video_ids if (site := dataset.video(name).site) is not None}
    return Estimand(
        setting=setting,
        shown=TASKS[setting].title,
        videos=len(matrix.video_ids),
        unit=matrix.unit,
        clusters=matrix.n_clusters,
        fixed=tuple(matrix.fixed),
        sites=len(sites),
        reference=rater,
        raters=dataset.physicians,
        missing=None if several else unanswered / asked if asked else 0.0,
        part=dataset.part,
        people=dataset.people,
        machines=dataset.machine_raters,
        heard=_sound_sentence(matrix, dataset, setting),
    )


def _sound_sentence(matrix: ScoreMatrix, dataset: Dataset, setting: str) -> str:
    """A sentence on who heard; empty where it is stated of no physician and the task gives pictures alone."""
    steps = [step for step in matrix.step_ids if dataset.rubric.by_id[step].evidence.is_heard]
    facts, modality = dataset.sound_facts, TASKS[setting].modality
    yes, no = len(facts.raters(True)), len(facts.raters(False))
    if not steps or not (yes or no or modality.needs):
        return ""
    unstated = len(facts.heard) - yes - no
    who = [f"{count} of {len(facts.heard)} {dataset.people} {words}" for count, words in
           ((yes, "heard it"), (no, "did not"), (unstated, "did not state it")) if count]  # fmt: skip
    hearing = f"{', '.join(who)}; " if who else ""
    words = {"sound": "gives the sound", "transcript": "gives a transcript"}
    given = " and ".join(words[need] for need in modality.needs) or "does not give it"
    return f"{len(steps)} of the {len(matrix.step_ids)} steps need sound: {hearing}this task {given}."
