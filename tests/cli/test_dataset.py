"""The data set of a command: named in one way, opened in one place."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.data import open_dataset, withhold
from siming_tasks.tools.simulator import GENERATOR_VERSION
from tests.records import number_of


@pytest.fixture(scope="module")
def places(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same exams under four names, so that an output tells which folder it is about."""
    root = tmp_path_factory.mktemp("places")
    for name in ("word", "flag", "variable", "run"):
        shutil.copytree(short_demo, root / name)
        text = (root / name / "dataset.yaml").read_text()
        (root / name / "dataset.yaml").write_text(text.replace("name: siming-demo", f"name: {name}"))
    return {path.name: path for path in root.iterdir()}


@pytest.fixture(scope="module")
def run(places: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder whose results file names the folder ``run``; it answers what rater_a says."""
    folder = tmp_path_factory.mktemp("runs") / "mine"
    folder.mkdir()
    lines = []
    for video in open_dataset(places["run"]).videos:
        scores = {step.step_id: step.scores["rater_a"] for step in video.applicable}
        lines.append(json.dumps({"setting": "full_score", "video_id": video.video_id, "scores": scores}) + "\n")
    (folder / "predictions.jsonl").write_text("".join(lines))
    task = {"dataset_kwargs": {"data_files": {"test": str(places["run"] / "videos.jsonl")}}}
    results = {"config": {"model": "m"}, "configs": {"siming_full_score": task}}
    (folder / "1_results.json").write_text(json.dumps(results))
    return folder


def name_in(out: str) -> str:
    found: Any = json.loads(out)["dataset"]
    return str(found["name"] if isinstance(found, dict) else found)


@pytest.mark.parametrize("command", ["score", "score --show diagnosis", "compare"])
def test_the_flag_goes_before_the_variable_and_the_variable_before_the_run(
    command: str,
    places: dict[str, Path],
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [*command.split(), *([f"a={run}", f"b={run}"] if command == "compare" else [str(run)]), "--json"]
    monkeypatch.setenv("SIMING_DATA", str(places["variable"]))
    assert main([*words, "--data", str(places["flag"])]) == 0
    assert name_in(capsys.readouterr().out) == "flag"
    assert main(words) == 0
    assert name_in(capsys.readouterr().out) == "variable"
    monkeypatch.delenv("SIMING_DATA")
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert name_in(out) == "run"
    assert err == f"Data set: {places['run']}, which the run names.\n"


def test_the_word_dir_goes_before_the_variable(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(places["variable"]))
    assert main(["study", "raters", str(places["word"]), "--json"]) == 0
    assert name_in(capsys.readouterr().out) == "word"
    assert main(["data", "check", "--quick"]) == 0
    assert capsys.readouterr().out.startswith(f"{places['variable']}: SYNTHETIC 4 videos, ")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["study", "raters", ""], 2, "DIR '' must not be empty."),
        (["run", "plan", "--data", ""], 2, "--data '' must not be empty."),
        (
            ["study", "raters", "no-such-name"],
            1,
            "DIR 'no-such-name': no such folder, and not a Hugging Face dataset (org/name[@revision]). Give a folder "
            "with dataset.yaml; `siming data demo exams` makes one.",
        ),
        (
            ["run", "plan", "--data", "/no/such"],
            1,
            "--data '/no/such': no such folder, and not a Hugging Face dataset (org/name[@revision]). Give a folder "
            "with dataset.yaml; `siming data demo exams` makes one.",
        ),
    ],
)
def test_an_unusable_name_of_a_data_set_is_refused(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert capsys.readouterr() == ("", f"siming {' '.join(arguments[:2])}: {message}\n")


def test_without_any_name_it_is_the_demo_and_that_is_said(short_demo: Path, tmp_path: Path) -> None:
    home = tmp_path / "demo" / f"{GENERATOR_VERSION}-16"
    home.parent.mkdir()
    shutil.copytree(short_demo, home)
    env = {name: value for name, value in os.environ.items() if not name.startswith("SIMING_")}
    env |= {"SIMING_CACHE": str(tmp_path), "SIMING_RATTER": "9"}
    code = "import sys; from siming_tasks.cli import main; sys.exit(main(['study', 'raters']))"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr.splitlines()) == (
        0,
        [
            "SIMING_RATTER is no variable of siming-tasks and changes nothing; did you mean SIMING_RATER?",
            f"No SIMING_DATA: using the SYNTHETIC demo (16 simulated exams) in {home}",
        ],
    )
    assert "SYNTHETIC data" in done.stdout.splitlines()[0]


@pytest.fixture(scope="module")
def public(places: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder without labels, and the labels."""
    root = tmp_path_factory.mktemp("public")
    withhold(places["flag"], root / "data", root / "key.json")
    return root / "data", root / "key.json"


@pytest.mark.parametrize("command", ["score", "score --show diagnosis", "compare"])
def test_withheld_labels_are_asked_for_and_give_the_same_numbers(
    command: str, places: dict[str, Path], public: tuple[Path, Path], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = public
    runs = [f"a={run}", f"b={run}"] if command == "compare" else [str(run)]
    assert main([*command.split(), *runs, "--data", str(folder)]) == 1
    assert capsys.readouterr() == (
        "",
        f"siming {command.split()[0]}: {folder}: the labels are withheld. Give the label file with --labels, or only "
        "check the predictions (`siming score --show missing`) and send them to the keeper of the labels.\n",
    )
    printed = []
    for data in (["--data", str(folder), "--labels", str(key)], ["--data", str(places["flag"])]):
        assert main([*command.split(), *runs, *data, "--json"]) == 0
        part = json.loads(capsys.readouterr().out)["settings"]["full_score"]
        if command == "compare":
            assert part["dataset"]["digest"] == open_dataset(data[1]).digest
        printed.append(part["rows"])
    assert printed[0] == printed[1]


def test_raters_of_withheld_labels_need_the_label_file(
    public: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", "raters", str(public[0])]) == 1
    assert "The agreement of physicians cannot be computed" in capsys.readouterr().err
    assert main(["study", "raters", str(public[0]), "--labels", str(public[1])]) == 0
    assert capsys.readouterr().out.startswith("## Raters of flag")


@pytest.mark.parametrize("command", ["score", "score --show diagnosis", "compare"])
def test_an_unknown_rater_is_named(
    command: str, places: dict[str, Path], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [f"a={run}", f"b={run}"] if command == "compare" else [str(run)]
    assert main([*command.split(), *words, "--data", str(places["flag"]), "--rater", "rater_z"]) == 1
    raters = "there are consensus, rater_a, rater_b."
    assert capsys.readouterr() == ("", f"siming {command.split()[0]}: {places['flag']}: no rater 'rater_z'; {raters}\n")


def test_diagnose_takes_the_options_that_score_takes(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*flags: str) -> dict[str, Any]:
        assert main(["score", "--show", "diagnosis", str(run), "--json", *flags]) == 0
        part: dict[str, Any] = json.loads(capsys.readouterr().out)["settings"]["full_score"]
        return part

    plain = found()
    for flag, variable, value in (
        ("--rater", "SIMING_RATER", "rater_a"),
        ("--mapping", "SIMING_MAPPING", "proportional"),
    ):
        given = found(flag, value)
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert found() == given
        assert given != plain, flag
    own = found("--rater", "rater_a")  # it answers what rater_a says
    assert number_of(own, "bias", "severity", "judge - reference").value == 0


def test_the_log_is_quiet_about_a_named_data_set(
    places: dict[str, Path], run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert main(["score", str(run), "--data", str(places["flag"])]) == 0
    assert caplog.records == []


def test_shards_of_prepare_are_disjoint_and_together_everything(short_demo: Path, tmp_path: Path) -> None:
    """Two shards decode what one command does, each video once."""
    common = ["run", "prepare", "--data", str(short_demo), "--frames", "3", "--clip-frames", "1", "--cache"]
    made: list[set[str]] = []
    for part in ("1/3", "2/3", "3/3"):
        cache = tmp_path / part.replace("/", "of")
        assert main([*common, str(cache), "--shard", part]) == 0
        made.append({path.parent.parent.name for path in (cache / "media").glob("*/*/*/*.jpg")})
    assert main([*common, str(tmp_path / "all")]) == 0
    every = {path.parent.parent.name for path in (tmp_path / "all" / "media").glob("*/*/*/*.jpg")}
    assert sorted(name for names in made for name in names) == sorted(every) and len(every) == 4
