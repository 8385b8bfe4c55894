"""Every recipe of "Labels from other tools", taken from the page and run on a file of the tool's real shape."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from siming_tasks.benchmark.rubrics import rubric_from
from siming_tasks.tools.builder.label_rows import joined
from siming_tasks.tools.builder.label_tables import read_labels
from siming_tasks.tools.builder.transcripts import read_transcript
from tests.data.conftest import RUBRIC

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "from-other-tools.md"
RECIPES = dict(re.findall(r"<!-- recipe: (\S+) -->\n```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
ELAN = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="2026-01-01T00:00:00+00:00" FORMAT="3.0" VERSION="3.0">
  <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds">
    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/exams/IMG_1.mp4" MIME_TYPE="video/mp4" TIME_ORIGIN="500"/>
  </HEADER>
  <TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="0"/><TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="1250"/>
  </TIME_ORDER>
  <TIER LINGUISTIC_TYPE_REF="default" TIER_ID="steps"><ANNOTATION>
    <ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
      <ANNOTATION_VALUE>cpr_01</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
  <TIER LINGUISTIC_TYPE_REF="default" TIER_ID="notes"><ANNOTATION>
    <ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
      <ANNOTATION_VALUE>slow</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
</ANNOTATION_DOCUMENT>
"""
BORIS = """\
Observation id,Observation date,Description,Observation type,Source,Time offset (s),Coding duration,\
Media duration (s),FPS (frame/s),Subject,Observation duration by subject by observation,Behavior,\
Behavioral category,Modifier #1,Behavior type,Start (s),Stop (s),Duration (s),Media file name,Image index start,\
Image index stop,Image file path start,Image file path stop,Comment start,Comment stop
obs 1,2026-01-01 10:00:00,,Media file,player #1:D:/exams/IMG_1.mp4,0.000,2.0,2.0,10.000,No focal subject,2.0,cpr_01,\
Not defined,,STATE,0.500,1.750,1.25,D:/exams/IMG_1.mp4,NA,NA,NA,NA,,
obs 1,2026-01-01 10:00:00,,Media file,player #1:D:/exams/IMG_1.mp4,0.000,2.0,2.0,10.000,No focal subject,2.0,shout,\
Not defined,,POINT,0.700,0.700,NA,D:/exams/IMG_1.mp4,NA,NA,NA,NA,,
"""


def label_studio(*steps: str, video: str = "3d3ad63e-IMG_1.mp4") -> str:
    def region(value: dict[str, Any], kind: str) -> dict[str, Any]:
        return {"value": value, "id": kind, "from_name": "t", "to_name": "video", "type": kind}

    marks = [region({"ranges": [{"start": 10, "end": 40}], "timelinelabels": [*steps]}, "timelinelabels"),
             region({"text": ["slow"]}, "textarea")]  # fmt: skip
    done = {"id": 5, "completed_by": 1, "was_cancelled": False, "result": marks}
    skipped = {"id": 6, "completed_by": 2, "was_cancelled": True, "result": marks[:1]}
    data = {"video": f"/data/upload/1/{video}"}
    return json.dumps([{"id": 7, "annotations": [done, skipped], "data": data, "predictions": []}])


def hospital(folder: Path) -> None:
    book = openpyxl.Workbook()
    rows = [["心肺复苏考核"], ["2026年3月", None, "第二教室"],
            ["录像编号", "考官", "现场安全", "判断意识扣分", "呼救 %", "备注"],
            ["IMG_1", "王", 2, 0, 1, ""], [None, "赵", 1, 1, 0.6, "慢"], ["合计", None, 3, 1, 1.6, ""]]  # fmt: skip
    for row in rows:
        book.active.append(row)
    book.active.merge_cells("A4:A5")
    for row in (4, 5):
        book.active.cell(row, 5).number_format = "0%"
    book.save(folder / "scores.xlsx")


def elan(folder: Path, old: str = "", new: str = "") -> None:
    assert old in ELAN
    (folder / "elan").mkdir()
    (folder / "elan" / "IMG_1.eaf").write_text(ELAN.replace(old, new))


FILM = '    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/exams/IMG_1.mp4" MIME_TYPE="video/mp4" TIME_ORIGIN="500"/>\n'
SOUND = '    <MEDIA_DESCRIPTOR MEDIA_URL="file:///C:/exams/IMG_1.wav" MIME_TYPE="audio/x-wav"/>\n'
NO_TIME = '<TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="1250"/>', '<TIME_SLOT TIME_SLOT_ID="ts2"/>'


