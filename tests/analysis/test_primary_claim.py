"""The pre-registered primary: its statement, its tests, and one family of tests over all settings without it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from siming_tasks.analysis import primary_claim
from siming_tasks.analysis.comparison import compare_scores, correct_families
from siming_tasks.analysis.human_ceiling import human_difference
from siming_tasks.analysis.paired_tests import Paired, detectable
from siming_tasks.analysis.primary_claim import assess_primary, hardest_baseline, is_part_of
from siming_tasks.common.errors import DataError
from siming_tasks.data.primary import Primary, read_primary, stated_primary
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.options import Options
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.comparison import comparison_section, primary_section

NO_VIDEO = {"setting": "full_score", "metric": "qwk", "hypothesis": "superior-to-no-video"}
RUN = {**NO_VIDEO, "hypothesis": "superior-to-run", "run": "weak"}
PHYSICIANS = {**NO_VIDEO, "hypothesis": "non-inferior-to-physicians", "margin": 0.1}
DATASET = None  # only a claim about physicians looks at it


@pytest.fixture
def judges(synthetic):
    """Three judges of the same 60 exams by how much they see."""
    rng = np.random.default_rng(0)
    weak = synthetic(rng, videos=60, agreement=0.25)

    def better(share):
        return weak.predicting(np.where(rng.random(weak.reference.shape) < share, weak.reference, weak.predicted))

    return {"good": better(0.6), "fair": better(0.04), "weak": weak}


@pytest.fixture
def compared(judges):
    return compare_scores([ComparisonEntry(*item) for item in judges.items()], resamples=50)


class TestStatement:
    def test_the_same_words_have_the_same_digest(self, tmp_path):
        (tmp_path / "a.yaml").write_text("metric: qwk\nsetting: full_score\nhypothesis: superior-to-no-video\n")
        (tmp_path / "b.json").write_text(json.dumps(NO_VIDEO))
        a, b = (read_primary(tmp_path / name) for name in ("a.yaml", "b.json"))
        assert (
            a == b == Primary(**NO_VIDEO) and a.digest == b.digest != Primary(**{**NO_VIDEO, "metric": "plcc"}).digest
        )
        assert str(a) == "kappa (qwk) in full_score: better than every no-video baseline"
        assert str(Primary(**RUN)) == "kappa (qwk) in full_score: better than weak"
        assert "less than 0.1 below the agreement of the physicians with each other" in str(Primary(**PHYSICIANS))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"setting": "full"}, "there is no setting 'full'; known are full_score"),
            ({"metric": "mc"}, "full_score has no metric 'mc' to test; it has"),
            ({"hypothesis": "better"}, "hypothesis: Input should be 'superior-to-run'"),
            ({"hypothesis": "superior-to-run"}, "`run` belongs to the hypothesis superior-to-run, and to that one"),
            ({"margin": 0.1}, "`margin` belongs to the hypothesis non-inferior-to-physicians"),
            ({"hypothesis": "non-inferior-to-physicians", "margin": -1.0}, "margin: Input should be greater than 0"),
            ({"alpha": 0.1}, "alpha: Extra inputs are not permitted"),
        ],
    )
    def test_a_bad_statement_names_file_and_field(self, tmp_path, changes, message):
        path = tmp_path / "primary.json"
        path.write_text(json.dumps({**NO_VIDEO, **changes}))
        with pytest.raises(DataError) as caught:
            read_primary(path)
        assert str(caught.value).startswith(f"{path}: ") and message in str(caught.value)

    def test_physicians_need_a_metric_without_a_direction(self):
        with pytest.raises(ValueError, match="precision changes with which physician is called the reference"):
            Primary(setting="full_error", metric="precision", hypothesis="non-inferior-to-physicians", margin=0.1)

    def test_a_file_cannot_replace_what_the_data_set_states(self, tmp_path):
        path = tmp_path / "primary.json"
        path.write_text(json.dumps(NO_VIDEO))
        assert stated_primary({}, "") is None
        assert stated_primary({"primary": NO_VIDEO}, "") == stated_primary({}, str(path)) == Primary(**NO_VIDEO)
        assert stated_primary({"primary": NO_VIDEO}, str(path)) == Primary(**NO_VIDEO)
        with pytest.raises(DataError, match="There is one primary: give no file, or the same statement"):
            stated_primary({"primary": RUN}, str(path))


class TestFamilies:
    def test_headlines_of_all_settings_are_one_family(self, judges, compared):
        """statsmodels on the six p-values of two settings' headlines, and on their twelve others."""
        turned = [ComparisonEntry(name, judges[name].subset(judges[name].step_ids[::2])) for name in judges]
        other = compare_scores(turned, resamples=50)
        found = correct_families({"one": compared, "two": other})
        assert found["one"].families == {"primary": 0, "headline": 6, "secondary": 12, "settings": 2} | {
            "secondary": 2 * (len(compared.differences) - 3)
        }
        for family in ("headline", "secondary"):
            rows = [d for part in found.values() for d in part.differences if d.family == family]
            expected = multipletests([d.p for d in rows], method="holm")[1]
            np.testing.assert_allclose([d.p_holm for d in rows], expected)
        alone = {(d.metric, d.a, d.b): d.p_holm for d in compared.differences}
        assert all(d.p_holm >= alone[d.metric, d.a, d.b] for d in found["one"].differences)
        assert any(d.p_holm > alone[d.metric, d.a, d.b] for d in found["one"].differences)
        text = to_markdown(comparison_section(found["one"]))
        assert "Holm over its 6 comparisons of ranked runs over all 2 settings" in text

    def test_the_detectable_effect_is_that_of_the_larger_family(self, compared):
        twice = correct_families({"one": compared, "two": compared})["one"].detectable["qwk"]
        stderr = np.median([d.stderr for d in compared.differences if d.metric == "qwk"])
        assert twice.pairs == 6 and twice.corrected == pytest.approx(detectable(stderr, 60, 6))

    def test_the_primary_is_a_family_of_its_own(self, compared):
        primary = Primary(**RUN)
        found = correct_families({"full_score": compared}, lambda *at: is_part_of(primary, *at))["full_score"]
        rows = [d for d in found.differences if d.family == "primary"]
        assert {(d.metric, d.a, d.b) for d in rows} == {("qwk", "good", "weak"), ("qwk", "fair", "weak")}
        assert found.families["headline"] == 1
        np.testing.assert_allclose([d.p_holm for d in rows], multipletests([d.p for d in rows], method="holm")[1])
        assert "Pre-registered: Holm over its 2 comparisons. All else is exploratory." in to_markdown(
            comparison_section(found)
        )
        assert not any(is_part_of(primary, "clip_score", d) for d in found.differences)
        assert not any(is_part_of(None, "full_score", d) for d in found.differences)


