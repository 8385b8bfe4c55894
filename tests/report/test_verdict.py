"""The verdict of a setting: its tests held against scikit-learn and SciPy, its sentences in every case there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from siming_tasks.analysis import run_analyses as detail
from siming_tasks.common.schema import Video
from siming_tasks.data import Dataset
from siming_tasks.options import Options
from siming_tasks.report.forest_plot import build_forest_plot, draw_forest_plot
from siming_tasks.report.leaderboard import build_leaderboard
from siming_tasks.report.run_analysis import analyze_run
from siming_tasks.report.tables.ranking import ranking_table, values_table
from siming_tasks.report.verdict import describe_corrections, verdict_lamps, verdict_sentences
from siming_tasks.results.discovery import find_runs
from tests.report.conftest import write_run

QUICK = Options(resamples=500)
SCORES, ERRORS = ("full_score",), ("full_error",)


def relabelled(video: Video, name: str, rng: np.random.Generator, top: Mapping[str, float]) -> Video:
    """A video with labels of its own: about a fifth of the steps imperfect, two physicians who differ in some."""
    steps = []
    for label in video.steps:
        best = top[label.step_id]
        points = float(rng.integers(0, int(best))) if rng.random() < 0.25 else best
        raters = {name: float(rng.integers(0, int(best) + 1)) if rng.random() < 0.1 else points
                  for name in ("rater_a", "rater_b")}  # fmt: skip
        steps.append(replace(label, scores={**raters, "consensus": points}))
    return replace(video, video_id=name, steps=tuple(steps))


@pytest.fixture(scope="module")
def many(exams: Dataset) -> Dataset:
    """Sixteen exams as labels; their videos are never opened."""
    rng, top = np.random.default_rng(5), {step.id: step.max_score for step in exams.rubric.steps}
    videos = (relabelled(exams.videos[k % 4], f"x{k:02}", rng, top) for k in range(16))
    # Exams of one file, or of twins, would be one performance.
    return replace(
        exams, root=Path("nowhere"), videos=tuple(replace(v, media=f"media/{v.video_id}.mp4") for v in videos)
    )


Board = Callable[..., dict[str, Any]]


@pytest.fixture
def board(many: Dataset, tmp_path: Path) -> Board:
    """A table of runs, each made with :func:`write_run`'s arguments; ``cut`` keeps that share of the replies."""

    def make(*runs: Mapping[str, Any], data: Dataset = many, setting: str = "full_score", allow: Sequence[str] = (),
             **options: Any) -> dict[str, Any]:  # fmt: skip
        paths = []
        for number, how in enumerate(runs):
            cut = how.get("cut", 1.0)
            made = {key: value for key, value in how.items() if key != "cut"}
            made.setdefault("seed", number)
            folder = write_run(data, tmp_path / str(number), settings=(setting,), **made)
            (log,) = folder.glob("*samples*")
            lines = log.read_text().splitlines(keepends=True)
            log.write_text("".join(lines[: round(cut * len(lines))]))
            paths.append(folder)
        how_all = replace(QUICK, **options)
        found = [analyze_run(source, data, how_all) for source in find_runs(list(map(str, paths)))]
        table = build_leaderboard(found, data, setting, how_all, allow)
        assert table is not None
        json.dumps(table, allow_nan=False)
        return table

    return make


def said(table: Mapping[str, Any]) -> str:
    return " ".join("".join(text for text, _ in sentence) for sentence in verdict_sentences(table))


