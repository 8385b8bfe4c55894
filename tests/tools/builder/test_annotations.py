"""Spans out of the files of ELAN, BORIS and Label Studio: times worked by hand, or one sentence that says why not."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.tools.builder import BuildOptions, build_dataset
from siming_tasks.tools.builder.build_plan import Inputs, make_plan
from tests.data.conftest import RUBRIC, write_video
from tests.tools.builder.annotation_files import (
    AGGREGATED,
    TABULAR,
    boris,
    elan,
    ref,
    region,
    tasks,
    timeline,
)

TIMES = {"cpr_01": (0.2, 0.9), "cpr_02": (1.0, 1.6)}
"""What every readable file below says of IMG_1 (2 s long), where nothing else is said."""
STEPS = [(200, 900, "cpr_01"), (1000, 1600, "cpr_02")]


@pytest.fixture(scope="session")
def _exam(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exam")
    for number, name in enumerate(("IMG_1.mp4", "IMG_2.mp4")):
        write_video(root / "videos" / name, seed=number)
    (root / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    rows = "".join(f"IMG_{video},rater_{rater},2,1\n" for video in (1, 2) for rater in "ab")
    (root / "labels.csv").write_text(f"video_id,rater,cpr_01,cpr_02\n{rows}")
    return root


def spans(
    exam: Path, tmp_path: Path, name: str, content: str | bytes, mapping: Any = None, fps: float | None = None
) -> tuple[dict[Any, Any], list[str], list[str]]:
    """What a build takes from a file: ``{(video, step): (start, end)}``, its errors and its warnings."""
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    words = None
    if mapping:
        words = tmp_path / "map.yaml"
        words.write_text(yaml.safe_dump(mapping))
    inputs = Inputs(
        exam / "rubric.yaml", exam / "labels.csv", exam / "videos", spans=path, mapping=words, spans_fps=fps
    )
    try:
        plan, problems = make_plan(inputs, BuildOptions())
    except DataError as error:
        found = error.problems
        said = [str(each) for each in found if each.severity == "error"] or [str(error)]
        return {}, said, [str(each) for each in found if each.severity == "warning"]
    rows = {(row.video, row.step_id): (row.start, row.end) for row in plan.rows if row.start is not None}
    errors, warnings = ([str(each) for each in problems if each.severity == kind] for kind in ("error", "warning"))
    return rows, errors, warnings


def frames(label: str, first: int, last: int) -> dict[str, Any]:
    return timeline(label, first, last)


BOX = {"x": 1, "y": 1, "width": 5, "height": 5, "rotation": 0}


def keys(
    *frames: tuple[int, bool], rate: float | None = None, label: str = "cpr_01", count: int = 20
) -> dict[str, Any]:
    sequence = [{**BOX, "frame": frame, "enabled": on} for frame, on in frames]
    for key in sequence if rate else ():
        key["time"] = key["frame"] / rate
    return region({"framesCount": count, "duration": 2, "sequence": sequence, "labels": [label]})


ORIGIN = '<MEDIA_DESCRIPTOR MEDIA_URL="file:///IMG_1.mp4" MIME_TYPE="video/mp4" TIME_ORIGIN="100"/>'
TWO = (
    '<MEDIA_DESCRIPTOR MEDIA_URL="file:///IMG_1.mp4" MIME_TYPE="video/mp4"/>'
    '<MEDIA_DESCRIPTOR MEDIA_URL="file:///side%20view.mp4" MIME_TYPE="video/mp4" TIME_ORIGIN="40"/>'
)
SOUND = TWO.replace("side%20view.mp4", "IMG_1.wav").replace('video/mp4" TIME', 'audio/x-wav" TIME')
BORIS = "\n".join((AGGREGATED, boris("cpr_01", "0.200", "0.900"), boris("cpr_02", "1.000", "1.600")))
EVENTS = "\n".join(
    (
        *(
            "Observation id\tobs 1",
            "",
            "Media file(s)",
            "",
            "Player #1\tIMG_1.mp4",
            "",
            "Time offset (s)\t0.0",
            TABULAR,
        ),
        *(
            f"{time}\tIMG_1.mp4\t2.0\t10.0\tsubject1\t{step}\t\t\t{status}"
            for time, step, status in (
                ("0.200", "cpr_01", "START"),
                ("0.900", "cpr_01", "STOP"),
                ("1.000", "cpr_02", "START"),
                ("1.600", "cpr_02", "STOP"),
            )
        ),
    )
)
LABELLED = (frames("cpr_01", 2, 9), frames("cpr_02", 10, 16))


@pytest.mark.parametrize(
    ("name", "content", "mapping", "fps"),
    [
        # ELAN: a step is a tier, a value, or what the mapping says
        ("a.eaf", elan(("steps", STEPS)), None, None),
        ("a.eaf", elan(("cpr_01", [(200, 900, "hesitates")]), ("CPR-02", [(1000, 1600, "")])), None, None),
        ("a.eaf", "\ufeff" + elan(("steps", STEPS)), None, None),
        ("a.eaf", elan(("steps", STEPS)).replace("UTF-8", "UTF-16").encode("utf-16"), None, None),
        (
            "a.eaf",
            elan(("Herzdruck", [(200, 900, "x")]), ("步骤", [(1000, 1600, "检查")])),
            {"steps": {"Herzdruck": "cpr_01", "检查": "cpr_02"}},
            None,
        ),
        (
            "a.eaf",
            elan(("left", [(200, 900, "hand")]), ("right", [(1000, 1600, "hand")])),
            {"steps": {"left / hand": "cpr_01", "right / hand": "cpr_02"}},
            None,
        ),
        ("a.eaf", elan(("steps", STEPS), ("notes", [(None, None, "cpr_01?")])), {"ignore": ["notes"]}, None),
        # times are those of the linked video, also where it begins later than the annotations' time line
        ("a.eaf", elan(("steps", [(100, 800, "cpr_01"), (900, 1500, "cpr_02")]), media=ORIGIN), None, None),
        ("a.eaf", elan(("steps", STEPS), media=SOUND), None, None),
        ("a.eaf", elan(("steps", STEPS), media=TWO), {"ignore": ["side view.mp4"]}, None),
        ("a.eaf", elan(("steps", STEPS), media=""), {"videos": {"a.eaf": "IMG_1"}}, None),
        # an annotation that belongs to another has its times
        (
            "a.eaf",
            elan(
                ("phase", [(200, 900, "1"), (1000, 1600, "2")]),
                refs=ref("s", *[("r1", "a1", "cpr_01", None), ("r2", "a2", "cpr_02", None)]),
            ),
            {"ignore": ["phase"]},
            None,
        ),
        (
            "a.eaf",
            elan(("steps", [(200, 400, "cpr_01"), (700, 900, "cpr_01"), (1000, 1600, "cpr_02")])),
            {"repeated": "join"},
            None,
        ),
        # BORIS: aggregated and tabular events
        ("b.csv", BORIS, None, None),
        ("b.tsv", BORIS.replace(",", "\t"), None, None),
        ("b.csv", BORIS.replace(",", ";").replace("0.200", "0,200"), None, None),
        ("b.csv", "Project;exams\n\n" + BORIS.replace(",", ";"), None, None),
        ("b.csv", BORIS.replace("D:/exams/IMG_1.mp4", "D:\\exams\\IMG_1.mp4"), None, None),
        ("b.csv", "\n".join((BORIS, boris("glance", "0.5", "0.5", kind="POINT"))), {"ignore": ["glance"]}, None),
        (
            "b.csv",
            "\n".join(
                (AGGREGATED, boris("hands", "0.2", "0.9", modifier="on"), boris("hands", "1", "1.6", modifier="off"))
            ),
            {"steps": {"on": "cpr_01", "off": "cpr_02"}},
            None,
        ),
        ("b.tsv", EVENTS, None, None),
        # Label Studio: frames at 10 per second, or seconds
        ("c.json", tasks(*LABELLED), None, 10),
        ("c.json", tasks(*LABELLED), {"rate": 10}, None),
        ("c.json", tasks(*LABELLED, data={"video": "s3://x/IMG_1.mp4?a=b", "fps": "10"}), None, None),
        ("c.json", tasks(*LABELLED, data={"v": "/data/local-files/?d=exams/IMG_1.mp4"}), None, 10),
        ("c.json", tasks(*LABELLED, region({"choices": ["good"]}, "choices")), None, 10),
        (
            "c.json",
            tasks(keys((2, True), (9, False), rate=10), keys((10, True), (16, False), rate=10, label="cpr_02")),
            None,
            None,
        ),
        (
            "c.json",
            tasks(
                region({"start": 0.2, "end": 0.9, "channel": 0, "labels": ["cpr_01"]}, "labels"),
                region({"start": 1, "end": 1.6, "instant": False, "timeserieslabels": ["cpr_02"]}, "timeserieslabels"),
            ),
            None,
            None,
        ),
        (
            "c.json",
            json.dumps(
                [
                    {**json.loads(tasks(*LABELLED, by={"id": 1, "email": "li@x.org"}))[0]},
                    {**json.loads(tasks(frames("cpr_01", 1, 3), by={"id": 2, "email": "wang@x.org"}))[0]},
                ]
            ),
            {"annotator": "li@x.org"},
            10,
        ),
    ],
)
def test_the_same_spans_out_of_every_tool(
    _exam: Path, tmp_path: Path, name: str, content: str | bytes, mapping: Any, fps: float | None
) -> None:
    rows, errors, warnings = spans(_exam, tmp_path, name, content, mapping, fps)
    assert errors == []
    assert {video.removesuffix(".mp4") for video, _ in rows} == {"IMG_1"}
    assert {step: pytest.approx(times) for (_, step), times in rows.items()} == TIMES
    said = {"ignore", "annotator"} & set(mapping or {}) and "side view.mp4" not in str(mapping)
    assert bool(said) == any("left out on purpose" in warning for warning in warnings), warnings


LOOP = elan(("steps", STEPS), refs=ref("s", ("r1", "r2", "x", None), ("r2", "r1", "cpr_01", None)))
PARTS = ref("s", ("r1", "a1", "cpr_01", None), ("r2", "a1", "cpr_02", "r1"))
BOMB = """<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><ANNOTATION_DOCUMENT>&b;"""


@pytest.mark.parametrize(
    ("name", "content", "mapping", "fps", "message"),
    [
        # --- not the file that its name says
        ("a.eaf", "video_id,step_id\n", None, None, "a.eaf:1: not readable XML: syntax error."),
        ("a.eaf", "", None, None, "a.eaf:1: not readable XML: no element found."),
        ("a.eaf", elan(("s", STEPS))[:700], None, None, "not readable XML: "),
        ("a.eaf", "<html/>", None, None, "a.eaf: XML, but not ELAN's (its first tag is 'html'). Give the .eaf file."),
        ("a.eaf", BOMB, None, None, "a.eaf:1: declares a document type, which ELAN never does"),
        ("a.eaf", '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', None, None, "a.eaf:1: declares a document type"),
        ("a.eaf", "<a>" * 1000, None, None, "a.eaf:1: more or deeper tags than any annotation file has."),
        ("a.eaf", '<?xml version="1.0" encoding="klingon"?><a/>', None, None, "not readable XML: unknown encoding"),
        ("a.boris", "{}", None, None, "a.boris: a project of BORIS. Export its aggregated events as TSV, CSV or XLSX"),
        ("a.textgrid", "", None, None, "a.textgrid: spans are read from ELAN's .eaf, BORIS's aggregated events"),
        ("c.json", "[1, 2", None, None, "c.json: not JSON: Expecting ',' delimiter at column 6."),
        ("c.json", "[" * 100_000, None, None, "c.json: not JSON: nested too deeply."),
        ("c.json", "[]", None, None, "c.json: not a list of tasks. Export it from Label Studio as JSON."),
        ("c.json", '[{"video": "a.mp4", "t": []}]', None, None, "c.json: task 1 has no list `annotations`."),
        ("c.json", '[{"annotations": [3]}]', None, None, "task 1: an annotation is no object with a list `result`."),
        ("c.json", '[{"annotations": [{"result": [3]}]}]', None, None, "a result is no object with a `value`."),
        ("c.json", tasks(frames("cpr_01", 1, 10**30)), None, 10, "not JSON: a number of 31 digits."),
        ("c.json", '[{"annotations": [], "annotations": []}]', None, None, "key 'annotations' appears twice"),
        # --- times
        ("a.eaf", elan(("s", [(200, None, "cpr_01")])), None, None, "annotation 'a1': time slot 'ts2' is not aligned"),
        ("a.eaf", elan(("s", [("1e9", 900, "cpr_01")])), None, None, "TIME_VALUE '1e9' is no time in milliseconds."),
        ("a.eaf", elan(("s", [("9" * 5000, 9, "x")])), None, None, "is no time in milliseconds. Correct it in ELAN."),
        ("a.eaf", elan(("s", [(900, 200, "cpr_01")])), None, None, "the span 0.9-0.2 s is not `0 <= start < end`."),
        ("a.eaf", elan(("s", [(200, 9000, "cpr_01")])), None, None, "ends at 9 s, but the video at 2.00 s."),
        ("a.eaf", elan(("s", STEPS), units="PAL-frames"), None, None, "its times are counted in 'PAL-frames', not in"),
        (
            "a.eaf",
            elan(("s", STEPS)).replace('"ts4"/>', '"ts3"/>').replace('"ts4" T', '"ts3" T'),
            None,
            None,
            "time slot 'ts3' appears twice",
        ),
        (
            "a.eaf",
            elan(("s", STEPS)).replace('REF2="ts4"', 'REF2="ts9"'),
            None,
            None,
            "annotation 'a2': time slot 'ts9' is not in the file.",
        ),
        ("a.eaf", elan(("s", STEPS)).replace('"a2"', '"a1"'), None, None, "annotation 'a1' appears twice."),
        (
            "a.eaf",
            elan(("s", STEPS)).replace(' TIME_SLOT_REF1="ts3"', ""),
            None,
            None,
            "ALIGNABLE_ANNOTATION without TIME_SLOT_REF1.",
        ),
        ("a.eaf", LOOP, {"ignore": ["steps"]}, None, "annotation 'r2': belongs to itself, by way of others."),
        (
            "a.eaf",
            elan(("s", []), refs=ref("s", ("r", "a9", "cpr_01", None))),
            None,
            None,
            "belongs to annotation 'a9', which the file lacks.",
        ),
        (
            "a.eaf",
            elan(("p", [(0, 900, "x")]), refs=PARTS),
            {"ignore": ["p"]},
            None,
            "annotation 'r1': one of several parts of another annotation",
        ),
        (
            "b.csv",
            "\n".join((BORIS, boris("cpr_01", "0.5", "0.5", kind="POINT"))),
            None,
            None,
            "b.csv:4: observation 'obs 1', behavior 'cpr_01': a point event is a moment",
        ),
        (
            "b.csv",
            "\n".join((AGGREGATED, boris("cpr_01", "NA", "NA"))),
            None,
            None,
            "b.csv:2: observation 'obs 1', behavior 'cpr_01': 'NA' to 'NA' are",
        ),
        (
            "b.csv",
            BORIS.replace("1.600", "9e8"),
            None,
            None,
            "b.csv:3: observation 'obs 1', behavior 'cpr_02': '1.000' to '9e8' are no times",
        ),
        (
            "b.csv",
            BORIS.replace("0.000", "60.000"),
            None,
            None,
            "the observation has a time offset of '60.000'. The same holds for 1 more. Set",
        ),
        (
            "b.csv",
            BORIS.replace("player #1:", "player #1:IMG_2.mp4;"),
            None,
            None,
            "obs 1', behavior 'cpr_01': its times count over 2 videos one after another.",
        ),
        ("b.tsv", EVENTS.replace("STOP", "START"), None, None, "behavior 'cpr_01': 'START' without its partner."),
        ("b.tsv", EVENTS[: EVENTS.rindex("\n")], None, None, "behavior 'cpr_02': 'START' without its 'STOP'."),
        ("b.csv", BORIS.replace("Comment stop", "Stop (s)"), None, None, "b.csv:1: column 'stop_(s)' appears twice."),
        (
            "c.json",
            tasks(*LABELLED),
            None,
            None,
            "'r1': counted in frames, and the file has no rate. The same holds for 1 more. Say it with --spans-fps",
        ),
        (
            "c.json",
            tasks(*LABELLED, data={"v": "IMG_1.mp4", "fps": 25}),
            None,
            10,
            "the file says 25 frames per second, --spans-fps or `rate:` 10.",
        ),
        ("c.json", tasks(frames("cpr_01", 5, 5)), None, 10, "0.5-0.5 s is not `0 <= start < end`, or a single frame."),
        ("c.json", tasks(timeline("cpr_01", "0", 5)), None, 10, "`ranges` are not first and last frames."),
        ("c.json", tasks(timeline("cpr_01", True, 5)), None, 10, "`ranges` are not first and last frames."),
        ("c.json", tasks(region({"sequence": [], "labels": ["cpr_01"]})), None, 10, "`sequence` holds no frames."),
        ("c.json", tasks(keys((1, False))), None, 10, "region 'r2': is never shown."),
        (
            "c.json",
            tasks(keys((1, True), count="x")),
            None,
            10,
            "is shown until the end of the video, and `framesCount` is",
        ),  # type: ignore[arg-type]
        (
            "c.json",
            tasks(region({"start": 0, "end": 9, "text": "abc", "labels": ["cpr_01"]})),
            None,
            None,
            "counted in letters of a text",
        ),
        (
            "c.json",
            tasks(region({"start": "00:01", "end": 9, "labels": ["cpr_01"]})),
            None,
            None,
            "'00:01' to 9 are no times in seconds.",
        ),
        (
            "c.json",
            tasks(region({"start": 1, "end": 1, "instant": True, "timeserieslabels": ["cpr_01"]})),
            None,
            None,
            "a moment, not a span.",
        ),
        # --- labels and videos
        (
            "a.eaf",
            elan(("s", [(200, 900, "Atemwege")])),
            None,
            None,
            "'s / Atemwege' (annotated at 0.2 s) is no step of the rubric. Write `steps: {s / Atemwege: STEP}` or "
            "`ignore: [s / Atemwege]` (or one of 'Atemwege', 's')",
        ),
        (
            "a.eaf",
            elan(("talk", [(n, n + 9, f"word {n}") for n in range(0, 900, 100)])),
            None,
            None,
            "'talk' (9 annotations, the first at 0 s) is no step",
        ),
        ("a.eaf", elan(("cpr_01", [(200, 900, "cpr_02")])), None, None, "names two steps, 'cpr_02' and 'cpr_01'."),
        ("a.eaf", elan(("s", STEPS)), {"steps": {"Herz": "cpr_01"}}, None, "`steps: {Herz: cpr_01}` meets nothing in"),
        (
            "a.eaf",
            elan(("s", STEPS)),
            {"videos": {"x.mp4": "IMG_1"}},
            None,
            "`videos: {x.mp4: IMG_1}` meets nothing in",
        ),
        (
            "a.eaf",
            elan(("s", STEPS)),
            {"steps": {"s": "cpr_09"}},
            None,
            "`steps: {s: cpr_09}`: the rubric has no such step.",
        ),
        (
            "a.eaf",
            elan(("s", STEPS), media=TWO),
            None,
            None,
            "2 videos are linked: 'IMG_1.mp4', 'side view.mp4'. Name those to leave out",
        ),
        (
            "a.eaf",
            elan(("s", STEPS), media=""),
            None,
            None,
            "video 'a.eaf', step 'cpr_01': the score sheet has no such video.",
        ),
        (
            "a.eaf",
            elan(("s", [(0, 9, "cpr_03")])),
            None,
            None,
            "video 'IMG_1.mp4', step 'cpr_03': the score sheet has no such row.",
        ),
        (
            "a.eaf",
            elan(("s", [*STEPS, (1700, 1900, "cpr_01")])),
            None,
            None,
            "step 'cpr_01': annotated 2 times: 0.2-0.9 s, 1.7-1.9 s. Keep one, or write `repeated: join` in the",
        ),
        (
            "b.csv",
            "\n".join((BORIS, boris("cpr_01", "0.5", "1.2"))),
            None,
            None,
            "step 'cpr_01': annotated 2 times: 0.2-0.9 s, 0.5-1.2 s.",
        ),
        (
            "c.json",
            tasks(region({"start": 0, "end": 1, "labels": []})),
            None,
            None,
            "task 7, region 'r2': an annotation without a label (1 in all).",
        ),
        (
            "c.json",
            tasks(region({"start": 0, "end": 1, "labels": ["cpr_01", "cpr_02"]})),
            None,
            None,
            "has 2 labels ('cpr_01', 'cpr_02').",
        ),
        (
            "c.json",
            tasks(*LABELLED, data={"a": "IMG_1.mp4", "b": "IMG_2.mp4"}),
            None,
            10,
            "task 7: 2 videos: 'IMG_1.mp4', 'IMG_2.mp4'.",
        ),
        (
            "c.json",
            tasks(*LABELLED, data={}),
            None,
            10,
            "video 'task 7', step 'cpr_01': the score sheet has no such video.",
        ),
        (
            "c.json",
            tasks(*LABELLED),
            {"annotator": "li"},
            10,
            "`annotator: li` made none of the annotations. There are 1.",
        ),
        (
            "c.json",
            json.dumps(json.loads(tasks(LABELLED[0])) + json.loads(tasks(LABELLED[1], by=2))),
            None,
            10,
            "2 people annotated: 1, 2. Choose one in the mapping file (--columns), such as `annotator: 1`.",
        ),
    ],
)
def test_what_cannot_be_a_span_is_said(
    _exam: Path, tmp_path: Path, name: str, content: str, mapping: Any, fps: float | None, message: str
) -> None:
    _, errors, _ = spans(_exam, tmp_path, name, content, mapping, fps)
    said = [error for error in errors if message in error.replace(f"{tmp_path}/", "")]
    assert len(said) == 1, errors
    assert len(said[0]) < 500 and "\n" not in said[0]


def test_everything_wrong_with_a_file_is_said_in_one_run(_exam: Path, tmp_path: Path) -> None:
    notes = [(200, None, "cpr_01"), (900, 1000, "Atemwege"), (5, 90, "cpr_02"), (95, 99, "cpr_02")]
    _, errors, _ = spans(_exam, tmp_path, "a.eaf", elan(("s", notes)), {"steps": {"Herz": "cpr_01"}})
    assert [re.search("not aligned|no step of|annotated 2 times|meets nothing", error)[0] for error in errors] == [  # type: ignore[index]
        *("no step of", "not aligned", "annotated 2 times", "meets nothing")
    ]


def test_a_faulty_annotation_that_is_left_out_is_no_error(_exam: Path, tmp_path: Path) -> None:
    content = elan(("s", STEPS), ("draft", [(None, None, "cpr_01"), (1, None, "cpr_02")]))
    rows, errors, warnings = spans(_exam, tmp_path, "a.eaf", content, {"ignore": ["draft"]})
    assert errors == [] and len(rows) == 2
    assert "2 annotations left out on purpose: 'draft' (2)." in warnings[-1] or any(
        "'draft' (2)" in w for w in warnings
    )


def test_skipped_and_timeless_results_are_named(_exam: Path, tmp_path: Path) -> None:
    skipped = json.loads(tasks(frames("cpr_01", 1, 3), by=2, was_cancelled=True))
    given = json.loads(tasks(*LABELLED, *[region({"choices": ["good"]}, "choices")] * 3))
    rows, errors, warnings = spans(_exam, tmp_path, "c.json", json.dumps(given + skipped), fps=10)
    assert errors == [] and len(rows) == 2
    said = " ".join(warnings)
    assert "3 results of type 'choices' have no times" in said and "an annotation that was skipped is not read" in said


def test_a_score_sheet_with_other_times_contradicts(_exam: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "long.csv"
    sheet.write_text("video_id,step_id,start,end,rater_a,rater_b\nIMG_1,cpr_01,0.2,0.8,2,2\nIMG_1,cpr_02,,,1,1\n")
    (tmp_path / "a.eaf").write_text(elan(("s", STEPS)))
    inputs = Inputs(_exam / "rubric.yaml", sheet, _exam / "videos", spans=tmp_path / "a.eaf")
    _, problems = make_plan(inputs, BuildOptions())
    (said,) = [str(each) for each in problems if each.severity == "error"]
    assert "end: video 'IMG_1.mp4', step 'cpr_01': end is 0.9 s here and 0.8 s in the score sheet (line 2)." in said


def test_boris_writes_workbooks_too(_exam: Path, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Aggregated events"
    for line in BORIS.splitlines():
        sheet.append([float(cell) if re.fullmatch(r"\d\.\d{3}", cell) else cell or None for cell in line.split(",")])
    book.save(tmp_path / "made.xlsx")
    rows, errors, _ = spans(_exam, tmp_path, "b.xlsx", (tmp_path / "made.xlsx").read_bytes())
    assert errors == [] and {step: pytest.approx(times) for (_, step), times in rows.items()} == TIMES


def test_a_mapping_of_columns_makes_a_boris_export_a_plain_sheet(_exam: Path, tmp_path: Path) -> None:
    """As it had to be done before; such mapping files go on working."""
    head = AGGREGATED.split(",")
    ours = {"video_id": "Media file name", "step_id": "Behavior", "start": "Start (s)", "end": "Stop (s)"}
    mapping = {"columns": ours, "ignore": [name for name in head if name not in ours.values()]}
    rows, errors, _ = spans(_exam, tmp_path, "b.csv", BORIS.replace("D:/exams/", "").replace(",NA", ","), mapping)
    assert errors == [] and {step: pytest.approx(times) for (_, step), times in rows.items()} == TIMES


def test_a_folder_of_files_one_for_each_video(_exam: Path, tmp_path: Path) -> None:
    folder = tmp_path / "elan"
    folder.mkdir()
    for video in ("IMG_1", "IMG_2"):
        media = f'<MEDIA_DESCRIPTOR MEDIA_URL="file:///{video}.mp4" MIME_TYPE="video/mp4"/>'
        (folder / f"{video}.eaf").write_text(elan(("s", STEPS), media=media))
    (folder / "IMG_1.pfsx").write_text("ELAN keeps its windows here")
    inputs = Inputs(_exam / "rubric.yaml", _exam / "labels.csv", _exam / "videos", spans=folder)
    plan, problems = make_plan(inputs, BuildOptions())
    assert [each for each in problems if each.severity == "error"] == []
    assert [(row.video, row.step_id, row.start) for row in plan.rows] == [
        *(("IMG_1", "cpr_01", 0.2), ("IMG_1", "cpr_02", 1.0), ("IMG_2", "cpr_01", 0.2), ("IMG_2", "cpr_02", 1.0))
    ]
    (folder / "again.json").write_text(tasks(region({"start": 0.3, "end": 0.9, "labels": ["cpr_01"]})))
    _, problems = make_plan(inputs, BuildOptions())
    (said,) = [str(each) for each in problems if each.severity == "error"]
    assert "again.json [task 7, region 'r2']" in said or "IMG_1.eaf" in said
    assert "stands in " in said and "s there)" in said


def test_names_of_videos_on_other_machines(tmp_path: Path) -> None:
    """Two files of one name: the folder that the tool's path names decides."""
    root = tmp_path / "exam"
    for seed, ward in enumerate("AB"):
        write_video(root / f"videos/{ward}/exam.mp4", seed=seed)
    (root / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
    (root / "labels.csv").write_text("video_id,cpr_01,cpr_02\nA/exam.mp4,2,1\nB/exam.mp4,1,1\n")
    media = '<MEDIA_DESCRIPTOR MEDIA_URL="file:///D:/Aufnahmen/B/exam.mp4" MIME_TYPE="video/mp4"/>'
    rows, errors, _ = spans(root, tmp_path, "a.eaf", elan(("s", STEPS), media=media))
    assert errors == [] and set(rows) == {("B/exam.mp4", "cpr_01"), ("B/exam.mp4", "cpr_02")}
    rows, errors, _ = spans(root, tmp_path, "a.eaf", elan(("s", STEPS), media=media.replace("B/exam", "exam")))
    assert len(errors) == 2 and "video 'exam.mp4', step 'cpr_01': the score sheet has no such video." in errors[0]


def test_a_dataset_is_built_of_an_eaf(_exam: Path, tmp_path: Path) -> None:
    (tmp_path / "a.eaf").write_text(elan(("s", STEPS)))
    given = {"rubric": _exam / "rubric.yaml", "labels": _exam / "labels.csv", "videos": _exam / "videos"}
    built = build_dataset(tmp_path / "out", **given, spans=tmp_path / "a.eaf", options=BuildOptions(consensus="mean"))
    assert [[step.span for step in video.steps] for video in built.dataset.videos] == [
        [(0.2, 0.9), (1.0, 1.6)],
        [None, None],
    ]


def test_hostile_sizes_cost_seconds_at_most(_exam: Path, tmp_path: Path) -> None:
    before = time.process_time()
    many = elan(("s", [(n, n + 1, f"x{n}") for n in range(20_000)]))
    _, errors, _ = spans(_exam, tmp_path, "a.eaf", many, {"ignore": [f"y{n}" for n in range(30)]})
    assert any("'s' (20000 annotations" in error for error in errors)
    _, errors, _ = spans(_exam, tmp_path, "a.eaf", b"<a>" + b"<b/>" * 1_100_000 + b"</a>")
    assert "more or deeper tags" in errors[0]
    _, errors, _ = spans(_exam, tmp_path, "a.eaf", b" " * 32_000_001)
    assert "32,000,001 bytes; at most 32,000,000 are read here" in errors[0]
    assert time.process_time() - before < 15


def test_the_labels_are_listed_and_a_mapping_is_drafted(
    _exam: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rubric = tmp_path / "rubric.yaml"
    text = yaml.safe_load((_exam / "rubric.yaml").read_text())
    text["skills"][0]["steps"][1]["name"] = "Check the pulse"
    rubric.write_text(yaml.safe_dump(text))
    spans_file, draft = tmp_path / "a.eaf", tmp_path / "map.yaml"
    notes = [(200, 900, "cpr 01"), (1000, 1600, "check the pulse"), (5, 9, 'x": [\u202e 心'), (7, None, "cpr 03?")]
    spans_file.write_text(elan(("s", notes)))
    command = [
        "data",
        "build",
        "--list",
        "--spans",
        str(spans_file),
        "--rubric",
        str(rubric),
        "--videos",
        f"{_exam}/videos",
    ]
    assert main([*command, "--draft", str(draft)]) == 0
    out = capsys.readouterr().out
    assert [line.replace("|", " ").split() for line in out.splitlines()][2:4] == [
        *(["s", "/", "cpr", "01", "1", "1", "cpr_01"], ["s", "/", "check", "the", "pulse", "1", "1", "?", "cpr_02"])
    ]
    assert "4 labels, 3 of them no step of the rubric." in out and "video" in out and "no such file" not in out
    assert yaml.safe_load(draft.read_text()) == {"steps": {"s / check the pulse": "cpr_02"}, "ignore": None}
    assert '  # "s / cpr 03?": STEP  # 1 annotation; similar: cpr_03' in draft.read_text().splitlines()
    assert main([*command, "--draft", str(draft)]) == 1
    assert f"{draft}: exists." in capsys.readouterr().err
    filled = re.sub(r"  # (- .*\[.*)", r"  \1", draft.read_text())  # the two left over are left out
    filled = re.sub(r"  # (- .*cpr 03.*)", r"  \1", filled)
    draft.write_text(filled)
    given = ["data", "build", str(tmp_path / "out"), "--rubric", str(rubric), "--videos", f"{_exam}/videos"]
    given += ["--labels", f"{_exam}/labels.csv", "--spans", str(spans_file), "--columns", str(draft)]
    assert main([*given, "--consensus", "mean"]) == 0, capsys.readouterr().err
    assert "2 annotations left out on purpose: 's' (2)." in capsys.readouterr().err
    assert main(["data", "build", "--list", "--rubric", str(rubric)]) == 2
    assert "--spans must be given" in capsys.readouterr().err
    assert main(["data", "build", str(tmp_path / "o"), "--rubric", str(rubric)]) == 2
    assert "--labels, --videos must be given" in capsys.readouterr().err


def test_damaged_files_are_refused_and_never_crash(_exam: Path, tmp_path: Path) -> None:
    """Values of other types anywhere in a JSON, and bytes changed anywhere in all: rows, or a deliberate error."""
    rng = random.Random(5)
    odd: list[Any] = [None, True, -1, 1.5, "x", "", [], {}, [1], {"a": 1}, 10**15, 1e308, "1/0", ["cpr_01"]]
    given = tasks(frames("cpr_01", 1, 9), keys((1, True), (9, False), rate=10), by={"id": 1}, data={"v": "IMG_1.mp4"})
    files = {"a.eaf": elan(("s", STEPS)), "b.csv": BORIS, "b.tsv": EVENTS, "c.json": given}
    for turn in range(240):
        name = rng.choice(sorted(files))
        text = files[name]
        if name == "c.json" and turn % 4:
            value = json.loads(text)
            owner, key = rng.choice(list(places(value)))
            owner[key] = rng.choice(odd)
            text = json.dumps(value)
        else:
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(['"', "<", "\0", "NaN", "9" * 40, "\n", text[:at][-20:], ""]) + text[at + 3 :]
        rows, errors, _ = spans(_exam, tmp_path, name, text, fps=10)
        assert all(0 <= start < end <= 2.5 for start, end in rows.values()) or errors
        assert all("Traceback" not in error and len(error) < 2100 for error in errors)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object within a JSON value, with each of its keys."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from places(value[key])
