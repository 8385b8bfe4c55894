"""Files that would exhaust a machine, and a video that may not be read: a sentence, in bounded time and memory.

What else can be wrong with tables and event logs is tried in the rooms that read them.
"""

import io
import random
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import yaml
from openpyxl import Workbook

from siming_tasks.benchmark.rubrics import load_rubric
from siming_tasks.tools.station.event_log import EventLog, Known
from tests.cli.run_cases import run_cases
from tests.data.conftest import RUBRIC, STEPS, make_folder

SECONDS = 40
"""Of processor time; a good file of the same kind takes one or two."""
MEMORY = 1_500_000_000
"""Bytes that a reader may take beside what its libraries take."""

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
_MERGED = '<mergeCell ref="A1:XFD1048576"/>'
_LAST_ROW = '<row r="1048576"><c r="A1048576" t="inlineStr"><is><t>v001</t></is></c></row>'


def workbook(rows: str = "", tail: str = "", strings: str = "") -> bytes:
    """A workbook with XML behind its sheet's rows or behind all of them, and shared strings."""
    book, good, made = Workbook(), io.BytesIO(), io.BytesIO()
    book.active.append(["video_id", "step_id", "rater", "points"])
    book.save(good)
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"</sheetData>", f"{rows}</sheetData>{tail}".encode())
            new.writestr(name, strings if strings and name.endswith("sharedStrings.xml") else content)
    return made.getvalue()


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "short tags": ("labels", lambda: workbook("<row/>" * 9_000_000)),
    "shared strings": ("labels", lambda: workbook(strings=f'<sst xmlns="{_MAIN}">{"<si/>" * 9_900_000}</sst>')),
    "one string": ("names", lambda: workbook(strings=f'<sst xmlns="{_MAIN}"><si><t>{"x" * 60_000_000}</t></si></sst>')),
    "last row of all": ("raters", lambda: workbook(_LAST_ROW)),
    "merged cells": ("labels", lambda: workbook(tail=f"<mergeCells>{_MERGED * 2_000}</mergeCells>")),
    "entities": ("names", lambda: workbook(strings=f"{_LAUGHS}]><sst xmlns='{_MAIN}'><si><t>&i;</t></si></sst>")),
    "a cell of 10 MB": ("labels", lambda: b'video_id,rater,cpr_01\nv001,a,"' + b"x" * 10**7 + b'"\n'),
    "a quote without end": ("names", lambda: b'video_id,rater,cpr_01\n"' + b"v001,cpr_01,1\n" * 900_000),
    "line ends alone": ("labels", lambda: b"\r" * 30_000_000),
    "a deep row": ("score", lambda: b'{"video_id":' + b"[" * 900 + b"]" * 900 + b"}"),
    "a long number": ("score", lambda: b'{"video_id": "v001", "rater_a": ' + b"9" * 3_000_000 + b"}"),
}  # fmt: skip
"""Content of files, and who reads them."""

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
LOGS = {
    "endless acts": ("store", f"DROP TABLE acts; CREATE VIEW acts AS {ENDLESS} SELECT i AS id, i AS time, i AS work, "
                              "i AS rater, i AS exam, i AS step, i AS kind, i AS value FROM n"),
    "endless settled": ("join", f"CREATE VIEW settled AS {ENDLESS} SELECT i AS id, i AS time, i AS target FROM n"),
    "a computed column": ("labels", "ALTER TABLE acts ADD COLUMN more AS (zeroblob(100000000)) VIRTUAL"),
    "deep JSON": ("raters", "UPDATE about SET value = replace(hex(zeroblob(200000)), '00', '[') WHERE key = 'rubric'"),
    "100 MB": ("store", "UPDATE about SET value = hex(zeroblob(50000000)) WHERE key = 'rubric'"),
    "a log beside": ("join", ""),
}  # fmt: skip
"""Statements that change an event log, and who reads it."""


def test_a_sentence_in_bounded_time_and_memory(tmp_path: Path) -> None:
    data, rubric = make_folder(tmp_path / "tiny", videos=1), tmp_path / "rubric.yaml"
    rubric.write_text(yaml.safe_dump(RUBRIC))
    (tmp_path / "labels.csv").write_text("video_id,step_id,rater,points\nv001,cpr_01,a,2\n")
    build = f"data build OUT --rubric {rubric} --videos {data}/media --labels"
    rate = f"data rate {data} --rater x --no-browser --port {{BUSY-PORT}} --store"
    readers = {"labels": f"{build} FILE", "names": f"{build} {tmp_path}/labels.csv --names FILE",
               "raters": "study raters FILE", "score": f"score FILE --data {data}", "store": f"{rate} FILE",
               "join": f"{rate} OUT --join FILE"}  # fmt: skip
    cases = []
    for number, (kind, (reader, how)) in enumerate({**FILES, **LOGS}.items()):
        place = tmp_path / str(number)
        place.mkdir()
        if isinstance(how, str):
            file = place / "given.sqlite"
            log = EventLog.begin(file, load_rubric(rubric), synthetic=True)
            log.know([Known("v001", "a" * 64, ("cpr_01",))])
            log.append("one", work="rate", rater="x", exam="a" * 64, kind="points", step="cpr_01", value=1)
            log.close()
            connection = sqlite3.connect(file)
            connection.executescript(how)
            connection.close()
            if kind == "a log beside":
                (place / "given.sqlite-wal").write_bytes(random.Random(2).randbytes(9000))
        else:
            content = how()
            file = place / ("given.xlsx" if content[:2] == b"PK" else "given.jsonl" if content[:1] == b"{" else "x.csv")
            file.write_bytes(content)
        line = readers[reader].replace("FILE", str(file)).replace("OUT", str(place / "out")).split()
        cases.append({"argv": line, "cwd": str(place), "memory": MEMORY, "seconds": SECONDS})
    for kind, ended in zip([*FILES, *LOGS], run_cases(cases, tmp_path / "cache"), strict=True):
        assert "Traceback" not in ended["said"] and "MemoryError" not in ended["said"], (kind, ended["said"])
        assert ended["code"] in (0, 1, 2), f"{kind}: {ended}: killed"
        assert not ended["code"] or "siming " in ended["said"], f"{kind}: nothing is said"
    shutil.rmtree(tmp_path)  # a test leaves no large files


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
