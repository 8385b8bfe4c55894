"""Transcripts as recognisers write them: words, times and speakers of each kind, whose names stay in the house."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset, withhold
from siming_tasks.data.transcript import transcript_of
from siming_tasks.tools.builder import build_dataset
from siming_tasks.tools.builder.build_plan import BuildOptions, Inputs, make_plan
from siming_tasks.tools.builder.transcripts import Names
from tests.data.conftest import RUBRIC, write_video
from tests.tools.builder.annotation_files import elan
from tests.tools.builder.conftest import late_sound

WORDS = {"Help": (0.10, 0.30), "me!": (0.30, 0.45), "Call": (0.50, 0.70), "120.": (None, None), "Clear?": (1.80, 1.95)}
TEXT = "Help me! Call 120. Clear?"
PLAIN = [(0.1, 0.45, "Help me!", ""), (0.5, 0.7, "Call 120.", ""), (1.8, 1.95, "Clear?", "")]
"""What every file of ``KINDS`` says of IMG_1 (2 s long), but for the speakers."""


def whisper(lead: str = "", speakers: bool = False) -> str:
    """The JSON of Whisper (words with a blank before them) or WhisperX (without, with speakers and untimed digits)."""
    words: list[dict[str, Any]] = []
    for word, (start, end) in WORDS.items():
        times = {} if start is None else {"start": start, "end": end}
        who = {"speaker": "SPEAKER_01" if word == "Clear?" else "SPEAKER_00"} if speakers else {}
        words.append({"word": lead + word, **times, **who, "score": 0.9})
    segment = {"id": 0, "start": 0.1, "end": 1.95, "text": f" {TEXT}", "words": words, "avg_logprob": float("nan")}
    return json.dumps({"segments": [segment], "language": "en"})


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
SRT = """1
00:00:00,100 --> 00:00:00,450
[SPEAKER_00]: Help <i>me!</i>

2
00:00:00,500 --> 00:00:00,700
{\\an8}[SPEAKER_00]: Call
120.

