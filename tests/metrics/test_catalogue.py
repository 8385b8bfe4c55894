"""The catalogue is the only list of metrics: rows say what the functions do, and a new row is found everywhere."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from siming_tasks.analysis.human_ceiling import human_ratio
from siming_tasks.analysis.video_contribution import video_contribution
from sklearn.metrics import accuracy_score

import siming_tasks
from siming_tasks.analysis.comparison import compare_scores
from siming_tasks.analysis.power import StudyDesign, draw, score
from siming_tasks.cli import main
from siming_tasks.common.schema import ANSWERS
from siming_tasks.data import open_dataset
from siming_tasks.metrics import ScoreMatrix, evaluate
from siming_tasks.metrics.alignment import ComparisonEntry
from siming_tasks.metrics.catalogue import CATALOGUE, COVERAGE, Metric, headline, says, select
from siming_tasks.options import Options
from siming_tasks.report.build import write_report
from siming_tasks.report.table import to_markdown
from siming_tasks.report.tables.comparison import comparison_section
from siming_tasks.results.discovery import run_at
from siming_tasks.tasks import TASKS
from tests.report.conftest import exams, make_run

__all__ = ["exams", "make_run"]

PACKAGE = Path(siming_tasks.__file__).parent


class TestRows:
    def test_what_is_printed_and_in_which_order(self):
        """The paper's section 3.3: two correlations and kappa of scores, four metrics of verdicts; ours: coverage."""
        assert select("score") == ("plcc", "srcc", "qwk", "coverage")
        assert select("error") == ("mcc", "precision", "recall", "f1", "coverage")
        assert (headline("score"), headline("error")) == ("qwk", "mcc")

    @pytest.mark.parametrize("answer", ["score", "error"])
    @pytest.mark.parametrize("positive", ["error", "correct"])
    def test_values_lie_in_the_range(self, synthetic, answer, positive):
        rng = np.random.default_rng(3)
        for agreement in (0.0, 0.4, 1.0):
            panel = synthetic(rng, videos=12, steps=5, agreement=agreement, answer=answer, missing=0.1)
            metrics = evaluate(panel, positive=positive, resamples=50).metrics
            assert tuple(metrics) == select(answer)
            for name, found in metrics.items():
                row = CATALOGUE[name]
                assert row.low <= found.value <= row.high, name
                if found.low is not None:  # a value that is the same in every resample has none
                    assert row.low <= found.low <= found.value <= found.high <= row.high, name

    @pytest.mark.parametrize("answer", ["score", "error"])
    def test_symmetric_ones_do_not_care_which_side_is_the_reference(self, synthetic, answer):
        panel = synthetic(np.random.default_rng(4), videos=30, steps=8)
        other = replace(panel, reference=panel.predicted, predicted=panel.reference)
        if answer == "error":
            panel, other = (
                replace(side, answer="error", predicted=(side.predicted < side.max_score).astype(float))
                for side in (panel, other)
            )
        one, two = (evaluate(side, resamples=0).metrics for side in (panel, other))
        same = {name for name in one if one[name].value == pytest.approx(two[name].value, abs=1e-12)}
        assert same - {COVERAGE} == set(select(answer, symmetric=True))  # every answer is there: coverage is 1 on both

    @pytest.mark.parametrize("answer", ["score", "error"])
    def test_corrected_ones_are_zero_for_a_judge_that_knows_nothing(self, synthetic, answer):
        """Answers dealt to other videos and steps at random; 200 deals, 40 videos, 12 steps."""
        rng = np.random.default_rng(5)
        panel = synthetic(rng, videos=40, steps=12, answer=answer)
        panel = replace(panel, max_score=np.full(12, 5.0))
        drawn = {name: [] for name in select(answer, compared=True)}
        for _ in range(200):
            dealt = rng.permuted(panel.predicted.ravel()).reshape(panel.predicted.shape)
            for name, values in drawn.items():
                values.append(evaluate(panel.predicting(dealt), resamples=0).metrics[name].value)
        away = {name: abs(np.mean(values)) / (np.std(values) / np.sqrt(200)) for name, values in drawn.items()}
        assert {name for name, errors in away.items() if errors < 4} == set(select(answer, corrected=True)), away

    def test_a_metric_of_totals_that_a_blind_judge_can_earn_is_refused(self):
        with pytest.raises(ValueError, match="must be 0 in expectation"):
            replace(CATALOGUE["plcc"], key="x", corrected=False)

    def test_a_metric_of_totals_without_its_leave_one_out_form_is_refused(self):
        with pytest.raises(ValueError, match="x: give `left_out` for a metric of totals, and for no other"):
            replace(CATALOGUE["plcc"], key="x", left_out=None)
        with pytest.raises(ValueError, match="and for no other"):
            replace(CATALOGUE["qwk"], key="x", left_out=CATALOGUE["plcc"].left_out)

    def test_task_files_name_them_as_the_catalogue_does(self):
        """Tasks of one answer share a line for the metric, and one for its standard error where runs are compared."""

        class Loader(yaml.SafeLoader):
            pass

        Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
        folder = Path(inspect.getfile(siming_tasks)).parents[1] / "yaml_tasks"
        for setting in TASKS.values():
            path = folder / setting.folder / f"{setting.task_name}.yaml"
            task = yaml.load(path.read_text(), Loader)  # noqa: S506
            own = setting.answer_format.metrics  # listed by the hooks, from this catalogue
            assert Path(task["include"]).name == ("_base.yaml" if own else f"_{setting.answer}.yaml")
            assert task.get("metric_list") == (f"siming_tasks.plugin.hooks.metrics_{setting.name}" if own else None)
        for path in (folder / f"_{answer}.yaml" for answer in ANSWERS):
            lines = {line["metric"]: line for line in yaml.load(path.read_text(), Loader)["metric_list"]}  # noqa: S506
            answer = path.stem.rsplit("_", 1)[1]
            errors = [f"{name}_stderr" for name in select(answer, compared=True)]
            assert sorted(lines) == sorted([*select(answer), *errors, "siming_stderr"]), path.name
            for name in select(answer):
                assert lines[name]["higher_is_better"] is CATALOGUE[name].higher_is_better
                assert lines[name]["aggregation"] == f"siming_tasks.plugin.hooks.{name}"


