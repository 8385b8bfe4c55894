"""Verdicts: what the tests of a comparison say about its judges, as four answers and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.no_video import SHUFFLED, WITHIN
from siming_tasks.benchmark.metrics.reasons import Reason
from siming_tasks.benchmark.metrics.thresholds import NOISE
from siming_tasks.common.printed_value import fixed
from siming_tasks.study.analysis.comparison import NO_VIDEO, OVER_NO_VIDEO, Comparison, clause
from siming_tasks.study.analysis.physicians import MEAN, WITH_EACH
from siming_tasks.study.words import reason, say

Cited = Literal["its agreement", "its rank", "it saw the video", "its comparison with the physicians"]
"""Purposes for which a number may be cited."""


@dataclass(frozen=True)
class Answers:
    """The four answers about one judge.

    Attributes:
        run: its name.
        leads: ``leader`` (better than each other), ``tie`` (among those that may be), ``behind``, ``alone`` (nobody
            else is ranked), ``same answers`` (as every other ranked run) or ``not ranked``.
        sees_video: ``shown``, ``not shown`` or ``not tested``; ``lead``: over the no-video baseline ``rival``, whose
            test decides.
        physicians: the claim of the comparison with physicians, ``cannot tell`` where a no-video baseline passes the
            same test, or empty without two physicians; ``beside``: the difference.
        single: the smallest and the largest ranked value with a single physician as the reference; None without two.
        cite: results that may be cited; empty where exams or labels are simulated.
    """

    run: str
    leads: Literal["leader", "tie", "behind", "alone", "same answers", "not ranked"]
    sees_video: Literal["shown", "not shown", "not tested"]
    lead: Estimate | None
    rival: str
    physicians: str
    beside: Estimate | None
    single: tuple[float, float] | None
    cite: tuple[Cited, ...]

    @property
    def single_range(self) -> str:
        """The values with single physicians as text; empty without two."""
        return " to ".join(map(fixed, self.single or ()))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        found = {name: each and each.to_json() for name, each in (("lead", self.lead), ("beside", self.beside))}
        return {**vars(self), **found, "single": self.single and list(self.single), "cite": list(self.cite)}


def four_answers(made: Comparison) -> list[Answers]:
    """The four answers about every judge, best first."""
    return [answers_of(made, run) for run in made.order]


def answers_of(made: Comparison, run: str) -> Answers:
    """The four answers about one judge."""
    rank, value = made.ranks.get(run), made.value(run)
    beside = made.physicians.get(run) if value.why != Reason.NOTHING_ANSWERED else None
    leads: Any = "not ranked" if rank is None else "alone"
    if rank is not None and made.is_one_run:
        leads = "same answers"
    elif rank is not None and len(made.ranks) > 1:
        above = (value.value or 0.0) > NOISE
        leads = "leader" if rank.high == 1 and above else "tie" if rank.low == 1 and above else "behind"
    sees: Any = {True: "shown", False: "not shown", None: "not tested"}[made.beats.get(run)]
    claim = beside.claim.kind if beside else ""
    claimed = "cannot tell" if made.unseen and claim in ("as good", "better") else claim
    allowed: dict[Cited, bool] = {
        "its agreement": value.low is not None,
        "its rank": leads in ("leader", "tie", "behind"),
        "it saw the video": sees == "shown",
        "its comparison with the physicians": claimed in ("as good", "better", "worse"),
    }
    fit = rank is not None and not made.facts.get("synthetic")
    lead = next(iter(made.rows.of(OVER_NO_VIDEO, run, made.headline)), None)
    cite = tuple(what for what, may in allowed.items() if may and fit)
    return Answers(run, leads, sees, lead, baseline_title(made.rivals.get(run, "")), claimed,
                   beside.claim.estimate if beside else None, _single(made, run) if beside else None, cite)  # fmt: skip


def _single(made: Comparison, run: str) -> tuple[float, float] | None:
    """Smallest and largest of a run's values with each physician in the headline metric."""
    rows = made.physicians[run].rows.of(WITH_EACH, metric=made.headline) if run in made.physicians else ()
    values = [row.value for row in rows if row.row != MEAN and row.value is not None]
    return (min(values), max(values)) if len(values) > 1 else None


def no_video_sentence(made: Comparison, runs: Sequence[str]) -> str:
    """Sentences on the tests of some runs against the no-video baselines; for a single run also its lead."""
    better, others = ([run for run in runs if made.beats.get(run) is beats] for beats in (True, False))
    said, lead = [], ""
    if len(runs) == 1 and runs[0] in made.rivals:
        estimate = made.rows.one(OVER_NO_VIDEO, runs[0], made.headline)
        lead = f" (the lead that decides, over {baseline_title(made.rivals[runs[0]])}: {estimate})"
    tried, columns = made.baselines, columns_clause(made)
    if better:
        left = f"; {_listed(others)} {'does' if len(others) == 1 else 'do'} not clearly beat them" if others else ""
        agree = f"{_listed(better)} {'agrees' if len(better) == 1 else 'agree'}"
        said.append(say("beats", judges=agree, others=left + lead, tried=tried, columns=columns))
    elif others:
        said.append(say("beats none", judges=_listed(others, "or"), lead=lead, tried=tried, columns=columns))
    for run in runs:
        if made.beats.get(run) is None:
            own = next(iter(made.rows.of(OVER_NO_VIDEO, run, made.headline)), None)
            why = made.unranked.get(run) or (reason(own) if own else "") or "None of them has a value here."
            said.append(say("never tested", judge=run, why=clause(why) + lead))
    said += [say("leak", column=column, area=area) for column, area in made.leaks.items()]
    return " ".join(said)


def baseline_title(name: str) -> str:
    """Title of a no-video baseline; the names of columns and runs in it stay as they are.

    Example:
        >>> baseline_title("step-prior-within-exam-year"), baseline_title("shuffled-answers of gpt-4")
        ('step prior within exam-year', 'shuffled answers of gpt-4')
    """
    for start in (WITHIN, SHUFFLED):
        if name.startswith(start):
            return start.replace("-", " ") + name.removeprefix(start)
    return name.replace("-", " ")


def columns_clause(made: Comparison) -> str:
    """The stated columns that a no-video baseline knows, as a clause; empty without one."""
    names = [row.removeprefix(WITHIN) for row in made.rows.of(NO_VIDEO).names("row") if row.startswith(WITHIN)]
    listed = [say("student column") if name == "student" else name for name in names]
    return say("columns", columns=_listed(listed, most=len(listed))) if listed else ""


def _listed(names: Sequence[str], word: str = "and", most: int = 3) -> str:
    if len(names) > most:
        return f"any of {len(names)} judges" if word == "or" else f"{len(names)} judges"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
