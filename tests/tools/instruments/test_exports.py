"""Exports of manikins: forms, clocks, and what cannot be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.tools.instruments import measure, read_export, read_exports

ZOLL = "Second,Millisecond,Depth (inches),Rate (CPM),Release Velocity (MM/S),Valid/Invalid\n"
LAERDAL = """\
type,msecs,type2,value
CprSessionInfo,0,totalTime,120
CprCompEvent,250,compDepth,52.5
CprCompEvent,250,compReleaseDepth,1.5
CprCompEvent,250,compMeanRate,110
CprVentEvent,400,ventVolume,500
CprCompEvent,800,compDepth,48
CprCompEvent,800,compReleaseDepth,6
"""


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_zolls_inches_are_millimetres_and_invalid_rows_are_counted(tmp_path, encoding):
    rows = "20,683,2.0,100,8297,Valid\r\n21,200,1.5,116,350,Invalid\r\n21,739,2.2,55,427,Valid\r\n"
    export = read_export(written(tmp_path / "a.csv", ZOLL + rows, encoding))
    np.testing.assert_allclose(export.time, [20.683, 21.2, 21.739], err_msg="somebody pressed at 21.2 s too")
    np.testing.assert_allclose(export.depth, [50.8, np.nan, 55.88])
    assert np.isnan(export.release).all(), "a velocity is no depth"
    assert export.invalid == 1


def test_zolls_later_form_has_thousandths_of_an_inch(tmp_path):
    export = read_export(written(tmp_path / "a.csv", "second26,ms27,D,CPM,Vr,valid\n33,426,2319,100,8296,1\n"))
    np.testing.assert_allclose([export.time[0], export.depth[0]], [33.426, 58.9026])


def test_laerdals_rows_of_one_moment_are_one_compression(tmp_path):
    export = read_export(written(tmp_path / "a.csv", LAERDAL))
    np.testing.assert_allclose(export.time, [0.25, 0.8])
    np.testing.assert_allclose(export.depth, [52.5, 48])
    np.testing.assert_allclose(export.release, [1.5, 6])


def test_a_comma_may_be_the_decimal_point(tmp_path):
    export = read_export(written(tmp_path / "a.csv", "time (s);depth (cm)\n0,5;5,1\n1,0;5,2\n"))
    np.testing.assert_allclose([export.time, export.depth], [[0.5, 1.0], [51, 52]])


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        ("time (s),depth (mm)\n0.5,50\n1.0,fifty\n", "instrument-cell", 3, "'fifty' is not a number"),
        ("time (s),depth (mm)\n0.5,50\n0.4,50\n", "instrument-order", 3, "0.4 s comes after 0.5 s"),
        ("time (s),depth (cm)\n0.5,50\n", "instrument-cell", 2, "depth 500 mm"),
        ("Second,Millisecond,Depth,Rate (CPM)\n1,0,2.0,100\n", "instrument-form", 1, "needs its unit"),
        ("name,points\na,1\n", "instrument-form", 1, "no column of depth and time"),
        (ZOLL + "1,0,2.0,100,1,Invalid\n", "instrument-empty", None, "1 are marked as invalid"),
        ("", "instrument-form", 1, "the headings are none"),
        ("time (s),depth (mm),depth (cm)\n0.5,50,5.5\n", "instrument-form", 1, "`depth (mm)`, `depth (cm)`: several"),
        ("time (s),depth (mm),depth (mm)\n0.5,50,55\n", "instrument-form", 1, "several columns of depth"),
        ("time (s),second,ms,depth (mm)\n1.5,1,500,55\n", "instrument-form", 1, "several columns of time"),
        ("ms,msecs,depth (mm)\n500,500,55\n", "instrument-form", 1, "`ms` is a part of a second"),
        ("second,ms,D\n1,1500,2000\n", "instrument-cell", 2, "1500 is no millisecond within a second"),
        ("time (s),depth (mm)\n0,5.5\n0.5,5.1\n", "instrument-unit", 1, "deepest compression has 5.5 mm"),
        ("second,ms,D\n1,0,2.2\n1,500,2.1\n", "instrument-unit", 1, "deepest compression has 0.0559 mm"),
        ("time (s),depth (mm),release (mm)\n0.5,50,51\n", "instrument-cell", 2, "deeper than the compression itself"),
        ("time (s),depth (mm)\n0,0\n.02,55\n.04,0\n.06,55\n", "instrument-rate", 1, "3e+03 compressions a minute"),
        ("time (s),depth (mm)\n250,50\n800,50\n1350,50\n", "instrument-rate", 1, "0.109 compressions a minute"),
    ],
)
def test_what_cannot_be_read_is_named_with_file_row_and_way_out(tmp_path, text, code, line, words):
    path = written(tmp_path / "a.csv", text)
    with pytest.raises(DataError) as error:
        read_export(path)
    (problem,) = error.value.problems
    assert (problem.code, problem.line, problem.file) == (code, line, str(path))
    assert words in str(problem) and problem.fix


def test_exports_run_on_the_videos_clock_and_none_is_assumed(tmp_path):
    folder = tmp_path / "exports"
    written(folder / "Exam 1.csv", "time (s),depth (mm)\n0.5,50\n")
    written(folder / "v2.csv", "time (s),depth (mm)\n90,55\n")
    with pytest.raises(DataError, match="has no row of it") as error:
        read_exports(folder, {"v1": "v1", "Exam 1": "v1", "v2": "v2"})
    assert [problem.code for problem in error.value.problems] == ["instrument-offset"] * 2
    written(folder / "offsets.csv", "file,offset\nExam 1.csv,12.5\nv2,-3.5\n")
    read, warnings = read_exports(folder, {"v1": "v1", "Exam 1": "v1", "v2": "v2"})
    assert {name: each.time.tolist() for name, each in read.items()} == {"v1": [13.0], "v2": [86.5]}
    assert not warnings
    with pytest.raises(DataError, match=r"from 13.0 to 13.0 s of a video of 10.0 s: all outside"):
        read_exports(folder, {"Exam 1": "v1", "v2": "v2"}, {"v1": 10.0, "v2": 100.0})
    written(folder / "v2.csv", "time (s),depth (mm),force\n90,55,400\n")
    _, (unread,) = read_exports(folder, {"Exam 1": "v1", "v2": "v2"})
    assert (unread.code, unread.severity) == ("instrument-column", "warning") and "`force`" in str(unread)


def test_invalid_compressions_count_for_the_rate_and_not_for_the_depth(tmp_path):
    rows = []
    for at in range(30):  # 110 a minute; the depth of every other one is invalid
        second, ms = divmod(round(1000 * at * 60 / 110), 1000)
        rows.append(f"{second},{ms},{'0.1' if at % 2 else '2.2'},110,400,{'Invalid' if at % 2 else 'Valid'}\n")
    values = measure(read_export(written(tmp_path / "a.csv", ZOLL + "".join(rows))), 0, 20).values
    assert values["rate"] == pytest.approx(110, abs=0.05)
    assert values["depth"] == pytest.approx(2.2 * 25.4)


def test_a_span_is_covered_by_what_lies_in_it_or_on_both_sides(tmp_path):
    export = read_export(written(tmp_path / "a.csv", "time (s),depth (mm)\n10,50\n10.5,50\n30,50\n30.5,50\n"))
    spans = [(0, 10), (0, 10.1), (11, 30), (30.5, 40), (31, 40)]
    assert [export.covers(*span) for span in spans] == [False, True, True, True, False]


def test_all_faults_of_a_folder_come_at_once(tmp_path):
    folder = tmp_path / "exports"
    for name in ("v1", "first", "other"):
        written(folder / f"{name}.csv", "time (s),depth (mm)\n0.5,50\n")
    written(folder / "offsets.csv", "file,offset\nv1,soon\nfirst,1\nother,1\nfirst,2\ngone,0\n")
    with pytest.raises(DataError) as error:
        read_exports(folder, {"v1": "v1", "first": "v1"})
    assert sorted((problem.code, problem.line) for problem in error.value.problems if problem.line) == [
        ("instrument-offset", 2),
        ("instrument-offset", 5),
        ("instrument-offset", 6),
    ]
    assert sorted(Path(p.file).name for p in error.value.problems if p.code == "instrument-video") == [
        "other.csv",
        "v1.csv",
    ]
