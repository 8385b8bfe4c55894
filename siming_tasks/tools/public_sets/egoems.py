"""EgoEMS: simulated emergencies; of its 76 full cardiac arrests, which key steps were done, and when.

EgoEMS (UVA-DSA, AAAI 2026), annotations CC0. It has **no verdict of a person**: the labels are rules of this module. A
step is right if it was done at all; the shock also needs a "clear" before it. Repeats of a key step are one continued
act; its first span is the clip.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.exams import Attempt
from siming_tasks.tools.public_sets.public_set import AnnotatedRecording, PublicSet, one_point, read_json

STEPS = {
    "check_responsiveness": "Checks whether the patient responds.",
    "check_pulse": "Checks the pulse (and breathing).",
    "chest_compressions": "Compresses the chest.",
    "request_aed": "Asks for the AED or for assistance.",
    "turn_on_aed": "Turns the AED on.",
    "attach_defib_pads": "Attaches the pads.",
    "clear_for_analysis": "Clears the patient for the analysis.",
    "clear_for_shock": "Clears the patient before the shock.",
    "administer_shock_aed": "Delivers the shock, after the patient was cleared.",
    "open_airway": "Opens the airway.",
    "place_bvm": "Places the bag-mask.",
    "ventilate_patient": "Ventilates with the bag-mask.",
}
"""Key steps of a cardiac arrest, by the label that the set gives them."""
SAME = {"request_assistance": "request_aed"}
MIN_STEPS = 6
"""Different key steps of a full cardiac arrest; the other trials show compressions alone."""
NO_CLEAR = "no_clear"


def read(folder: Path) -> tuple[list[dict[str, Any]], list[AnnotatedRecording]]:
    """Skills and full cardiac arrests of a folder with the annotation files."""
    files = folder / "Annotations"
    parts = {
        (subject["subject_id"], trial["trial_id"]): part
        for part in ("train", "val", "test")
        for subject, trial in _arrests(files / "splits" / "trials" / f"aaai26_{part}_split_segmentation.json")
    }
    recordings = [
        _recording(subject, trial, parts.get((subject["subject_id"], trial["trial_id"])))
        for subject, trial in _arrests(files / "aaai26_main_annotation_segmentation.json")
        if len({step["label"] for step in trial["keysteps"]}) >= MIN_STEPS
    ]
    steps = [
        one_point(name, text, {NO_CLEAR: "Nobody was told to stand clear."} if name == "administer_shock_aed" else {})
        for name, text in STEPS.items()
    ]
    return [{"id": "cardiac_arrest", "name": "Cardiac arrest", "steps": steps}], recordings


def _arrests(file: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Subject and trial of every cardiac arrest in a file."""
    return [
        (subject, trial)
        for subject in read_json(file)["subjects"]
        for scenario in subject["scenarios"]
        if scenario["scenario_id"] == "cardiac_arrest"
        for trial in scenario["trials"]
    ]


def _recording(subject: Mapping[str, Any], trial: Mapping[str, Any], part: str | None) -> AnnotatedRecording:
    """One trial: the first span of each key step, right but for a shock without a "clear" before it."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for step in sorted(trial["keysteps"], key=lambda step: (step["start_t"], step["end_t"])):
        name = SAME.get(step["label"], step["label"])
        if name in STEPS:
            spans.setdefault(name, []).append((step["start_t"], step["end_t"]))
    cleared = min((start for start, _ in spans.get("clear_for_shock", ())), default=None)
    attempts: dict[str, tuple[Attempt, ...]] = {}
    for name, every in spans.items():
        uncleared = name == "administer_shock_aed" and (cleared is None or cleared >= every[0][0])
        errors = (f"{name}.{NO_CLEAR}",) if uncleared else ()
        clip = next((span for span in every if span[1] > span[0]), (None, None))  # some are marked at a moment
        attempts[name] = (Attempt(clip[0], clip[1], not errors, errors),)
    return AnnotatedRecording(
        video_id=f"{subject['subject_id']}_cardiacarrest_{trial['trial_id']}",
        skill="cardiac_arrest",
        duration=max(step["end_t"] for step in trial["keysteps"]),
        attempts=attempts,
        about={"student": subject["subject_id"], "expertise": str(subject.get("expertise_level") or "not stated")},
        splits={"trial": part} if part else {},
    )


SET = PublicSet(
    repository="UVA-DSA/EgoEMS",
    commit="8eed440f2b44839d1ae01788c4db51be324819d3",
    patterns=(
        "Annotations/aaai26_main_annotation_segmentation.json",
        "Annotations/splits/trials/aaai26_*_split_segmentation.json",
    ),
    digest="d0b74dc05688476b561a4811592bea3b1b1878820cda329bfeb07447d9fe2101",
    rubric={"title": "Cardiac arrest with AED and bag-mask", "setting": "on a manikin"},
    rule="first",
    labels="rule",
    license="cc0-1.0",
    citation="EgoEMS, AAAI 2026, https://github.com/UVA-DSA/EgoEMS",
    videos_from="https://github.com/UVA-DSA/EgoEMS (its link to the videos was empty on 2025-11-14)",
    read=read,
)
