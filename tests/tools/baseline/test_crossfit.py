"""A head never sees what it judges: unique marks teach nothing, and a planted leak shows when groups are not kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.miscmodels.ordinal_model import OrderedModel

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.tools.baseline.crossfit import STRENGTHS, _reach, _rotated, cross_fitted, folds_of, groups_of, head
from siming_tasks.tools.baseline.features import pool

STUDENTS = 90


@pytest.fixture
def marks() -> tuple[np.ndarray, np.ndarray]:
    """Features that tell who it is and nothing else, and labels that have nothing to do with them."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(STUDENTS, 300)).astype(np.float32), rng.integers(0, 3, STUDENTS).astype(float)


def kappa(labels: np.ndarray, said: np.ndarray) -> float:
    return float(cohen_kappa_score(labels.astype(int), said.astype(int), weights="quadratic"))


def test_marks_of_videos_teach_nothing(marks: tuple[np.ndarray, np.ndarray]) -> None:
    """Standard error of kappa without agreement: about 1 / sqrt(90) = .105; three of them are allowed."""
    features, labels = marks
    found = cross_fitted(features, labels, folds_of(range(STUDENTS), 5), 2.0)
    assert abs(kappa(labels, found.points)) < 0.32


def test_a_leak_between_twins_shows_unless_students_are_kept_together(marks: tuple[np.ndarray, np.ndarray]) -> None:
    """Two recordings of each student with the same mark and labels: apart they leak everything, together nothing."""
    features, labels = np.repeat(marks[0], 2, axis=0), np.repeat(marks[1], 2)
    apart = np.tile([0, 1], STUDENTS)
    assert kappa(labels, cross_fitted(features, labels, apart, 2.0, strengths=(10.0,)).points) == 1.0
    together = folds_of(np.repeat(np.arange(STUDENTS), 2), 2)
    assert abs(kappa(labels, cross_fitted(features, labels, together, 2.0, strengths=(10.0,)).points)) < 0.32


def test_a_leak_into_the_choice_of_the_penalty_shows_too(marks: tuple[np.ndarray, np.ndarray]) -> None:
    """Three recordings of each student. Held apart from themselves nowhere, they teach everything, with little penalty.

    Kept together only between the folds, they teach nothing about others, but their copies on the other side of the
    inner split say that little penalty is best; kept together there too, nothing but the strongest penalty helps.
    """
    features, labels = np.repeat(marks[0], 3, axis=0), np.repeat(marks[1], 3)
    student = np.repeat(np.arange(STUDENTS), 3)
    leaking = cross_fitted(features, labels, np.tile([0, 1, 2], STUDENTS), 2.0)
    assert kappa(labels, leaking.points) == 1.0 and min(leaking.strengths) == STRENGTHS[-1]
    fold = folds_of(student, 3)
    inside = cross_fitted(features, labels, fold, 2.0)
    assert abs(kappa(labels, inside.points)) < 0.32 and min(inside.strengths) == STRENGTHS[-1]
    kept = cross_fitted(features, labels, fold, 2.0, student)
    assert abs(kappa(labels, kept.points)) < 0.32 and max(kept.strengths) <= 0.3


