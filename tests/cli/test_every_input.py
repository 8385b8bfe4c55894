"""Hostile workbooks, event logs, sheets and YAML, given to their readers: a sentence, in bounded time and memory."""

from __future__ import annotations

import io
import itertools
import json
import random
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

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
    rate = ["data", "rate", str(data), "--rater", "x", "--no-browser", "--port", "{BUSY PORT}"]
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


def workbook(sheet: str | bytes | None = None, **parts: str | bytes) -> bytes:
    """A workbook with a good sheet, and parts of the archive changed: ``sheet`` is its rows' XML."""
    book = Workbook()
    book.active.append(["video_id", "step_id", "rater", "points", "index", "prediction"])
    book.active.append(["v001", "cpr_01", "a", 2, "full_score/v001", "{}"])
    good, made = io.BytesIO(), io.BytesIO()
    book.save(good)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if sheet is not None and name.endswith("sheet1.xml"):
                rows = sheet.encode() if isinstance(sheet, str) else sheet
                begin, end = content.index(b"<sheetData>"), content.index(b"</sheetData>")
                content = content[: begin + 11] + rows + content[end:]
            if name == "[Content_Types].xml" and "sharedStrings" in parts:
                content = content.replace(b"</Types>", _STRINGS.encode() + b"</Types>")
                new.writestr("xl/sharedStrings.xml", parts["sharedStrings"])
            part = name.rpartition("/")[2].partition(".")[0]
            new.writestr(name, parts.get(part, content))
    return made.getvalue()


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


HEAD = "".join(
    cell(f"{letter}1", name)
    for letter, name in zip("ABCDEF", ["video_id", "step_id", "rater", "points", "index", "prediction"], strict=True)
)
FIRST = f'<row r="1">{HEAD}</row>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)

BOOKS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: workbook(b" " * 300_000_000),
    "short tags": lambda: workbook(FIRST + "<row/>" * 9_000_000),
    "shared strings": lambda: workbook(sharedStrings=f'<sst xmlns="{_MAIN}">{"<si/>" * 390_000}</sst>'),
    "more shared strings": lambda: workbook(sharedStrings=f'<sst xmlns="{_MAIN}">{"<si/>" * 9_900_000}</sst>'),
    "one string of 60 MB": lambda: workbook(
        sharedStrings=f'<sst xmlns="{_MAIN}"><si><t>{"x" * 60_000_000}</t></si></sst>'
    ),
    "last row of all": lambda: workbook(FIRST + f'<row r="1048576">{cell("A1048576", "v001")}</row>'),
    "row beyond all": lambda: workbook(FIRST + f'<row r="999999999">{cell("A999999999", "v001")}</row>'),
    "16,384 columns": lambda: workbook(FIRST + f'<row r="2">{cell("XFD2", "v001")}</row>'),
    "a dimension of everything": lambda: workbook(sheet1=_dimension("A1:XFD1048576")),
    "a dimension of nonsense": lambda: workbook(sheet1=_dimension("Z9:A1")),
    "beginnings of tags": lambda: workbook("<!-- " + "<c " * 300_000 + "-->" + FIRST),
    "attributes without end": lambda: workbook("<!-- <c " + 'r="A1" ' * 300_000 + "-->" + FIRST),
    "merged cells": lambda: workbook(
        FIRST + '<row r="2"/>', sheet1=_merged('<mergeCell ref="A1:XFD1048576"/>' * 2_000)
    ),
    "entities": lambda: workbook(sharedStrings=f"{LAUGHS}]><sst xmlns='{_MAIN}'><si><t>&i;</t></si></sst>"),
    "no sheet": lambda: workbook(workbook='<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>'),
    "cut short": lambda: workbook()[:900],
    "bytes changed": lambda: _spoiled(workbook()),
    "old or protected": lambda: bytes.fromhex("D0CF11E0A1B11AE1") + bytes(600),
    "no archive": lambda: b"PK\x03\x04" + bytes(100),
    "formulas and percents": lambda: workbook(
        FIRST + '<row r="2"><c r="A2"><f>1/0</f><v>#DIV/0!</v></c><c r="C2"><v>1e999</v></c><c><v>x</v></c></row>'
    ),
    "a style that is not there": lambda: workbook(FIRST + '<row r="2"><c r="A2" s="99999"><v>1</v></c></row>'),
    "a string that is not there": lambda: workbook(FIRST + '<row r="2"><c r="A2" t="s"><v>99</v></c></row>'),
}  # fmt: skip


