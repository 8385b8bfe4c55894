"""No-video baselines: what they know, and what they must not know."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import ExtraTreeRegressor

from siming_tasks.benchmark.metrics.catalogue import statistic
from siming_tasks.benchmark.metrics.jackknife import jackknife
from siming_tasks.benchmark.metrics.no_video import (
    JUDGES,
    always_correct,
    always_failed,
    clock,
    no_video_baselines,
    prior_within,
    shuffled_answers,
    step_prior,
    used_and_leaking_columns,
)
from tests.benchmark.metrics.conftest import make_exams, make_matrix

nan = np.nan


@pytest.mark.parametrize(("answer", "correct", "failed"), [("score", [2, 5], [0, 0]), ("error", [0, 0], [1, 1])])
def test_constants(matrix, answer, correct, failed):
    made = matrix([[1, 5]], [[0, 0]], top=[2, 5], answer=answer)
    assert always_correct(made).tolist() == [correct] and always_failed(made).tolist() == [failed]


def test_the_step_prior_by_hand(matrix):
    """The last video: means .25, .75, 1 of the shares 0, .5, .5, 1, 1, 1, of which they get the 1/6, 1/2 and 5/6."""
    made = matrix([[0, 2, 3], [1, 1, 3], [2, 0, 0]], np.zeros((3, 3)), top=[2, 2, 3])
    assert step_prior(made)[2].tolist() == [0, 1, 3]
    verdicts = replace(made, answer="error")
    assert step_prior(verdicts)[2].tolist() == [1, 1, 0]


@pytest.mark.parametrize("judge", [step_prior, partial(prior_within, column="site"), clock])
@pytest.mark.parametrize("answer", ["score", "error"])
def test_none_knows_the_labels_of_its_own_cluster(judge, answer):
    """Another label in one cluster changes nothing in what is said of it."""
    rng = np.random.default_rng(1)
    made = make_exams(rng, videos=24, steps=4, each=2, answer=answer, sites=tuple("xyz"[k // 2 % 3] for k in range(24)),
                      spans=np.sort(rng.uniform(0, 99, (24, 4, 2)), axis=2), durations=np.full(24, 100.0))  # fmt: skip
    own = np.array(made.clusters) == made.clusters[6]
    other = made.reference.copy()
    other[own] = made.max_score - other[own]
    changed = replace(made, reference=other)
    assert np.array_equal(judge(made)[own], judge(changed)[own])
    assert answer == "error" or not np.array_equal(judge(made)[~own], judge(changed)[~own])


def test_within_a_site_only_its_own_labels_are_known(matrix):
    """Of a value with fewer than three clusters the step prior is known, here of all: share 1 and 1/2."""
    made = matrix([[3, 0]] * 3 + [[0, 3]] * 3 + [[3, 3]], np.zeros((7, 2)), sites=tuple("xxxyyyz"))
    said = prior_within(made, "site")
    assert said[:6].tolist() == made.reference[:6].tolist()
    assert said[6].tolist() == step_prior(made)[6].tolist()
    assert used_and_leaking_columns(made) == ([], {"site": 1.0})  # it tells every label
    assert used_and_leaking_columns(made.videos(range(5))) == ([], {})  # one site alone has three


def test_of_a_student_the_other_performances_are_known(matrix):
    """Two cameras of one performance are one; who has no other performance has the step prior."""
    made = matrix([[3, 0], [3, 0], [0, 3], [0, 3], [3, 3]], np.zeros((5, 2)), clusters=tuple("aabbc"),
                  columns={"student": tuple("aabbc"), "performance": tuple("12334")})  # fmt: skip
    said = prior_within(made, "student")
    assert said[:2].tolist() == [[3, 0], [3, 0]]
    assert said[2:].tolist() == step_prior(made)[2:].tolist()
    unnamed = replace(made, columns={**made.columns, "student": ("a", "a", "", "", "c")})
    assert prior_within(unnamed, "student")[2:].tolist() == step_prior(made)[2:].tolist()  # unnamed: not one
    assert used_and_leaking_columns(made)[0] == ["student"]
    assert used_and_leaking_columns(replace(made, columns={"student": tuple("abcde")})) == ([], {})  # none has two


def test_columns_that_are_used_and_those_that_leak():
    rng = np.random.default_rng(4)
    made = severe_sites(rng, videos=90)
    pattern = rng.integers(0, 2, (3, 12)) * 3.0  # three sheets of labels, and a column that says which
    code = rng.integers(0, 3, 90)
    columns = {"year": tuple(str(2020 + k % 4) for k in range(90)), "sheet": tuple(f"{k}" for k in code),
               "date": tuple(str(k) for k in range(90)), "machine": ("A",) * 90}  # fmt: skip
    used, leaks = used_and_leaking_columns(replace(made, columns=columns))
    assert used == ["site", "year", "sheet"] and not leaks  # a date is each video's own, a machine everybody's
    used, leaks = used_and_leaking_columns(replace(made, reference=pattern[code], columns=columns))
    assert "sheet" not in used and leaks == {"sheet": 1.0}
    noisy = np.where(rng.random((90, 12)) < 0.05, 3.0, pattern[code])
    rare = replace(made, reference=noisy, columns=columns)
    rates = np.zeros((90, 12))
    for v in range(90):
        same = (code == code[v]) & (np.arange(90) != v)
        rates[v] = (rare.reference[same] < 3).mean(axis=0)
    assert used_and_leaking_columns(rare)[1]["sheet"] == pytest.approx(
        roc_auc_score((rare.reference < 3).ravel(), rates.ravel())
    )


def test_which_judges_there_are(matrix, exams):
    plain = exams(np.random.default_rng(2), videos=12, steps=3)
    assert set(no_video_baselines(plain)) == {"always-correct", "always-failed", "step-prior"}
    assert set(no_video_baselines(replace(plain, sites=("x",) * 12, durations=np.arange(12.0)))) == {*JUDGES}
    assert "clock" in no_video_baselines(replace(plain, spans=np.zeros((12, 3, 2))))
    alone = matrix([[1, 2]], [[1, 2]], sites=("x",), durations=[9.0])
    assert set(no_video_baselines(alone)) == {"always-correct", "always-failed"}  # no other video to learn from


def severe_sites(rng, videos=200, steps=12):
    """Exams at three sites of unlike severity; nothing else tells a video's labels."""
    site = rng.integers(0, 3, videos)
    often = np.exp(rng.normal(0, 0.8, (3, steps)))  # some steps more than others, and not the same at each site
    wrong = np.array([[0.14], [0.26], [0.41]]) * often / often.mean(axis=1, keepdims=True)
    reference = np.where(rng.random((videos, steps)) < wrong[site], 0.0, 3.0)
    return make_matrix(reference, 0 * reference, answer="error", sites=tuple(f"site {k}" for k in site))


