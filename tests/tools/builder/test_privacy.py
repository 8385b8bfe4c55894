"""Whose points they are stays in the house: names of raters, and the modes of every file that has original names."""

from __future__ import annotations

import csv
import os
import stat
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_path, atomic_write
from siming_tasks.data import open_dataset, withhold
from siming_tasks.rubrics import rubric_from
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder.build_folder import write_undecided
from siming_tasks.tools.builder.build_plan import rater_names
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.label_tables import read_labels
from tests.data.conftest import RUBRIC, STEPS, write_video

WANG, LI = "Dr. Wang Mei", "rater_li"


def given(place: Path, raters: tuple[str, ...] = (WANG, LI), differ: bool = False) -> dict[str, Path]:
    """A table with a row of each rater for each step."""
    write_video(place / "videos" / "exam of Zhang.mp4")
    (place / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    with (place / "labels.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video_id", "step_id", "rater", "points"])
        for at, (step, top) in enumerate(STEPS):
            for number, rater in enumerate(raters):
                writer.writerow(["exam of Zhang", step, rater, top - 1 if differ and at == number == 1 else top])
    return {"rubric": place / "rubric.yaml", "labels": place / "labels.csv", "videos": place / "videos"}


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["Wang", "Li"], ["rater_a", "rater_b"]),
        (["Li", "Wang"], ["rater_a", "rater_b"]),
        (["rater_a", "rater_b", "rater_12"], ["rater_a", "rater_b", "rater_12"]),
        (["rater_b", "Li", "rater_a", "rater_wang"], ["rater_b", "rater_c", "rater_a", "rater_d"]),
        (["Rater A"], ["rater_a"]),
        ([f"n{k}" for k in range(28)], [*(f"rater_{c}" for c in ascii_lowercase), "rater_aa", "rater_ab"]),
    ],
)  # fmt: skip
def test_letters_for_names(names: list[str], expected: list[str]) -> None:
    row = LabelRow("v", "s", "f", (1,), scores={**dict.fromkeys(names, 1.0), "consensus": 1.0})
    assert rater_names([row]) == dict(zip(names, expected, strict=True))
    assert rater_names([row], keep=True) == {name: name for name in names}


def test_names_of_raters_stay_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = given(tmp_path / "in")
    words = [f"--{name}={path}" for name, path in inputs.items()]
    assert main(["data", "build", str(tmp_path / "exams"), *words, "--consensus", WANG]) == 0
    assert main(["data", "check", str(tmp_path / "exams")]) == 0
    said = "".join(capsys.readouterr())
    for secret in (WANG, "Wang", LI, "rater_li", "Zhang"):
        assert secret.encode() not in everything(tmp_path / "exams"), secret
        assert secret not in said, secret
    dataset = open_dataset(tmp_path / "exams")
    assert dataset.raters == ("consensus", "rater_a", "rater_b")
    assert dataset.meta["label_sources"]["raters"] == ["rater_a", "rater_b"]
    assert dataset.meta["label_sources"]["rule"] == "rater_a"
    assert "file names and names of students and raters replaced by ids" in (tmp_path / "exams/README.md").read_text()
    table = list(csv.DictReader((tmp_path / "exams.names.csv").read_text().splitlines()))
    assert [(row["id"], row["name"]) for row in table if row["kind"] == "rater"] == [("rater_a", WANG), ("rater_b", LI)]


@pytest.mark.parametrize("rule", [LI, "rater_b"])
def test_a_rule_may_name_the_rater_either_way(tmp_path: Path, rule: str) -> None:
    inputs = given(tmp_path / "in", differ=True)
    built = build_dataset(tmp_path / "exams", **inputs, options=BuildOptions(consensus=rule))
    step = built.dataset.videos[0].step("cpr_02")
    assert dict(step.scores) == {"rater_a": 2, "rater_b": 1, "consensus": 1}
    sources = built.dataset.meta["label_sources"]
    assert (sources["rule"], sources["consensus"]) == ("rater_b", {"raters agree": 3, "points of rater_b": 1})


def test_names_are_kept_on_demand(tmp_path: Path) -> None:
    built = build_dataset(tmp_path / "exams", **given(tmp_path / "in"), options=BuildOptions(keep_rater_names=True))
    assert built.dataset.physicians == (WANG, LI)
    assert "rater," not in built.names_file.read_text()
    assert "file names and student names replaced by ids" in (tmp_path / "exams/README.md").read_text()


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The mode that every file had before it took its name, under a umask that forbids nothing."""
    seen: dict[str, int] = {}
    replace = os.replace

    def noted(source: Any, target: Any) -> None:
        seen[Path(target).name] = stat.S_IMODE(os.stat(source).st_mode)
        replace(source, target)

    monkeypatch.setattr(os, "replace", noted)
    before = os.umask(0)
    yield seen
    os.umask(before)


def test_files_with_names_are_private_from_the_first_byte(tmp_path: Path, modes: dict[str, int]) -> None:
    inputs = given(tmp_path / "in", differ=True)
    with pytest.raises(DataError, match="listed in"):
        build_dataset(tmp_path / "exams", **inputs)
    build_dataset(tmp_path / "exams", **inputs, options=BuildOptions(consensus="mean"))
    withhold(tmp_path / "exams", tmp_path / "public", tmp_path / "key.json")
    private = ("exams.adjudicate.csv", "exams.names.csv", "key.json")
    assert {name: modes[name] for name in private} == dict.fromkeys(private, 0o600)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in private} == {0o600}
    assert modes["videos.jsonl"] == modes["dataset.yaml"] == 0o644


def test_a_private_file_is_nobody_elses_at_any_moment(tmp_path: Path, modes: dict[str, int]) -> None:
    (tmp_path / "open.csv").touch(0o666)
    with atomic_path(tmp_path / "open.csv", private=True) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    with atomic_write(tmp_path / "open.txt", private=True):
        (temporary,) = tmp_path.glob(".open*")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert modes == {"open.csv": 0o600, "open.txt": 0o600}
    assert stat.S_IMODE((tmp_path / "open.csv").stat().st_mode) == 0o600


EVIL = ('=HYPERLINK("http://x",1)', "+1+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "'=already", "O'Brien", "-1.5")


def test_the_list_to_adjudicate_holds_no_formula_and_reads_back(tmp_path: Path) -> None:
    rows = [LabelRow(name, "cpr_01", "sheet.csv", (2,), scores={"=cmd": 1.0, "rater_b": 0.0}) for name in EVIL]
    path = write_undecided(tmp_path / "exams", rows)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        cells = [cell for line in csv.reader(stream) for cell in line]
    assert [cell for cell in cells if cell[:1] in tuple("=+@\t\r") or (cell[:1] == "-" and cell != "-1.5")] == []
    judgments, problems = read_labels([path], rubric_from(RUBRIC))
    assert problems == [] and [(row.video, row.rater, row.points) for row in judgments] == [
        (name, *given) for name in EVIL for given in (("=cmd", 1.0), ("rater_b", 0.0), ("consensus", None))
    ]
