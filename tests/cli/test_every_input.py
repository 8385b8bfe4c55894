"""Hostile workbooks, event logs, sheets and YAML, given to their readers: a sentence, in bounded time and memory."""

from __future__ import annotations

import io
import random
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from openpyxl import Workbook

from siming_tasks.rubrics import load_rubric
from siming_tasks.tools.station.event_log import EventLog, Known
from tests.cli.run_cases import run_cases
from tests.data.conftest import RUBRIC, STEPS, make_folder

SECONDS = 40
"""Of processor time; a good file of the same kind takes one or two."""
MEMORY = 1_500_000_000
"""Bytes that a reader may take beside what its libraries take."""


def readers(given: Path, file: Path, new: Path) -> dict[str, list[str]]:
    """Every command that reads a workbook or an event log, by a short name."""
    data = given / "tiny"
    built = ["data", "build", str(new / "out"), "--rubric", str(given / "rubric.yaml"), "--videos", str(data / "media")]
    rate = ["data", "rate", str(data), "--rater", "x", "--no-browser", "--port", "{BUSY-PORT}"]
    labels = str(given / "labels.csv")
    return {
        "labels": [*built, "--labels", str(file)],
        "score": ["score", str(file), "--data", str(data)],
        "names": [*built, "--labels", labels, "--names", str(file)],
        "raters": ["study", "raters", str(file)],
        "store": [*rate, "--store", str(file)],
        "join": [*rate, "--store", str(new / "log"), "--join", str(file)],
    }


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_STRINGS = (
    '<Override PartName="/xl/sharedStrings.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>'
)


def workbook(rows: str | None = None, **parts: str | bytes) -> bytes:
    """A workbook with a good sheet; ``rows`` is XML in place of the sheet's, ``parts`` are other parts of it."""
    book = Workbook()
    book.active.append(HEADS)
    book.active.append(["v001", "cpr_01", "a", 2, "full_score/v001", "{}"])
    good, made = io.BytesIO(), io.BytesIO()
    book.save(good)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if rows is not None and name.endswith("sheet1.xml"):
                head, tail = content.split(b"<sheetData>")[0], content.split(b"</sheetData>")[1]
                content = head + b"<sheetData>" + rows.encode() + b"</sheetData>" + tail
            if name == "[Content_Types].xml" and "sharedStrings" in parts:
                content = content.replace(b"</Types>", _STRINGS.encode() + b"</Types>")
                new.writestr("xl/sharedStrings.xml", parts["sharedStrings"])
            new.writestr(name, parts.get(name.rpartition("/")[2].partition(".")[0], content))
    return made.getvalue()


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


HEADS = ["video_id", "step_id", "rater", "points", "index", "prediction"]
FIRST = f'<row r="1">{"".join(cell(f"{chr(65 + at)}1", name) for at, name in enumerate(HEADS))}</row>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)

BOOKS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: workbook(" " * 70_000_000),
    "short tags": lambda: workbook(FIRST + "<row/>" * 9_000_000),
    "more shared strings": lambda: workbook(sharedStrings=f'<sst xmlns="{_MAIN}">{"<si/>" * 9_900_000}</sst>'),
    "one string of 60 MB": lambda: workbook(
        sharedStrings=f'<sst xmlns="{_MAIN}"><si><t>{"x" * 60_000_000}</t></si></sst>'
    ),
    "last row of all": lambda: workbook(FIRST + f'<row r="1048576">{cell("A1048576", "v001")}</row>'),
    "16,384 columns": lambda: workbook(FIRST + f'<row r="2">{cell("XFD2", "v001")}</row>'),
    "merged cells": lambda: workbook(
        FIRST + '<row r="2"/>', sheet1=_merged('<mergeCell ref="A1:XFD1048576"/>' * 2_000)
    ),
    "entities": lambda: workbook(sharedStrings=f"{LAUGHS}]><sst xmlns='{_MAIN}'><si><t>&i;</t></si></sst>"),
    "cut short": lambda: workbook()[:900],
    "bytes changed": lambda: _spoiled(workbook()),
    "old or protected": lambda: bytes.fromhex("D0CF11E0A1B11AE1") + bytes(600),
    "formulas and percents": lambda: workbook(
        FIRST + '<row r="2"><c r="A2"><f>1/0</f><v>#DIV/0!</v></c><c r="C2"><v>1e999</v></c><c><v>x</v></c></row>'
    ),
}  # fmt: skip


def _merged(cells: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(workbook())) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    return sheet.replace(b"</sheetData>", f"</sheetData><mergeCells>{cells}</mergeCells>".encode())


def _noise(size: int) -> bytes:
    return random.Random(2).randbytes(size)


def _spoiled(data: bytes) -> bytes:
    rng, changed = random.Random(1), bytearray(data)
    for _ in range(60):
        changed[rng.randrange(30, len(changed))] = rng.randrange(256)
    return bytes(changed)


TEXTS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "NUL bytes": (".csv", lambda: b"video_id,rater,cpr_01\nv001,a,\0" * 9),
    "a cell of 10 MB": (".csv", lambda: b'video_id,rater,cpr_01\nv001,a,"' + b"x" * 10**7 + b'"\n'),
    "a quote without end": (".csv", lambda: b'video_id,rater,cpr_01\n"' + b"v001,cpr_01,1\n" * 900_000),
    "line ends alone": (".csv", lambda: b"\r" * 30_000_000),
    "a deep row": (".jsonl", lambda: b'{"video_id":' + b"[" * 900 + b"]" * 900 + b"}"),
    "a long number": (".jsonl", lambda: b'{"video_id": "v001", "rater_a": ' + b"9" * 3_000_000 + b"}"),
}  # fmt: skip


ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def replaced(table: str, columns: str) -> str:
    """Statements that put an endless view in the place of a table."""
    chosen = ", ".join(f"i AS {name}" for name in columns.split())
    return f"DROP TABLE {table}; CREATE VIEW {table} AS {ENDLESS} SELECT {chosen} FROM n"