OTHER_LISTS = {
    "metrics/named_errors.py": "agreement of the named errors, an answer format's own",
    "metrics/catalogue.py": "the catalogue",
}


def listed(tree: ast.AST) -> list[tuple[int, list[str]]]:
    """Literal tuples, lists, sets and dicts in a module that hold three or more keys of metrics."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            parts = [part for part in (*node.keys, *node.values) if part is not None]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = node.elts
        else:
            continue
        names = [part.value for part in parts if isinstance(part, ast.Constant) and part.value in CATALOGUE]
        # __all__ names functions, not metrics; the fields of an estimate hold "coverage" among others.
        if len({*names} - {COVERAGE}) >= 3:
            found.append((node.lineno, names))
    return found


def test_no_other_list_of_metrics_is_kept():
    names = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
    assert len(names) > 100
    for name in names:
        if name.startswith(tuple(OTHER_LISTS)):
            continue
        path = PACKAGE / name
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__all__"]:
                node.value = ast.Tuple([], ast.Load())
        assert listed(tree) == [], f"{name}: read metrics/catalogue.py instead"


@pytest.mark.parametrize(
    "text",
    ['a = ("plcc", "srcc", "qwk")', 'a = {"mcc": 1, "f1": 2, "recall": 3}', 'a = {1: ["mcc", "f1", "precision", "x"]}'],
)
def test_the_check_above_can_fail(text):
    assert len(listed(ast.parse(text))) == 1


def accuracy(counts):
    """Share of the steps judged as the reference has them."""
    tn, fp, fn, tp = np.moveaxis(counts, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(tn + fp + fn + tp > 0, (tn + tp) / (tn + fp + fn + tp), np.nan)


@pytest.fixture
def toy() -> Iterator[Metric]:
    """One more metric of verdicts: its function and its row, before the coverage."""
    row = Metric("hits", "HITS", "Hit rate", ("error",), "verdicts", accuracy, says("-"), low=0.0, corrected=False)
    before = dict(CATALOGUE)
    del CATALOGUE[COVERAGE]
    CATALOGUE["hits"] = row
    CATALOGUE[COVERAGE] = before[COVERAGE]
    yield row
    CATALOGUE.clear()
    CATALOGUE.update(before)


@pytest.fixture
def judged(synthetic) -> ScoreMatrix:
    """Verdicts, some of them missing, yet enough for a rank."""
    return synthetic(np.random.default_rng(6), videos=20, steps=6, answer="error", missing=0.04)


def hits(panel: ScoreMatrix) -> float:
    """By scikit-learn."""
    both = panel.counted & panel.answered
    return accuracy_score(panel.reference_wrong[both], panel.predicted_wrong[both])


class TestAMetricMore:
    def test_an_evaluation_computes_a_new_metric(self, toy, judged):
        found = evaluate(judged, resamples=200)
        assert list(found.metrics) == ["mcc", "precision", "recall", "f1", "hits", "coverage"]
        estimate = found.metrics["hits"]
        assert estimate.value == pytest.approx(hits(judged))
        assert estimate.low < estimate.value < estimate.high
        assert found.extra["positive"]["correct"]["hits"].value == pytest.approx(hits(judged))
        assert found.extra["fill"]["adversarial"]["hits"] < estimate.value
        assert [row["hits"].n_items for row in found.per_skill.values()] == [
            int((part.counted & part.answered).sum()) for part in (judged.skill("cpr"), judged.skill("aed"))
        ]

    def test_a_metric_of_verdicts_is_absent_where_points_are_asked(self, toy, synthetic):
        assert "hits" not in evaluate(synthetic(np.random.default_rng(0), videos=5, steps=3), resamples=0).metrics

    def test_comparisons_rank_by_a_new_metric(self, toy, judged):
        perfect = judged.predicting(judged.reference_wrong.astype(float))
        runs = [ComparisonEntry("run", judged), ComparisonEntry("perfect", perfect)]
        found = compare_scores(runs, resamples=100)
        row = next(item for item in found.differences if item.metric == "hits")
        assert row.value == pytest.approx(hits(judged.imputed()) - 1)
        assert row.answered == pytest.approx(hits(judged) - 1)
        assert {name: item.rank for name, item in found.ranks["hits"].items()} == {"run": 2, "perfect": 1}
        assert "| HITS | run | perfect | -0" in to_markdown(comparison_section(found))

    def test_smaller_can_be_better(self, toy, judged):
        """Ranks, the best no-video baseline and the lift over it turn round."""
        CATALOGUE["hits"] = replace(toy, function=lambda counts: 1 - accuracy(counts), higher_is_better=False)
        perfect = judged.predicting(judged.reference_wrong.astype(float))
        found = compare_scores([ComparisonEntry("run", judged), ComparisonEntry("perfect", perfect)], resamples=50)
        assert {name: item.rank for name, item in found.ranks["hits"].items()} == {"run": 2, "perfect": 1}
        blind = video_contribution(judged, resamples=0, permutations=9)
        rows = {name: row["hits"].value for name, row in blind.rows.items() if name != "run"}
        assert blind.lift["hits"].over == min(rows, key=lambda name: rows[name])

    def test_over_blind_rows_and_beside_physicians(self, toy, judged):
        found = video_contribution(judged, resamples=50, permutations=9)
        blind = {name: row["hits"].value for name, row in found.rows.items() if name != "run"}
        assert blind["always-correct"] == pytest.approx(1 - hits_of_wrong(judged))
        assert found.lift["hits"].estimate.value == pytest.approx(hits(judged) - max(blind.values()))
        again = judged.predicting(judged.reference_wrong.astype(float))
        ratio = human_ratio(again, judged, judged, resamples=20)
        assert ratio["hits"].value == pytest.approx(1.0)  # three times the same labels

    def test_planning_simulates_a_new_metric_above_chance(self, toy, capsys):
        """Gain of the judge over one that calls as many steps wrong at random; never more than 2 p (1 - p)."""
        arguments = ["study", "power", "--metric", "hits", "--replicates", "100", "--videos", "30", "--steps", "5"]
        assert main(arguments) == 0
        assert "| HITS over no video | 0.0" in " ".join(capsys.readouterr().out.split())  # columns are padded
        sample = draw(StudyDesign(steps=5), 100, 20, np.random.default_rng(0))
        x, y = (side.reshape(20, -1) < 3 for side in (sample.reference, sample.judged(0.7)))
        a, b = x.mean(axis=1), y.mean(axis=1)
        expected = (x == y).mean(axis=1) - (a * b + (1 - a) * (1 - b))
        assert score(sample.reference, sample.judged(0.7), "hits") == pytest.approx(expected)

    def test_planning_knows_only_what_stands_by_itself(self, capsys):
        assert main(["study", "power", "--metric", "precision"]) != 0
        assert "invalid value for '--metric': 'precision' is not one of" in capsys.readouterr().err

    def test_lmms_eval_hooks_aggregate_a_new_metric(self, toy, short_demo, monkeypatch):
        """As lmms-eval does it: one item for each metric of a reply, one aggregator for each attribute."""
        monkeypatch.setenv("SIMING_DATA", str(short_demo))
        monkeypatch.setenv("SIMING_RESAMPLES", "50")
        from siming_tasks.plugin import hooks
        from siming_tasks.plugin.hooks.run_context import RUN

        RUN.begin()
        docs = list(hooks.docs_full_error(None))
        dataset = open_dataset(short_demo)
        answers = {step.id: "incorrect" for step in dataset.rubric.steps}
        made = [hooks.process_results(doc, [json.dumps(answers)]) for doc in docs]
        value, stderr = hooks.hits([item["hits"] for item in made]), hooks.hits_stderr([i["hits_stderr"] for i in made])
        labels = [step.consensus < dataset.rubric.by_id[step.step_id].max_score
                  for video in dataset.videos for step in video.applicable]  # fmt: skip
        assert value == pytest.approx(np.mean(labels))  # every step is called wrong
        assert 0 < stderr < 0.5
        RUN.begin()  # another run: what was remembered of this one is forgotten

    def test_commands_and_report_show_a_new_metric(self, toy, exams, make_run, tmp_path, capsys):
        root, run = str(exams.root), make_run(exams, tmp_path / "noisy", "oracle", noise=0.4, settings=("full_error",))
        assert main(["score", root, str(run), "--resamples", "40", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["settings"]["full_error"]["metrics"]
        assert list(found) == ["mcc", "precision", "recall", "f1", "hits", "coverage"]
        value = found["hits"]["value"]
        assert main(["score", root, str(run), "--resamples", "40"]) == 0
        (row,) = (line for line in capsys.readouterr().out.splitlines() if "| hits " in line)
        assert [cell.strip() for cell in row.split("|")[1:4]] == ["full_error", "hits", f"{value:.3f}"]
        out = write_report([run_at(run)], exams, tmp_path / "report", Options(resamples=40), media="none", jobs=1,
                           progress=False)  # fmt: skip
        report = json.loads((out / "report.json").read_text())
        rows = {row["name"]: row["metrics"]["hits"]["value"] for row in report["standings"]["full_error"]["rows"]}
        assert rows.pop(report["runs"][0]["name"]) == value
        assert {"always correct", "always failed", "step prior"} < set(rows)
        for page in ("index.html", f"models/{report['runs'][0]['slug']}.html"):
            assert "Hit rate" in (out / page).read_text(), page
        for page, head in (("report.md", "| HITS |"), ("tables/full_error.tex", "& HITS &"),
                           ("tables/full_error.md", "| HITS |"), ("tables/full_error.csv", ",hits,")):  # fmt: skip
            assert head in (out / page).read_text(), page


def hits_of_wrong(panel: ScoreMatrix) -> float:
    """Share of the answered steps that are wrong."""
    both = panel.counted & panel.answered
    return float(panel.reference_wrong[both].mean())
