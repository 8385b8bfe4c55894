"""EgoOops and CaptainCook4D: documents of the published form, answers, metrics with errors by video, frames."""

import json
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset

import lmms_eval.tasks
from lmms_eval.tasks import TaskManager
from lmms_eval.tasks.procedure_mistakes import utils

FOLDER = Path(lmms_eval.tasks.__file__).parent / "procedure_mistakes"
EGOOOPS = {
    "instructions": {"ion": ["Put a plate on a grid.", "Take tweezers."]},
    "videos": [
        {
            "video_id": "S1",
            "task_id": "ion",
            "segments": [
                {"startTime": 1.0, "endTime": 3.0, "instruction": 0, "labels": [], "caption": ""},
                {"startTime": 3.0, "endTime": 4.0, "instruction": -1, "labels": [], "caption": ""},
                {"startTime": 4.0, "endTime": 6.0, "instruction": 1, "labels": [4], "caption": "drops them"},
            ],
        }
    ],
}
CAPTAINCOOK4D = {
    "1_7": {
        "steps": [
            {"description": "Coat -Coat a cup", "start_time": 7.0, "end_time": 46.0, "has_errors": False},
            {"description": "Pour-Pour 1 egg", "start_time": -1, "end_time": -1, "has_errors": True},
            {"description": "Stir-Stir it", "start_time": 50.0, "end_time": 60.0, "has_errors": True},
        ]
    }
}


def _docs(content: dict) -> list:
    return list(utils.process_docs(Dataset.from_list([{"text": json.dumps(content)}])))


def test_tasks_are_registered_and_clustered_by_video() -> None:
    manager = TaskManager(include_path=str(FOLDER), include_defaults=False)
    assert set(manager.all_subtasks) == {"egooops", "captaincook4d"} and list(manager.all_groups) == ["procedure_mistakes"]
    assert "cluster_key: video_id" in (FOLDER / "_default_template_yaml").read_text()


def test_steps_that_were_done_become_documents() -> None:
    first, second = _docs(EGOOOPS)
    assert (first["step"], first["answer"], first["end"]) == ("Put a plate on a grid.", "correct", 3.0)
    assert (second["step"], second["answer"], second["video_id"]) == ("Take tweezers.", "incorrect", "S1")
    first, second = _docs(CAPTAINCOOK4D)
    assert (first["step"], first["answer"]) == ("Coat a cup", "correct")
    assert (second["step"], second["answer"]) == ("Stir it", "incorrect")


@pytest.mark.parametrize("reply, said", [("Incorrect.", "incorrect"), ("It is **correct**", "correct"), ("correct or incorrect", ""), ("no idea", "")])
def test_an_answer_is_one_of_two_words(reply: str, said: str) -> None:
    assert utils.read_answer(reply) == said


def test_the_metrics_are_those_of_hand() -> None:
    right, wrong = _docs(EGOOOPS)
    replies = [(right, "correct"), (right, "incorrect"), (wrong, "incorrect"), (wrong, "no idea")]
    results = [utils.process_results(doc, [reply]) for doc, reply in replies]
    assert utils.mean([each["accuracy"] for each in results]) == 0.5
    assert utils.mean([each["answered"] for each in results]) == 0.75
    assert utils.mcc([each["mcc"] for each in results]) == 0.0
    assert utils.mcc([utils.process_results(doc, [doc["answer"]])["mcc"] for doc in (right, wrong)]) == pytest.approx(1.0)
    assert utils.mcc([utils.process_results(doc, ["correct"])["mcc"] for doc in (right, wrong)]) == 0.0
    assert all(set(each["accuracy"]) == {"score", "video_id"} for each in results)


def test_frames_are_those_of_the_span(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cv2 = pytest.importorskip("cv2")
    pytest.importorskip("decord")
    writer = cv2.VideoWriter(str(tmp_path / "S1_360p.mp4"), cv2.VideoWriter_fourcc(*"mp4v"), 10, (64, 64))
    for number in range(80):
        writer.write(np.full((64, 64, 3), 3 * number, np.uint8))
    writer.release()
    doc = _docs(EGOOOPS)[1]
    monkeypatch.delenv("EGOOOPS_VIDEOS", raising=False)
    with pytest.raises(FileNotFoundError, match="set EGOOOPS_VIDEOS"):
        utils.doc_to_visual(doc)
    monkeypatch.setenv("EGOOOPS_VIDEOS", str(tmp_path))
    frames = utils.doc_to_visual(doc)
    shades = [np.asarray(frame).mean() for frame in frames]
    assert len(frames) == utils.FRAMES and shades == sorted(shades)
    assert abs(shades[0] - 120) < 6 and abs(shades[-1] - 180) < 6