LOGS: dict[str, str | Callable[[Path], object]] = {
    "endless acts": replaced("acts", "id time work rater exam step kind value"),
    "endless settled": f"CREATE VIEW settled AS {ENDLESS} SELECT i AS id, i AS time, i AS target FROM n",
    "a computed column": "ALTER TABLE acts ADD COLUMN more AS (zeroblob(100000000)) VIRTUAL",
    "numbers for texts": "INSERT INTO acts VALUES (1, 2, 'rate', 3, (SELECT digest FROM exams), 4, 5, 6)",
    "deep JSON": "UPDATE about SET value = replace(hex(zeroblob(200000)), '00', '[') WHERE key = 'rubric'",
    "a rubric of 100 MB": "UPDATE about SET value = hex(zeroblob(50000000)) WHERE key = 'rubric'",
    "a newer format": "PRAGMA user_version = 99",
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:6000]),
    "encrypted": lambda path: path.write_bytes(_noise(40_000)),
    "pages changed": lambda path: path.write_bytes(path.read_bytes()[:4096] + _spoiled(path.read_bytes()[4096:])),
    "a log beside": lambda path: path.with_name(f"{path.name}-wal").write_bytes(_noise(9000)),
}  # fmt: skip


def event_log(path: Path, how: str | Callable[[Path], object]) -> None:
    """An event log with one act, and what is done to it."""
    log = EventLog.begin(path, load_rubric(path.parents[2] / "rubric.yaml"), synthetic=True)
    log.know([Known("v001", "a" * 64, ("cpr_01",))])
    log.append("one", work="rate", rater="x", exam="a" * 64, kind="points", step="cpr_01", value=1)
    log.close()
    if isinstance(how, str):
        connection = sqlite3.connect(path)
        connection.executescript(how)
        connection.close()
    else:
        how(path)


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("inputs")
    make_folder(root / "tiny", videos=1)
    (root / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = "".join(f"v001,{step},a,{top:g}\n" for step, top in STEPS)
    (root / "labels.csv").write_text("video_id,step_id,rater,points\n" + rows)
    yield root
    shutil.rmtree(root)


READERS = {"book": ("labels", "names", "raters"), "log": ("labels", "raters", "store", "join")}
"""Readers of a form, which take turns: they share one way into a file."""


@pytest.mark.parametrize("form", ["book", "log", "text"])
def test_a_sentence_in_bounded_time_and_memory(given: Path, form: str) -> None:
    kinds = {"book": BOOKS, "log": LOGS, "text": TEXTS}[form]
    cases = []
    for number, kind in enumerate(kinds):
        new, place = given / form / f"{number}-new", given / form / f"{number}-file"
        new.mkdir(parents=True)
        place.mkdir()
        if form == "text":
            suffix, make = TEXTS[kind]
            reader, file = "labels" if suffix == ".csv" else "score", place / f"given{suffix}"
            file.write_bytes(make())
        else:
            reader = READERS[form][number % len(READERS[form])]
            file = place / ("given.xlsx" if form == "book" else "given.sqlite")
            file.write_bytes(BOOKS[kind]()) if form == "book" else event_log(file, LOGS[kind])
        cases.append({"argv": readers(given, file, new)[reader], "cwd": str(new), "memory": MEMORY, "seconds": SECONDS})
    for kind, ended in zip(kinds, run_cases(cases, given / "cache"), strict=True):
        assert "Traceback" not in ended["said"] and "MemoryError" not in ended["said"], (kind, ended["said"])
        assert ended["code"] in (0, 1, 2), f"{kind}: {ended}: killed"
        assert not ended["code"] or "siming " in ended["said"], f"{kind}: nothing is said"


def test_a_video_that_may_not_be_read_is_a_sentence() -> None:
    """From every command that opens the videos of a data set."""
    root = Path(tempfile.mkdtemp(prefix="siming-unreadable-"))
    root.chmod(0o755)
    data, out = make_folder(root / "tiny", videos=2), root / "open"
    out.mkdir()
    out.chmod(0o777)
    (data / "media" / "v001.mp4").chmod(0)
    rows = "".join(f"{video},{step},consensus,{top:g}\n" for video in ("v001", "v002") for step, top in STEPS)
    (root / "labels.csv").write_text("video_id,step_id,rater,points\n" + rows)
    sheet = f"--rubric {data}/rubric.yaml --labels {root}/labels.csv --videos {data}/media"
    lines = [
        f"data check {data}",
        f"data check {data} --leaks",
        f"data rate {data} --rater x --no-browser --port {{BUSY-PORT}} --store {out}/log",
        f"data split {data} {out}/public --key {out}/key",
        f"data build {out}/built {sheet}",
        f"run plan --data {data}",
        f"run prepare --data {data}",
        f"run requests {out}/requests --data {data} --model m --limit 1",
    ]
    cases = [{"argv": line.split(), "cwd": str(out), "plain": True} for line in lines]
    for line, ended in zip(lines, run_cases(cases, out / "cache"), strict=True):
        assert "Traceback" not in ended["said"] and ended["code"] == 1, (line, ended["said"])
        if line != lines[0]:  # its findings stand on standard output
            assert "v001.mp4" in ended["said"] and "Permission denied" in ended["said"], line
    shutil.rmtree(root)
