"""Whatever stands in a file, loading it ends in a value or in one of our own errors."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.data import open_dataset
from siming_tasks.data.dataset import scan
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.tools.builder.label_tables import read_labels
from tests.data.conftest import RUBRIC, make_folder, unstate

TINY = rubric_from(RUBRIC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_folder(tmp_path_factory.mktemp("fuzz") / "tiny", 2)
    unstate(root)  # else every change is refused for the digest alone
    return root


def paths(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [place]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += paths(inner, (*place, key))
    return found


@FEW
@given(st.binary(max_size=400))
def test_any_bytes_as_json_lines_are_read_or_refused(root: Path, data: bytes) -> None:
    path = root.parent / "any.jsonl"
    path.write_bytes(data)
    found: list[Problem] = []
    rows = [number for number, _ in read_jsonl(path, found)]
    lines = enumerate(data.split(b"\n"), 1)
    wanted = [number for number, line in lines if line.replace(b"\xef\xbb\xbf", b"").strip(b" \t\r")]
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # UTF-16: nothing after the first line is read
    assert sorted([*rows, *(each.line or 0 for each in found)]) == (wanted[:1] if wide else wanted), (
        "a line that is not blank is a row or a finding"
    )


def test_lines_from_strangers_are_refused_by_name(tmp_path: Path) -> None:
    """Whole numbers beyond 64 bits, what is nested too deeply, and a log's NaN, which is nothing."""
    path = tmp_path / "lines.jsonl"
    path.write_text('{"x": 123456789012345678901}\n{"x": 1e999}\n' + '{"a":' * 5000 + "1" + "}" * 5000 + "\n")
    found: list[Problem] = []
    assert not list(read_jsonl(path, found))
    reasons = [each.what for each in found]
    assert [
        any(word in reason for word in ("21 digits", "not a finite number", "too deeply")) for reason in reasons
    ] == [True] * 3
    path.write_text('{"x": NaN, "y": 1, "y": 2}\n')
    assert list(read_jsonl(path, [], strict=False)) == [(1, {"x": None, "y": 2})]


@FEW
@given(st.data())
def test_any_value_anywhere_in_a_row_is_read_or_refused(root: Path, data: st.DataObject) -> None:
    """One value of a good row replaced by an arbitrary one: opened, or refused with the line's number."""
    good = (root / "videos.jsonl").read_text()
    rows = [json.loads(line) for line in good.splitlines()]
    place = data.draw(st.sampled_from(paths(rows[0])[1:]))
    target: Any = rows[0]
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(JSON)
    try:
        (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        dataset, problems = scan(root)
        errors = [problem for problem in problems if problem.severity == "error"]
        assert errors or dataset is not None
        assert all(problem.what and problem.fix for problem in errors)
        assert not errors or any(problem.line for problem in errors), errors
        if not errors:
            open_dataset(root)
    finally:
        (root / "videos.jsonl").write_text(good)
    assert not any(problem.severity == "error" for problem in scan(root)[1]), "the change alone was refused"


CELL = st.text(max_size=8) | st.sampled_from(
    ["v1", "cpr_01", "2", "２", "1:23", "-", "N/A", "nan", "1e999", "=1+1", "1,5"]
)


@FEW
@given(st.lists(st.lists(CELL, min_size=5, max_size=5), min_size=1, max_size=6))
def test_any_cells_in_a_sheet_are_read_or_refused(root: Path, cells: list[list[str]]) -> None:
    """A good row below them is read, whatever stands above it; NUL alone spoils the file."""
    heads = ["video_id", "step_id", "start", "rater", "points"]
    rows = [heads, *cells, ["good video", "cpr_01", "1:23", "consensus", "2"]]
    text = "\r\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    path = root.parent / "cells.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))  # not by csv.writer, which refuses NUL in Python 3.10
    try:
        found, _ = read_labels([path], TINY)
    except DataError as error:
        assert str(path) in str(error) and ("\0" in text or not text.isprintable())
        return
    assert all(row.points is None or 0 <= row.points <= 5 for row in found)
    assert (found[-1].video, found[-1].start, found[-1].points) == ("good video", 83, 2)
