"""Transcripts as recognisers and editors write them: words, times and speakers; listed names are replaced, exactly."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from openpyxl.styles import Font

from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset, withhold
from siming_tasks.data.transcript import transcript_of
from siming_tasks.tools.builder import build_dataset
from siming_tasks.tools.builder.build_plan import BuildOptions, Inputs, make_plan
from siming_tasks.tools.builder.transcripts import read_names
from tests.data.conftest import RUBRIC, write_video
from tests.tools.builder.conftest import late_sound

PLAIN = [(0.1, 0.45, "Help me!", ""), (0.5, 0.7, "Call 120.", ""), (1.8, 1.95, "Clear?", "")]
"""What both kinds of files say of IMG_1 (2 s long), but for the speakers."""


def whisper(*who: str) -> str:
    """The JSON of Whisper, with speakers that of WhisperX."""
    segments = [
        {
            "id": n,
            "start": start,
            "end": end,
            "text": f" {text}",
            "avg_logprob": float("nan"),
            **({"speaker": who[n]} if who else {}),
        }
        for n, (start, end, text, _) in enumerate(PLAIN)
    ]
    return json.dumps({"text": "", "segments": segments, "language": "en"})


VTT = """WEBVTT - exported

NOTE
by hand

STYLE
::cue(v) { color: lime }

4f2c-11/3
00:00.100 --> 00:00.450 align:start position:0%
<v.loud Dr. Li>Help <b>me!</b></v>

00:00:00.500 --> 00:00:00.700
<v Trainee>Call
120.

