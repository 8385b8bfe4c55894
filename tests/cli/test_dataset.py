"""The data set of a command: named in one way, opened in one place."""

import json
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
from tests.records import change_rows, number_of, write_rater
from tests.runs import unanswered, write_run

ON_RUNS = pytest.mark.parametrize("command", ["score", "compare"])


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
    write_rater(open_dataset(places["run"]), folder / "predictions.jsonl", "rater_a")
    task = {"dataset_kwargs": {"data_files": {"test": str(places["run"] / "videos.jsonl")}}}
    results = {"config": {"model": "m"}, "configs": {"siming_full_score": task}}
    (folder / "1_results.json").write_text(json.dumps(results))
    return folder


def words_of(command: str, run: Path) -> list[str]:
    return [*command.split(), *([f"a={run}", f"b={run}"] if command == "compare" else [str(run)])]


def name_in(out: str) -> str:
    found: Any = json.loads(out)["dataset"]
    return str(found["name"] if isinstance(found, dict) else found)


@ON_RUNS
def test_the_flag_goes_before_the_variable_and_the_variable_before_the_run(
    command: str,
    places: dict[str, Path],
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = [*words_of(command, run), "--json"]
    monkeypatch.setenv("SIMING_DATA", str(places["variable"]))
    assert main([*words, "--data", str(places["flag"])]) == 0
    assert name_in(capsys.readouterr().out) == "flag" and caplog.records == []
    assert main(words) == 0
    assert name_in(capsys.readouterr().out) == "variable"
    monkeypatch.delenv("SIMING_DATA")
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert name_in(out) == "run"
    assert err == f"Data set: {places['run']}, as the run states.\n"


def test_the_word_dir_goes_before_the_variable(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMING_DATA", str(places["variable"]))
    assert main(["study", "raters", str(places["word"]), "--json"]) == 0
    assert name_in(capsys.readouterr().out) == "word"
    assert main(["data", "check", "--quick"]) == 0
    assert capsys.readouterr().out.startswith(f"{places['variable']}: SYNTHETIC 4 videos, ")


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
            "SIMING_RATTER is not a variable of siming-tasks and has no effect; did you mean SIMING_RATER?",
            f"No SIMING_DATA: using the SYNTHETIC demo in {home}",
        ],
    )
    assert "SYNTHETIC data" in done.stdout.splitlines()[0]


@ON_RUNS
def test_withheld_labels_are_asked_for_and_give_the_same_numbers(
    command: str, places: dict[str, Path], tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = tmp_path / "data", tmp_path / "key.json"
    withhold(places["flag"], folder, key)
    words = words_of(command, run)
    assert main([*words, "--data", str(folder)]) == 1
    out, err = capsys.readouterr()
    said = f"siming {command.split()[0]}: {folder}: the labels are withheld. Give the label file with --labels"
    assert out == "" and err.startswith(said)
    printed = []
    for data in (["--data", str(folder), "--labels", str(key)], ["--data", str(places["flag"])]):
        assert main([*words, *data, "--json"]) == 0
        printed.append(json.loads(capsys.readouterr().out)["settings"]["full_score"]["rows"])
    assert printed[0] == printed[1]
    if command == "compare":
        assert main(["study", "raters", str(folder)]) == 1
        assert "The agreement of physicians cannot be computed" in capsys.readouterr().err
        assert main(["study", "raters", str(folder), "--labels", str(key)]) == 0


def test_an_unusable_name_of_a_data_set_or_rater_is_refused(
    places: dict[str, Path], run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = ": no such folder, and not a Hugging Face dataset (org/name[@revision])"
    for words, code, said in (
        (["study", "raters", ""], 2, "siming study raters: DIR '' must not be empty."),
        (["run", "plan", "--data", ""], 2, "siming run plan: --data '' must not be empty."),
        (["study", "raters", "no-such-name"], 1, f"siming study raters: DIR 'no-such-name'{missing}"),
        (["run", "plan", "--data", "/no/such"], 1, f"siming run plan: --data '/no/such'{missing}"),
        *(
            ([*words_of(command, run), "--data", str(places["flag"]), "--rater", "rater_z"], 1, "no rater 'rater_z'")
            for command in ("score", "score --show diagnosis", "compare")
        ),
    ):
        assert main(words) == code
        out, err = capsys.readouterr()
        assert out == "" and said in err and err.count("\n") == 1


def test_options_of_scoring_change_a_diagnosis_by_flag_and_by_variable(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*flags: str) -> dict[str, Any]:
        assert main(["score", "--show", "diagnosis", str(run), "--json", *flags]) == 0
        part: dict[str, Any] = json.loads(capsys.readouterr().out)["settings"]["full_score"]
        return part

    plain, own = found(), found("--rater", "rater_a")
    monkeypatch.setenv("SIMING_RATER", "rater_a")
    assert found() == own != plain
    assert number_of(own, "bias", "severity", "judge - reference").value == 0  # it answers what rater_a says
    monkeypatch.delenv("SIMING_RATER")
    assert found("--mapping", "proportional") != plain


def test_shards_of_prepare_are_disjoint_and_together_everything(short_demo: Path, tmp_path: Path) -> None:
    """Three shards decode what one command does, each video once."""
    common = ["run", "prepare", "--data", str(short_demo), "--frames", "3", "--clip-frames", "1", "--cache"]
    made: list[str] = []
    for part in ("1/3", "2/3", "3/3"):
        cache = tmp_path / part.replace("/", "of")
        assert main([*common, str(cache), "--shard", part]) == 0
        made += {path.parent.parent.name for path in (cache / "media").glob("*/*/*/*.jpg")}
    assert len(made) == len(set(made)) == 4


def test_what_is_missing_is_listed_with_what_it_costs_to_ask_again(
    short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(open_dataset(short_demo), tmp_path / "run", settings=("full_score",))
    log = next(run.glob("*_samples_*"))
    unanswered(log, (1,))
    words = ["score", str(run), "--data", str(short_demo), "--show", "missing"]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "3 of 4 requests with a reply; 1 missing: full_score/sim002 (request_failed)" in out
    assert "command sends only the requests without a stored reply" in out
    assert main(words[:4]) == 0
    assert "1 of 4 requests failed (1 no reply). `siming score --show missing` lists" in capsys.readouterr().out
    change_rows(log, lambda lines: [line["siming_stderr"].update(usage={"stored": False}) for line in lines])
    assert main(words) == 1
    assert "pays for, every request again" in capsys.readouterr().out
    imported = write_rater(open_dataset(short_demo), tmp_path / "my replies.jsonl", "rater_a")
    imported.write_text("".join(imported.read_text().splitlines(keepends=True)[1:]))
    assert main(["score", str(imported), *words[2:]]) == 1
    out = capsys.readouterr().out
    assert f"`siming run requests --missing '{imported}'`, with the options" in out and "command" not in out