TIMES = ("IMG_1", "cpr_01", 0.5, 1.75, {})
SPANS = "video_id,step_id,start,end\n007,cpr_01,1.5,1.75\n007,cpr_01,0.5,1.0\n007,cpr_02,2.0,3.0\n"
FILES: dict[str, tuple[str | Callable[[Path], object], str, str, list[Any]]] = {
    "elan": (elan, "", "times.csv", [TIMES]),
    "boris": (BORIS, "aggregated.csv", "times.csv", [("IMG_1.mp4", *TIMES[1:])]),
    "label-studio": (label_studio("cpr_01"), "export.json", "times.csv", [("IMG_1.mp4", "cpr_01", 0.36, 1.6, {})]),
    "hospital": (hospital, "", "labels.csv", [
        ("IMG_1", "cpr_01", None, None, {"王": 2.0, "赵": 1.0}),
        ("IMG_1", "cpr_02", None, None, {"王": 2.0, "赵": 1.0}),
        ("IMG_1", "cpr_03", None, None, {"王": 5.0, "赵": 3.0})]),
    "spans": (SPANS, "times.csv", "times.csv", [("007", *TIMES[1:]), ("007", "cpr_02", 2.0, 3.0, {})]),
    "raters": ("video_id,step_id,Li,Wang\n007,cpr_01,2,1\n007,cpr_02,,0\n", "raters.csv", "labels.csv", [
        ("007", "cpr_01", None, None, {"Li": 2.0, "Wang": 1.0}), ("007", "cpr_02", None, None, {"Wang": 0.0})]),
}  # fmt: skip


ODD: dict[str, tuple[str, Any, list[Any] | str]] = {
    "sound first": ("elan", lambda folder: elan(folder, FILM, SOUND + FILM), [TIMES]),
    "no media": ("elan", lambda folder: elan(folder, FILM), "link its one video"),
    "no time": ("elan", lambda folder: elan(folder, *NO_TIME), "'cpr_01' has no times of its own"),
    "no offset": ("boris", BORIS.replace(",0.000,", ",,"), [("IMG_1.mp4", *TIMES[1:])]),
    "an offset": ("boris", BORIS.replace(",0.000,", ",1.5,"), "set the offset to 0"),
    "two labels": ("label-studio", label_studio("cpr_01", "cpr_02"),
                   [("IMG_1.mp4", step, 0.36, 1.6, {}) for step in ("cpr_01", "cpr_02")]),
    "a hyphen": ("label-studio", label_studio("cpr_01", video="IMG-1-b.mp4"),
                 [("IMG-1-b.mp4", "cpr_01", 0.36, 1.6, {})]),
}  # fmt: skip
"""Exports as they also come: what they make of it, or why they are refused."""


@pytest.mark.parametrize("case", [*FILES, *ODD])
def test_a_recipe_makes_the_table(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, made, expected = ODD.get(case, (case, None, None))
    usual, file, table, rows_of_it = FILES[name]
    made, expected = made or usual, expected or rows_of_it
    if callable(made):
        made(tmp_path)
    else:
        Path(file).write_text(made, encoding="utf-8")
    if isinstance(expected, str):
        with pytest.raises(AssertionError, match=expected):
            exec(compile(RECIPES[name], name, "exec"), {})
        return
    exec(compile(RECIPES[name], name, "exec"), {})
    judgments, problems = read_labels([Path(table)], rubric_from(RUBRIC))
    rows, contradictions = joined(judgments)
    assert [*problems, *contradictions] == []
    assert [(row.video, row.step_id, row.start, row.end, dict(row.scores)) for row in rows] == expected


def test_the_page_has_no_other_recipes() -> None:
    assert {*FILES} == {*RECIPES}


@pytest.mark.parametrize("vtt", ["00:00.100 --> 00:00.450\nHelp me!\n", "00:00:00.100 --> 00:00:00.450\n Help me!\n"])
def test_transcripts_of_ffmpeg_and_of_whisper_cpp_are_read(tmp_path: Path, vtt: str) -> None:
    """As they write WebVTT: without hours; with hours and a blank before the words."""
    (tmp_path / "IMG_1.vtt").write_text(f"WEBVTT\n\n{vtt}\n", encoding="utf-8")
    said = read_transcript(tmp_path / "IMG_1.vtt").said
    assert [(line.start, line.end, line.text) for line in said] == [(0.1, 0.45, "Help me!")]