def labels(points: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Equation 3 as the headline reads it, by hand."""
    return np.select([points == 0, points == top, points >= top - 1], [0, 3, 2], 1)


def jackknife(value: Callable[[np.ndarray], float], n: int) -> tuple[float, float]:
    """A value and the two-sided p that it is 0, by leaving out each of n videos."""
    every = np.arange(n)
    whole, left = value(every), np.array([value(np.delete(every, k)) for k in range(n)])
    error = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    return whole, 2 * float(stats.t.sf(abs(whole) / error, n - 1))


def kappa(a: np.ndarray, b: np.ndarray) -> float:
    return float(cohen_kappa_score(a.ravel(), b.ravel(), weights="quadratic", labels=[0, 1, 2, 3]))


def points_of(data: Dataset, rater: str) -> np.ndarray:
    return np.array([[float(step.scores[rater] or 0) for step in video.steps] for video in data.videos])


def test_the_distance_from_the_physicians_is_that_of_scikit_learn(many: Dataset, tmp_path: Path) -> None:
    names = {"a/Good": 0.1, "b/Bad": 0.7}
    paths = [write_run(many, tmp_path / f"{k}", model=name, noise=noise, seed=k, settings=SCORES)
             for k, (name, noise) in enumerate(names.items())]  # fmt: skip
    found = [analyze_run(source, many, QUICK) for source in find_runs(list(map(str, paths)))]
    table = build_leaderboard(found, many, "full_score", QUICK)
    assert table is not None
    top = np.array([many.rubric.by_id[step.step_id].max_score for step in many.videos[0].steps])
    a, b = (labels(points_of(many, rater), top) for rater in ("rater_a", "rater_b"))
    expected = {}
    for item in found:
        mine = labels(item.matrices["full_score"].predicted, top)

        def gap(kept: np.ndarray, mine: np.ndarray = mine) -> float:
            return (kappa(mine[kept], a[kept]) + kappa(mine[kept], b[kept])) / 2 - kappa(a[kept], b[kept])

        expected[item.source.name] = jackknife(gap, 16)
    got = table["verdict"]["humans"]
    for name, (value, p) in expected.items():
        assert got[name]["value"] == pytest.approx(value, abs=1e-12)
        assert got[name]["p"] == pytest.approx(p, rel=1e-6)
    small, large = sorted(p for _, p in expected.values())
    corrected = sorted(item["p_holm"] for item in got.values())
    assert corrected == pytest.approx(sorted([min(1, 2 * small), max(large, min(1, 2 * small))]), rel=1e-6)


def test_beating_every_blind_judge_is_the_worst_of_the_tests(many: Dataset, board: Board) -> None:
    """Verdicts: the step prior is the only constant-free rival; the exchanges of videos are the other."""
    table = board({"model": "a/A", "noise": 0.5}, {"model": "b/Chance", "noise": 1.0}, setting="full_error")
    found = table["verdict"]["no_video"]
    assert found["a/A"]["beats"] and not found["b/Chance"]["beats"]
    assert found["a/A"]["p"] >= 1 / 501  # never below what 500 exchanges can show
    assert found["a/A"]["p_holm"] == pytest.approx(2 * found["a/A"]["p"])
    top = np.array([many.rubric.by_id[step.step_id].max_score for step in many.videos[0].steps])
    truth = (points_of(many, "consensus") < top).ravel()
    row = next(row for row in table["rows"] if row["name"] == "always correct")
    assert row["metrics"]["mcc"]["undefined"] and matthews_corrcoef(truth, np.zeros_like(truth)) == 0


def test_one_run_is_best(board: Board) -> None:
    table = board(
        {"model": "a/Good", "noise": 0.02}, {"model": "b/Bad", "noise": 0.8}, {"model": "c/Bad", "noise": 0.8}
    )
    assert table["verdict"]["top"] == ["a/Good"] and set(table["verdict"]["behind"]) == {"b/Bad", "c/Bad"}
    text = said(table)
    value = next(row for row in table["rows"] if row["name"] == "a/Good")["imputed"]["qwk"]
    shown = f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
    assert text.startswith(
        f"Best: a/Good, kappa {shown}, ahead of each of the other 2 models beyond chance. Physicians"
    )
    assert "a/Good’s agreement with them differs from that by " in text


def test_equals_cannot_be_told_apart(board: Board) -> None:
    two = board({"model": "a/A", "noise": 0.3}, {"model": "b/B", "noise": 0.3})
    assert set(two["verdict"]["top"]) == {"a/A", "b/B"} and two["verdict"]["behind"] == []
    assert " and " in said(two) and "cannot be told apart. Physicians" in said(two) and "Best" not in said(two)


def test_the_first_of_several_equals(board: Board) -> None:
    runs = [{"model": f"{name}/{name}", "noise": 0.3} for name in "abc"]
    assert "None of the 3 models can be told apart from the first, " in said(board(*runs))


def test_the_best_run_is_ahead_of_the_weak_one_only(board: Board) -> None:
    runs = [{"model": f"{name}/{name}", "noise": 0.3} for name in "abc"]
    text = said(board(*runs, {"model": "z/Z", "noise": 1.0}))
    assert text.startswith("3 of 4 models may be the best: ")
    assert "; the other is behind one of them beyond chance." in text


def test_what_answered_too_little_is_not_ranked(board: Board) -> None:
    table = board({"model": "a/A", "noise": 0.1}, {"model": "b/B", "noise": 0.6}, {"model": "c/Cut", "cut": 0.75})
    rows = {row["name"]: row for row in table["rows"]}
    assert rows["c/Cut"]["unranked"] == "it answered 12 of 16 exams, 75.0 % of what it was asked, less than 95 %."
    assert "standing" not in rows["c/Cut"] and "c/Cut" not in json.dumps(table["verdict"])
    assert rows["a/A"]["standing"]["above"] == ("b/B",) and rows["a/A"]["unranked"] is None
    assert table["comparison"]["runs"] == ["a/A", "b/B"] and table["verdict"]["pairs"] == 1
    assert [row["name"] for row in table["rows"][:3]] == ["a/A", "b/B", "c/Cut"]
    assert said(table).endswith(f"c/Cut is not ranked: {rows['c/Cut']['unranked']}")


def test_limited_runs_do_not_outvote_a_whole_one(board: Board) -> None:
    few = {"config": {"limit": 12.0}, "cut": 0.75}
    table = board({"model": "a/L", **few}, {"model": "b/L", "noise": 0.2, **few}, {"model": "c/Whole", "noise": 0.3})
    assert table["verdict"]["runs"] == ["c/Whole"] and table["videos"] == 16
    assert all("different videos" in row["unranked"] for row in table["rows"] if row["name"] in ("a/L", "b/L"))
    assert "c/Whole is the only one that can be ranked: kappa" in said(table)
    assert "2 runs are not ranked." in said(table)


def test_a_limited_reference_judge_beside_models_is_marked_in_every_writer(board: Board) -> None:
    """It answered all that it was asked, 12 of 16 exams: its values never stand among those of whole runs unmarked."""
    part = {"kind": "oracle", "noise": 0.2, "config": {"limit": 12.0}, "cut": 0.75}
    table = board({"model": "a/A", "noise": 0.3}, {"model": "b/B", "noise": 0.4}, {"kind": "random"}, part)
    rows = {row["role"] + str(row["seen"][0]): row for row in table["rows"] if row["slug"]}
    assert rows["reference12"]["metrics"]["coverage"]["value"] == 1 and not rows["reference16"]["unranked"]
    assert "different videos" in rows["reference12"]["unranked"] and table["verdict"]["runs"] == ["a/A", "b/B"]
    name = rows["reference12"]["name"]
    written = ranking_table(table, synthetic=True)
    for text in (written.to_markdown(), written.to_tex().replace(r"\allowbreak{}", "")):
        assert f"{name} (answered 12 of 16 exams)" in text.replace(r"\_", "_")
    csv_row = next(line for line in values_table(table, data="x").to_csv().splitlines() if f",{name}," in line)
    assert "different videos" in csv_row
    (row,) = (row for row in build_forest_plot(table).rows if row.mark.label == name and row.mark.thin)
    assert row.difference_text == "not ranked"


def test_limited_runs_alone_are_compared_and_say_so(board: Board) -> None:
    few = {"config": {"limit": 12.0}, "cut": 0.75}
    table = board({"model": "a/A", "noise": 0.1, **few}, {"model": "b/B", "noise": 0.9, **few})
    assert table["verdict"]["top"] == ["a/A"]
    assert said(table).endswith("This rests on 12 of 16 videos.")


def test_no_run_is_complete(board: Board) -> None:
    table = board({"model": "a/A", "cut": 0.75}, {"model": "b/B", "cut": 0.5})
    assert table["verdict"]["runs"] == [] and table["comparison"] is None
    assert said(table).startswith(
        "No run is complete enough to be ranked; a/A answered most, 75 % of what it was asked."
    )
    assert "Physicians agree with each other at " in said(table)


def test_one_run_alone(board: Board) -> None:
    text = said(board({"model": "a/A", "noise": 0.1}))
    assert text.startswith("a/A was run alone: kappa 0.") and "It beats every no-video baseline." in text
    assert "told apart" not in text and "Best" not in text


def test_one_run_that_knows_nothing(board: Board) -> None:
    assert "It does not beat every no-video baseline (not beyond chance: " in said(
        board({"model": "a/A", "noise": 1.0})
    )


def test_few_videos_are_not_tested(exams: Dataset, board: Board) -> None:
    table = board({"model": "a/A", "noise": 0.1}, {"model": "b/B", "noise": 0.9}, data=exams)
    assert not table["verdict"]["tested"] and table["verdict"]["behind"] == []
    assert "a/A has the largest kappa of 2 models, 0." in said(table) and "below 10 videos nothing is tested." in said(
        table
    )
    assert "beat" not in said(table) and "[" not in said(table)


def test_labels_that_are_withheld(many: Dataset, board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(many, videos=tuple(
        replace(video, steps=tuple(replace(step, scores={}) for step in video.steps)) for video in many.videos
    ))  # fmt: skip
    table = board({"kind": "random", "model": "a/A"}, data=bare)
    assert said(table) == "The labels are withheld: how good the run is cannot be said."


def test_a_run_that_answered_nothing(board: Board) -> None:
    table = board({"model": "a/A", "replies": dict.fromkeys(range(16), "I cannot tell.")})
    assert said(table).startswith("Nothing can be said of the run: no step that has a label was answered. Physicians")


def test_without_a_second_physician(many: Dataset, board: Board) -> None:
    alone = replace(many, videos=tuple(
        replace(video, steps=tuple(replace(step, scores={"consensus": step.consensus, "rater_a": step.consensus})
                                   for step in video.steps)) for video in many.videos
    ))  # fmt: skip
    table = board({"model": "a/A", "noise": 0.1}, {"model": "b/B", "noise": 0.9}, data=alone)
    assert table["verdict"]["humans"] == {}
    assert "No two physicians scored the same steps, so there is no human ceiling." in said(table)


def test_raters_of_no_clinical_exam_are_not_called_physicians(many: Dataset, board: Board) -> None:
    """The rubric names another examiner; a run's own name keeps the word."""
    cooks = replace(many, rubric=many.rubric.model_copy(update={"examiner": "an examiner of cooking"}))
    table = board({"model": "a/physician-1", "noise": 0.1}, {"model": "b/B", "noise": 0.9}, data=cooks)
    figure = build_forest_plot(table)
    assert figure
    words = said(table) + describe_corrections(table) + draw_forest_plot(figure, "") + table["estimand"]["sentence"]
    assert "Raters agree with each other at" in words and "of these 2 raters (" in words
    assert "agreement with each rater<" in words and "raters with each other<" in words and "from the raters<" in words
    assert "physician" not in words.lower().replace("a/physician-1", "")
    assert "second rater" in [row["name"] for row in table["rows"]]


def test_no_model_at_all(board: Board) -> None:
    table = board({"kind": "rater_a"}, {"kind": "all_correct"})
    assert said(table).startswith("Only physicians and no-video baselines were run: there is no model to judge.")
    assert table["models"] == 0 and len(table["folded"]) == 2


def test_a_constant_verdict_has_no_rank(board: Board) -> None:
    table = board({"kind": "all_correct", "model": "a/Yes"}, setting="full_error")
    assert said(table).startswith("No run can be ranked: the MCC of a/Yes is undefined.")


def test_one_row_for_each_judge(board: Board) -> None:
    kinds = ("rater_a", "rater_b", "rater_b", "all_correct", "all_failed", "step_prior", "oracle")
    table = board(*({"kind": kind} for kind in kinds), {"model": "m/M", "noise": 0.3})
    found = [(row["role"], row["name"]) for row in table["rows"]]
    assert found[:3] == [("model", "m/M"), ("reference", "oracle"), ("human", "second physician")]
    assert sorted(found[3:]) == [
        ("no_video", name) for name in ("always correct", "always failed", "clock", "step prior")
    ]
    left = {row["name"]: row["row"] for row in table["folded"]}
    assert left["step_prior"] == "step prior" and left["all_correct"] == "always correct"
    assert [left[name] for name in left if name.startswith("rater_")] == ["second physician"] * 3
    prior = next(row for row in table["rows"] if row["name"] == "step prior")
    assert prior["metrics"]["plcc"]["undefined"] and prior["imputed"]["plcc"]["undefined"]


def test_one_interval_for_one_statistic(many: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The no-video baselines' rows on the page of a complete run are those of the table, whatever the details use."""
    monkeypatch.setattr(detail, "DETAIL_RESAMPLES", 20)
    path = write_run(many, tmp_path / "run", model="m/M", noise=0.3, settings=SCORES)
    (source,) = find_runs([str(path)])
    item = analyze_run(source, many, QUICK)
    table = build_leaderboard([item], many, "full_score", QUICK)
    assert table is not None
    rows = item.settings["full_score"]["contribution"]["rows"]
    for row in table["rows"]:
        if row["role"] == "no_video":
            assert rows[row["name"].replace(" ", "-")] == row["metrics"]
    assert item.settings["full_score"]["contribution"]["options"]["resamples"] == 20


@pytest.mark.parametrize(("students", "tested"), [(4, False), (8, True)])
def test_tests_are_over_students_where_the_data_state_them(
    many: Dataset, board: Board, students: int, tested: bool
) -> None:
    videos = (replace(v, extra={**v.extra, "student": f"s{k % students}"}) for k, v in enumerate(many.videos))
    data = replace(many, videos=tuple(videos))
    table = board({"model": "a/A", "noise": 0.1}, {"model": "b/B", "noise": 0.8}, data=data)
    assert (table["estimand"]["unit"], table["estimand"]["clusters"], table["fewest"]) == ("student", students, 5)
    assert ("below 5 students nothing is tested." in said(table)) == (not tested)
    assert describe_corrections(table).startswith("Paired tests over students, " if tested else "")
    assert "students" in ranking_table(table, synthetic=False).caption


def test_the_lamps_say_what_was_tested_and_found() -> None:
    """Best alone, tied or untested; above all that sees no video or not; fifty exams, ten, fewer."""

    def states(top: str, runs: str, p: float | None, clusters: int, tested: bool = True) -> list[str]:
        beats = p is not None and p <= 0.05
        no_video = {"a": {"p": p, "p_holm": p, "over": "step-prior" if p else None, "beats": beats}}
        verdict = {"top": [*top], "runs": [*runs], "tested": tested, "pairs": 3, "no_video": no_video}
        estimand = {"clusters": clusters, "unit": "video"}
        return [lamp.state for lamp in verdict_lamps({"verdict": verdict, "estimand": estimand, "fewest": 10})]

    assert states("a", "abc", 0.001, 50) == ["yes", "yes", "yes"]
    assert states("ab", "abc", 0.2, 49) == ["partly", "no", "partly"]
    assert states("ab", "ab", None, 9) == ["unknown", "unknown", "no"]
    assert states("a", "a", 0.001, 200, tested=False) == ["unknown", "yes", "yes"]
    assert states("", "", None, 0)[0] == "unknown"