3
00:00:01,800 --> 00:00:01,950
[SPEAKER_01]: Clear?
"""
CPP = json.dumps(
    {
        "params": {"model": "ggml-base.bin"},
        "transcription": [
            {"timestamps": {}, "offsets": {"from": round(1000 * a), "to": round(1000 * b)}, "text": f" {text}"}
            for a, b, text, _ in PLAIN
        ],
    }
)
CHUNKS = json.dumps({"text": TEXT, "chunks": [{"timestamp": [a, b], "text": text} for a, b, text, _ in PLAIN]})
TIERS = elan(
    ("Examiner", [(100, 450, "Help me!"), (1800, 1950, "Clear?")]),
    ("Trainee", [(500, 700, "Call 120.")]),
    ("steps", [(200, 900, "cpr_01")]),
)
KINDS = {
    "IMG_1.json": (whisper(" "), ("", "", "")),
    "IMG_1.x.json": (whisper(speakers=True), ("speaker 1", "speaker 1", "speaker 2")),
    "IMG_1.cpp.json": (CPP, ("", "", "")),
    "IMG_1.hf.json": (CHUNKS, ("", "", "")),
    "IMG_1.en.vtt": (VTT, ("speaker 1", "trainee", "speaker 1")),
    "IMG_1.mp4.srt": (SRT, ("speaker 1", "speaker 1", "speaker 2")),
    "anything.eaf": (TIERS, ("examiner", "trainee", "examiner")),
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
    exam: Path, place: Path, files: dict[str, str | bytes], mapping: Any = None
) -> tuple[dict[str, list[tuple[Any, ...]]], dict[str, str]]:
    """Transcripts that a build would take, by video, and the findings by code; nothing is encoded."""
    folder = place / "said"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    words = place / "map.yaml"
    words.write_text(yaml.safe_dump(mapping or {}))
    inputs = Inputs(
        exam / "rubric.yaml", exam / "labels.csv", exam / "videos", mapping=words, transcripts=[folder]
    )  # fmt: skip
    try:
        plan, problems = make_plan(inputs, BuildOptions())
        said = plan.transcripts
    except DataError as error:
        said, problems = {}, list(error.problems)
    lines = {name: [(row["start"], row["end"], row["text"], row.get("who", "")) for row in rows]
             for name, rows in said.items()}  # fmt: skip
    return lines, {problem.code: str(problem) for problem in problems}


@pytest.mark.parametrize("name", KINDS)
def test_the_same_words_out_of_every_kind(_exam: Path, tmp_path: Path, name: str) -> None:
    content, speakers = KINDS[name]
    lines, found = read(_exam, tmp_path, {name: content})
    assert lines["IMG_1"] == [(*line[:3], who) for line, who in zip(PLAIN, speakers, strict=True)]
    assert found["transcript-missing"].startswith("1 of 2 videos have no transcript ('IMG_2')")
    assert not [text for code, text in found.items() if code not in ("transcript-missing", "transcript-speakers",
                "transcript-tiers", "consensus-missing", "rater-missing", "video-unlabelled")]  # fmt: skip


def test_five_files_of_one_recogniser_are_one_transcript(_exam: Path, tmp_path: Path) -> None:
    cues = "WEBVTT\n\n00:00.100 --> 00:01.950\nHelp me! Call 120. Clear?\n"
    lines, found = read(_exam, tmp_path, {"a/IMG_1.vtt": cues, "a/IMG_1.json": whisper(" "), "IMG_1.srt": cues[8:]})
    assert lines["IMG_1"] == PLAIN and "transcript-twice" not in found
    corrected = cues.replace("120", "119")
    _, found = read(_exam, tmp_path, {"a/IMG_1.vtt": corrected})
    assert "'IMG_1' has 3 transcripts that differ" in found["transcript-twice"]


def test_counted_numbers_at_the_end_of_a_cue_stay(_exam: Path, tmp_path: Path) -> None:
    cues = "1\n00:00:00,100 --> 00:00:00,900\ntwenty-nine\n30\n\n2\n00:00:01,000 --> 00:00:01,500\n31\n"
    lines, _ = read(_exam, tmp_path, {"IMG_1.srt": cues})
    assert [line[2] for line in lines["IMG_1"]] == ["twenty-nine 30", "31"]


def test_names_do_not_leave_the_house(_exam: Path, tmp_path: Path) -> None:
    said = "WEBVTT\n\n00:00.100 --> 00:00.900\nZhang  Wei, Wei? zhangs. Li. Lining, Nurse Anna Bo!\n\n" \
        "00:01.000 --> 00:01.200\nAnna: 小明，王老师，一张床。He is out.\n"  # fmt: skip
    lines, found = read(_exam, tmp_path, {"IMG_1.vtt": said}, {"names": {"Anna Bo": "nurse"}})
    assert [line[2] for line in lines["IMG_1"]] == [
        "s001, s001? zhangs. rater_b. Lining, Nurse nurse!", "nurse: s002，s002老师，一张床。He is out.",
    ]  # fmt: skip
    assert "7 words in transcripts were replaced" in found["transcript-names"]
    for secret in ("Zhang", "小明", "Anna"):
        assert secret not in found["transcript-names"]
    lines, _ = read(_exam, tmp_path, {"IMG_1.vtt": said}, {"names": {"Li": "Li", "Wei": "Wei"}})
    assert "Wei? zhangs. Li." in lines["IMG_1"][0][2]
    spoken = said.replace("He is out", "A shock, Doctor Meier. 赵医生")
    mapped = {"raters": {"Dr. Li Na": "rater_b", "Meier": "rater_b", "A": "rater_a", "赵": "rater_a"}}
    assert (
        "A shock, Doctor rater_b. rater_a医生" in read(_exam, tmp_path, {"IMG_1.vtt": spoken}, mapped)[0]["IMG_1"][1][2]
    )
    _, found = read(_exam, tmp_path, {"IMG_1.vtt": said}, {"names": {"Otto": "nurse"}})
    assert "'Otto', which nobody says" in found["mapping-unmatched"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("王老师好，老师", "s002老师好，老师"), ("小王，过来", "小s002，过来"), ("老李，小于 60", "老rater_c，小于 60"),
        ("李老师", "rater_c"), ("欧阳医生", "s003医生"), ("O’Neil, O'neil's", "s004, s004's"),
        ("Jose and José", "s005 and s005"), ("JÖRG, Muller", "s006, s006"), ("강문세", "강문세"), ("阳修", "阳修"),
    ],
)  # fmt: skip
def test_a_name_is_known_however_it_is_written(said: str, expected: str) -> None:
    """A rater who is called 李老师 made every 老师 a name; O’Neil and 欧阳医生 left the house."""
    students = {"王小明": "s002", "欧阳修": "s003", "O'Neil Sean": "s004", "José": "s005", "Müller, Jörg": "s006",
                "于明": "s007", "김민수": "s008"}  # fmt: skip
    assert Names.of({}, students, {"李老师": "rater_c"}).replaced(said) == expected


@pytest.mark.parametrize(
    "content",
    [
        "WEBVTT\n00:00.100 --> 00:00.400\nAll safe.\n00:00.500 --> 00:00.900\n30\n\n00:01.000 --> 00:01.200\nOut.\n",
        "1\n00:00:00,100 --> 00:00:00,400\nAll safe.\n2\n00:00:00,500 --> 00:00:00,900\n30\n"
        "3\n00:00:01,000 --> 00:00:01,200\nOut.\n",
    ],
)
def test_cues_without_an_empty_line_between_them_are_cues(_exam: Path, tmp_path: Path, content: str) -> None:
    """The cue below the header was lost, and the others became words of the one above."""
    name = "IMG_1.vtt" if content.startswith("WEBVTT") else "IMG_1.srt"
    lines, found = read(_exam, tmp_path, {name: content})
    assert [line[:3] for line in lines["IMG_1"]] == [(0.1, 0.4, "All safe."), (0.5, 0.9, "30"), (1.0, 1.2, "Out.")]
    assert "transcript-form" not in found


def test_speakers_are_numbered_and_their_names_replaced(_exam: Path, tmp_path: Path) -> None:
    meeting = "".join(
        f"{n}\n00:00:0{n}.000 --> 00:00:0{n}.500\n{line}\n\n"
        for n, line in enumerate(["John Smith: Begin, Wei.", "Zhang Wei: Yes, John: all safe.", "Nurse 2: Okay"])
    ).replace("00:00:02", "00:00:01")
    lines, found = read(_exam, tmp_path, {"IMG_1.vtt": f"WEBVTT\n\n{meeting}"})
    assert [line[2:] for line in lines["IMG_1"]] == [
        ("Begin, s001.", "speaker 1"), ("Yes, speaker 1: all safe.", "s001"), ("Okay", "nurse 2"),
    ]  # fmt: skip
    lines, found = read(_exam, tmp_path, {"IMG_1.vtt": f"WEBVTT\n\n{meeting}"}, {"names": {"john smith": "examiner"}})
    assert lines["IMG_1"][0][3] == "examiner" and "transcript-speakers" not in found


CUE = "WEBVTT\n\n00:00.100 --> 00:00.900\nAll safe.\n\n"
LOOP = "".join(f"00:0{n}.000 --> 00:0{n}.500\nand so we begin{' now' * (n % 2)}\n\n" for n in range(8))
MANGLED = "All zurücktreten, größer, schön, für".encode().decode("cp1252")
FAULTS: dict[str, tuple[dict[str, str], str]] = {
    "transcript-time": ({"IMG_1.vtt": f"{CUE}00:01.500 --> 00:01.200\nOut.\n"}, r"IMG_1.vtt:6: ends at 1.2 s and"),
    "transcript-order": ({"IMG_1.vtt": f"{CUE}00:00.050 --> 00:01.200\nOut.\n"}, r":6: begins at 0.05 s, after one"),
    "transcript-outside": (
        {"IMG_1.vtt": f"{CUE}00:07.000 --> 00:08.000\nOut.\n"}, r":6: begins at 7 s, but video 'IMG_1' ends at 2.00 s",
    ),
    "transcript-markup": ({"IMG_1.vtt": CUE.replace("safe", "<script>x")}, r":3: '<script>' among the words"),
    "transcript-letters": ({"IMG_1.srt": CUE[8:].replace("All safe.", MANGLED)}, r"wrong enc.* for 'All zurücktreten"),
    "transcript-form": ({"IMG_1.vtt": f"{CUE}Stand back.\n"}, r":6: 'Stand back.' belongs to no cue"),
    "transcript-form in a note": ({"IMG_1.vtt": f"WEBVTT\n\nNOTE\n{CUE[8:]}"}, r":3: 'NOTE' stands above a line of"),
    "transcript-unmatched": ({"IMG_9.vtt": CUE}, r"no video is called 'IMG_9'"),
    "transcript-twice": ({"IMG_1.vtt": CUE, "IMG_1.srt": CUE[8:].replace("safe", "clear")}, r"differ"),
    "transcript-copy": (
        {f"IMG_{n}.vtt": f"{CUE}00:01.000 --> 00:01.1\nA\n\n00:01.2 --> 00:01.5\nB\n" for n in (1, 2)},
        r"'IMG_1' and 'IMG_2' have the same words",
    ),
    "transcript-clock": (
        {"IMG_1.vtt": CUE.replace("\n\n", "\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n", 1)},
        r"piece of a stream",
    ),
    "transcript-repeated": ({"IMG_1.vtt": f"WEBVTT\n\n{LOOP}"}, r"4 of 8 lines repeat"),
    "transcript-empty": ({"IMG_1.vtt": "WEBVTT\n"}, r"nothing is said"),
    "transcript-cut": (
        {"IMG_1.json": json.dumps({"segments": [{"start": 1, "end": 30, "text": "Out."}]})}, r"in 1 of 1 lines",
    ),
    "transcript-tiers": ({"IMG_1.eaf": TIERS}, r"'Examiner' \(2\), 'Trainee' \(1\)"),
}  # fmt: skip


@pytest.mark.parametrize("code", FAULTS)
def test_what_is_wrong_is_named(_exam: Path, tmp_path: Path, code: str) -> None:
    files, words = FAULTS[code]
    _, found = read(_exam, tmp_path, files)
    assert re.search(words, found[code.split()[0]]), found


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("IMG_1.json", '{"text": "All safe."}', "none of `segments`"),
        ("IMG_1.json", "[" * 100_000, "not JSON"),
        ("IMG_1.srt", b"\xff\xd8\xff\xe0\x00\x10JFIF", "neither UTF-8 nor GB 18030|NUL"),
        ("IMG_1.json", '{"segments": [{"start": null, "end": 1, "text": "x"}]}', r"segments\[0\].*no start and end"),
    ],
)
def test_files_that_are_none(_exam: Path, tmp_path: Path, name: str, content: Any, words: str) -> None:
    _, found = read(_exam, tmp_path, {name: content})
    assert re.search(words, " ".join(text for code, text in found.items() if code.startswith("transcript-"))), found


def test_tiers_that_are_named_hold_speech_and_no_spans(_exam: Path, tmp_path: Path) -> None:
    (tmp_path / "IMG_1.eaf").write_text(TIERS)
    (tmp_path / "map.yaml").write_text("speech: [Trainee, Examiner]")
    inputs = Inputs(_exam / "rubric.yaml", _exam / "labels.csv", _exam / "videos", spans=[tmp_path / "IMG_1.eaf"],
                    mapping=tmp_path / "map.yaml", transcripts=[tmp_path / "IMG_1.eaf"])  # fmt: skip
    plan, problems = make_plan(inputs, BuildOptions())
    assert [len(rows) for rows in plan.transcripts.values()] == [3]
    assert [(row.start, row.end) for row in plan.rows if row.video == "IMG_1"] == [(0.2, 0.9)]
    assert not {"label-unknown", "transcript-tiers"} & {problem.code for problem in problems}


def test_a_recogniser_counts_from_where_the_sound_begins(tmp_path: Path, footage: Path) -> None:
    exam = tmp_path / "exam"
    (exam / "videos").mkdir(parents=True)
    late_sound(footage / "mdn_friday.mp4", exam / "videos" / "IMG_1.mkv", 0.6)
    (exam / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    (exam / "labels.csv").write_text("video_id,rater_a,rater_b,step_id\nIMG_1,2,2,cpr_01\n")
    lines, found = read(exam, tmp_path, {"IMG_1.json": whisper(" ")})
    assert [line[0] for line in lines["IMG_1"]] == pytest.approx([0.7, 1.1, 2.4], abs=0.03) and {*found} <= {
        "media-cut"
    }
    (tmp_path / "said" / "IMG_1.json").unlink()
    assert "its sound begins 0.6" in read(exam, tmp_path, {"IMG_1.srt": SRT})[1]["transcript-clock"]
    for begin, first in (("start", 0.1), ("sound", 0.7)):
        lines, found = read(exam, tmp_path, {"IMG_1.srt": SRT}, {"said_from": begin})
        assert lines["IMG_1"][0][0] == pytest.approx(first, abs=0.03) and "transcript-clock" not in found


def test_a_folder_with_transcripts_from_the_command_line(_exam: Path, tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.mkdir()
    for video in (1, 2):
        (said / f"IMG_{video}.vtt").write_text(VTT.replace("Clear?", f"Clear {video}, Zhang?"))
    built = build_dataset(tmp_path / "out", rubric=_exam / "rubric.yaml", labels=_exam / "labels.csv",
                          videos=_exam / "videos", transcripts=said)  # fmt: skip
    dataset = open_dataset(tmp_path / "out")
    said_there = transcript_of(dataset.videos[1])
    assert said_there and said_there[2].text == "Clear 2, s001?" and said_there[2].who == "speaker 1"
    assert said_there[1].line == "[0.5 s] trainee: Call 120."
    withhold(dataset.root, tmp_path / "public", tmp_path / "key.json")
    assert transcript_of(open_dataset(tmp_path / "public").videos[1]) == said_there
    table = list(csv.DictReader(built.names_file.read_text(encoding="utf-8").splitlines()))
    assert [(row["kind"], row["id"], row["name"]) for row in table][-3:] == [
        ("speaker in v001", "speaker 1", "Dr. Li"), ("speaker in v002", "speaker 1", "Dr. Li"),
        ("said 2 times", "s001", "Zhang"),
    ]  # fmt: skip
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*.*l*"))
    assert b"Zhang" not in everything and b"Dr. Li" not in everything