class TestClaim:
    def test_better_than_a_run(self, judges, compared):
        found = assess_primary(Primary(**RUN), judges, compared, DATASET, Options())
        by_pair = {(d.a, d.b): d for d in compared.differences if d.metric == "qwk"}
        assert [test.run for test in found.tests] == ["good", "fair"]
        for test in found.tests:
            row = by_pair[test.run, "weak"]
            assert (test.value, test.low, test.high, test.p) == (row.value, row.low, row.high, row.p)
        assert found.tests[0].holds and found.tests[0].clusters == 60
        text = to_markdown(primary_section(found.to_json()))
        assert f"digest {found.primary.digest}" in text and "All else is exploratory." in text

    def test_the_order_of_a_pair_does_not_matter(self, judges, compared):
        found = assess_primary(Primary(**{**RUN, "run": "good"}), judges, compared, DATASET, Options())
        (weak,) = (test for test in found.tests if test.run == "weak")
        (row,) = (d for d in compared.differences if (d.metric, d.a, d.b) == ("qwk", "good", "weak"))
        assert (weak.value, weak.low, weak.high) == (-row.value, -row.high, -row.low)
        assert weak.p < 1e-6 and not weak.holds  # it is worse beyond chance, which is not the claim

    def test_a_rival_that_was_not_run_is_said(self, judges, compared):
        found = assess_primary(Primary(**{**RUN, "run": "nobody"}), judges, compared, DATASET, Options())
        assert found.tests == () and found.reason == "No run was compared with nobody; given: good, fair, weak."
        assert "has the setting full_score" in assess_primary(Primary(**RUN), {}, None, DATASET, Options()).reason
        assert "It is not tested: No run" in to_markdown(primary_section(found.to_json()))

    def test_better_than_every_baseline(self, judges):
        found = assess_primary(Primary(**NO_VIDEO), judges, None, DATASET, Options())
        good = found.tests[0]
        assert good.holds and good.value > 0 and good.against in {"step-prior", "always-correct", "shuffled-self"}
        expected = multipletests([test.p for test in found.tests], method="holm")[1]
        np.testing.assert_allclose([test.p_holm for test in found.tests], expected)
        blind = judges["weak"].predicting(np.broadcast_to(judges["weak"].max_score, judges["weak"].reference.shape))
        assert not assess_primary(Primary(**NO_VIDEO), {"blind": blind}, None, DATASET, Options()).tests[0].holds

    def test_the_hardest_baseline_has_the_largest_p(self, judges):
        over, lead = hardest_baseline(judges["good"], "qwk", 0.7, mapping="absolute", positive="error")
        assert (over, lead.p) == ("shuffled-self", 0.7)
        over, lead = hardest_baseline(judges["good"], "qwk", None, mapping="absolute", positive="error")
        assert over != "shuffled-self" and lead.p < 0.05 < lead.value

    @pytest.mark.parametrize("margin", [0.01, 0.05, 0.2, 0.5, 1.0])
    def test_a_margin_holds_exactly_if_the_interval_lies_above_it(self, judges, margin, monkeypatch):
        """And p is twice SciPy's one-sided t of value + margin."""
        rng = np.random.default_rng(1)
        truth = judges["weak"].reference
        raters = [
            replace(judges["weak"], reference=np.where(rng.random(truth.shape) < 0.85, truth, 0.0)) for _ in range(2)
        ]
        monkeypatch.setattr(primary_claim, "rater_references", lambda *_: raters)
        gap = human_difference(judges["good"], *raters)["qwk"]
        claim = Primary(**{**PHYSICIANS, "margin": margin})
        (test,) = assess_primary(claim, {"good": judges["good"]}, None, DATASET, Options()).tests
        assert test.holds == (gap.low > -margin)
        assert test.p == pytest.approx(min(1, 2 * stats.t.sf((gap.value + margin) / gap.stderr, 59)))

    def test_no_interval_no_claim(self, monkeypatch, judges):
        gap = Paired(0.2, 0.1, *[float("nan")] * 3, 8)
        monkeypatch.setattr(primary_claim, "rater_references", lambda *_: [])
        monkeypatch.setattr(primary_claim, "human_difference", lambda *_, **__: {"qwk": gap})
        (test,) = assess_primary(Primary(**PHYSICIANS), {"few": judges["good"]}, None, DATASET, Options()).tests
        assert (test.p, test.p_holm, test.holds, test.clusters) == (None, None, False, 8)
        assert "not tested" in to_markdown(primary_section(assess_primary(
            Primary(**PHYSICIANS), {"few": judges["good"]}, None, DATASET, Options()).to_json()))  # fmt: skip
