"""Standard errors with students or sites left out in turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from siming_tasks import Options, open_dataset
from siming_tasks.analysis import robustness as module
from siming_tasks.analysis.robustness import cluster_errors
from siming_tasks.analysis.run_analyses import diagnose_scores
from siming_tasks.metrics import evaluate
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.diagnosis import diagnosis_section
from siming_tasks.results.evaluate_records import build_reference_matrix


def test_leaving_out_a_group_is_scoring_the_rest(synthetic):
    panel = synthetic(np.random.default_rng(5), videos=24, steps=6)
    of = {video: f"s{number % 7}" for number, video in enumerate(panel.video_ids)}
    found = cluster_errors(panel, of, "student", each=True)
    assert (found.kind, found.names, found.largest) == ("student", 7, 4)
    for metric in ("qwk", "plcc", "srcc"):
        left = {
            who: evaluate(panel.videos([n for n, video in enumerate(panel.video_ids) if of[video] != who]), resamples=0)
            for who in sorted(set(of.values()))
        }
        values = {who: each.metrics[metric].value for who, each in left.items()}
        row = found.metrics[metric]
        assert row.left_out == pytest.approx(values)
        spread = np.array(list(values.values()))
        assert row.by_cluster == pytest.approx(np.sqrt(6 / 7 * np.square(spread - spread.mean()).sum()))
        assert row.value == pytest.approx(evaluate(panel, resamples=0).metrics[metric].value)


def test_twins_halve_the_information(synthetic):
    """Every video twice under one student: the standard error over students is sqrt(2) times that over videos."""
    once = synthetic(np.random.default_rng(5), videos=200, steps=6)
    names = (*once.video_ids, *(f"{video}b" for video in once.video_ids))
    arrays = {name: np.tile(getattr(once, name), (2, 1)) for name in ("reference", "predicted", "asked")}
    twice = replace(once, video_ids=names, **arrays)
    row = cluster_errors(twice, {name: name.removesuffix("b") for name in names}, "student").metrics["qwk"]
    assert row.by_cluster / row.by_video == pytest.approx(np.sqrt(2), rel=0.02)


@pytest.mark.parametrize("of", [{}, {"v": "one"}, None])
def test_nothing_to_say_without_clusters(synthetic, of):
    """Nobody known, everybody alone, or all of one site."""
    panel = synthetic(np.random.default_rng(5), videos=9, steps=4)
    groups = dict.fromkeys(panel.video_ids, "only") if of is None else of
    assert cluster_errors(panel, groups, "site") is None


def test_many_groups_are_taken_together(synthetic, monkeypatch):
    panel = synthetic(np.random.default_rng(5), videos=300, steps=4)
    of = {video: f"s{number // 2}" for number, video in enumerate(panel.video_ids)}
    exact = cluster_errors(panel, of, "student").metrics["qwk"].by_cluster
    monkeypatch.setattr(module, "MOST_GROUPS", 50)
    assert cluster_errors(panel, of, "student").metrics["qwk"].by_cluster == pytest.approx(exact, rel=0.3)


def test_a_run_of_two_sites_says_what_it_is_without_each(short_demo: Path) -> None:
    data = open_dataset(short_demo)
    videos = tuple(
        replace(video, site="AB"[n % 2], extra={"student": f"s{n // 2}"}) for n, video in enumerate(data.videos)
    )
    data = replace(data, videos=videos)
    panel = build_reference_matrix(data, "full_score", "rater_a")
    panel = panel.predicting(build_reference_matrix(data, "full_score", "rater_b").reference)
    found = diagnose_scores(panel, "full_score", data, Options(resamples=50))
    assert [(each.kind, each.names) for each in found.clusters] == [("student", 2), ("site", 2)]
    assert found.clusters[1].metrics["qwk"].by_cluster is None  # two sites tell no standard error
    assert set(found.clusters[1].metrics["qwk"].left_out) == {"A", "B"}
    text = to_markdown(diagnosis_section(found, "x"))
    assert "## If students are what was sampled" in text and "without one site" in text
    assert found.to_json()["clusters"][0]["kind"] == "student"
