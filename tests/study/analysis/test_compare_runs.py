"""Comparison of runs on disk: their names, what may be compared, and one family of tests."""

import json
from pathlib import Path

import pytest
from statsmodels.stats.multitest import multipletests

import siming_tasks as siming
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.study.analysis.compare_runs import common_settings, compare, compare_settings, rater_points
from siming_tasks.study.analysis.inputs import run_inputs
from tests.tiny_study import drawn, write_answers, write_exams


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> siming.Dataset:
    """Twelve exams of two physicians and a consensus; nobody looks at the videos."""
    exams = write_exams(tmp_path_factory.mktemp("exams"), drawn("consensus", "rater_a", "rater_b"))
    return siming.open_dataset(exams, media=False)


@pytest.fixture(scope="module")
def runs(dataset: siming.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A good and a weak judge in two settings."""
    folder, both = tmp_path_factory.mktemp("runs"), ("full_score", "full_error")
    return {name: write_answers(folder / f"{name}.jsonl", dataset.root, share, settings=both)
            for name, share in (("good", 0.9), ("weak", 0.2))}  # fmt: skip


def test_runs_are_given_as_files_or_loaded_and_the_physicians_stand_beside_them(runs, dataset):
    from_files = compare(*runs.values(), data=dataset)
    assert from_files.runs == ("good", "weak") and from_files.setting == "full_score"
    loaded = [siming.load(path, dataset) for path in runs.values()]
    assert compare(*loaded).to_json() == from_files.to_json()
    assert from_files.sentence().startswith("good (0.") and from_files.facts["synthetic"] is True
    matrix = loaded[0].score_matrix("full_score")
    points, label = rater_points(dataset, matrix), dataset.videos[3].step(matrix.step_ids[5])
    assert list(points) == ["rater_a", "rater_b"] and points["rater_a"][3, 5] == label.scores["rater_a"]
    assert set(from_files.physicians) == {"good", "weak"}
    assert from_files.rows.one("inter-physician agreement", "rater_a and rater_b", "qwk").value is not None


def test_what_is_refused(runs, dataset, tmp_path):
    good, weak = (siming.load(path, dataset) for path in runs.values())
    part = siming.load(write_answers(tmp_path / "short.jsonl", dataset.root, 0.5, videos=6), dataset, partial=True)
    silent = tmp_path / "silent.jsonl"
    silent.write_text(json.dumps({"setting": "full_score", "video_id": "v00", "scores": {}}))
    for given, how, error, said in (
        ([good], {}, DataError, "at least two runs; 1 given"),
        ([[good, weak]], {}, OptionsError, "give them one by one"),
        ([good, weak], {"setting": "full_scores"}, OptionsError, "full_scores"),
        ([good, weak], {"setting": "clip_score"}, DataError, "no setting in common among clip_score"),
        ([good, weak], {"allow": ["frame"]}, OptionsError, "'frame' is not one of"),
        ([good, weak], {"options": siming.Options(rater="nobody")}, DataError, "nobody"),
        ([good, siming.load(silent, dataset)], {}, DataError, "Run 'silent' has nothing to compare"),
    ):
        with pytest.raises(error, match=said):
            compare(*given, **how)
    allowed = compare(good, part, allow=["videos"])
    assert allowed.videos == 6 and allowed.facts["allowed"] == ["videos"]
    assert common_settings([good, weak]) == ["full_score", "full_error"]


def test_holm_is_over_the_settings_and_equal_to_one_comparison_in_each(runs, dataset):
    loaded = [siming.load(path, dataset) for path in runs.values()]
    study = compare_settings(loaded, ["full_score", "full_error"])
    p = [made.pairs[0].estimate.p for made in study.settings.values()]
    holm = [made.pairs[0].estimate.p_holm for made in study.settings.values()]
    assert holm == pytest.approx(multipletests(p, method="holm")[1]) and study.refused == {}
    alone = compare(*loaded, setting="full_error")
    assert alone.rows.of("ranked") == study.settings["full_error"].rows.of("ranked")


def test_a_setting_that_cannot_be_compared_is_named(dataset, tmp_path):
    how = {"settings": ("full_score", "full_error")}
    a, b = (write_answers(tmp_path / f"{name}.jsonl", dataset.root, 0.5, **how) for name in "ab")
    lines = b.read_text().splitlines()
    b.write_text("\n".join(line for line in lines if "full_error" not in line or '"v0' in line))
    loaded = [siming.load(a, dataset), siming.load(b, dataset, partial=True)]
    study = compare_settings(loaded, ["full_score", "full_error"])
    assert list(study.settings) == ["full_score"] and "different videos" in study.refused["full_error"]
    with pytest.raises(DataError, match="different videos"):
        compare_settings(loaded, ["full_error"])


def test_a_control_stands_beside_its_plain_task_or_says_why_not(dataset, tmp_path):
    """Requests are matched without the name of their task; one that was shown smaller frames is no control."""
    plain, made = write_answers(tmp_path / "plain.jsonl", dataset.root, 0.9).read_text().splitlines(), []
    for name, size in (("full_score", 448), ("ablation_shuffled_frames_full_score", 448),
                       ("ablation_mismatched_video_full_score", 224)):  # fmt: skip
        media = {"mode": "frames", "n_frames": 8, "size": size}
        made += [json.dumps({**json.loads(line), "setting": name, "media": media}) for line in plain]
    (tmp_path / "run.jsonl").write_text("\n".join(made))
    run = siming.load(tmp_path / "run.jsonl", dataset)
    shuffled, other = ("shuffled_frames: change", "mismatched_video: change")
    rows = run_inputs(run, "full_score", siming.Options())
    found = rows.one("ablations", shuffled, "qwk")
    assert (found.value, found.why) == (0, "no-variation")
    refused = rows.one("ablations", other, "qwk")
    assert refused.value is None and "differ in size" in refused.why
    allowed = run_inputs(run, "full_score", siming.Options(), allow=["size"])
    assert allowed.one("ablations", other, "qwk").value == 0
    assert not run_inputs(run, "clip_score", siming.Options())


@pytest.mark.parametrize(("reasons", "said"), [(("no", "no"), "no"), (("no", "not"), "a: no\nb: not")])
def test_a_reason_that_all_settings_share_is_given_once(
    reasons: tuple[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(runs: object, setting: str, *others: object) -> None:
        raise DataError(dict(zip("ab", reasons, strict=True))[setting])

    monkeypatch.setattr("siming_tasks.study.analysis.compare_runs._compare", refuse)
    with pytest.raises(DataError) as caught:
        compare_settings([], ["a", "b"])
    assert str(caught.value) == said