def _sheet() -> bytes:
    with zipfile.ZipFile(io.BytesIO(workbook())) as archive:
        return archive.read("xl/worksheets/sheet1.xml")


def _dimension(ref: str) -> bytes:
    return _sheet().replace(b'ref="A1:F2"', f'ref="{ref}"'.encode())


def _merged(cells: str) -> bytes:
    return _sheet().replace(b"</sheetData>", f"</sheetData><mergeCells>{cells}</mergeCells>".encode())


def _noise(size: int) -> bytes:
    return random.Random(2).randbytes(size)


def _spoiled(data: bytes) -> bytes:
    rng, changed = random.Random(1), bytearray(data)
    for _ in range(60):
        changed[rng.randrange(30, len(changed))] = rng.randrange(256)
    return bytes(changed)


LABELS, SHEETS, SCORED = ("labels",), ("labels", "names"), ("score",)
TEXTS: dict[str, tuple[str, Callable[[], bytes], tuple[str, ...]]] = {
    "NUL bytes": (".csv", lambda: b"video_id,rater,cpr_01\nv001,a,\0" * 9, SHEETS),
    "a million columns": (".csv", lambda: b"video_id,step_id" + b",x" * 1_000_000 + b"\nv001,cpr_01\n", SHEETS),
    "a cell of 10 MB": (".csv", lambda: b'video_id,rater,cpr_01\nv001,a,"' + b"x" * 10**7 + b'"\n', LABELS),
    "a quote without end": (".csv", lambda: b'video_id,rater,cpr_01\n"' + b"v001,cpr_01,1\n" * 900_000, LABELS),
    "quotes alone": (".csv", lambda: b'"' * 9_000_000, SHEETS),
    "commas alone": (".csv", lambda: b"," * 9_000_000, LABELS),
    "line ends alone": (".csv", lambda: b"\r" * 30_000_000, LABELS),
    "deep JSON lines": (".jsonl", lambda: b'{"a":' + b"[" * 1_000_000, SCORED),
    "a deep row": (".jsonl", lambda: b'{"video_id":' + b"[" * 900 + b"]" * 900 + b"}", SCORED),
    "a key twice": (".jsonl", lambda: b'{"video_id": "v001", "video_id": "v002"}', SCORED),
    "a long number": (".jsonl", lambda: b'{"video_id": "v001", "rater_a": ' + b"9" * 3_000_000 + b"}", SCORED),
    "a million keys": (".jsonl", lambda: json.dumps({f"k{n}": 1 for n in range(200_000)}).encode(), SCORED),
}  # fmt: skip


ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


def replaced(table: str, columns: str) -> str:
    """Statements that put an endless view in the place of a table."""
    chosen = ", ".join(f"i AS {name}" for name in columns.split())
    return f"DROP TABLE {table}; CREATE VIEW {table} AS {ENDLESS} SELECT {chosen} FROM n"