00:01.800 --> 00:01.950
<v Dr. Li>Clear?&lrm;
"""
KINDS = {
    "IMG_1.json": (whisper(), ("", "", "")),
    "IMG_1.x.json": (whisper("SPEAKER_00", "SPEAKER_00", "SPEAKER_01"), ("speaker 1", "speaker 1", "speaker 2")),
    "IMG_1.en.vtt": (VTT, ("speaker 1", "speaker 2", "speaker 1")),
}


@pytest.fixture(scope="session")
def _exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("heard")
    for number, name in enumerate(("IMG_1.mp4", "IMG_2.mp4")):
        write_video(root / "videos" / name, seed=number)
    (root / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = "".join(f"IMG_{video},{name},{rater},2\n" for video, name in ((1, "Zhang Wei"), (2, "王小明"))
                   for rater in ("rater_a", "Dr. Li Na"))  # fmt: skip
    (root / "labels.csv").write_text(f"video_id,student,rater,cpr_01\n{rows}")
    return root


def read(
    exam: Path, place: Path, files: dict[str, str | bytes], names: dict[str, str] | None = None
) -> tuple[dict[str, list[tuple[Any, ...]]], dict[str, str]]:
    """Transcripts that a build would take, by video, and the findings by code; nothing is encoded."""
    folder = place / "said"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    listed = None
    if names:
        listed = place / "names.csv"
        listed.write_text("\n".join(["name,replacement", *(f"{name},{other}" for name, other in names.items())]))
    inputs = Inputs(exam / "rubric.yaml", [exam / "labels.csv"], exam / "videos", transcripts=[folder], names=listed)
    try:
        plan, problems = make_plan(inputs, BuildOptions())
        said = plan.transcripts
    except DataError as error:
        said, problems = {}, list(error.problems)
    lines = {name: [(row["start"], row["end"], row["text"], row.get("who", "")) for row in rows]
             for name, rows in said.items()}  # fmt: skip
    return lines, {problem.code: str(problem) for problem in problems}


@pytest.mark.parametrize("name", KINDS)
def test_the_same_words_out_of_both_kinds(_exam: Path, tmp_path: Path, name: str) -> None:
    content, speakers = KINDS[name]
    lines, found = read(_exam, tmp_path, {name: content})
    assert lines["IMG_1"] == [(*line[:3], who) for line, who in zip(PLAIN, speakers, strict=True)]
    assert found["transcript-missing"].startswith("there is no transcript of 1 of 2 videos ('IMG_2')")
    assert not [code for code in found if code.startswith("transcript-") and code != "transcript-missing"]


def test_listed_names_are_replaced_and_no_others(_exam: Path, tmp_path: Path) -> None:
    said = "WEBVTT\n\n00:00.100 --> 00:00.900\n<v Anna Bo>Zhang  Wei, Wei? Annabel. An\u200bna! anna, Anna Bo\n\n" \
        "00:01.000 --> 00:01.200\n小明，王小明医生\n"  # fmt: skip
    listed = {"Anna": "nurse", "Anna Bo": "examiner", "Zhang Wei": "student", "王小明": "student 2"}
    lines, found = read(_exam, tmp_path, {"IMG_1.vtt": said}, listed)
    assert [line[2:] for line in lines["IMG_1"]] == [
        ("student, Wei? Annabel. nurse! anna, examiner", "examiner"), ("小明，student 2医生", ""),
    ]  # fmt: skip
    assert "name-unmet" not in found
    _, found = read(_exam, tmp_path, {"IMG_1.vtt": said}, {"Otto": "nurse"})
    assert "'Otto', which occurs neither" in found["name-unmet"]
    _, found = read(_exam, tmp_path, {"IMG_1.vtt": said}, {"Otto": ""})
    assert "names.csv: not a list of names" in found["unreadable"]


CUE = "WEBVTT\n\n00:00.100 --> 00:00.900\nAll safe.\n\n"
FAULTS: dict[str, tuple[dict[str, str | bytes], str]] = {
    "an end before the start": ({"IMG_1.vtt": f"{CUE}00:01.500 --> 00:01.200\nOut.\n"}, r"'Out.' ends at 1.2 s and"),
    "words without times": ({"IMG_1.vtt": f"{CUE}Stand back.\n"}, r":6: 'Stand back.' begins a cue that has not one"),
    "a note before a cue": ({"IMG_1.vtt": f"WEBVTT\n\nNOTE\n{CUE[8:]}"}, r":3: 'NOTE' contains times"),
    "a cue in the head": ({"IMG_1.vtt": CUE.replace("\n\n", "\n", 1)}, r":1: 'WEBVTT' contains times"),
    "a piece of a stream": (
        {"IMG_1.vtt": CUE.replace("\n\n", "\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n", 1)},
        r"contains times.*of the whole video",
    ),
    "another video's": ({"IMG_9.vtt": CUE}, r"no video is called 'IMG_9'"),
    "two files": ({"IMG_1.vtt": CUE, "IMG_1.json": whisper()}, r"video 'IMG_1' has .*IMG_1.json, too"),
    "SubRip": ({"IMG_1.vtt": CUE[8:]}, r"does not begin with WEBVTT"),
    "no segments": ({"IMG_1.json": '{"text": "All safe."}'}, r"segments"),
    "a picture": ({"IMG_1.vtt": b"\xff\xd8\xff\xe0\x00\x10JFIF"}, r"not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_named(_exam: Path, tmp_path: Path, fault: str) -> None:
    files, words = FAULTS[fault]
    _, found = read(_exam, tmp_path, files)
    assert re.search(words, " ".join(text for code, text in found.items() if code.startswith("transcript-"))), found


def test_a_file_without_cues_says_that_nothing_is_said_and_an_end_beyond_the_videos_is_cut_back(
    _exam: Path, tmp_path: Path
) -> None:
    """Whisper works on pieces of 30 s."""
    segments = json.dumps({"segments": [{"start": 1, "end": 30, "text": "Out."}]})
    lines, _ = read(_exam, tmp_path, {"IMG_1.json": segments, "IMG_2.vtt": "WEBVTT\n"})
    assert lines == {"IMG_1": [(1.0, 2.0, "Out.", "")], "IMG_2": []}
    _, found = read(_exam, tmp_path, {"IMG_1.json": segments.replace("1,", "7,")})
    assert "after the end of video 'IMG_1' (2.00 s), the first at 7 s" in found["transcript-outside"]


def test_a_recogniser_counts_from_where_the_sound_begins(tmp_path: Path, footage: Path) -> None:
    exam = tmp_path / "exam"
    (exam / "videos").mkdir(parents=True)
    late_sound(footage / "mdn_friday.mp4", exam / "videos" / "IMG_1.mkv", 0.6)
    (exam / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    (exam / "labels.csv").write_text("video_id,rater,cpr_01\nIMG_1,consensus,2\n")
    for name, content, first in (("IMG_1.json", whisper(), 0.7), ("IMG_1.vtt", CUE, 0.1)):
        lines, _ = read(exam, tmp_path / name, {name: content})
        assert lines["IMG_1"][0][0] == pytest.approx(first, abs=0.03)


def test_a_folder_with_transcripts_from_the_command_line(_exam: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.mkdir()
    for video in (1, 2):
        (said / f"IMG_{video}.vtt").write_text(VTT.replace("Clear?", f"Clear {video}, Zhang?"))
    (tmp_path / "names.csv").write_text("name,replacement\nZhang,student\nTrainee,trainee\n")
    built = build_dataset(tmp_path / "out", rubric=_exam / "rubric.yaml", labels=_exam / "labels.csv",
                          videos=_exam / "videos", transcripts=said, names=tmp_path / "names.csv")  # fmt: skip
    dataset = open_dataset(tmp_path / "out")
    said_there = transcript_of(dataset.videos[1])
    assert said_there and said_there[2].text == "Clear 2, student?" and said_there[2].who == "speaker 1"
    assert said_there[1].line == "[0.5 s] trainee: Call 120."
    withhold(dataset.root, tmp_path / "public", tmp_path / "key.json")
    assert transcript_of(open_dataset(tmp_path / "public").videos[1]) == said_there
    table = list(csv.DictReader(built.names_file.read_text(encoding="utf-8").splitlines()))
    assert [(row["kind"], row["id"], row["name"]) for row in table][-2:] == [
        ("speaker in v001", "speaker 1", "Dr. Li"), ("speaker in v002", "speaker 1", "Dr. Li"),
    ]  # fmt: skip
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.*l*"))
    assert b"Zhang" not in everything and b"Dr. Li" not in everything


def test_a_name_to_replace_that_is_not_what_it_looks_like_is_refused(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["name", "replacement"], ["Zhang", "A"], ["Li", "B"]):
        book.active.append(row)
    book.save(tmp_path / "names.xlsx")
    assert read_names(tmp_path / "names.xlsx").places == {"Zhang": "A", "Li": "B"}
    book.active["A3"].font = Font(strike=True)
    book.save(tmp_path / "names.xlsx")
    with pytest.raises(DataError, match=r"names\.xlsx:3: column A: 'Li' is struck out"):
        read_names(tmp_path / "names.xlsx")
