"""Files beside a player: text of strangers as data, times of frames, replies to all parts, what a cell says."""

import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import Record
from siming_tasks.data import Dataset
from siming_tasks.study.report.pages.exams import RunAnswers, VideoTotal, video_totals
from siming_tasks.study.report.run_analysis import analyze_run
from siming_tasks.study.report.viewer_files import (
    HEAD,
    TAIL,
    ReplyFiles,
    script_json,
    write_frame_times,
    write_transcript,
)
from siming_tasks.study.results.discovery import run_at
from siming_tasks.study.results.run import read_run
from siming_tasks.study.results.unread_replies import without_middle
from tests.media.conftest import make
from tests.records import record_json, write_predictions
from tests.study.report.conftest import OPTIONS, Lab, replies_in, write_run


def test_long_text_keeps_both_ends_and_says_what_is_missing() -> None:
    text = "a" * HEAD + "b" * 1_234_567 + "c" * TAIL
    assert without_middle(text, HEAD, TAIL) == "a" * HEAD + "\n⟦1,234,567 characters left out⟧\n" + "c" * TAIL
    assert without_middle("d" * (HEAD + TAIL), HEAD, TAIL) == "d" * (HEAD + TAIL)


@given(st.text() | st.recursive(st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_script_json_is_json_and_means_nothing_to_html(value: object) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert text.isascii() and not set("<>&") & set(text)
    assert json.loads(script_json([math.nan, -math.inf, value])) == [None, None, value]


def test_what_is_said_is_text_beside_the_player(tmp_path: Path) -> None:
    said = [{"start": 1.0, "end": 1.5, "text": "All <b>safe</b>.\u202e", "who": "trainee"}]
    assert write_transcript(tmp_path, Video("v1", "loud.mp4", 2.0, (), extra={"transcript": said}))
    text = (tmp_path / "transcripts" / "v1.js").read_text()
    lines = json.loads(text.removeprefix("SIMING.transcript(").removesuffix(");\n"))
    assert lines == [[1.0, 1.5, "All <b>safe</b>.⟦U+202E⟧", "trainee"]] and "<b>" not in text
    assert not write_transcript(tmp_path, Video("v2", "mute.mp4", 2.0, ()))


def test_times_of_frames_are_listed_where_they_are_uneven(tmp_path: Path) -> None:
    even = make(tmp_path / "even.mp4", 20, pts=range(0, 400, 20), time_base=Fraction(1, 500))
    assert write_frame_times(tmp_path, "v1", even) == "even" and not (tmp_path / "frames").exists()
    pts = [k * k + 10 * k for k in range(40)]
    uneven = make(tmp_path / "uneven.mp4", 40, pts=pts, time_base=Fraction(1, 600))
    assert write_frame_times(tmp_path, "v1", uneven) == "listed"
    text = (tmp_path / "frames" / "v1.js").read_text()
    assert json.loads(text.removeprefix("SIMING.frames(").removesuffix(");\n")) == [round(at / 600, 3) for at in pts]
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    assert write_frame_times(tmp_path, "v1", tmp_path / "broken.mp4") == "unknown"


def test_the_replies_to_all_parts_of_a_question_are_kept(exams: Dataset, tmp_path: Path) -> None:
    video = exams.videos[0].video_id
    with ReplyFiles("r", tmp_path / "r") as keep:
        for part, step, text in (("step:cpr_01", "cpr_01", "first words"), ("step:cpr_02", "cpr_02", "second words")):
            line = record_json("full_score", video, None, Parsed("ok", {step: 1.0}), asking="step", part=part)
            keep.put(Record.from_json(line), {"response": text})
    assert keep.count == 1
    *_, (_, _, last) = replies_in(tmp_path / "r" / f"{video}.js")
    assert all(words in last["reply"] for words in ("first words", "second words", "step:cpr_02"))
    assert last["answers"] == {"cpr_01": 1.0, "cpr_02": 1.0}


def test_a_cell_says_what_its_answer_rests_on_and_what_was_not_visible(exams: Dataset, tmp_path: Path) -> None:
    first, second, third = (label.step_id for label in exams.videos[0].applicable[:3])
    video, evidence = exams.videos[0].video_id, {"evidence": {first: ((0.5, 2.0), (3.0, 4.25))}}
    rows = [
        record_json("full_score_evidence", video, None, Parsed("ok", {first: 1.0}, details=evidence)),
        record_json("full_score_abstain", video, None, Parsed("abstained", {first: 1.0}, {}, (second,))),
    ]
    found = analyze_run(run_at(write_predictions(rows, tmp_path / "p.jsonl")), exams, OPTIONS)

    def cell(setting: str, step: str) -> str:
        return RunAnswers(found, found.matrices[setting], setting).cell(video, step, 2.0, 2.0)[1]

    assert 'data-claim="0.50 2.00 3.00 4.25"' in cell("full_score_evidence", first)
    assert "data-claim" not in cell("full_score_evidence", second)
    assert 'aria-label="not visible">–</button>' in cell("full_score_abstain", second)
    assert 'aria-label="absent">–</button>' in cell("full_score_abstain", third)


def test_a_sheet_has_one_unit_and_lists_missed_errors_first(lab: Lab) -> None:
    """Rows by how many judges missed the error, then in the rubric's order; critical steps are marked."""
    video, by_id = lab.dataset.videos[0], lab.dataset.rubric.by_id
    page = (lab.out / "videos" / f"{video.video_id}.html").read_text()
    tops = {label.step_id: by_id[label.step_id].max_score for label in video.applicable}
    judges = {"full_score": ["oracle", "noisy", "hostile"], "full_error": ["oracle", "noisy"]}
    for setting, names in judges.items():
        sheet = page.split(f'<table class="cells" data-setting="{setting}"')[1].split("</table>")[0]
        order = re.findall(r'<tr data-step="(\w+)"', sheet)
        missed: dict[str, int] = dict.fromkeys(tops, 0)
        for name in names:
            found = read_run(lab.runs / name, lab.dataset).score_matrix(setting)
            missing = found.reference_wrong[0] & ~found.predicted_wrong[0] & found.answered[0]
            for step, is_missed in zip(found.step_ids, missing, strict=True):
                missed[step] += int(is_missed)
        assert order == sorted(tops, key=lambda step: -missed[step]) and missed[order[0]] > 0
        assert sheet.count('class="j miss"') == sum(missed.values())
        marked = re.findall(r'<tr data-step="(\w+)"[^>]*><th scope="row" class="critical">', sheet)
        assert set(marked) == {step for step in tops if by_id[step].critical} and marked
        foot = [re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", sheet.split("<tfoot>")[1])]
        given = [[label.scores[rater] for label in video.applicable] for rater in ("consensus", "rater_a", "rater_b")]
        if setting == "full_error":
            wrong = [sum(p < top for p, top in zip(points, tops.values(), strict=True)) for points in given]
            assert foot[:4] == ["Steps called wrong", *map(str, wrong)] and foot[-2:].count(str(wrong[0])) >= 1
            assert "✗" in sheet and not re.search(r'<td class="num[^"]*">\d', sheet.split("<tfoot>")[0]), "no points"
        else:
            label, *raters = (f"{sum(points):g}" for points in given)
            assert foot[:4] == ["Points", f"{label}/{sum(tops.values()):g}", *raters]


def matrix(predicted: list[list[float]], answer: str) -> ScoreMatrix:
    """Exams of five steps of 4 points each; the last step of the last exam has no reference."""
    reference = np.full((len(predicted), 5), 4.0)
    reference[-1, -1] = math.nan
    ids = [f"v{number}" for number in range(len(predicted))]
    asked = np.ones(reference.shape, dtype=bool)
    return ScoreMatrix(ids, list("abcde"), ["cpr"] * 5, [4.0] * 5, reference, np.array(predicted), asked, answer)


def test_points_of_an_incomplete_exam_are_prorated_and_say_on_how_many_steps() -> None:
    none = math.nan
    found = video_totals(matrix([[4, 3, 2, 1, 0], [4, 3, 2, 1, none], [4, 3, 2, none, none], [1, 1, 1, 1, 4]], "score"))
    # 10 of 16 points, prorated to 20; three of five steps are fewer than 80 %; no reference, no points
    assert found == [VideoTotal(10, 5, 5), VideoTotal(12.5, 4, 5), VideoTotal(None, 3, 5), VideoTotal(4, 4, 4)]
    assert [total.rests_on for total in found] == ["", "4/5 steps", "3/5 steps", ""]
    counted = video_totals(matrix([[1, 0, 1, 0, none], [none] * 5, [0, 0, 0, 0, 1]], "error"))
    assert counted == [VideoTotal(2, 4, 5), VideoTotal(None, 0, 5), VideoTotal(1, 5, 5)], "steps called incorrect"


def test_pages_say_what_a_total_rests_on(lab: Lab, tmp_path: Path) -> None:
    """A judge that refuses an exam, and was given three of four."""
    run = write_run(lab.dataset, tmp_path / "run", "rater_a", model="example/Short", settings=("full_score",),
                    replies={0: "I am sorry, I cannot help with that."})  # fmt: skip
    (log,) = run.glob("*samples*")
    log.write_text("\n".join(log.read_text().splitlines()[:3]) + "\n")
    out, ids = lab.report(tmp_path / "report", run), [video.video_id for video in lab.dataset.videos]
    pages = {name: (out / "videos" / f"{name}.html").read_text() for name in (*ids, "index")}
    assert "– <span" in pages[ids[0]]
    assert all('<span class="sub">0/33 steps</span>' in pages[name] for name in ("index", ids[0]))
    assert [" data-silent" in pages[name] for name in ids] == [False, False, False, True]
