"""Disclosure: all that a public board says about hidden labels.

Of a judge that answered at least 95 % of a whole setting it says the headline metric to three digits and the ends of
its interval to two; of any other, that it is not ranked. Whether a value exists at all depends on the labels: answers
that are all the same are not ranked, whatever the labels are, and why another has no value is not said. A sender has
one number a setting, and a later submission replaces it only where it is better beyond chance: the Ladder of Blum and
Hardt (2015, https://proceedings.mlr.press/v37/blum15.html). Who begins with bad answers on purpose could climb it step
by step, and each number counts something; so a sender gets three numbers a setting in all. (The other way, a half of
the exams kept out of sight until the end, would widen every interval by 1.4.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.metrics.catalogue import COVERAGE, headline, statistic
from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED
from siming_tasks.benchmark.metrics.jackknife import difference
from siming_tasks.benchmark.metrics.labels import ordinal_labels
from siming_tasks.benchmark.metrics.no_video import SHUFFLED
from siming_tasks.benchmark.metrics.thresholds import COMPARABLE
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.options import Options
from siming_tasks.study.analysis.comparison import NO_VIDEO
from siming_tasks.study.report.standings import Entrant, JudgeRow, Standing

VALUE_DIGITS, INTERVAL_DIGITS = 3, 2
MOST, DAYS = 3, 30
"""Submissions that a board takes of one sender within so many days."""
NOBODY = "No submission has a number in this setting."
NUMBERS = 3
"""Numbers that one sender is ever shown in a setting."""


def chosen(candidates: Sequence[tuple[str, Entrant]], options: Options) -> tuple[list[Entrant], dict[str, str]]:
    """The submissions whose numbers a setting shows, one a sender; and by the name of each other one, why not.

    Args:
        candidates: sender and submission, in the order in which they came.
        options: label mapping and positive class.
    """
    shown: dict[str, Entrant] = {}
    apart: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for sender, each in candidates:
        before = shown.get(sender)
        if why := _no_number(each, options):
            apart[each.name] = why
        elif numbers[sender] == NUMBERS:
            apart[each.name] = f"Its sender has had {NUMBERS} numbers in this setting."
        elif before is None or _is_better(each, before, options):
            shown[sender] = each
            numbers[sender] += 1
            if before:
                apart[before.name] = f"Replaced by {each.name}, which is better."
        else:
            apart[each.name] = f"Not better beyond chance than {before.name}, of the same sender."
    return [each for sender, each in candidates if shown.get(sender) is each], apart


def _no_number(entrant: Entrant, options: Options) -> str:
    """Reason for no number that the answers alone decide; empty if they may have one."""
    asked, every = (entrant.evaluation["requests"][name] for name in ("asked", "expected"))
    share = entrant.rows.one(ANSWERED, ALL, COVERAGE).value or 0.0
    if asked != every or share < COMPARABLE:
        return f"It answered less than {100 * COMPARABLE:g} % of the setting."
    panel = entrant.task_run.panel
    labels = ordinal_labels(panel.predicted, panel.max_score, options.mapping)
    given = (labels if panel.answer == "score" else panel.predicted)[panel.answered]
    return "All its answers are the same." if np.unique(given).size == 1 else ""


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
        "why": standing.why or NOBODY,
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
