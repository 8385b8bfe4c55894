"""EgoOops and CaptainCook4D: was a step of a procedure done as it should be?"""

import json
import os
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List

import numpy as np
from datasets import Dataset
from PIL import Image

FRAMES = 16
WORDS = {True: "correct", False: "incorrect"}
_ANSWER = re.compile(r"\b(in)?correct\b", re.IGNORECASE)


def process_docs(dataset: Dataset) -> Dataset:
    """One document for each step that was done, out of the published annotation file (the only row, a text)."""
    (text,) = dataset["text"]
    content = json.loads(text)
    steps = _egooops(content) if "videos" in content else _captaincook4d(content)
    return Dataset.from_list(list(steps))


def _egooops(content: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """Segments of an instruction; one is right where it has no label of a mistake."""
    for video in content["videos"]:
        for segment in video["segments"]:
            if segment["instruction"] >= 0:  # -1: belongs to no instruction
                step = content["instructions"][video["task_id"]][segment["instruction"]]
                yield _doc("egooops", video["video_id"], segment["startTime"], segment["endTime"], step, not segment["labels"])


def _captaincook4d(content: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    """Steps of a recipe; a start of -1 says that it was left out, so that nothing can be shown."""
    for name, recording in content.items():
        for step in recording["steps"]:
            if step["start_time"] >= 0:
                text = step["description"].partition("-")[2].strip() or step["description"]
                yield _doc("captaincook4d", name, step["start_time"], step["end_time"], text, not step["has_errors"])


def _doc(source: str, video_id: str, start: float, end: float, step: str, is_right: bool) -> Dict[str, Any]:
    return {"source": source, "video_id": video_id, "start": float(start), "end": float(end), "step": step, "answer": WORDS[is_right]}


def video_path(doc: Dict[str, Any]) -> Path:
    """The recording in the folder that ``EGOOOPS_VIDEOS`` or ``CAPTAINCOOK4D_VIDEOS`` names.

    Raises:
        FileNotFoundError: The variable is not set, or the recording is not there.
    """
    variable = f"{doc['source'].upper()}_VIDEOS"
    folder = os.environ.get(variable)
    if not folder:
        raise FileNotFoundError(f"The videos are not public on the Hub; set {variable} to their folder (see the task's README)")
    for name in (f"{doc['video_id']}.mp4", f"{doc['video_id']}_360p.mp4"):
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise FileNotFoundError(f"{folder} has no recording {doc['video_id']} (.mp4 or _360p.mp4)")


def doc_to_visual(doc: Dict[str, Any]) -> List[Image.Image]:
    """Frames of the step's span, evenly spaced, first and last included."""
    from decord import VideoReader, cpu

    reader = VideoReader(str(video_path(doc)), ctx=cpu(0), num_threads=1)
    ends = np.array([doc["start"], doc["end"]]) * reader.get_avg_fps()
    first, last = np.clip(np.rint(ends).astype(int), 0, len(reader) - 1)
    frames = reader.get_batch(np.unique(np.linspace(first, last, FRAMES).round().astype(int)).tolist()).asnumpy()
    return [Image.fromarray(frame) for frame in frames]


def doc_to_text(doc: Dict[str, Any], lmms_eval_specific_kwargs: Any = None) -> str:
    """The question."""
    return f"The frames show, in order, how a person does one step of a procedure. The step: {doc['step']}\n" "Was it done as it should be? Answer with one word: correct or incorrect."


def read_answer(reply: str) -> str:
    """``correct`` or ``incorrect``; empty where the reply says neither, or both."""
    said = {match[0].lower() for match in _ANSWER.finditer(reply)}
    return said.pop() if len(said) == 1 else ""


def process_results(doc: Dict[str, Any], results: List[str]) -> Dict[str, Any]:
    """An unreadable reply counts as ``correct``: it found no mistake."""
    said = read_answer(results[0])
    answer = said or WORDS[True]
    cluster = {"video_id": f"{doc['source']}/{doc['video_id']}"}
    return {
        "accuracy": {"score": float(answer == doc["answer"]), **cluster},
        "mcc": {"answer": answer, "target": doc["answer"], **cluster},
        "answered": {"score": float(bool(said)), **cluster},
    }


def mean(items: List[Dict[str, Any]]) -> float:
    """Mean of the scores; a constant ``correct`` already has the share of steps done rightly as accuracy."""
    return float(np.mean([item["score"] for item in items]))


def mcc(items: List[Dict[str, Any]]) -> float:
    """Matthews correlation of mistakes called and made; 0 where either never occurs, as for a constant answer."""
    called, made = (np.array([item[name] == WORDS[False] for item in items]) for name in ("answer", "target"))
    if called.std() == 0 or made.std() == 0:
        return 0.0
    return float(np.corrcoef(called, made)[0, 1])
