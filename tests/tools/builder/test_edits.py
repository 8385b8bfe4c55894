"""Edited recordings: the very frames, the labels that follow, and what is left out because nobody can know."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset
from siming_tasks.data.minimal_pairs import read_pairs
from siming_tasks.media import Timeline, read_timeline
from siming_tasks.media.clips import write_sequence
from siming_tasks.report.run_analysis import minimal_pair_results
from siming_tasks.results.evaluate_records import build_reference_matrix
from siming_tasks.rubrics import Rubric, rubric_from
from siming_tasks.tasks.mismatched_video import MismatchedVideos
from siming_tasks.tools.builder.edits import Edit, Film, candidates, edit_dataset, film_of, labels_after
from tests.media.conftest import make, number, photo, psnr, shown

RATE = 25
SPANS = {
    "a": (0.0, 0.8),
    "b": (0.8, 1.6),
    "c": (1.6, 2.0),
    "d": (2.0, 2.4),
    "e": (2.2, 2.8),
    "f": None,
    "g": (3.2, 3.6),
}
POINTS = {"a": 2, "b": 3, "c": 1, "d": 2, "e": 3, "f": 2, "g": 3}
REQUIRES = {
    "b": [{"id": "a", "effect": "void"}],
    "c": [{"id": "b", "effect": "context"}],
    "d": [{"id": "c", "effect": "cap", "cap": 1}],
    "e": [{"id": "b", "effect": "void"}],
    "g": [{"id": "e", "effect": "cap", "cap": 1}, {"id": "f", "effect": "void"}],
}
"""Seven steps of three points: b needs a, e needs b, g is capped by e; d and e share seconds; f has no span."""


def write_exams(root: Path, draw: Any = None, size: tuple[int, int] = (80, 48)) -> Dataset:
    """Two exams of 100 frames, each showing its number."""
    (root / "media").mkdir(parents=True)
    criteria = {"full": "All.", "partial": "Some.", "fail": "None."}
    steps = [
        {
            "id": name,
            "name": name,
            "requirement": "Do it.",
            "max_score": 3,
            "criteria": criteria,
            "errors": [{"id": f"{name}.omitted", "observable": "left out", "deduct": 3}],
            "requires": REQUIRES.get(name, []),
            "kind": "act",
        }
        for name in SPANS
    ]
    skills = [{"id": "k", "name": "K", "steps": steps}]
    rubric = {"schema_version": 1, "rubric_id": "knots", "version": "1", "skills": skills}
    (root / "rubric.yaml").write_text(json.dumps(rubric))
    (root / "dataset.yaml").write_text("name: knots\nsynthetic: true\n")
    rows = []
    for name in ("v1", "v2"):
        make(root / "media" / f"{name}.mp4", 100, rate=RATE, size=size, **({"draw": draw} if draw else {}))
        labelled = [
            {"step_id": step, "start": span and span[0], "end": span and span[1],
             "score": {"consensus": POINTS[step], "rater_a": POINTS[step]}}
            for step, span in SPANS.items()
        ]  # fmt: skip
        rows.append({"video_id": name, "media": f"media/{name}.mp4", "duration": 4.0, "site": "A", "steps": labelled})
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return open_dataset(root)


@pytest.fixture(scope="module")
def exams(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return write_exams(tmp_path_factory.mktemp("edits") / "exams")


def write_film(film: Film, source: Path, timeline: Timeline, target: Path) -> None:
    write_sequence(source, timeline, film.shown.tolist(), film.pts, target)


def frames_of(path: Path) -> list[int]:
    return [number(picture) for picture in shown(path)]


@pytest.mark.parametrize(
    ("edit", "want"),
    [
        (None, [*range(100)]),
        (Edit("drop", "b"), [*range(20), *range(40, 100)]),
        (Edit("freeze", "b"), [*range(20), *[20] * 20, *range(40, 100)]),
        (Edit("swap", "b", "a"), [*range(20, 40), *range(20), *range(40, 100)]),
        (Edit("drop", "g"), [*range(80), *range(90, 100)]),
    ],
)
def test_cuts_are_exact_to_the_frame(exams: Dataset, tmp_path: Path, edit: Edit | None, want: list[int]) -> None:
    """Every frame of the written file carries the number that it should, 1/25 s after the one before."""
    (video, *_) = exams.videos
    source = exams.media_path(video)
    timeline = read_timeline(source)
    film = film_of(video, timeline, edit)
    write_film(film, source, timeline, tmp_path / "out.mp4")
    assert frames_of(tmp_path / "out.mp4") == want
    written = read_timeline(tmp_path / "out.mp4")
    assert np.allclose(np.diff(written.times), 1 / RATE) and film.duration == len(want) / RATE
    for step, (start, end) in film.spans.items():
        if edit and edit.operation == "freeze" and step == edit.step:
            continue
        first, last = round(start * RATE), round(end * RATE) - 1
        span = SPANS[step]
        assert span is not None and want[first : last + 1] == list(range(round(span[0] * RATE), round(span[1] * RATE)))
    assert ("b" in film.spans) == (edit != Edit("drop", "b"))


def test_nothing_in_the_coding_tells_a_cut(exams: Dataset, tmp_path: Path) -> None:
    """Keyframes stand at every 25th frame of each file, whatever was cut where."""
    (video, *_) = exams.videos
    source = exams.media_path(video)
    timeline = read_timeline(source)
    for edit in (None, Edit("drop", "b"), Edit("swap", "b", "a"), Edit("freeze", "a")):
        write_film(film_of(video, timeline, edit), source, timeline, tmp_path / "out.mp4")
        assert (
            read_timeline(tmp_path / "out.mp4").keyframes.tolist()
            == [0, 25, 50, 75][: -(-len(frames_of(tmp_path / "out.mp4")) // 25)]
        )
        with av.open(str(tmp_path / "out.mp4")) as container:
            assert not container.streams.audio and container.streams.video[0].codec_context.has_b_frames == 0


def test_a_variable_rate_keeps_every_frames_own_length(tmp_path: Path, exams: Dataset) -> None:
    pts = [3 * index + (index % 3 == 1) for index in range(100)]
    from fractions import Fraction

    make(tmp_path / "vfr.mp4", 100, pts=pts, time_base=Fraction(1, 75))
    timeline = read_timeline(tmp_path / "vfr.mp4")
    (video, *_) = exams.videos
    film = film_of(video, timeline, Edit("swap", "b", "a"))
    write_film(film, tmp_path / "vfr.mp4", timeline, tmp_path / "out.mp4")
    order = frames_of(tmp_path / "out.mp4")
    lengths = np.diff(timeline.times)
    assert np.allclose(np.diff(read_timeline(tmp_path / "out.mp4").times), lengths[order[:-1]], atol=1e-4)


def test_only_steps_with_certain_consequences_can_be_edited(exams: Dataset) -> None:
    (video, *_) = exams.videos
    found = candidates(video, exams.rubric)
    assert [edit.step for edit in found["drop"]] == [edit.step for edit in found["freeze"]] == ["a", "b", "c", "g"]
    assert found["swap"] == [Edit("swap", "b", "a")]  # d shares its seconds; c and b are a context
    failed = replace(video, steps=tuple(
        replace(step, scores={"consensus": 0.0}) if step.step_id in ("b", "c") else step for step in video.steps
    ))  # fmt: skip
    found = candidates(failed, exams.rubric)
    assert [edit.step for edit in found["drop"]] == ["a", "g"] and found["swap"] == []


@pytest.mark.parametrize(
    ("edit", "changed", "unsure"),
    [
        # b is voided by a and still seen, so that e, which needs it, is not certain; c has b as its context; d would
        # need c; g is capped at 1 but may need f
        (Edit("drop", "a"), {"a": 0, "b": 0}, {"c", "d", "e", "f", "g"}),
        (Edit("freeze", "b"), {"b": 0, "e": 0}, {"c", "d", "f", "g"}),
        (Edit("swap", "b", "a"), {"b": 0}, {"a", "c", "d", "e", "f", "g"}),
        (Edit("drop", "c"), {"c": 0, "d": 1}, {"f", "g"}),
        (Edit("drop", "g"), {"g": 0}, {"f"}),
    ],
)
def test_edited_labels_equal_hand_calculation(
    exams: Dataset, edit: Edit, changed: dict[str, float], unsure: set[str]
) -> None:
    (video, *_) = exams.videos
    found = labels_after(video, exams.rubric, edit)
    assert set(found.unsure) == unsure and set(found.points) == set(SPANS) - unsure
    assert {step: found.points[step] for step in found.changed(video)} == changed


def kinds_of(rubric: Rubric, **kinds: str | None) -> Rubric:
    """The rubric with other kinds of some steps."""
    data = rubric.model_dump(mode="json")
    for skill in data["skills"]:
        for step in skill["steps"]:
            step["kind"] = kinds.get(step["id"], rubric.by_id[step["id"]].kind)
    return rubric_from(data)


@pytest.mark.parametrize("kind", ["state", "sound", None])
def test_only_acts_are_taken_out(exams: Dataset, kind: str | None) -> None:
    """What b leaves is seen (or nobody said that it is not): neither its label nor what rests on it is certain."""
    (video, *_) = exams.videos
    rubric = kinds_of(exams.rubric, b=kind)
    found = candidates(video, rubric)
    assert [edit.step for edit in found["drop"]] == [edit.step for edit in found["freeze"]] == ["a", "c", "g"]
    assert found["swap"] == []
    labels = labels_after(video, rubric, Edit("drop", "b"))
    assert labels.unsure["b"] == "leaves what is seen later" and labels.changed(video) == []
    assert set(labels.unsure) == {"b", "c", "d", "e", "f", "g"}


@pytest.fixture(scope="module")
def exam(short_demo: Path) -> Dataset:
    """The first exam of the demo."""
    dataset = open_dataset(short_demo)
    return replace(dataset, videos=dataset.videos[:1])


def test_pads_that_are_seen_void_nothing(exam: Dataset) -> None:
    """With the placement cut out, the film still shows the pads, the analysis and the shock.

    Connector, clearing and shock were certain 0, 1 and 0 points of 2, 3 and 3.
    """
    (video,) = exam.videos
    labels = labels_after(video, exam.rubric, Edit("drop", "aed_03"))
    assert {"aed_03", "aed_04", "aed_05", "aed_06", "aed_08"} <= set(labels.unsure)
    assert labels.changed(video) == []
    found = candidates(video, exam.rubric)
    assert {edit.step for edits in found.values() for edit in edits} == {
        "cpr_01", "cpr_02", "cpr_04", "cpr_05", "cpr_19", "aed_09", "bmv_05",
    }  # fmt: skip


@pytest.fixture
def pixel_edits(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script that reads edited films."""
    utils = Path(__file__).parents[3] / "utils"
    if not utils.is_dir():
        pytest.skip("utils/ is in the checkout only")
    monkeypatch.syspath_prepend(str(utils))
    return importlib.import_module("pixel_edits")


