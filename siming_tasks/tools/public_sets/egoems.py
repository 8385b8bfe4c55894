"""EgoEMS: simulated emergencies; of its 76 full cardiac arrests, which key steps were done, and when.

EgoEMS (UVA-DSA, AAAI 2026), annotations CC0. It has **no verdict of a person**: the labels are rules of this module. A
step is right if it was done at all; the shock also needs a "clear" before it. Repeats of a key step are one act that
goes on, of which the first span is the clip.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks.common.schema import Attempt
from siming_tasks.tools.public_sets.public_set import (
    PublicSet,
    Published,
    Recording,
    annotation,
    one_point,
    read_json,
    rubric_of,
    span_of,
)

PUBLISHED = Published(
    "UVA-DSA/EgoEMS",
    "8eed440f2b44839d1ae01788c4db51be324819d3",
    (
        "Annotations/aaai26_main_annotation_segmentation.json",
        "Annotations/splits/trials/aaai26_*_split_segmentation.json",
    ),
    "d0b74dc05688476b561a4811592bea3b1b1878820cda329bfeb07447d9fe2101",
)
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


def read(folder: Path) -> PublicSet:
    """The full cardiac arrests of the set in a folder with its annotation files."""
    parts = {
        (subject["subject_id"], trial["trial_id"]): part
        for part in ("train", "val", "test")
        for subject, trial in _arrests(
            read_json(folder / f"Annotations/splits/trials/aaai26_{part}_split_segmentation.json")
        )
    }
    recordings, file = [], folder / "Annotations/aaai26_main_annotation_segmentation.json"
    for subject, trial in _arrests(read_json(file)):
        with annotation(file, f"subject {subject['subject_id']!r}, trial {trial['trial_id']!r}"):
            if len({step["label"] for step in trial["keysteps"]}) >= MIN_STEPS:
                part = parts.get((subject["subject_id"], trial["trial_id"]))
                recordings.append(_recording(subject, trial, {"trial": part} if part else {}))
    steps = [
        one_point(name, text, {NO_CLEAR: "Nobody was told to stand clear."} if name == "administer_shock_aed" else {})
        for name, text in STEPS.items()
    ]
    skill = {"id": "cardiac_arrest", "name": "Cardiac arrest", "steps": steps}
    return PublicSet(
        title="EgoEMS, full cardiac arrests",
        rubric=rubric_of("egoems", "Cardiac arrest with AED and bag-mask", "on a manikin", [skill]),
        recordings=tuple(recordings),
        rule="first",
        labels="rule",
        license="cc0-1.0",
        citation="EgoEMS, AAAI 2026, https://github.com/UVA-DSA/EgoEMS",
        videos_from="https://github.com/UVA-DSA/EgoEMS (its link to the videos was empty on 2025-11-14)",
    )


def _arrests(content: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Subject and trial of every cardiac arrest."""
    return [
        (subject, trial)
        for subject in content["subjects"]
        for scenario in subject["scenarios"]
        if scenario["scenario_id"] == "cardiac_arrest"
        for trial in scenario["trials"]
    ]


def _recording(subject: Mapping[str, Any], trial: Mapping[str, Any], splits: Mapping[str, str]) -> Recording:
    spans: dict[str, list[tuple[float, float]]] = {}
    for step in sorted(trial["keysteps"], key=lambda step: (step["start_t"], step["end_t"])):
        span = span_of(step["start_t"], step["end_t"])
        name = SAME.get(step["label"], step["label"])
        if name in STEPS:
            spans.setdefault(name, []).append(span)
    cleared = min((start for start, _ in spans.get("clear_for_shock", ())), default=None)
    attempts: dict[str, tuple[Attempt, ...]] = {}
    for name, every in spans.items():
        uncleared = name == "administer_shock_aed" and (cleared is None or cleared >= every[0][0])
        errors = (f"{name}.{NO_CLEAR}",) if uncleared else ()
        clip = next((span for span in every if span[1] > span[0]), None)  # some are marked at a moment
        start, end = clip or (None, None)
        attempts[name] = (Attempt(start, end, not errors, errors),)
    return Recording(
        video_id=f"{subject['subject_id']}_cardiacarrest_{trial['trial_id']}",
        skill="cardiac_arrest",
        duration=max(step["end_t"] for step in trial["keysteps"]),
        attempts=attempts,
        unassigned=sum(SAME.get(step["label"], step["label"]) not in STEPS for step in trial["keysteps"]),
        about={"student": subject["subject_id"], "expertise": _expertise(subject)},
        splits=splits,
    )


def _expertise(subject: Mapping[str, Any]) -> str:
    return str(subject.get("expertise_level") or "not stated")