def hesitant(rng, videos=200, steps=8, wait=6.0):
    """Exams in which a pause of ``wait`` seconds more comes before a step that goes wrong; spans tell nothing else."""
    reference = np.where(rng.random((videos, steps)) < 0.25, rng.integers(0, 2, (videos, steps)), 3.0)
    pauses = rng.gamma(4, 1, (videos, steps)) + wait * (reference < 3)
    lengths = rng.gamma(9, 1, (videos, steps))
    end = np.cumsum(pauses + lengths, axis=1)
    spans = np.stack([end - lengths, end], axis=2).round(1)
    durations = (end[:, -1] + rng.gamma(4, 1, videos)).round(1)
    return make_matrix(reference, 0 * reference, spans=spans, durations=durations)


def test_the_clock_is_that_of_the_page():
    """Cluster by cluster and step by step, with what the page says of trees, halves and counts."""
    made = hesitant(np.random.default_rng(5), videos=12, steps=4)
    share, said = made.reference / made.max_score, np.full(made.reference.shape, nan)
    pause, unknown = made.spans[:, 1:, 0] - made.spans[:, :-1, 1], np.full((12, 1), -1e6)
    start, end = np.moveaxis(made.spans, 2, 0)
    whole, before, after = np.tile(made.durations[:, None], 4), np.hstack([unknown, pause]), np.hstack([pause, unknown])
    seconds = np.stack([end - start, start, end, before, after, whole], axis=2)
    order = sorted(range(12), key=lambda v: seconds[v].ravel().tolist())
    rng, trees, halves = np.random.default_rng(0), [], []
    for number in range(200):
        half = [order[k] for k in np.flatnonzero(rng.permutation(12) < 6)]
        x = np.dstack([seconds, np.tile(share[half].mean(axis=0), (12, 1))])
        tree = ExtraTreeRegressor(min_samples_leaf=5, max_features=0.6, random_state=number)
        tree.fit(x[half].reshape(-1, 7), share[half].ravel())
        trees.append(tree.predict(x.reshape(-1, 7)).reshape(12, 4))
        halves.append(half)
    for own in range(12):
        others = [v for v in range(12) if v != own]
        without = [n for n in range(200) if own not in halves[n]]
        seen = [np.mean([trees[n][v] for n in without if v not in halves[n]], axis=0).round(9) for v in others]
        mine = np.mean([trees[n][own] for n in without], axis=0).round(9)
        above = [max(1, int((np.array(seen) < guess).sum())) for guess in mine]
        said[own] = np.sort(share[others].ravel())[np.array(above) - 1]
    assert clock(made) == pytest.approx(said * made.max_score)


