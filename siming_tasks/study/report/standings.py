"""Standings: the judges of one setting together, as pages, files and cards print them.

Every number is a row of :mod:`siming_tasks.study.analysis.comparison`; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.metrics.alignment import align
from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, COVERAGE, select
from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.study.analysis.compare_runs import rater_points
from siming_tasks.study.analysis.comparison import (
    NO_VIDEO,
    OVER_NO_VIDEO,
    Comparison,
    compare_judges,
    correct,
    shown_value,
)
from siming_tasks.study.analysis.physicians import EACH_OTHER, MEAN, MINUS, WITH_EACH
from siming_tasks.study.analysis.verdicts import baseline_title, four_answers
from siming_tasks.study.results.comparable import TaskRun, comparison_entries, largest_group
from siming_tasks.study.results.evaluate_records import partial_text
from siming_tasks.study.words import say

HUMANS = "inter-physician agreement"


@dataclass(frozen=True)
class Entrant:
    """One run in one setting.

    Attributes:
        task_run: its answers and conditions; its name is the run's.
        slug: its name in addresses.
        role: ``model``, ``reference`` or ``supervised``.
        evaluation: what :meth:`siming_tasks.study.results.run.Run.evaluate` returns.
    """

    task_run: TaskRun
    slug: str
    role: str
    evaluation: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.task_run.name

    @property
    def rows(self) -> Rows:
        """Its own numbers."""
        return Rows.from_json(self.evaluation["rows"])

    @property
    def part(self) -> str:
        """A sentence on how many questions it was asked, where those are not all; otherwise empty."""
        part = partial_text(self.evaluation["requests"])
        return say("asked", part=part) if part else ""


@dataclass(frozen=True)
class JudgeRow:
    """One line of the comparison: a judge, a no-video baseline, or the physicians.

    Attributes:
        name: of the judge.
        role: a key of :data:`siming_tasks.study.report.figure.ROLES`.
        slug: of the run's page; empty where there is none.
        rank: as text, such as ``1 to 3``; empty without one.
        value: the headline metric against the reference, as ranked.
        physicians: mean agreement with each physician; ``minus``: less theirs with each other.
        over: lead over the no-video baseline ``rival``, whose test decides; ``beats``: better than every one of them.
        better_than: runs that it is better than, of the ranked others; None without a rank.
        answered: share of the asked steps.
        notes: what a reader must know before reading the line.
        source: of a no-video baseline, its row in the comparison.
    """

    name: str
    role: str
    slug: str = ""
    rank: str = ""
    value: Estimate | None = None
    physicians: Estimate | None = None
    minus: Estimate | None = None
    over: Estimate | None = None
    rival: str = ""
    beats: bool | None = None
    better_than: tuple[int, int] | None = None
    answered: Estimate | None = None
    notes: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Standing:
    """One setting of a report.

    Attributes:
        setting: its name.
        comparison: of the judges that can be compared; None where nothing can be, for the reason ``why``.
        apart: by run that is listed apart, the reason.
        entrants: all of them, by name.
        synthetic: the exams are simulated; ``people``: who labelled them, in the plural.
        reference: name of the reference labels, as text.
        rubric: what its rubric says of its own state; empty if nothing.
    """

    setting: str
    comparison: Comparison | None
    apart: Mapping[str, str]
    entrants: Mapping[str, Entrant]
    why: str = ""
    synthetic: bool = False
    people: str = "physicians"
    rubric: str = ""
    reference: str = ""

    @property
    def metric(self) -> str:
        """Title of the headline metric."""
        return CATALOGUE[self.headline].title

    @property
    def headline(self) -> str:
        """Key of the headline metric."""
        return select(TASKS[self.setting].answer, headline=True)[0]

    @cached_property
    def rows(self) -> list[JudgeRow]:
        """The judges, best first; then the no-video baselines and the inter-physician agreement."""
        made = self.comparison
        if made is None:
            return []
        unseen = made.rows.of(NO_VIDEO, metric=made.headline)
        never = [JudgeRow(baseline_title(each.row), "no_video", value=each, source=each.row) for each in unseen]
        never.sort(key=lambda row: -(row.value.value if row.value and row.value.value is not None else -2.0))
        among = made.rows.of(EACH_OTHER, MEAN, made.headline)
        human = [JudgeRow(HUMANS, "human", physicians=among[0])] if among else []
        return [*(self._row(run) for run in made.order), *human, *never]

    @cached_property
    def apart_rows(self) -> list[JudgeRow]:
        """Runs that were made under other conditions or answer nothing in common, each with its own value."""
        out = []
        for name in self.apart if self.comparison else self.entrants:
            entrant, why = self.entrants[name], self.apart.get(name, "")
            own = entrant.rows
            value, answered = own.one(RANKED, ALL, self.headline), own.one(ANSWERED, ALL, COVERAGE)
            notes = tuple(filter(None, (why, entrant.part)))
            shown = shown_value(value, answered)
            out.append(JudgeRow(name, entrant.role, entrant.slug, value=shown, answered=answered, notes=notes))
        return out

    def _row(self, run: str) -> JudgeRow:
        made, entrant = self.comparison, self.entrants[run]
        assert made is not None
        rank, wins = made.ranks.get(run), sum(pair.better == run for pair in made.pairs)
        answered = made.rows.one(ANSWERED, run, COVERAGE)

        def found(table: str, row: str) -> Estimate | None:
            rows = made.rows.of(table, row, made.headline)
            return rows[0] if rows and answered.value != 0 else None

        return JudgeRow(
            run,
            entrant.role,
            entrant.slug,
            rank="" if rank is None else str(rank.rank) if rank.low == rank.high else f"{rank.low} to {rank.high}",
            value=made.value(run),
            physicians=found(WITH_EACH, f"{run}: {MEAN}"),
            minus=found(MINUS, f"{run}: {MEAN}"),
            over=found(OVER_NO_VIDEO, run),
            rival=baseline_title(made.rivals.get(run, "")) if answered.value else "",
            beats=made.beats.get(run),
            better_than=None if rank is None else (wins, len(made.ranks) - 1),
            answered=answered,
            notes=tuple(filter(None, (made.unranked.get(run), entrant.part))),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        made, answers = None, []
        if self.comparison:
            made, answers = self.comparison.to_json(), [each.to_json() for each in four_answers(self.comparison)]
        return {"comparison": made, "answers": answers, "why": self.why, "apart": dict(self.apart)}


def reference_of(rater: str, dataset: Dataset | None = None) -> str:
    """The reference as text; with a data set also the number of physicians behind a consensus."""
    of = f" of {len(dataset.physicians)} {dataset.people}" if dataset and dataset.physicians else ""
    return f"the consensus{of}" if rater == CONSENSUS else rater


def stand(
    entrants: Sequence[Entrant], dataset: Dataset, setting: str, options: Options, allow: Collection[str] = ()
) -> Standing | None:
    """One setting's judges, its tests not yet corrected for other settings; None without an entrant.

    The largest group of runs that can be compared is; the others are shown apart with the reason. Of two largest
    groups none is compared.
    """
    if not entrants:
        return None
    held = {entrant.name: entrant for entrant in entrants}

    def weight(group: Sequence[TaskRun]) -> tuple[int, int, int]:
        fit = [int(run.panel.asked.sum()) for run in group if run.panel.answered_share >= COMPARABLE]
        return max(fit, default=0), len(fit), len(group)

    together, apart = largest_group([entrant.task_run for entrant in entrants], allow, weight)
    about: dict[str, Any] = {
        "synthetic": dataset.synthetic, "people": dataset.people, "rubric": dataset.rubric.status or "",
        "reference": reference_of(options.rater),
    }  # fmt: skip
    if not together:
        return Standing(setting, None, apart, held, say("no largest group"), **about)
    judges = {entry.name: entry.panel for entry in align(comparison_entries(together, allow), allow)}
    first = next(iter(judges.values()))
    if not any((matrix.counted & matrix.answered).any() for matrix in judges.values()):
        return Standing(
            setting, None, apart, held, say("withheld" if dataset.withheld else "nothing answered"), **about
        )
    made = compare_judges(judges, setting=setting, points=rater_points(dataset, first), mapping=options.mapping,
                          roles={name: held[name].role for name in judges})  # fmt: skip
    facts = {"reference": options.rater, "mapping": options.mapping, "synthetic": dataset.synthetic}
    made = replace(made, facts=facts | {"allowed": sorted(allow)})
    return Standing(setting, made, apart, held, **about)


def corrected(standings: Mapping[str, Standing | None]) -> dict[str, Standing]:
    """The settings that any run has, their tests corrected together."""
    held = {setting: each for setting, each in standings.items() if each is not None}
    made = correct({setting: each.comparison for setting, each in held.items() if each.comparison})
    return {setting: replace(each, comparison=made.get(setting)) for setting, each in held.items()}
