"""Sound of a data set: what is kept, who heard, and which steps cannot be judged by whom."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from siming_tasks.benchmark.exams import Rater, StepLabel, Video
from siming_tasks.benchmark.rubrics import Rubric, default_rubric
from siming_tasks.benchmark.scoring import build_reference_matrix
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, check_dataset, open_dataset
from siming_tasks.data.check.media_checks import inspect
from siming_tasks.media.sound import RATE, Sound, add_sound
from siming_tasks.study.results.estimand import estimand_of
from siming_tasks.tools.builder import BuildOptions, build_dataset
from tests.data.conftest import RUBRIC, STEPS, state, write_video

HEARD = [{"id": skill["id"], "name": skill["name"], "steps": [
    {**step, "evidence": {"channel": "audio_visual"}} if step["id"] in ("cpr_02", "aed_01") else step
    for step in skill["steps"]]} for skill in RUBRIC["skills"]]  # fmt: skip


def sentences(rubric: Rubric, kept: bool, transcripts: int = 0, **facts: Rater) -> list[str]:
    """What is said of three videos with two raters."""
    step = StepLabel("cpr_01", scores={"rater_a": 1, "rater_b": 1, "consensus": 1})
    said = [{"transcript": []} if number < transcripts else {} for number in range(3)]
    videos = tuple(Video(f"v{number}", "v.mp4", 2, (step,), None, extra) for number, extra in enumerate(said))
    about = {"sound": kept}
    return list(
        Dataset(rubric, videos, "d", facts, root=Path(), version="1", digest="", meta=about).sound_facts.sentences
    )


def test_thirteen_steps_of_the_embedded_rubric_need_sound() -> None:
    removed = " ".join(sentences(default_rubric(), False, rater_b=Rater(heard=False)))
    assert "13 of the 33 steps need sound" in removed and "no model can judge them" in removed
    assert "rater_b judged them without hearing." in removed and "Whether rater_a heard it is not stated" in removed
    heard = sentences(default_rubric(), False, rater_a=Rater(heard=True))[-2]
    assert heard == "rater_a heard the sound, which the videos no longer give."
    assert "can judge them from a transcript" in " ".join(sentences(default_rubric(), False, 1))
    kept = sentences(default_rubric(), True, 2)
    assert kept[:2] == [
        "Sound is kept: voices identify people, and what is said can name them.",
        "There is a transcript of 2 of 3 videos; it can name people, too.",
    ]
    assert "Models that do not hear cannot judge them" in " ".join(kept)
    assert sentences(Rubric.model_validate(RUBRIC), False) == []


@pytest.mark.parametrize(
    ("stated", "tracks", "codes"),
    [(None, True, ["media-audio"]), (False, True, ["media-audio"]), (True, True, []), (True, False, ["sound-missing"])],
)
def test_sound_is_no_finding_where_it_is_meant(
    folder: Path, stated: bool | None, tracks: bool, codes: list[str]
) -> None:
    write_video(folder / "media/v001.mp4", seed=0, audio=tracks)
    state(folder, sound=stated)
    found = [str(problem.code) for problem in check_dataset(folder, quick=True).warnings if problem.line == 1]
    assert found == codes


@pytest.mark.parametrize(
    ("heard_until", "code", "words"),
    [
        (0, "sound-silent", "has a silent sound track"),
        (3, "sound-gaps", "no sound at 1 step to be heard (late), as 2.9 of its 6.0 s, the first from 3.1"),
        (6, "", ""),
    ],
)  # fmt: skip
def test_the_check_hears_whether_anything_is_heard(tmp_path: Path, heard_until: int, code: str, words: str) -> None:
    noise = np.random.default_rng(0).integers(-300, 300, heard_until * RATE).astype(np.int16)
    silent = write_video(tmp_path / "silent.mp4", frames=60)
    add_sound(silent, Sound(np.append(noise, np.zeros(6 * RATE - len(noise), np.int16))), tmp_path / "a.mp4")
    spans = {"early": (0.0, 2.0), "late": (4.0, 6.0), "seen": (4.5, 6.0)}
    video = Video("v", "a.mp4", 6.0, tuple(StepLabel(name, *span) for name, span in spans.items()))
    found = inspect(tmp_path / "a.mp4", video, 1, sound=True, heard=("early", "late")).problems
    heard = [problem for problem in found if problem.code.startswith("sound-")]
    assert [problem.code for problem in heard] == ([code] if code else [])
    assert all(words in problem.what for problem in heard)


def test_the_check_reads_transcripts(folder: Path, edit: Any) -> None:
    said = [{"start": 0.5, "end": 1, "text": "All safe."}, {"start": 7, "end": 8, "text": "Out."}]
    edit(lambda rows: [rows[0].update(transcript=said), rows[1].update(transcript=[{"start": 0}])])
    found = {problem.code: str(problem) for problem in check_dataset(folder, quick=True).problems}
    assert "1 transcript line outside the video, the first from 7 s" in found["transcript-outside"]
    assert "transcript[0.end]" in found["transcript-form"]


def test_a_build_says_who_cannot_judge_which_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, audio in ((1, True), (2, False)):
        write_video(tmp_path / "videos" / f"IMG_{number}.mp4", seed=number, audio=audio)
    (tmp_path / "rubric.yaml").write_text(yaml.safe_dump({**RUBRIC, "skills": HEARD}))
    rows = "".join(f"IMG_{n},rater_{r},{','.join('2' for _ in STEPS)}\n" for n in (1, 2) for r in "ab")
    (tmp_path / "labels.csv").write_text(f"video_id,rater,{','.join(name for name, _ in STEPS)}\n{rows}")
    facts = {"rater_a": Rater(heard=True), "rater_b": Rater(heard=False)}
    how: dict[str, Any] = {
        "rubric": tmp_path / "rubric.yaml", "labels": tmp_path / "labels.csv", "videos": tmp_path / "videos",
        "options": BuildOptions(keep_audio=True, rater_facts=facts),
    }  # fmt: skip
    with pytest.raises(DataError, match=r"there is no sound in 1 of 2 videos \('IMG_2'\)"):
        build_dataset(tmp_path / "exams", **how)
    write_video(tmp_path / "videos" / "IMG_2.mp4", seed=2, audio=True)
    built = build_dataset(tmp_path / "exams", **how)
    found = {problem.code: str(problem) for problem in built.warnings}
    assert "IMG_2.mp4: its sound track is silent." in found["sound-silent"]
    said = "\n* 2 of the 4 steps need sound (cpr_02, aed_01).\n"
    assert said in (tmp_path / "exams" / "README.md").read_text()
    assert main(["data", "check", str(tmp_path / "exams"), "--quick"]) == 0
    out = capsys.readouterr().out
    assert "rater_b judged them without hearing." in out and "media-audio" not in out
    dataset = open_dataset(tmp_path / "exams")
    for setting, gives in (("full_score", "does not give it"), ("sound_video_audio_full_score", "gives the sound")):
        sentence = estimand_of(build_reference_matrix(dataset, setting), dataset, setting).sentence
        expected = (
            f"2 of the 4 steps need sound: 1 of 2 physicians heard it, 1 of 2 physicians did not; this task {gives}."
        )
        assert sentence.endswith(expected)
    dataset = replace(dataset, rater_facts={})  # who heard is not stated
    assert "need sound" not in estimand_of(build_reference_matrix(dataset, setting), dataset, "full_score").sentence
