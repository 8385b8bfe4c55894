"""Groups by hand, and with a planted difference."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from siming_tasks.benchmark.exams import Video
from siming_tasks.study.analysis.groups import grouping_columns, groups, signed_error
from tests.study.analysis.exams import check_jackknife, drawn, exams


def named(values):
    return {f"v{place:05d}": str(value) for place, value in enumerate(values)}


def test_errors_and_differences_by_hand():
    """Totals of 4 points: errors 0, -1/4, 1/4, 1/2 in site a and -1/2, 0 in site b; the last video states no site."""
    reference = [[2, 2], [2, 2], [1, 1], [0, 0], [2, 2], [2, 2], [2, 2]]
    predicted = [[2, 2], [1, 2], [1, 2], [2, 0], [1, 1], [2, 2], [0, 0]]
    matrix = exams(reference, predicted, top=2)
    rows = groups(matrix, {"site": dict(zip(matrix.video_ids, "aaaabb", strict=False))})
    assert signed_error(matrix).tolist() == [0, -0.25, 0.25, 0.5, -0.5, 0, -1]
    assert rows.one(row="site: a", metric="error").value == pytest.approx(0.125)
    assert rows.one(row="site: b", metric="error").value == pytest.approx(-0.25)
    found = rows.one(metric="difference")  # two groups are one contrast
    assert (found.row, found.value, found.low, found.p) == ("site: b", pytest.approx(-0.375), None, None)
    assert found.why == "Fewer than 10 videos in the group or among the others: no interval."
    verdicts = exams([[3, 1, 3], [3, 1, np.nan]], [[1, 1, 1], [0, 0, 1]], answer="error")
    assert signed_error(verdicts).tolist() == pytest.approx([2 / 3, -1 / 2]), "the share called wrong too often"


def test_difference_and_interval_are_those_of_the_jackknife_over_students():
    students = [f"s{i // 2:02d}" for i in range(90)]
    matrix = drawn(np.random.default_rng(0), 90, clusters=tuple(students), unit="student")
    site, error = np.arange(90) % 3, signed_error(matrix)
    found = groups(matrix, {"site": named(site)}).one(row="site: 1", metric="difference")
    check_jackknife(
        found, lambda kept: error[kept[site[kept] == 1]].mean() - error[kept[site[kept] != 1]].mean(), students
    )
    assert (found.n, found.unit) == (90, "student")


def test_a_judge_that_is_kinder_to_one_site_is_found_and_all_rows_are_one_family():
    rng = np.random.default_rng(1)
    matrix = drawn(rng, 200)
    site = rng.integers(0, 3, 200)
    kinder = np.where((site == 2)[:, None] & (rng.random((200, 8)) < 0.6), matrix.max_score, matrix.predicted)
    rows = groups(matrix.predicting(kinder), {"site": named(site), "year": named(2020 + rng.integers(0, 4, 200))})
    tested = rows.of(metric="difference")
    assert len(tested) == 7
    corrected = multipletests([each.p for each in tested], method="holm")[1]
    assert [each.p_holm for each in tested] == pytest.approx(list(corrected))
    worst = min(tested, key=lambda each: each.p_holm)
    assert worst.row == "site: 2" and worst.p_holm < 0.01 and worst.low > 0
    assert min(each.p_holm for each in tested if "year" in each.row) > 0.05


def test_columns_are_those_that_the_data_state():
    more = {"student": "s1", "year": 2024, "night": True, "notes": ["x"], "age": 30.5}
    videos = [Video("a", "a.mp4", 1.0, (), "north", more), Video("b", "b.mp4", 1.0, (), None, {"student": "s1"})]
    assert grouping_columns(videos) == {
        "site": {"a": "north"}, "student": {"a": "s1", "b": "s1"}, "year": {"a": "2024"}, "night": {"a": "True"},
    }  # fmt: skip
