"""Files that come from outside: regular ones, up to a limit, their numbers bounded, their YAML as people write it."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from siming_tasks.benchmark.rubrics import default_rubric, load_rubric
from siming_tasks.common.errors import DataError, Problem, RubricError, SimingError
from siming_tasks.common.files import check_file_name, open_regular, read_bytes, read_yaml, sha256_file, sha256_json
from siming_tasks.data import open_dataset
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.row_schema import DatasetInfo
from siming_tasks.data.withholding import with_labels
from siming_tasks.study.results.discovery import run_at
from siming_tasks.study.results.read_predictions import load_predictions
from siming_tasks.tools.builder.label_tables import read_grids
from tests.benchmark.rubrics.test_rubrics import SMALL

SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "a pipe; only regular files can be read"),
    "zero": (lambda path: path.symlink_to("/dev/zero"), "a device; only regular files can be read"),
    "folder": (lambda path: path.mkdir(), "a folder; only regular files can be read"),
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_no_reader_opens_a_special_file(short_demo: Path, tmp_path: Path, kind: str) -> None:
    make, words = SPECIAL[kind]
    dataset = open_dataset(short_demo)
    readers: dict[str, Callable[[Path], object]] = {
        "x.yaml": read_yaml,
        "rubric.yaml": load_rubric,
        "sheet.csv": read_grids,
        "sheet.xlsx": read_grids,
        "key.json": lambda path: with_labels(dataset, path),
        "x_results.json": lambda path: run_at(path.parent),
    }
    for name, read in readers.items():
        make(tmp_path / name)
        with pytest.raises(SimingError, match=f"{name}: {words}"):
            read(tmp_path / name)
    (tmp_path / "answers").mkdir()
    make(tmp_path / "answers" / "p.jsonl")
    (problem,) = load_predictions(tmp_path / "answers", dataset).problems
    assert problem.code == "predictions-unreadable" and words in str(problem)


def test_sockets_are_refused_and_plain_files_read(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(OSError), open_regular(tmp_path / "s"):
            pass
    (tmp_path / "f").write_bytes(b"abc")
    (tmp_path / "l").symlink_to("f")
    assert read_bytes(tmp_path / "l", 3) == b"abc"
    assert sha256_file(tmp_path / "f") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180
    with pytest.raises(DataError, match=r"f: 3 bytes; at most 2 are read here\. Is it the right file\?"):
        read_bytes(tmp_path / "f", 2)


def test_a_value_that_cannot_be_is_named_by_its_line(tmp_path: Path) -> None:
    for text, message in (
        ("n: " + "9" * 3_900_000, ":1: not valid YAML: a number of 3,900,000 characters; at most 100 are read"),
        ("d: 2020-13-45", ":1: not valid YAML: '2020-13-45' is not a valid value"),
        ("a: 1\nb: !!binary aGVsbG8=", ":2: not valid YAML: tags (!!binary) are not accepted here"),
        ("a: 1\nb: !mine x", ":2: not valid YAML: tags (!mine) are not accepted here"),
        ("name: Tourniquet: placing", ":1: not valid YAML: mapping values are not allowed in this context. Put text"),
        ("a: 1\na: 2", ":2: not valid YAML: key 'a' appears twice"),
        ("a: &x [1]\nb: *x", ":2: not valid YAML: aliases (*name) are not accepted here"),
        ("b: !!python/object/apply:os.system [true]", ":1: not valid YAML: tags (!!python"),
        ("[" * 5_000, ":1: not valid YAML"),
        ("a: 按压", ":1: this line is not UTF-8. Save the file as UTF-8."),
    ):
        (tmp_path / "x.yaml").write_text(text, encoding="gbk")
        with pytest.raises(DataError) as caught:
            read_yaml(tmp_path / "x.yaml")
        assert f"x.yaml{message}" in str(caught.value) and len(str(caught.value)) < 500
    for number in ("9" * 5_000, "-" + "9" * 3_900_000, "9" * 21, "1e999"):
        (tmp_path / "x.jsonl").write_text(f'{{"n": {number}}}\n{{"n": 1}}\n')
        found: list[Problem] = []
        ((_, good),) = read_jsonl(tmp_path / "x.jsonl", found)
        assert len(found) == 1 and len(str(found[0])) < 200 and good == {"n": 1}


def test_a_results_file_of_any_shape_is_read_or_refused_by_name(tmp_path: Path) -> None:
    tasks = '"configs": {"siming_full_score": {}}'
    (tmp_path / "x_samples_siming_full_score.jsonl").write_text("{}\n")
    for text in ("[]", '{"config": []}', '{"configs": {"siming_full_score": 5}}', "[" * 9_000,
                 f'{{"config": {{"limit": "x"}}, {tasks}}}', f'{{"config": {{"limit": 1e999}}, {tasks}}}'):  # fmt: skip
        (tmp_path / "x_results.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            run_at(tmp_path)
        except DataError as error:
            assert "x_results.json: not a results file of lmms-eval" in str(error)


def test_names_that_some_system_takes_for_something_else_are_refused() -> None:
    for name in ("index", "INDEX", "a."):
        with pytest.raises(ValueError, match="choose another"):
            check_file_name(name)
    for name in ("index-1", "a.b", "exam_007"):
        assert check_file_name(name) == name


TEXT = yaml.safe_dump(SMALL, sort_keys=False)


def written(tmp_path: Path, old: str, new: str) -> Path:
    assert TEXT.count(old) >= 1
    path = tmp_path / "rubric.yaml"
    path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    return path


def test_scalars_are_read_as_people_write_them(tmp_path: Path) -> None:
    """YAML 1.1 makes booleans, minutes, octal numbers and dates of some of these."""
    for word in ("1", "1.10", "010", "1:30", "2024-01-01", "no", "true", "1_000", "1e3", "0x1F", ".nan", "= 3", "正确"):
        assert load_rubric(written(tmp_path, "version: '1'", f"version: {word}")).version == word
        step = load_rubric(written(tmp_path, "partial: Some.", f"partial: {word}")).steps[0]
        assert step.criteria.partial == word
        assert load_rubric(written(tmp_path, "version: '1'", f"version: '1'\ntitle: {word}")).title == word
    for word, points in ("02", 2), ("010", 10), ("2.0", 2), ("+2", 2), ("2e0", 2), ("'2'", 2), ("2.50", 2.5):
        assert load_rubric(written(tmp_path, "max_score: 2", f"max_score: {word}")).steps[0].max_score == points
    assert load_rubric(written(tmp_path, "version: '1'", "version: '1'\ntitle: ~")).title is None
    with pytest.raises(RubricError, match=r"rubric\.yaml:3: version: Input should be a valid string"):
        load_rubric(written(tmp_path, "version: '1'", "version: ~"))
    # fields of any type keep the reading of YAML: sources and facts go into stated digests as they were read
    path = written(tmp_path, "version: '1'", "version: '1'\nsources: {A: {year: 2015, old: no, at: 1:30}}")
    assert load_rubric(path).sources == {"A": {"year": 2015, "old": False, "at": 90}}
    assert load_rubric(written(tmp_path, "max_score: 2", "max_score: 2\n    critical: yes")).steps[0].critical is True
    assert sha256_json(default_rubric().model_dump(mode="json")).startswith("a4dee87bf40e969b")
    card = "name: 2024\nversion: 1.10\nlanguages: [no, zh]\nsimulated: {videos: yes}\nlicense: off\n"
    (tmp_path / "dataset.yaml").write_text(card)
    info = DatasetInfo.model_validate(read_yaml(tmp_path / "dataset.yaml", DatasetInfo))
    assert (info.name, info.version, info.languages, info.simulated.videos) == ("2024", "1.10", ("no", "zh"), True)
    assert info.license == "off"


def test_words_are_refused_as_points(tmp_path: Path) -> None:
    line = next(number for number, text in enumerate(TEXT.splitlines(), 1) if "max_score: 2" in text)
    for word in ("yes", "1:30", "2024-01-01", "0x2", "2,5", "2 points", "1_0", ".inf", ".nan", "½", "[2]"):
        with pytest.raises(RubricError, match=rf"rubric\.yaml:{line}: skills\.0\.steps\.0\.max_score: ") as caught:
            load_rubric(written(tmp_path, "max_score: 2", f"max_score: {word}"))
        assert word == "[2]" or f"`{word}` is not a number; write points such as 2 or 2.5." in str(caught.value)