@pytest.mark.parametrize("answer", ["score", "error"])
def test_no_baseline_goes_by_names_or_by_the_order_of_rows(answer):
    """Other ids, other names of students and sites, and other rows first: the same answers, video by video."""
    rng = np.random.default_rng(7)
    made = make_exams(rng, videos=24, steps=4, each=2, answer=answer, sites=tuple("xyz"[k // 2 % 3] for k in range(24)),
                      spans=np.sort(rng.uniform(0, 99, (24, 4, 2)), axis=2), durations=np.full(24, 100.0))  # fmt: skip
    before = no_video_baselines(made)
    assert len(before) == len(JUDGES) + 1
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(24)
        ids = tuple(f"v{k:02d}" for k in np.random.default_rng(seed).permutation(24))
        renamed = {
            name: str(k) for k, name in enumerate(np.random.default_rng(seed).permutation([*set(made.clusters)]))
        }
        other = replace(made.videos(order), video_ids=ids, sites=tuple({"x": "z", "y": "x", "z": "y"}[made.sites[k]]
                        for k in order), clusters=tuple(renamed[made.clusters[k]] for k in order))  # fmt: skip
        for name, judge in no_video_baselines(other).items():
            assert np.array_equal(judge.predicted, before[name].predicted[order]), name


@pytest.mark.parametrize(("answer", "key"), [("score", "qwk"), ("error", "mcc"), ("error", "f1")])
def test_shuffled_answers_is_the_mean_over_shufflings(answer, key):
    """Tables of counts are the mean of those of random shufflings within step and site."""
    rng = np.random.default_rng(5)
    made = make_exams(rng, videos=60, steps=3, answer=answer, sites=tuple(rng.choice(["x", "y"], 60)))
    counted, tables = statistic(key), []
    for _ in range(800):
        said = made.predicted.copy()
        for site in "xy":
            rows = np.array(made.sites) == site
            said[rows] = rng.permuted(said[rows], axis=0)
        tables.append(counted.counts(made.predicting(said)).sum(axis=0))
    assert shuffled_answers(made, key).value == pytest.approx(counted.function(np.mean(tables, axis=0)), abs=0.02)


def test_shuffled_answers_of_the_site_judge_is_itself():
    """What is the same for all videos of a site survives the shuffling."""
    made = severe_sites(np.random.default_rng(8))
    rate = {site: made.reference_wrong[np.array(made.sites) == site].mean(axis=0) for site in set(made.sites)}
    judge = made.predicting(np.array([rate[site] > 0.3 for site in made.sites], float))
    assert shuffled_answers(judge, "mcc").value == pytest.approx(jackknife(statistic("mcc"), judge).value, abs=1e-12)
    assert shuffled_answers(make_exams(np.random.default_rng(9)), "plcc") is None
    alike = make_matrix(np.full((6, 2), 3.0), np.full((6, 2), 3.0))
    assert shuffled_answers(alike, "qwk").estimate().why == "not-shuffled"


def test_a_judge_that_knows_nothing_is_as_good_as_its_shuffled_answers():
    rng, leads = np.random.default_rng(10), []
    for _ in range(200):
        made = make_exams(rng, videos=40, steps=5, agreement=0.0)
        lead = (jackknife(statistic("qwk"), made) - shuffled_answers(made, "qwk")).estimate(tested=True)
        leads.append(lead.p <= 0.05)
    assert np.mean(leads) <= 0.085
