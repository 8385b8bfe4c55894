"""Diagnoses against hand calculations, scikit-learn and statsmodels, and on judges with a planted flaw."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import linregress
from sklearn.metrics import cohen_kappa_score, recall_score
from statsmodels.stats.proportion import proportion_confint

from siming_tasks.analysis.diagnosis import diagnose_matrix
from siming_tasks.analysis.label_agreement import disputed_steps, label_matrices, severity, step_table, with_every_pair
from siming_tasks.analysis.procedure_state import history_contrast, required_state, sequential_credit
from siming_tasks.analysis.totals_agreement import icc
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset
from siming_tasks.metrics import evaluate, ordinal_labels
from siming_tasks.metrics.intervals import wilson
from siming_tasks.metrics.ratio_estimates import difference, estimate_stats, kappa_stat, ratio
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.diagnosis import diagnosis_section
from siming_tasks.rubrics import Rubric, rubric_from

LABELS = [0, 1, 2, 3]


def rubric(steps: int, *, scopes=None, requires=None, critical=(), max_score=3) -> Rubric:
    """A rubric whose steps are named as the panels of these tests name them."""
    made = [
        {
            "id": f"s{i:02d}",
            "name": f"step {i}",
            "requirement": "Does it.",
            "max_score": max_score,
            "criteria": {"full": "all", "partial": "some", "fail": "none"},
            "scope": scopes[i] if scopes else "local",
            "requires": [{"id": f"s{j:02d}"} for j in (requires or {}).get(i, [])],
            "critical": i in critical,
        }
        for i in range(steps)
    ]
    skills = [{"id": "cpr", "name": "CPR", "steps": made}]
    return rubric_from({"schema_version": 1, "rubric_id": "test", "version": "1", "skills": skills})


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestFrame:
    def test_pooled_kappa_is_that_of_evaluate(self, synthetic, rng):
        panel = synthetic(rng, videos=120, missing=0.03)
        labels = label_matrices(panel)
        found = estimate_stats({"qwk": kappa_stat(labels.reference, labels.predicted)}, np.arange(120), 4000, rng)[
            "qwk"
        ]
        expected = evaluate(panel, resamples=4000).metrics["qwk"]
        assert found.value == pytest.approx(expected.value, abs=1e-12)
        assert (found.stderr, found.low, found.high) == pytest.approx(
            (expected.stderr, expected.low, expected.high), abs=0.12 * expected.stderr
        )
        assert found.n_items == expected.n_items

    def test_difference_is_paired(self, synthetic, rng):
        """The same statistic twice differs by exactly 0 in every resample."""
        labels = label_matrices(synthetic(rng))
        stat = kappa_stat(labels.reference, labels.predicted)
        found = estimate_stats({"d": difference(stat, stat)}, np.arange(60), 200, rng)["d"]
        assert (found.value, found.stderr, found.low, found.flags) == (0.0, 0.0, None, ("no-variation",))

    def test_what_rests_on_one_video_has_no_interval(self, panel, rng):
        """Resamples either have the video or are empty; their quantiles say nothing."""
        labels = label_matrices(panel([[3, 1], [np.nan, np.nan], [np.nan, np.nan]], [[3, 2], [1, 1], [2, 2]]))
        found = estimate_stats(
            {"d": ratio((labels.predicted == labels.reference) & labels.known, labels.known)}, np.arange(3), 200, rng
        )["d"]
        assert (found.value, found.n_videos, found.stderr, found.low, found.high) == (0.5, 1, None, None, None)

    def test_one_resample_is_no_spread(self, synthetic, rng):
        labels = label_matrices(synthetic(rng))
        found = estimate_stats({"d": kappa_stat(labels.reference, labels.predicted)}, np.arange(60), 1, rng)["d"]
        assert found.value is not None
        assert (found.stderr, found.low, found.high) == (None, None, None)

    def test_one_rater_alone(self, synthetic, rng):
        panel = synthetic(rng)
        with pytest.raises(DataError, match="give both raters or neither"):
            label_matrices(panel, panel.reference, None)
        with pytest.raises(DataError, match=r"A rater has shape \(2, 2\), not \(60, 33\)"):
            label_matrices(panel, panel.reference, np.zeros((2, 2)))


class TestSteps:
    def test_against_scikit_learn(self, panel, rng):
        top = np.array([1, 2, 3, 5, 4])
        reference, predicted, human = (rng.integers(0, top + 1, (3, 80, 5))).astype(float)
        reference[:, 2] = np.where(np.arange(80) < 9, 1, 3)
        predicted[rng.random((80, 5)) < 0.05] = np.nan
        panel = panel(reference, predicted, max_score=top)
        sheet = step_table(label_matrices(panel, panel.reference, human), 300, rng)
        assert len(sheet.rows) == 5
        for s, row in enumerate(sheet.rows):
            keep = ~np.isnan(panel.predicted[:, s])
            points = panel.reference[keep, s], panel.predicted[keep, s]
            x, y = (ordinal_labels(p, panel.max_score[s]) for p in points)
            assert row.kappa.value == pytest.approx(
                cohen_kappa_score(x, y, weights="quadratic", labels=LABELS), abs=1e-12
            )
            assert row.sensitivity.value == pytest.approx(recall_score(x < 3, y < 3))
            assert row.specificity.value == pytest.approx(recall_score(x == 3, y == 3))
            assert row.bias.value == pytest.approx((points[1] - points[0]).mean())
            assert row.imperfect == (x < 3).sum()
            assert row.thin == ((x < 3).sum() < 10)
            assert row.human.value == pytest.approx(
                cohen_kappa_score(
                    ordinal_labels(panel.reference[:, s], panel.max_score[s]),
                    ordinal_labels(human[:, s], panel.max_score[s]),
                    weights="quadratic",
                    labels=LABELS,
                ),
                abs=1e-12,
            )
            if row.thin:
                assert row.kappa.stderr is None and row.kappa.low is None and "thin-step" in row.kappa.flags
            else:
                assert 0 < row.kappa.stderr < 0.5

    def test_verdicts(self, panel, rng):
        """Four videos, one step: wrong, wrong, right, right; called wrong, right, right, right: kappa .5."""
        found = step_table(label_matrices(panel([[0], [1], [3], [3]], [[1], [0], [0], [0]], answer="error")), 0, rng)
        (row,) = found.rows
        assert row.kappa.value == pytest.approx(cohen_kappa_score([1, 1, 0, 0], [1, 0, 0, 0]))
        assert (row.sensitivity.value, row.specificity.value, row.bias.value) == (0.5, 1.0, 0.25)

    def test_a_step_that_nobody_fails(self, panel, rng):
        (row,) = step_table(label_matrices(panel([[3], [3]], [[3], [2]])), 100, rng).rows
        assert row.thin
        assert row.sensitivity.value is None
        assert row.sensitivity.reason == "No video has this step wrong."
        assert (row.kappa.value, row.kappa.undefined) == (0.0, False)  # constant against varied: 0, defined


class TestSeverity:
    def test_bland_altman_by_numpy(self, synthetic, rng):
        panel = synthetic(rng, videos=50, steps=6)
        found = severity(label_matrices(panel, panel.reference, panel.predicted), 500, rng)
        gap = (panel.predicted - panel.reference).sum(axis=1)
        sd = gap.std(ddof=1)
        limits = found.totals
        assert limits.bias.value == pytest.approx(gap.mean())
        assert limits.sd.value == pytest.approx(sd)
        assert limits.lower.value == pytest.approx(gap.mean() - 1.959964 * sd, abs=1e-5)
        assert limits.upper.value == pytest.approx(gap.mean() + 1.959964 * sd, abs=1e-5)
        assert limits.bias.stderr == pytest.approx(sd / np.sqrt(50), rel=0.15)
        assert found.human.bias.value == pytest.approx(-gap.mean())

    def test_agreement_of_totals_is_that_of_the_closed_forms(self, synthetic, rng):
        """Sums over videos against the two-way table, the definition and least squares."""
        panel = synthetic(rng, videos=50, steps=6)
        limits = severity(label_matrices(panel), 200, rng).totals
        one, other = panel.predicted.sum(axis=1), panel.reference.sum(axis=1)
        assert limits.icc.value == pytest.approx(icc(np.stack([one, other], axis=1)).agreement.value)
        square = one.var() + other.var() + (one.mean() - other.mean()) ** 2
        assert limits.concordance.value == pytest.approx(2 * np.cov(one, other, ddof=0)[0, 1] / square)
        assert limits.slope.value == pytest.approx(linregress((one + other) / 2, one - other).slope)
        for estimate in (limits.icc, limits.concordance, limits.slope):
            assert estimate.low < estimate.value < estimate.high

    def test_totals_that_do_not_vary_have_no_agreement(self, panel, rng):
        constant = panel(np.full((9, 2), 2.0), np.full((9, 2), 2.0))
        limits = severity(label_matrices(constant), 50, rng).totals
        assert limits.icc.undefined and limits.concordance.undefined and limits.slope.undefined

    def test_a_shift_that_plcc_cannot_see(self, panel, rng):
        reference = rng.integers(1, 4, (40, 5)).astype(float)
        shifted = panel(reference, reference - 1)
        found = severity(label_matrices(shifted), 200, rng)
        assert evaluate(shifted, resamples=0).metrics["plcc"].value == pytest.approx(1.0)
        assert (found.totals.bias.value, found.totals.sd.value) == pytest.approx((-5.0, 0.0), abs=1e-6)
        assert found.called_wrong.value == 1.0
        assert found.offset.value == pytest.approx((reference == 3).mean())

    def test_verdicts_have_no_points(self, synthetic, rng):
        panel = synthetic(rng, answer="error")
        found = severity(label_matrices(panel, panel.reference, panel.reference), 50, rng)
        assert found.totals is None and found.human is None
        assert found.offset.value == pytest.approx(np.mean(panel.predicted - (panel.reference < panel.max_score)))


class TestHistory:
    SCOPES = ("local",) * 8 + ("mixed",) * 3 + ("history",) * 8

    def test_values_are_pooled_kappas(self, panel, rng):
        x, y = rng.integers(0, 4, (2, 30, 19)).astype(float)
        found = history_contrast(label_matrices(panel(x, y), x, y), rubric(19, scopes=self.SCOPES), 100, rng)
        at = {
            name: [s for s, scope in enumerate(self.SCOPES) if scope == name] for name in ("local", "mixed", "history")
        }
        expected = {
            name: cohen_kappa_score(x[:, cols].ravel(), y[:, cols].ravel(), weights="quadratic")
            for name, cols in at.items()
        }
        assert {name: value.value for name, value in found.kappa.items()} == pytest.approx(expected)
        assert found.contrast.value == pytest.approx(expected["local"] - expected["history"])
        assert found.steps == {"local": 8, "mixed": 3, "history": 8}
        assert found.excess.value == pytest.approx(0)  # judge and physicians are the same pair here

    def test_a_judge_blind_to_history_ranks_first(self, panel, rng):
        reference = rng.integers(0, 4, (60, 19)).astype(float)
        predicted = reference.copy()
        predicted[:, 11:] = rng.integers(0, 4, (60, 8))
        found = history_contrast(label_matrices(panel(reference, predicted)), rubric(19, scopes=self.SCOPES), 200, rng)
        assert found.contrast.value > 0.9
        assert found.rank < 0.01
        assert found.contrast.value > found.null[1]

    def test_rank_of_a_judge_without_contrast_is_uniform(self, panel):
        ranks = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            reference = rng.integers(0, 4, (20, 19)).astype(float)
            predicted = np.where(rng.random((20, 19)) < 0.4, reference, rng.integers(0, 4, (20, 19)))
            labels = label_matrices(panel(reference, predicted))
            ranks.append(history_contrast(labels, rubric(19, scopes=self.SCOPES), 0, rng).rank)
        assert 0.4 < np.mean(ranks) < 0.6
        assert 0.2 < np.std(ranks) < 0.36  # 0.289 if uniform

    def test_rubric_without_history_steps(self, panel, rng):
        found = history_contrast(label_matrices(panel([[3, 0], [1, 2]], [[3, 0], [1, 2]])), rubric(2), 50, rng)
        assert found.kappa["history"].value is None
        assert found.kappa["history"].reason == "The rubric has no history step here."
        assert (found.contrast.value, found.rank, found.null) == (None, None, None)


class TestState:
    def test_required_state_equals_hand_counts(self, panel, rng):
        """Step 1 requires step 0. Step 0 fails (0 points) in videos 0-3; there step 1 is wrong in 3 of 4,
        elsewhere in 1 of 4. The judge calls it wrong in 1 of 4 and 1 of 4, and says that step 0 failed in 0, 1 and 4.
        """
        reference = [[0, 0], [0, 1], [0, 2], [0, 3], [3, 3], [2, 3], [3, 3], [1, 2]]
        predicted = [[0, 1], [0, 3], [1, 3], [3, 3], [0, 3], [3, 3], [3, 3], [3, 1]]
        found = required_state(label_matrices(panel(reference, predicted)), rubric(2, requires={1: [0]}), 0, rng)
        assert found.requirements == 1
        assert found.propagation_reference.value == pytest.approx(3 / 4 - 1 / 4)
        assert found.propagation_judge.value == pytest.approx(1 / 4 - 1 / 4)
        assert found.expected.value == pytest.approx(0.5 * (2 / 4 - 0))  # 2 of 4 wrong steps called so, no false alarm
        assert found.shortfall.value == pytest.approx(0.25)
        assert found.propagation_own_state.value == pytest.approx(1 / 3 - 1 / 5)
        kappa = cohen_kappa_score([0, 1, 2, 3], [1, 3, 3, 3], weights="quadratic", labels=LABELS)
        assert found.kappa_failed.value == pytest.approx(kappa)
        assert (found.kappa_failed.n_items, found.kappa_passed.n_items) == (4, 4)

    def test_each_step_is_compared_with_itself(self, panel, rng):
        """Step 3 is always wrong, its requirement often fails; step 1 is always right, its requirement seldom fails.

        Pooled over steps, failure would seem to carry forward; step by step it does not.
        """
        reference = np.array([[0, 3, 0, 0] if v == 0 else [3, 3, 0, 0] if v < 6 else [3, 3, 3, 0] for v in range(12)])
        found = required_state(
            label_matrices(panel(reference, reference)), rubric(4, requires={1: [0], 3: [2]}), 0, rng
        )
        assert found.propagation_reference.value == 0.0

    @pytest.mark.parametrize(("aware", "sign"), [(0.0, 0), (0.6, -1), (-0.6, 1)])
    def test_shortfall_of_judges_that_do_and_do_not_track_state(self, panel, aware, sign):
        """Hits at 50 % and false alarms at 10 % whatever the state: no shortfall, though little is carried forward."""
        rng = np.random.default_rng(5)
        first = rng.random((3000, 1)) < 0.3
        wrong = np.concatenate([first, rng.random((3000, 3)) < 0.2 + 0.4 * first], axis=1)
        hit = np.where(first, 0.5 * (1 + aware), 0.5)
        called = rng.random(wrong.shape) < np.where(wrong, hit, 0.1)
        labels = label_matrices(panel(np.where(wrong, 0, 3), called, answer="error"))
        found = required_state(labels, rubric(4, requires={1: [0], 2: [0], 3: [0]}), 200, rng)
        assert found.propagation_reference.value == pytest.approx(0.4, abs=0.03)
        assert found.propagation_judge.value < found.propagation_reference.value
        z = found.shortfall.value / found.shortfall.stderr
        assert abs(z) < 2.5 if sign == 0 else sign * z > 5

    def test_unknown_requirement_is_neither_failed_nor_passed(self, panel, rng):
        reference = [[0, 1], [3, 3], [np.nan, 0]]
        found = required_state(label_matrices(panel(reference, reference)), rubric(2, requires={1: [0]}), 0, rng)
        assert (found.kappa_failed.n_items, found.kappa_passed.n_items) == (1, 1)

    def test_a_rubric_without_requirements_has_no_propagation(self, panel, rng):
        found = required_state(label_matrices(panel([[3, 3]], [[3, 3]])), rubric(2), 0, rng)
        assert found.kappa_failed.value is None and found.propagation_reference.value is None
        assert found.kappa_failed.reason == "No step follows a failed requirement."


class TestSequence:
    def test_sequential_credit_equals_hand_counts(self, panel, rng):
        """Credits 2/4, 0/4, 4/4; always-correct 1/4, 0/4, 4/4; always-wrong 0, 1/4, 0."""
        reference = [[3, 1, 3, 3], [0, 3, 3, 3], [3, 3, 3, 3]]
        predicted = [[3, 0, 1, 3], [3, 3, 3, 3], [3, 3, 3, 3]]
        found = sequential_credit(label_matrices(panel(reference, predicted)), 0, rng)
        assert found.credit.value == pytest.approx((0.5 + 0 + 1) / 3)
        assert found.constant.value == pytest.approx((0.25 + 0 + 1) / 3)
        assert found.gain.value == pytest.approx(0.25 / 3)
        assert found.flawless.value == pytest.approx(1 / 3)
        assert found.median == 2.0

    def test_unanswered_steps_are_passed_over(self, panel, rng):
        found = sequential_credit(label_matrices(panel([[3, 1, 3]], [[3, np.nan, 3]])), 0, rng)
        assert (found.credit.value, found.flawless.value, found.median) == (1.0, 1.0, None)

    def test_always_correct_in_theory(self, panel, rng):
        """Independent errors with probability q: expected credit is the sum of (1 - q)^k over k = 1..S, over S."""
        q, steps = 0.186, 33
        reference = np.where(rng.random((4000, steps)) < q, 1.0, 3.0)
        found = sequential_credit(label_matrices(panel(reference, np.full_like(reference, 3.0))), 0, rng)
        assert found.credit.value == pytest.approx(sum((1 - q) ** k for k in range(1, steps + 1)) / steps, abs=0.007)
        assert found.gain.value == 0.0


class TestDisputed:
    @pytest.mark.parametrize(("count", "n"), [(0, 5), (5, 5), (1, 7), (87, 157), (5304, 6364)])
    def test_wilson_is_that_of_statsmodels(self, count, n):
        found = wilson(count, n)
        assert (found.low, found.high) == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-12)

    def test_wilson_of_nothing(self):
        assert wilson(0, 0).value is None

    def test_disputed_steps_equal_hand_counts(self, panel):
        reference = [[3, 2], [3, 0], [1, 3]]
        a = [[3, 2], [3, 1], [1, 3]]
        b = [[3, 1], [3, 0], [1, np.nan]]
        said = [[3, 1], [2, 0], [1, 3]]
        found = disputed_steps(label_matrices(panel(reference, said), np.array(a, float), np.array(b, float)))
        assert (found.agreed.count, found.agreed.n, found.agreed_constant.count) == (2, 3, 2)
        assert (found.disputed.count, found.disputed.n, found.disputed_constant.count) == (1, 2, 0)
        assert (found.with_a.count, found.with_b.count) == (0, 2)

    def test_needs_two_raters(self, panel):
        assert disputed_steps(label_matrices(panel([[3]], [[3]]))) is None


class TestDiagnose:
    def everything(self, panel, **given):
        book = rubric(
            len(panel.step_ids), scopes=["history"] + ["local"] * (len(panel.step_ids) - 1), requires={1: [0]}
        )
        return diagnose_matrix(panel, book, rng=np.random.default_rng(1), resamples=60, **given)

    def test_order_of_videos_does_not_matter(self, synthetic, rng):
        panel = synthetic(rng, videos=30, steps=6)
        a, b = panel.reference, panel.predicted
        back = np.arange(30)[::-1]
        one = self.everything(panel, rater_a=a, rater_b=b)
        two = self.everything(panel.videos(back), rater_a=a[back], rater_b=b[back])
        assert one.to_json() == two.to_json()

    @pytest.mark.parametrize("answer", ["score", "error"])
    @pytest.mark.parametrize("case", ["plain", "one video", "all missing", "no reference", "one class", "one step"])
    def test_no_nan_and_no_traceback(self, synthetic, rng, answer, case):
        panel = synthetic(rng, videos=12, steps=4, answer=answer)
        empty = np.full_like(panel.reference, np.nan)
        panel = {
            "plain": lambda: panel,
            "one video": lambda: panel.videos([0]),
            "all missing": lambda: panel.predicting(empty),
            "no reference": lambda: replace(panel, reference=empty),
            "one class": lambda: replace(panel, reference=np.broadcast_to(panel.max_score, empty.shape)),
            "one step": lambda: panel.subset(["s00"]),
        }[case]()
        book = rubric(len(panel.step_ids), requires={1: [0]} if len(panel.step_ids) > 1 else None, critical=(0,))
        for raters in ({}, {"rater_a": panel.reference, "rater_b": panel.reference}):
            found = diagnose_matrix(panel, book, rng=rng, resamples=20, **raters)
            text = json.dumps(found.to_json(), allow_nan=False)
            report = to_markdown(diagnosis_section(found, case))
            assert not re.search(r"\bnan\b", text + report, re.IGNORECASE)
            assert all(section["caveat"] for section in json.loads(text).values() if isinstance(section, dict))

    def test_report_shades_thin_rows_and_names_the_missing(self, panel):
        reference = np.full((20, 2), 3.0)
        reference[:12, 1] = 1
        report = to_markdown(diagnosis_section(self.everything(panel(reference, reference)), "made-up"))
        assert "| ▒ s00 | 0 (0%) | none imperfect | - | - | - |" in report
        assert "| s01 | 12 (60%) | 1.00 |" in report
        assert (
            "\n\n**The judge sees 12 of 12 steps that are less than correct; it calls 30% of the steps wrong " in report
        )
        assert "Needs the labels of both physicians." in report

    def test_a_thin_step_has_counts_and_no_kappa(self, panel):
        """Four imperfect videos, three of them called so: a kappa of them would be read."""
        reference, predicted = np.full((20, 1), 3.0), np.full((20, 1), 3.0)
        reference[:4] = predicted[1:4] = predicted[7] = 1
        found = self.everything(panel(reference, predicted))
        assert found.steps.rows[0].kappa.value == pytest.approx(cohen_kappa_score([1] * 4 + [0] * 16,
            [0, 1, 1, 1, 0, 0, 0, 1] + [0] * 12))  # fmt: skip
        assert "| ▒ s00 | 4 (20%) | 3 of 4 seen | - | - | - |" in to_markdown(diagnosis_section(found, "made-up"))

    def test_bad_input_is_refused_by_name(self, panel, synthetic, rng):
        with pytest.raises(DataError, match="Step 's01' is not in rubric 'test'"):
            diagnose_matrix(panel([[3, 3]], [[3, 3]]), rubric(1), rng=rng)
        with pytest.raises(DataError, match="There is nothing to diagnose"):
            diagnose_matrix(synthetic(rng, videos=2, steps=2).videos([]), rubric(2), rng=rng)
        with pytest.raises(DataError, match=r"pass mark is 1\.2; give the share"):
            diagnose_matrix(panel([[3]], [[3]]), rubric(1), rng=rng, pass_mark=1.2)


class TestCommand:
    @pytest.fixture
    def run(self, short_demo, tmp_path):
        """A judge that gives every step full points, except the first one."""
        dataset = open_dataset(short_demo)
        lines = [
            {
                "setting": "full_score",
                "video_id": video.video_id,
                "scores": {
                    step.step_id: dataset.rubric.by_id[step.step_id].max_score if i else 0
                    for i, step in enumerate(video.applicable)
                },
            }
            for video in dataset.videos
        ]
        path = tmp_path / "predictions.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        return path

    def test_markdown_names_data_coverage_and_physicians(self, run, short_demo, capsys):
        assert main(["study", "diagnose", str(run), "--data", str(short_demo), "--resamples", "50"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("# Diagnostics: full_score on ")
        assert "synthetic data" in out.splitlines()[0]
        assert "4 videos, 100.0% of the asked steps answered" in out
        assert "physicians decide alike" in out

    def test_json_holds_every_step(self, run, short_demo, capsys):
        assert main(["study", "diagnose", str(run), "--data", str(short_demo), "--resamples", "20", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["synthetic"] is True
        assert len(found["settings"]["full_score"]["steps"]["rows"]) == 33

    def test_requests_without_a_line_are_missing_unless_partial(self, run, short_demo, capsys):
        run.write_text("\n".join(run.read_text().splitlines()[:3]))
        base = ["study", "diagnose", str(run), "--data", str(short_demo), "--resamples", "2"]
        assert main(base) == 0
        assert "4 videos, 75.0% of the asked steps answered" in capsys.readouterr().out
        assert main([*base, "--partial"]) == 0
        assert "3 videos, 100.0% of the asked steps answered" in capsys.readouterr().out

    def test_setting_that_the_run_lacks(self, run, short_demo, capsys):
        assert main(["study", "diagnose", str(run), "--data", str(short_demo), "--setting", "clip_score"]) == 1
        assert "nothing to diagnose for clip_score. It holds full_score." in capsys.readouterr().err


def test_physicians_of_a_step_are_all_pairs_of_them(panel, rng):
    """Kappa of the labels of the three pairs written one below the other, by scikit-learn."""
    points = rng.integers(0, 4, (4, 40, 2)).astype(float)
    physicians = dict(zip("abc", points[1:], strict=True))
    matrices = [label_matrices(panel(points[0], points[0]), x, y) for x, y in combinations(physicians.values(), 2)]
    table = with_every_pair(step_table(matrices[0], 50, rng), matrices, 50, rng)
    for s, row in enumerate(table.rows):
        x, y = (
            np.concatenate([side[:, s] for side in sides]) for sides in zip(*combinations(points[1:], 2), strict=True)
        )
        x, y = (ordinal_labels(side, 3.0) for side in (x, y))
        assert row.human.value == pytest.approx(cohen_kappa_score(x, y, weights="quadratic", labels=LABELS))
        assert row.human.n_items == 120 and row.human.n_videos == 40
