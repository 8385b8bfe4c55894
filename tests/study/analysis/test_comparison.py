"""Comparison of judges: the tests, what follows from them, and judges that must not win."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from siming_tasks import ScoreMatrix
from siming_tasks.benchmark.metrics import Estimate
from siming_tasks.benchmark.metrics.catalogue import statistic
from siming_tasks.benchmark.metrics.jackknife import jackknife, quantile_of_t
from siming_tasks.benchmark.metrics.labels import ordinal_labels
from siming_tasks.common.errors import DataError
from siming_tasks.study.analysis.claims import least_sure
from siming_tasks.study.analysis.comparison import (
    DIFFERENCES,
    NO_VIDEO,
    OVER_NO_VIDEO,
    RANKED,
    compare_judges,
    correct,
    pair_sentence,
)
from siming_tasks.study.analysis.verdicts import four_answers, no_video_sentence
from tests.benchmark.metrics.conftest import make_exams
from tests.benchmark.metrics.test_no_video import severe_sites

nan = np.nan


def judge_of(made, rng, agreement):
    """A judge who has the truth in a share of the steps and else the points of another video."""
    said = np.where(rng.random(made.reference.shape) < agreement, made.reference, rng.permuted(made.reference, axis=0))
    return made.predicting((said < made.max_score).astype(float) if made.answer == "error" else said)


@pytest.fixture
def judges():
    """A good judge, a weak one, a copy of the weak one, and a constant, of 80 exams."""
    rng = np.random.default_rng(0)
    weak = make_exams(rng, videos=80, agreement=0.2)
    return {"good": judge_of(weak, rng, 0.7), "weak": weak, "copy": weak,
            "constant": weak.predicting(np.broadcast_to(weak.max_score, weak.reference.shape))}  # fmt: skip


def test_tests_ranks_and_what_they_leave_open(judges):
    """Values and differences themselves are held against the definition in ``tests/benchmark/metrics``."""
    found = compare_judges(judges)
    p = [pair.estimate.p for pair in found.pairs if pair.estimate.p is not None]
    p_holm = [pair.estimate.p_holm for pair in found.pairs if pair.estimate.p is not None]
    assert p_holm == pytest.approx(multipletests(p, method="holm")[1]) and found.tests == len(p) == 2
    row = found.rows.one(DIFFERENCES, "good minus weak", "srcc")
    assert row.p is not None and row.p_holm is None  # only the headline is corrected
    assert {name: (rank.rank, rank.low, rank.high) for name, rank in found.ranks.items()} == {
        "good": (1, 1, 1), "weak": (2, 2, 3), "copy": (2, 2, 3),
    }  # fmt: skip
    assert found.unranked == {"constant": "All its answers are the same."} and found.value("constant").value == 0
    assert found.order == ["good", "weak", "copy", "constant"]
    assert re.match(
        r"good \(0.*\) agrees better with the reference than each of the 2 others in kappa", found.sentence()
    )
    two = compare_judges({name: judges[name] for name in ("good", "weak")})
    reach = quantile_of_t(0.975, 79) + quantile_of_t(0.8, 79)
    assert two.detectable == pytest.approx(reach * two.pairs[0].estimate.stderr)
    against = compare_judges(judges, against="good")  # the others are not tested with each other
    assert {(pair.a, pair.b) for pair in against.pairs} == {("weak", "good"), ("copy", "good")}
    text = json.dumps(found.to_json(), allow_nan=False)
    assert {"rows", "pairs", "ranks", "sentence", "rivals", "beats"} <= json.loads(text).keys()


def test_what_is_better_follows_from_the_correction_over_all_settings():
    """Each of two settings alone calls more judges better than both together do."""
    rng = np.random.default_rng(1)
    shares = (0.7, 0.45, 0.4, 0.35)
    alone = {}
    for answer in ("score", "error"):
        made = make_exams(rng, videos=40, answer=answer)
        alone[answer] = compare_judges({f"j{n}": judge_of(made, rng, share) for n, share in enumerate(shares)})
    both = correct(alone)
    p = [pair.estimate.p for found in both.values() for pair in found.pairs]
    assert [pair.estimate.p_holm for found in both.values() for pair in found.pairs] == pytest.approx(
        multipletests(p, method="holm")[1]
    )
    counts = []
    for comparisons in (alone, both):
        better = [pair for found in comparisons.values() for pair in found.pairs if pair.state == "better"]
        assert all(pair.estimate.p_holm <= 0.05 for pair in better)
        counts.append(len(better))
        for found in comparisons.values():
            wins = {run: sum(pair.better == run for pair in found.pairs) for run in found.runs}
            assert {run: rank.high for run, rank in found.ranks.items()} == {run: 4 - wins[run] for run in found.runs}
    assert counts[0] > counts[1] > 0


@pytest.mark.parametrize("answer", ["score", "error"])
def test_no_number_goes_by_names_or_by_the_order_of_rows(answer):
    """Other ids of videos, other names of students and sites, and other rows first: every number is the same."""
    rng = np.random.default_rng(2)
    made = make_exams(rng, videos=40, steps=5, each=2, answer=answer, missing=0.02, durations=rng.uniform(80, 99, 40),
                      sites=tuple("xyz"[k // 2 % 3] for k in range(40)))  # fmt: skip
    judges = {"first": made, "second": judge_of(made, rng, 0.5)}
    points = {name: judge_of(replace(made, answer="score"), rng, 0.6).predicted for name in "abc"}
    expected = compare_judges(judges, points=points)
    order, names = rng.permutation(40), [f"v{k}" for k in rng.permutation(40)]
    students = dict(zip(sorted({*made.clusters}), map(str, rng.permutation(20)), strict=True))
    other = {"video_ids": tuple(names), "clusters": tuple(students[made.clusters[k]] for k in order),
             "sites": tuple({"x": "z", "y": "x", "z": "y"}[made.sites[k]] for k in order)}  # fmt: skip
    found = compare_judges({name: replace(judge.videos(order), **other).sorted() for name, judge in judges.items()},
                           points={name: own[order[np.argsort(names)]] for name, own in points.items()})  # fmt: skip
    assert {*map(type, expected.rows)} == {Estimate} and len(expected.rows) > 60
    for mine, theirs in zip(found.rows, expected.rows, strict=True):
        other = mine.to_json()
        for name, number in theirs.to_json().items():
            assert other[name] == (pytest.approx(number, abs=1e-9) if isinstance(number, float) else number), mine
    assert (found.ranks, found.beats, found.rivals, found.sentence()) == (
        expected.ranks, expected.beats, expected.rivals, expected.sentence())  # fmt: skip


def test_three_states_have_three_sentences(judges, matrix):
    found = compare_judges({name: judges[name] for name in ("good", "weak")})
    assert found.pairs[0].state == "better" and "agrees better with the reference than weak" in found.sentence()
    assert ", p < 0.001, over 80 exams." in found.sentence()

    rng = np.random.default_rng(1)
    found = compare_judges({name: judge_of(judges["weak"], rng, 0.3) for name in "ab"})
    assert found.pairs[0].state == "open" and found.sentence().startswith("It is open which agrees better ")

    few = compare_judges({name: judges[name].videos(range(4)) for name in ("good", "weak")})
    points = np.tile([3.0, 1.0], (20, 1))
    assert few.pairs[0].state == "not tested" and not few.pairs[0].better and few.detectable is None
    assert "are not tested: fewer than 5 videos: no interval, over 4 exams." in few.sentence()
    assert {(rank.low, rank.high) for rank in few.ranks.values()} == {(1, 2)}
    for videos, state in ((6, "better"), (5, "not tested")):  # a difference that no exam changes: 2 / 2**6 = .031
        sides = {"all": points[:videos], "none": points[:videos, ::-1]}
        sure = compare_judges({name: matrix(points[:videos], said) for name, said in sides.items()})
        assert sure.pairs[0].state == state and sure.pairs[0].estimate.low is None
        assert ("p = 0.031 and alike in every exam" in sure.sentence()) == (state == "better")
    again = compare_judges({"a": judges["weak"], "b": judges["copy"]})
    assert again.pairs[0].state == "as good"
    assert again.sentence().endswith("give the same answers, over 80 exams: they are the same run, or copies of it.")
    assert {each.leads for each in four_answers(again)} == {"same answers"}
    among = compare_judges({"good": judges["good"], "a": judges["weak"], "b": judges["copy"], "c": judges["copy"]})
    assert among.sentence().endswith(
        "over 80 exams. a, b and c give the same answers, over 80 exams: they are the same run, or copies of it."
    )


@pytest.mark.parametrize("said", [0.0, 1.0])
def test_a_single_run_without_a_value_says_why(said):
    verdicts = make_exams(np.random.default_rng(0), videos=12, steps=3, answer="error")
    alone = compare_judges({"always": verdicts.predicting(np.full((12, 3), said))}).sentence()
    assert alone == ("always has no value in MCC, over 12 exams (undefined (0/0): the reference or the judge has a "
                     "single class).")  # fmt: skip


def test_a_lead_that_rests_on_what_was_left_out_is_not_shown():
    """The second leaves out 4 % of the steps, all of them wrong, and the first finds these: its lead is them alone."""
    rng = np.random.default_rng(2)
    truth = make_exams(rng, videos=200, steps=20)
    wrong = truth.reference < truth.max_score
    equal = judge_of(truth, rng, 0.8)
    silent = wrong & (rng.random(wrong.shape) < 0.15)
    better = equal.predicting(np.where(silent, truth.reference, np.where(
        rng.random(wrong.shape) < 0.005, truth.max_score - truth.reference, equal.predicted)))  # fmt: skip
    lazy = equal.predicting(np.where(silent, nan, equal.predicted))
    assert lazy.answered_share > 0.95
    found = compare_judges({"full": better, "lazy": lazy})
    (pair,) = found.pairs
    assert pair.estimate.p < 0.05 and pair.leader == "full" and pair.state == "open" and not pair.better
    assert "on the steps that both answered there is no such lead" in found.sentence()
    assert found.ranks["lazy"].low == 1


def test_below_95_percent_answered_nothing_is_ranked_or_tested(judges):
    half = judges["good"].predicting(np.where(np.arange(80)[:, None] < 20, nan, judges["good"].predicted))
    found = compare_judges({"half": half, "weak": judges["weak"], "good": judges["good"]})
    assert found.unranked == {"half": "It answered less than 95 % of the steps."} and "half" not in found.ranks
    assert {(pair.a, pair.b) for pair in found.pairs} == {("weak", "good")} and found.order[-1] == "half"
    assert "not-comparable" in found.rows.one(RANKED, "half", "qwk").flags and found.beats["half"] is None
    assert found.rows.one(DIFFERENCES, "half minus good", "plcc").p is None
    alone = compare_judges({"half": half, "weak": judges["weak"]})
    assert alone.sentence().endswith(", over 80 exams (half: it answered less than 95 % of the steps).")


def test_what_is_undefined_is_neither_ranked_nor_printed_as_zero(matrix):
    reference = np.where(np.arange(40).reshape(20, 2) % 3 == 0, 0.0, 3.0)
    said = {"judge": (reference < 3).astype(float), "constant": np.zeros((20, 2))}
    found = compare_judges({name: matrix(reference, own, answer="error") for name, own in said.items()})
    assert found.unranked == {"constant": "All its answers are the same."}
    assert str(found.rows.one(RANKED, "constant", "mcc")) == "-"
    assert found.rows.one(NO_VIDEO, "always-correct", "mcc").value is None
    assert '"value": 0' not in json.dumps(found.rows.of(row="constant", metric="mcc").to_json())


def test_no_run_is_called_the_best_whose_value_is_not_above_0():
    rng = np.random.default_rng(3)
    truth = make_exams(rng, videos=50, steps=8)
    turned = {f"judge {k}": truth.predicting(np.where(rng.random(truth.reference.shape) < 0.3 + k / 10,
              truth.max_score - truth.reference, judge_of(truth, rng, 0).predicted)) for k in range(3)}  # fmt: skip
    found = compare_judges(turned)
    assert max(found.value(name).value for name in turned) < 0
    assert found.sentence().startswith("No judge agrees with the reference better than chance in kappa")
    mixed = compare_judges({**turned, "weak": judge_of(truth, rng, 0.05)})
    named = re.findall(r"(judge \d|weak) \(", mixed.sentence())
    assert all(mixed.value(name).value > 0 for name in named) and "best" not in found.sentence()


def usual_of_its_site(made: ScoreMatrix) -> np.ndarray:
    """Answers that call in each exam the steps failed that fail most at its site, as many as usually do there."""
    site, usual = np.array(made.sites), np.zeros(made.reference.shape)
    for name in set(made.sites):
        order = np.argsort(np.argsort(-made.reference_wrong[site == name].mean(axis=0)))
        usual[site == name] = order < made.reference_wrong[site == name].mean() * len(made.step_ids)
    return usual


def test_knowing_the_hospital_beats_not_every_judge_that_never_looks():
    """What knows step and site from the labels themselves, and nothing of the video."""
    made = severe_sites(np.random.default_rng(0))
    usual = usual_of_its_site(made)
    judge = made.predicting(usual)
    found = compare_judges({"site": judge})
    assert found.value("site").low > 0.1  # alone it looks like something
    assert compare_judges({"site": replace(judge, sites=())}).beats["site"] is True  # where no site is stated
    assert found.beats["site"] is False and found.rivals["site"] in ("step-prior-within-site", "shuffled-answers")
    lead = found.rows.one(OVER_NO_VIDEO, "site", "mcc")
    assert lead.value <= 1e-9 if lead.low is None else lead.low <= 0
    looking = np.random.default_rng(9).random(usual.shape) < 0.4
    looks = judge.predicting(np.where(looking, made.reference_wrong, usual))
    assert compare_judges({"looks": looks}).beats["looks"] is True


def test_who_beats_the_no_video_baselines(judges):
    found = compare_judges(judges)
    assert found.beats["good"] is True and found.beats["constant"] is False  # it is the same as always correct
    assert found.beats["weak"] == (found.rows.one(OVER_NO_VIDEO, "weak", "qwk").low > 0)
    assert no_video_sentence(found, ["good", "constant"]) == (
        "good agrees better with the reference than each of the 4 no-video baselines tried here; constant does not "
        "clearly beat them."
    )
    lead = found.rows.one(OVER_NO_VIDEO, "constant", "qwk")
    assert no_video_sentence(found, ["constant"]) == (
        "It is not shown that constant agrees better with the reference than each of the 4 no-video baselines tried "
        f"here (the lead that decides, over {found.rivals['constant'].replace('-', ' ')}: {lead})."
    )
    assert (
        found.rows.one(NO_VIDEO, "step-prior", "plcc").why == "same-total-by-design"
    )  # its correlations are not shown


def test_the_lead_that_is_shown_is_that_of_the_test_that_decides(judges):
    """Of leads over two baselines the one that is not above 0 is shown, however low the ends of the other."""
    sure, wide = (Estimate(value, stderr=1, low=low, high=2, p=p, n=9, clusters=9)
                  for value, low, p in ((0.01, -0.02, 0.2), (0.9, 0.001, 0.04)))  # fmt: skip
    never = Estimate(-0.1, stderr=0, n=9, clusters=9, why="no-variation")
    untested = Estimate(0.5, n=3, clusters=3, why="few-clusters")
    assert least_sure({"wide": wide, "sure": sure}) == "sure"
    below, clock = (Estimate(value, stderr=1, low=low, high=0.3, p=0.8, n=9, clusters=9)
                    for value, low in ((-0.015, -0.05), (0.031, -0.2)))  # fmt: skip
    assert least_sure({"clock": clock, "below": below}) == "below", "a judge below a baseline has no positive lead"
    assert least_sure({"never": never, "sure": sure, "untested": untested}) == "never"
    assert least_sure({"wide": wide, "untested": untested}) == "untested"
    found = compare_judges(judges)
    shown = [row.row for row in found.rows.of(NO_VIDEO, metric="qwk") if row.value is not None]
    for run, rival in found.rivals.items():
        lead = found.rows.one(OVER_NO_VIDEO, run, "qwk")
        mine = [name for name in shown if not name.startswith("shuffled") or name.endswith(f" of {run}")]
        assert len(mine) == found.baselines and (rival in mine or f"{rival} of {run}" in mine)  # the rows are the tests
        assert found.beats[run] == (lead.low is not None and lead.low > 0), (run, rival)


def test_a_judge_of_stated_columns_alone_does_not_beat_every_baseline():
    """It gives what each step usually gets in its year, by all labels of that year, and sees no video."""
    made = severe_sites(np.random.default_rng(0))
    usual = usual_of_its_site(made)
    judge = replace(made.predicting(usual), sites=(), columns={"year": made.sites})
    found = compare_judges({"year": judge})
    assert found.beats["year"] is False and found.rivals["year"] == "step-prior-within-year" and not found.leaks
    assert no_video_sentence(found, ["year"]).endswith("; they know, column by column, year.")
    assert compare_judges({"year": replace(judge, columns={})}).beats["year"] is True
    learnt = found.rows.one(NO_VIDEO, "step-prior-within-year", "mcc")
    assert learnt.value is not None and learnt.low is None and learnt.why == "learnt"
    code = np.arange(200) % 2
    told = replace(judge, reference=np.array([[0.0] * 6 + [3.0] * 6, [3.0] * 6 + [0.0] * 6])[code],
                   columns={"sheet": tuple(map(str, code))})  # fmt: skip
    assert "The column sheet alone tells which steps are wrong (AUROC 1.00): it leaks" in no_video_sentence(
        compare_judges({"year": told}), ["year"])  # fmt: skip


def test_four_answers(judges):
    found = compare_judges(
        {name: judges[name] for name in ("good", "weak", "constant")}, roles={"constant": "reference"}
    )
    answers = {each.run: each for each in four_answers(found)}
    assert [each.leads for each in answers.values()] == ["leader", "behind", "not ranked"]
    assert answers["good"].sees_video == "shown" and answers["constant"].sees_video == "not shown"
    assert answers["good"].cite == ("its agreement", "its rank", "it saw the video") and not answers["constant"].cite
    assert answers["good"].lead == found.rows.one(OVER_NO_VIDEO, "good", "qwk") and answers["good"].physicians == ""
    points = {name: judge_of(judges["weak"], np.random.default_rng(k), 0.6).predicted for k, name in enumerate("xyz")}
    (beside,) = four_answers(held := compare_judges({"good": judges["good"]}, points=points))
    each = [replace(judges["good"], reference=own) for own in points.values()]
    values = [jackknife(statistic("qwk"), one).value for one in each]
    assert beside.single == pytest.approx((min(values), max(values)))
    assert beside.physicians in (held.physicians["good"].claim.kind, "cannot tell") and beside.beside is not None
    synthetic = four_answers(replace(found, facts={"synthetic": True}))
    assert {each.cite for each in synthetic} == {()}
    rng = np.random.default_rng(1)
    tie = four_answers(compare_judges({name: judge_of(judges["weak"], rng, 0.3) for name in "ab"}))
    assert {each.leads for each in tie} == {"tie"}
    assert four_answers(compare_judges({"good": judges["good"]}))[0].leads == "alone"
    assert json.loads(json.dumps([each.to_json() for each in tie], allow_nan=False))[0]["leads"] == "tie"


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(3, 30), st.integers(2, 4), st.sampled_from(["score", "error"]), st.integers(1, 3)
)
def test_sentences_and_ranks_follow_from_the_tests(seed, videos, number, answer, each):
    rng = np.random.default_rng(seed)
    made = make_exams(rng, videos=videos, steps=4, answer=answer, each=each)
    judges = {}
    for k in range(number):
        judge = judge_of(made, rng, rng.choice([0.0, 0.3, 0.9]))
        gaps = rng.random(judge.predicted.shape) < rng.choice([0, 0, 0.03, 0.2])
        judges[f"j{k}"] = judge.predicting(np.where(gaps, nan, judge.predicted))
    found = compare_judges(judges)
    for pair in found.pairs:
        said, row = pair_sentence(pair, "A", "B", metric="kappa", over="9 exams"), pair.estimate
        assert ("agrees better with the reference than" in said) == (pair.state == "better") == bool(pair.better)
        assert ("not tested" in said) == (pair.state == "not tested")
        assert ("the same answers" in said) == (pair.state == "as good")
        assert pair.state in ("as good", "not tested") or row.p is not None
        if pair.better:
            other = pair.b if pair.better == pair.a else pair.a
            assert row.p_holm <= 0.05 and (row.low is None or row.low > 0 or row.high < 0)
            assert found.value(pair.better).value > found.value(other).value
        elif pair.state == "open":
            assert row.p_holm > 0.05 or pair.why
    for name, rank in found.ranks.items():
        assert 1 <= rank.low <= rank.rank <= rank.high <= len(found.ranks)
        beaten = [pair for pair in found.pairs if name in (pair.a, pair.b) and pair.better and pair.better != name]
        assert rank.low == 1 + len(beaten)
    for name, judge in judges.items():
        said = ordinal_labels(judge.predicted, judge.max_score) if answer == "score" else judge.predicted
        few = judge.answered_share < 0.95 or len({*said[judge.answered].tolist()}) == 1
        assert (name in found.unranked) == (few or found.value(name).value is None)
        if found.beats.get(name):
            lead = found.rows.one(OVER_NO_VIDEO, name, found.headline)
            assert lead.value > 0 if lead.low is None else lead.low > 0
    assert "nan" not in found.sentence() and found.sentence().endswith(".")


def test_an_unranked_run_and_one_without_any_answer(judges):
    with pytest.raises(DataError, match=r"Run 'constant' has no rank \(all its answers are the same\), so"):
        compare_judges(judges, against="constant")
    silent = judges["weak"].predicting(np.full_like(judges["weak"].reference, np.nan))
    found = compare_judges({"good": judges["good"], "silent": silent})
    assert (found.value("silent").value, found.value("silent").why) == (None, "nothing-answered")
    answers = next(each for each in four_answers(found) if each.run == "silent")
    assert answers.beside is answers.single is None and answers.leads == "not ranked"
    assert "0.000" not in compare_judges({"silent": silent}).sentence()