def test_labels_of_its_own_fold_change_neither_answers_nor_strengths(marks: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = marks
    features[:, :20] += 2 * labels[:, None]
    fold = folds_of(range(STUDENTS), 3)
    turned = np.where(fold == 1, 2 - labels, labels)
    before, after = (cross_fitted(features, given, fold, 2.0) for given in (labels, turned))
    assert np.array_equal(before.points[fold == 1], after.points[fold == 1])
    assert before.strengths[1] == after.strengths[1]
    assert not np.array_equal(before.points, after.points)


def test_a_head_is_the_proportional_odds_model_of_another_library() -> None:
    """One feature, many videos, next to no penalty: the chances of statsmodels' OrderedModel, hence its medians."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(600, 1)).astype(np.float32)
    labels = np.digitize(1.5 * x[:, 0] + rng.logistic(size=600), [-1.0, 0.5, 2.0]).astype(float)
    slow = OrderedModel(labels, x, distr="logit").fit(method="bfgs", disp=False)
    expected = 1 - np.cumsum(slow.predict(x), axis=1)[:, :-1]
    seen = (x - x.mean()) / x.std()
    found = _reach(seen, labels[:, None] >= [1, 2, 3], seen, 1e4)
    np.testing.assert_allclose(found, expected, atol=0.02)
    said, _, _ = head(x, labels, np.arange(600), x, strengths=(1e4,))
    assert np.mean(said == (expected >= 0.5).sum(1)) > 0.97


def test_fewer_axes_lose_nothing() -> None:
    """A penalised regression on all features, and on as many axes as there are videos, says the same of others."""
    rng = np.random.default_rng(9)
    features, labels = rng.normal(size=(30, 200)), np.arange(30) % 2
    whole = make_pipeline(StandardScaler(), LogisticRegression(C=3 / 200, tol=1e-8)).fit(features[:20], labels[:20])
    found = _reach(*_few(features), 3.0)
    np.testing.assert_allclose(found[:, 0], whole.predict_proba(features[20:])[:, 1], atol=1e-4)


def _few(features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    seen, unseen = _rotated(features[:20], features[20:])
    assert seen.shape == (20, 20)
    return seen, (np.arange(20) % 2 == 1)[:, None], unseen


def test_too_few_labels_to_choose_are_counted() -> None:
    """Only the last fold's training videos have both labels when any one of their groups is left out."""
    features = np.arange(12, dtype=np.float32).reshape(6, 2)
    labels, fold = np.array([1, 2, 2, 2, 2, 1.0]), np.array([0, 1, 1, 2, 2, 1])
    found = cross_fitted(features, labels, fold, 2.0, np.array([0, 1, 1, 1, 1, 2]))
    assert (found.unchosen, len(found.strengths)) == (2, 3)


def test_what_can_be_learnt_is_learnt(marks: tuple[np.ndarray, np.ndarray]) -> None:
    features, labels = marks
    features[:, :20] += 3 * (labels == 0)[:, None]
    features[:, 20:40] += 3 * (labels == 2)[:, None]
    found = cross_fitted(features, labels, folds_of(range(STUDENTS), 5), 2.0)
    assert kappa(labels, found.points) > 0.9
    assert np.mean(found.wrong == (labels < 2)) > 0.9


def test_one_label_and_none_are_counted() -> None:
    """Fold 0 trains on 2, 2; fold 1 on 1, 2; fold 2 on 1, 2 and 2."""
    features = np.arange(10, dtype=np.float32).reshape(5, 2)
    labels, fold = np.array([1, np.nan, 2, 2, np.nan]), np.array([0, 0, 1, 2, 1])
    found = cross_fitted(features, labels, fold, 2.0)
    assert (found.constant, found.untrained) == (1, 0)
    assert found.points[:2].tolist() == [2, 2] and not found.wrong[:2].any()
    nothing = cross_fitted(features, np.full(5, np.nan), fold, 2.0)
    assert (nothing.constant, nothing.untrained, np.isnan(nothing.points).all()) == (0, 3, True)
    low = cross_fitted(features, np.array([0.5] * 5), fold, 2.0)
    assert low.constant == 3 and low.points.tolist() == [0.5] * 5 and low.wrong.all()


def test_pools_by_hand() -> None:
    frames = np.array([[0.0], [3.0], [6.0], [9.0]], np.float32)
    assert pool(frames, [10.0, 11.0, 12.0, 16.0]).tolist() == pytest.approx([4.5, 9, np.sqrt(11.25), 1.5, 6, 9])
    assert pool(frames[1:2], [4.0]).tolist() == [3, 3, 0, 3, 3, 3]
    assert pool(frames[:2], [0.0, 1.0]).tolist() == [1.5, 3, 1.5, 0, 1.5, 3]


def changed(short_demo: Path, root: Path, **extra: list[str | None]) -> Dataset:
    dataset = open_dataset(short_demo)
    videos = [
        replace(video, extra={name: values[place] for name, values in extra.items()})
        for place, video in enumerate(dataset.videos)
    ]
    return replace(dataset, root=root, videos=tuple(videos))


def test_students_twins_and_copies_of_a_file_are_one_group(short_demo: Path, tmp_path: Path) -> None:
    dataset = changed(short_demo, tmp_path, student=["a", "b", "a", "c"])
    names = [video.video_id for video in dataset.videos]
    own = {name: name * 3 for name in names}
    assert groups_of(dataset, own, None).tolist() == [0, 1, 2, 3]
    assert groups_of(dataset, own, "student").tolist() == [0, 1, 0, 2]
    assert groups_of(dataset, {**own, names[3]: own[names[1]]}, None).tolist() == [0, 1, 2, 1]
    step = dataset.rubric.steps[0].id
    pair = {"pair_id": "p", "kind": "k", "video_a": names[0], "video_b": names[3], "step_id": step, "direction": 1}
    (tmp_path / "pairs.jsonl").write_text(json.dumps({**pair, "unchanged_steps": []}) + "\n")
    assert groups_of(dataset, own, "student").tolist() == [0, 1, 0, 0]
    fold = folds_of(groups_of(dataset, own, "student"), 2)
    assert len(set(fold[[0, 2, 3]])) == 1 and fold[1] != fold[0]


def test_groups_that_cannot_be_kept_are_said(short_demo: Path, tmp_path: Path) -> None:
    dataset = changed(short_demo, tmp_path, student=["a", "b", None, "c"])
    digests = {video.video_id: video.video_id for video in dataset.videos}
    third = dataset.videos[2].video_id
    with pytest.raises(DataError, match=rf"videos.jsonl: video '{third}' has no `student`. Add it to videos.jsonl, or"):
        groups_of(dataset, digests, "student")
    with pytest.raises(
        OptionsError, match=r"--folds 5: there are 4 groups of videos that can be kept apart\. Give fewer"
    ):
        folds_of(groups_of(dataset, digests, None), 5)
    with pytest.raises(OptionsError, match=r"there are 1 groups .* Cross-fitting needs at least two"):
        folds_of([0, 0, 0], 2)