LOGS: dict[str, str | Callable[[Path], object]] = {
    "endless acts": replaced("acts", "id time work rater exam step kind value"),
    "endless about": replaced("about", "key value"),
    "endless exams": replaced("exams", "digest name steps"),
    "endless settled": f"CREATE VIEW settled AS {ENDLESS} SELECT i AS id, i AS time, i AS target FROM n",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON acts BEGIN INSERT INTO about VALUES (new.id, 1); END",
    "a computed column": "ALTER TABLE acts ADD COLUMN more AS (zeroblob(100000000)) VIRTUAL",
    "a virtual table": "CREATE VIRTUAL TABLE words USING fts5 (text)",
    "numbers for texts": "INSERT INTO acts VALUES (1, 2, 'rate', 3, (SELECT digest FROM exams), 4, 5, 6)",
    "blobs for texts": "INSERT INTO acts SELECT x'ff', x'00', x'ff', x'ff', digest, 's', 'points', 1 FROM exams",
    "deep JSON": "UPDATE about SET value = replace(hex(zeroblob(200000)), '00', '[') WHERE key = 'rubric'",
    "a rubric of 100 MB": "UPDATE about SET value = hex(zeroblob(50000000)) WHERE key = 'rubric'",
    "no about": "DELETE FROM about",
    "another program's": "PRAGMA application_id = 7",
    "a newer format": "PRAGMA user_version = 99",
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:6000]),
    "encrypted": lambda path: path.write_bytes(_noise(40_000)),
    "encrypted behind its head": lambda path: path.write_bytes(path.read_bytes()[:100] + _noise(40_000)),
    "pages changed": lambda path: path.write_bytes(path.read_bytes()[:4096] + _spoiled(path.read_bytes()[4096:])),
    "a log beside": lambda path: path.with_name(f"{path.name}-wal").write_bytes(_noise(9000)),
    "a journal beside": lambda path: path.with_name(f"{path.name}-journal").write_bytes(_noise(9000)),
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


def cases(form: str, kinds: Iterable[str], readers_of: tuple[str, ...]) -> Iterator[Any]:
    """Every kind with every reader; by default with one of them, in turn, for they share one way into a file."""
    for (row, kind), (column, reader) in itertools.product(enumerate(kinds), enumerate(readers_of)):
        marks = () if row % len(readers_of) == column else pytest.mark.weekly
        yield pytest.param((form, kind, reader), id=f"{form}-{kind}-{reader}", marks=marks)


KEYS = [
    *cases("book", BOOKS, ("labels", "names", "raters")),
    *cases("log", LOGS, ("labels", "raters", "store", "join")),
    *(case for kind, (_, _, readers_of) in TEXTS.items() for case in cases("text", [kind], readers_of)),
]


@pytest.fixture(scope="module")
def ends(given: Path, request: pytest.FixtureRequest) -> dict[tuple[str, str, str], dict[str, Any]]:
    """How every case that is asked for ended; one process after the other."""
    wanted = [item.callspec.params["case"] for item in request.session.items
              if "case" in getattr(item, "fixturenames", ()) and item.path == request.path]  # fmt: skip
    cases, books = [], {}
    for number, (form, kind, reader) in enumerate(wanted):
        new, place = given / "new" / f"{number}", given / "files" / f"{number}"
        new.mkdir(parents=True)
        place.mkdir(parents=True)
        file = place / (
            "given.xlsx" if form == "book" else "given.sqlite" if form == "log" else f"given{TEXTS[kind][0]}"
        )
        if form == "text":
            file.write_bytes(TEXTS[kind][1]())
        elif form == "book":
            books[kind] = books.get(kind) or BOOKS[kind]()
            file.write_bytes(books[kind])
        else:
            event_log(file, LOGS[kind])
        cases.append({"argv": readers(given, file, new)[reader], "cwd": str(new), "memory": MEMORY, "seconds": SECONDS})
    return dict(zip(wanted, run_cases(cases, given / "cache"), strict=True))


@pytest.mark.parametrize("case", KEYS)
def test_a_sentence_in_bounded_time_and_memory(
    ends: dict[tuple[str, str, str], dict[str, Any]], case: tuple[str, str, str]
) -> None:
    ended = ends[case]
    assert "Traceback" not in ended["said"] and "MemoryError" not in ended["said"], ended["said"]
    assert ended["code"] in (0, 1, 2), f"{ended}: killed"
    if ended["code"]:
        assert ended["said"].strip().splitlines()[-1].strip(), "nothing is said"
        assert "siming " in ended["said"]