def test_every_certain_label_is_that_of_the_film(exam: Dataset, tmp_path: Path, pixel_edits: Any) -> None:
    """A reader of pixels agrees with every certain label of every film of which a step was cut out."""
    made = edit_dataset(exam, tmp_path / "out", operations=("drop",), each=33)
    verdicts = list(pixel_edits.verify(made.dataset))
    assert len(verdicts) == made.certain and made.edits == {"drop": 7}
    assert [verdict for verdict in verdicts if verdict.agrees is False] == []
    assert sum(verdict.agrees is True for verdict in verdicts) >= 130
    pulse = {verdict.step: (verdict.label, verdict.agrees) for verdict in verdicts if verdict.cut == "cpr_05"}
    assert (pulse["cpr_05"], pulse["cpr_09"]) == ((0, True), (3, True))  # without a pulse check at most 3 of 4


def test_the_reader_contradicts_labels_of_a_state_that_was_cut(
    exam: Dataset, tmp_path: Path, pixel_edits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same check finds the pads on the chest where every step is taken for an act: it can fail."""
    acts = replace(exam, rubric=pixel_edits.all_acts(exam.rubric))
    pads = {"drop": [Edit("drop", "aed_03")], "freeze": [], "swap": []}
    monkeypatch.setattr("siming_tasks.tools.builder.edits.candidates", lambda video, rubric: pads)
    made = edit_dataset(acts, tmp_path / "out", operations=("drop",))
    verdicts = pixel_edits.verify(replace(made.dataset, rubric=acts.rubric))
    assert {verdict.step for verdict in verdicts if verdict.agrees is False} >= {"aed_03", "aed_04"}


def test_the_folder_is_a_data_set_with_pairs(
    exams: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "edit", str(exams.root), str(tmp_path / "out"), "--each", "2"]) == 0
    said = capsys.readouterr().out
    assert "10 edited videos (drop 4, freeze 4, swap 2), 2 untouched." in said
    made = open_dataset(tmp_path / "out")
    assert main(["data", "check", str(tmp_path / "out")]) == 0
    pairs = read_pairs(made)
    assert {pair["video_a"] for pair in pairs} == {"v1_0", "v2_0"} and all(pair["direction"] == -1 for pair in pairs)
    edited = [video for video in made.videos if not video.video_id.endswith("_0")]
    counted = sum(step.consensus is not None for video in edited for step in video.steps)
    left = sum(step.consensus is None for video in made.videos for step in video.steps)
    assert f"Labels of the edited videos: {counted} certain, {left} left out (" in said
    for pair in pairs:
        a, b = (made.video(pair[side]) for side in ("video_a", "video_b"))
        assert [each.step(pair["step_id"]).consensus for each in (a, b)] == pair["points"]
        assert all(a.step(step).consensus == b.step(step).consensus for step in pair["unchanged_steps"])
        assert pair["points"][0] > pair["points"][1]
        own = pair["step_id"] == b.extra["edit"]["step_id"] and b.extra["edit"]["operation"] != "swap"
        assert pair["kind"] == ("local" if own else "history")
        assert ("rater_a" in b.step(pair["step_id"]).scores) is False
    labels = build_reference_matrix(made, "full_score")
    perfect = minimal_pair_results(replace(labels, predicted=labels.reference), pairs)
    assert perfect is not None and perfect["right"]["value"] == 1.0 and perfect["elsewhere"]["value"] == 0.0
    mismatched = MismatchedVideos(made.videos)
    for video in made.videos:  # no edit of an exam stands in for that exam
        assert mismatched.of(video)[0].extra["source_video"] != video.extra["source_video"]


def test_the_same_seed_makes_the_same_folder(exams: Dataset, tmp_path: Path) -> None:
    how: dict[str, Any] = {"operations": ("drop", "freeze"), "each": 1}
    one, two, other = (edit_dataset(exams, tmp_path / str(k), seed=seed, **how) for k, seed in enumerate((3, 3, 4)))
    assert one.dataset.digest == two.dataset.digest != other.dataset.digest
    assert one.edits == {"drop": 2, "freeze": 2} and one.without == []


def test_a_camera_is_cut_as_exactly_as_a_drawing(tmp_path: Path) -> None:
    """Texture and noise: every frame of the edit is the source's frame, as near as its coding comes."""
    exams = write_exams(tmp_path / "photo", photo, (320, 192))
    (video, *_) = exams.videos
    source = exams.media_path(video)
    timeline = read_timeline(source)
    film = film_of(video, timeline, Edit("swap", "b", "a"))
    write_film(film, source, timeline, tmp_path / "out.mp4")
    originals = shown(source)
    pictures = shown(tmp_path / "out.mp4")
    assert len(pictures) == len(originals) == 100
    for place, picture in enumerate(pictures):
        if place in (0, 1, 18, 19, 20, 21, 38, 39, 40, 41, 60, 99):
            near = [
                psnr(picture, originals[index])
                for index in range(max(0, film.shown[place] - 2), min(100, film.shown[place] + 3))
            ]
            best = max(0, film.shown[place] - 2) + int(np.argmax(near))
            assert best == film.shown[place] and max(near) > 33


def test_what_cannot_be_edited_is_said(exams: Dataset, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match="there: exists"):
        edit_dataset(exams, tmp_path / "there")
    bare = replace(
        exams,
        videos=tuple(
            replace(video, steps=tuple(replace(step, start=None, end=None) for step in video.steps))
            for video in exams.videos
        ),
    )
    with pytest.raises(DataError, match="no edit changes a label for certain"):
        edit_dataset(bare, tmp_path / "out")
    assert not (tmp_path / "out").exists() and not (tmp_path / ".out.part").exists()
