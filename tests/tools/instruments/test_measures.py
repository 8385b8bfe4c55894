"""Values of a span and the points that facts make of them, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from siming_tasks.common.errors import RubricError
from siming_tasks.rubrics import default_rubric, rubric_from
from siming_tasks.tools.instruments import Compressions, measure, measured_facts
from siming_tasks.tools.instruments.measures import judge

RUBRIC = default_rubric()
FACTS = measured_facts(RUBRIC)


def compressions(time, depth=55.0, release=0.0):
    time = np.asarray(time, dtype=np.float64)
    return Compressions(time, np.broadcast_to(depth, time.shape), np.broadcast_to(release, time.shape))


def test_values_by_hand():
    # ten strokes at 0.5 s (120 a minute), a pause of 4 s, ten at 0.6 s (100 a minute); the span has 20 s
    time = np.concatenate([np.arange(10) * 0.5 + 1, np.arange(10) * 0.6 + 9.5])
    depth = np.repeat([50.0, 60.0], 10)
    values = measure(compressions(time, depth, 2.0), 0, 20).values
    work = 9 * 0.5 + 9 * 0.6
    assert values["count"] == 20
    assert values["rate"] == pytest.approx(60 * 18 / work, abs=1e-3)
    assert values["pause"] == pytest.approx(4.0)
    assert values["fraction"] == pytest.approx(work / 20, abs=1e-4)
    assert values["depth"] == pytest.approx(55)
    assert values["release"] == pytest.approx(2)
    assert values["unevenness"] == pytest.approx(0.05 / 0.55, abs=1e-4)  # half at .5, half at .6


def test_a_span_counts_its_own_compressions_alone():
    assert measure(compressions([0.9, 1.0, 1.5, 2.0]), 1.0, 2.0).values["count"] == 2


def points(step, period=0.5454, depth=55.0, release=0.0, n=30):
    span = compressions(np.arange(n) * period, depth, release)
    return judge(RUBRIC.by_id[step], FACTS[step], measure(span, 0, 60))


@pytest.mark.parametrize(
    ("period", "expected", "errors"),
    [
        (60 / 100, 5, ()),
        (60 / 120, 5, ()),
        (60 / 99, 4, ("cpr_12.slightly_out",)),
        (60 / 121, 4, ("cpr_12.slightly_out",)),
        (60 / 89, 2, ("cpr_12.far_out",)),
        (60 / 131, 2, ("cpr_12.far_out",)),
    ],
)
def test_rates_are_points_by_the_rubrics_bounds(period, expected, errors):
    judgement = points("cpr_12", period=period)
    assert (judgement.points, judgement.errors) == (expected, errors)


@pytest.mark.parametrize(
    ("shallow", "deep", "expected"), [(0, 0, 5), (3, 0, 5), (4, 0, 4), (16, 0, 2), (0, 16, 3), (0, 14, 5)]
)
def test_depths_are_points_by_the_share_of_strokes(shallow, deep, expected):
    depth = np.array([40.0] * shallow + [70.0] * deep + [55.0] * (30 - shallow - deep))
    assert points("cpr_11", depth=depth).points == expected


def test_an_uneven_rhythm_costs_beside_the_rate():
    time = np.cumsum(np.where(np.arange(30) % 2, 0.45, 0.95))  # mean .7 s: 86 a minute, and uneven
    span = measure(compressions(time), 0, 60)
    judgement = judge(RUBRIC.by_id["cpr_12"], FACTS["cpr_12"], span)
    assert (judgement.points, set(judgement.errors)) == (1, {"cpr_12.far_out", "cpr_12.uneven"})


def test_no_compression_is_nothing_done_and_no_measure_is_no_points():
    nothing = points("cpr_11", n=0)
    assert (nothing.points, nothing.errors) == (0, ("cpr_11.omitted",))
    unmeasured = points("cpr_13", release=np.nan)
    assert (unmeasured.points, unmeasured.why) == (None, "release was not measured")
    assert points("cpr_12", n=1).points is None


def test_a_rubric_of_ones_own_states_its_facts():
    def rubric(fact):
        step = {
            "id": "press",
            "name": "Press",
            "requirement": "Press.",
            "max_score": 2,
            "criteria": {"full": "f", "partial": "p", "fail": "n"},
            "errors": [{"id": "press.slow", "observable": "slow", "deduct": 1}],
            "facts": [{"source": "OWN", **fact}],
        }
        sources = {"OWN": {"title": "own"}}
        skill = {"id": "s", "name": "S", "steps": [step]}
        head = {"schema_version": 1, "rubric_id": "own", "version": "1"}
        return rubric_from({**head, "skills": [skill], "sources": sources})

    (fact,) = measured_facts(rubric({"measure": "rate", "within": [100, None], "error": "slow"}))["press"]
    assert fact.within == (100, None)
    for wrong, words in (
        ({"value": "fast"}, "no step has a fact that an instrument can decide"),
        ({"measure": "speed", "within": [1, 2], "error": "slow"}, "not measured; there are count, rate"),
        ({"measure": "rate", "within": [1, 2], "share": 0.5, "error": "slow"}, "not measured of each compression"),
        ({"measure": "rate", "within": [1, 2], "error": "late"}, "the step has no error 'late'; it has slow"),
        ({"measure": "rate", "within": 5, "error": "slow"}, "within"),
    ):
        with pytest.raises(RubricError, match=words):
            measured_facts(rubric(wrong))
