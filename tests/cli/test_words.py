"""Words of commands that are refused before any work: swapped ones, and places that no output can take."""

import os
import socket
import stat
import zipfile
from pathlib import Path

import click
import pytest

from siming_tasks.cli.main import COMMANDS, find_command, main
from siming_tasks.cli.parameters import NEW_FILE, NEW_FOLDER, OutputPath
from siming_tasks.common.input_kinds import kind_of
from tests.data.conftest import make_folder, unstate

pytestmark = pytest.mark.fast


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thing of each kind in the current folder, as small as its sign."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIMING_DATA", raising=False)
    for file in ("exams/dataset.yaml", "runs/qwen/1_samples_siming_full_score.jsonl", "report/report.json",
                 "report/index.html", "rubric.yaml", "answers.jsonl", "li.sqlite"):  # fmt: skip
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    zipfile.ZipFile("exams.zip", "w").close()


def test_each_kind_is_told_by_its_files(things: None) -> None:
    kinds = {"exams": "data set", "runs/qwen": "run", "report": "report", "answers.jsonl": "run",
             "exams.zip": "archive", "rubric.yaml": None, "li.sqlite": "event log",
             ".": "run", "nowhere": None, "x" * 5000: None}  # fmt: skip
    assert {path: kind_of(path) for path in kinds} == kinds


def test_a_word_in_the_wrong_place_is_named(things: None, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    for line, code, said in (
        ("score exams", 1, "exams: this is a data set; a run is expected here. Give it as --data exams"),
        ("report report", 1, "report: this is a report; a run is expected here. Show it with `siming view report`;"),
        ("study raters exams.zip", 1, "DIR 'exams.zip': a file, not a folder, and not a Hugging Face dataset"),
        ("data rate /etc/passwd --rater Li", 1, "/etc/passwd: a file, not a folder. Give a folder of videos"),
        ("data rate /nowhere --rater Li", 1, "/nowhere: no such folder. Give a folder of videos"),
        ("compare runs/qwen --setting full_scor", 2, "setting='full_scor' is not a setting; 'full_score' is near."),
        ("compare runs/qwen --setting x", 2, "full_score, full_error, clip_score, clip_error; others are on two pages"),
        ("data template x.pdf", 2, "x.pdf: unknown extension '.pdf'; give .xlsx for a workbook or .html for sheets"),
        ("board submit exams.zip", 2, "exams.zip is an archive. Add --check to validate it."),
    ):
        assert main(line.split()) == code
        out, err = capsys.readouterr()
        assert out == "" and said in err and err.startswith(f"siming {line.partition(' ')[0]}") and err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_every_word_and_flag_that_names_an_output_is_checked() -> None:
    params = [param for name in COMMANDS for param in find_command(name).params]
    named = [param for param in params if param.name in ("out", "key", "store")]
    assert len(named) >= 10 and all(isinstance(param.type, OutputPath) for param in named)


@pytest.mark.parametrize("kind", [NEW_FILE, NEW_FOLDER], ids=["file", "folder"])
def test_nothing_takes_the_place_of_what_is_no_output(kind: OutputPath, tmp_path: Path) -> None:
    made = {name: tmp_path / name for name in ("pipe", "socket", "other", "below a file", "circle", "x" * 300)}
    os.mkfifo(made["pipe"])
    made["other"].write_text("kept") if kind.folder else made["other"].mkdir()
    (tmp_path / "file").touch()
    made["below a file"] = tmp_path / "file" / "out"
    made["circle"].symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(made["socket"]))
    before = {path: path.lstat().st_mode for path in tmp_path.iterdir()}
    for text in ("", "-", "/dev/null", *map(str, made.values())):
        with pytest.raises(click.UsageError) as refusal:
            kind.convert(text, None, None)
        assert text in str(refusal.value)
    assert {path: path.lstat().st_mode for path in tmp_path.iterdir()} == before
    assert stat.S_ISFIFO(before[made["pipe"]])


def test_a_link_stands_for_what_it_leads_to(tmp_path: Path) -> None:
    link, dangling = tmp_path / "link.html", tmp_path / "dangling"
    (tmp_path / "real.html").write_text("old")
    link.symlink_to(tmp_path / "real.html")
    dangling.symlink_to(tmp_path / "new")
    assert NEW_FILE.convert(str(dangling), None, None) == tmp_path / "new"
    assert main(["data", "template", str(link), "--rubric", "none.yaml"]) == 1  # no such rubric
    assert (tmp_path / "real.html").read_text() == "old"
    assert main(["data", "template", str(link)]) == 0
    assert link.is_symlink() and "<html" in (tmp_path / "real.html").read_text()


def test_recordings_of_people_are_closed_to_all_who_did_not_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the command asks of the hub where nothing is said; drawings are open."""
    gates: list[str] = []
    monkeypatch.setattr("siming_tasks.tools.exchange.hub_upload.push", lambda *_, gate, private: gates.append(gate))
    data = make_folder(tmp_path / "tiny", videos=1)
    assert main(["data", "push", str(data), "org/exams"]) == 0
    text = (data / "dataset.yaml").read_text()
    (data / "dataset.yaml").write_text(text.replace("videos: true", "videos: false"))
    unstate(data)
    assert main(["data", "push", str(data), "org/exams"]) == 0
    assert gates == ["no", "manual"]
