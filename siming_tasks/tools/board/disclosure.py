"""Disclosure: all that a public board says about hidden labels.

Of a judge that answered at least 95 % of a whole setting it says the headline metric to three digits and the ends of
its interval to two; of any other, that it is not ranked. Whether a value exists at all depends on the labels: answers
that are all the same are not ranked, whatever the labels are, and why another has no value is not said. A sender has
one number per setting, and a later submission replaces it only if it is better beyond chance: the Ladder of Blum and
Hardt (2015, https://proceedings.mlr.press/v37/blum15.html). A number, and the statement that another is not better,
both reveal something about labels. So each sender gets three answers per setting in all, whatever the edition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.metrics.catalogue import COVERAGE, headline, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED
from siming_tasks.benchmark.metrics.jackknife import difference
from siming_tasks.benchmark.metrics.no_video import SHUFFLED
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.options import Options
from siming_tasks.study.analysis.claims import is_constant, why_unranked
from siming_tasks.study.analysis.comparison import NO_VIDEO
from siming_tasks.study.report.standings import Entrant, JudgeRow, Standing
from siming_tasks.study.words import say

VALUE_DIGITS, INTERVAL_DIGITS = 3, 2
NOBODY = "No submission has a number in this setting."
NUMBERS = 3
"""Submissions of one sender that are ever answered in a setting: by a number, or by the word that it is not better."""

Told = float | str | None
"""An answer as a ledger keeps it: the number (None: it has no value), or a key of :data:`_WHY`."""

_WHY = {
    "incomplete": "It did not answer 95 % of the whole setting.",
    "constant": say("constant"),
    "spent": f"Its sender has used all {NUMBERS} results in this setting, on labels of these exams.",
    "not better": "Not better, beyond chance, than its sender's current number.",
}
_REPLACED = "Replaced by a later, better one from the same sender."


def is_scored(told: Told) -> bool:
    """True for an answer that reveals something about labels."""
    return told not in ("incomplete", "constant", "spent")


@dataclass(frozen=True)
class Candidate:
    """A submission in one setting, its sender, and the result published per setting when it was first seen."""

    sender: str
    entrant: Entrant
    told: Mapping[str, Told]


def chosen(
    candidates: Sequence[Candidate], setting: str, spent: Counter[tuple[str, str]], options: Options
) -> tuple[list[Entrant], dict[str, str], dict[str, Told]]:
    """The submissions whose numbers a setting shows, one a sender; by the name of each other one, why not; what is new.

    Args:
        candidates: in the order of the ledger. Published results are repeated; only what is new is decided.
        setting: its name.
        spent: answers that a setting and sender have had; those that are given here are added.
        options: label mapping.
    """
    shown: dict[str, Entrant] = {}
    apart: dict[str, str] = {}
    new: dict[str, Told] = {}
    for each in candidates:
        name, before = each.entrant.name, shown.get(each.sender)
        if setting not in each.told:
            new[name] = _answer(each.entrant, before, spent[setting, each.sender], options)
            spent[setting, each.sender] += is_scored(new[name])
        told = each.told.get(setting, new.get(name))
        if isinstance(told, str):
            apart[name] = _WHY.get(told, told)
            continue
        if before:
            apart[before.name] = _REPLACED
        shown[each.sender] = each.entrant
    return [each.entrant for each in candidates if shown.get(each.sender) is each.entrant], apart, new


def _answer(entrant: Entrant, before: Entrant | None, spent: int, options: Options) -> Told:
    """The answer to a submission that is seen for the first time."""
    share = entrant.rows.one(ANSWERED, ALL, COVERAGE).value or 0.0
    if entrant.part or why_unranked(entrant.role, share):
        return "incomplete"
    panel = entrant.task_run.panel
    if is_constant(panel, options.mapping):
        return "constant"
    if spent >= NUMBERS:
        return "spent"
    if before and not _is_better(entrant, before, options):
        return "not better"
    return _rounded(entrant.rows.one(RANKED, ALL, headline(panel.answer))).value


def _is_better(new: Entrant, old: Entrant, options: Options) -> bool:
    """True if the 95 % interval of the paired difference of two complete runs lies above 0."""
    a, b = (entrant.task_run.panel.imputed() for entrant in (new, old))
    if (a.video_ids, a.step_ids) != (b.video_ids, b.step_ids):
        return False
    measure = statistic(headline(a.answer), mapping=options.mapping)
    low = difference(measure, a, b).low
    return low is not None and low > 0


def coarse(standing: Standing) -> Standing:
    """A standing that knows nothing but what is published: every further number about labels stays with the host."""
    made = standing.comparison
    if made is None:
        return standing
    rows = [_rounded(row) if row.metric == standing.headline else row
            for row in made.rows if (row.table, row.metric) == (ANSWERED, COVERAGE)
            or (row.metric == standing.headline and row.table in (RANKED, NO_VIDEO)
                and not row.row.startswith(SHUFFLED))]  # fmt: skip
    return replace(standing, comparison=replace(made, rows=Rows(rows), physicians={}, unseen=(), detectable=None))


def _rounded(found: Estimate) -> Estimate:
    def to(digits: int, number: float | None) -> float | None:
        return None if number is None else round(number, digits) + 0.0  # no negative zero

    low, high = (to(INTERVAL_DIGITS, end) for end in (found.low, found.high))
    return replace(found, value=to(VALUE_DIGITS, found.value), low=low, high=high, stderr=None)


def public_setting(standing: Standing, apart: dict[str, str]) -> dict[str, Any]:
    """Everything that a board publishes of a setting, of a :func:`coarse` standing, as plain JSON types."""
    rows = [row for row in standing.rows if row.value and row.value.value is not None]
    unranked = dict.fromkeys(standing.comparison.unranked if standing.comparison else (), "It has no value.")
    return {
        "setting": standing.setting,
        "title": TASKS[standing.setting].title,
        "metric": standing.metric,
        "judges": [_public(row) for row in rows if row.role == "model"],
        "no_video": [_public(row) for row in rows if row.role == "no_video"],
        "not_ranked": {**apart, **standing.apart, **unranked},
        "why": "" if any(row.role == "model" for row in rows) else standing.why or NOBODY,
    }


def _public(row: JudgeRow) -> dict[str, Any]:
    found = row.value or Estimate(None)
    better = row.better_than
    return {
        "name": row.name,
        "rank": row.rank,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "beats_all_no_video_baselines": row.beats,
        "better_than": list(better) if better else None,
        "answered": None if row.answered is None or row.answered.value is None else round(row.answered.value, 3),
    }
