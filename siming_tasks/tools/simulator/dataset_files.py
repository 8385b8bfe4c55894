"""The small files of a demo dataset: label rows, event logs, dataset.yaml and the card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.common.files import atomic_write, sha256_file, sha256_json
from siming_tasks.rubrics import load_rubric
from siming_tasks.tools.simulator.performance import Performance
from siming_tasks.tools.simulator.simulated_exam import Exam

__all__ = ["GENERATOR_VERSION", "Recipe", "describe", "event_log", "video_row"]

GENERATOR_VERSION = "3"
"""Moves whenever a seed no longer gives the same rubric, labels, event logs or (apart from the encoder) pictures."""


@dataclass(frozen=True)
class Recipe:
    """The arguments of the generator, written into ``dataset.yaml`` under ``simulation``."""

    generator_version: str
    videos: int
    seed: int
    short: bool
    pairs: bool
    contact: bool

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


_CARD = """\
---
license: cc0-1.0
language:
- en
pretty_name: SiMing simulated exams (SYNTHETIC)
tags:
- synthetic
- video
configs:
- config_name: default
  data_files: videos.jsonl
---

# Simulated clinical skill exams: SYNTHETIC

{videos} drawn videos of cardiopulmonary resuscitation, AED use and bag-mask ventilation, made by a program
(`siming data demo`, generator version {version}, seed {seed}{form}). **No person, patient or real exam is shown, and no
physician gave a score.** The labels are true by construction: a simulated trainee makes the rubric's named errors, the
points follow from the rubric, and `events/<video_id>.json` says why each point was lost. `rater_a` and `rater_b` are
simulated too; where they differ, an adjudicator with the event log decides, so the consensus is the truth.

## What may be concluded

* That a pipeline (prompt, parser, metric, report) runs, and that it loses nothing between a label and a metric.
* Whether a judge reads these drawings: which drawn evidence it uses, and whether it carries the state of a procedure
  from one step to a later one.

## What may not be concluded

* Anything about how well a model, or a physician, judges real exams. Drawings are easier in some ways (no clutter) and
  harder in others (no sound, few details), and the raters imitate only the size of human disagreement.
* Anything clinical. The rubric is a reconstruction from public guidelines, not reviewed by a clinician.

## Files

`videos.jsonl` (labels), `rubric.yaml`, `media/` (H.264, {fps} frames/s), `events/` (logs), `contact/` (pictures to look
at), `dataset.yaml` (digests). Words in speech bubbles stand for sound. {pairs}
"""

_PAIRS = """`pairs.jsonl` lists counterfactual minimal pairs: for a `history` pair
the frames of the step's clip are the same in both videos before encoding and its true score differs, so no judge that
sees only the clip and answers equal inputs equally can be right on it."""


def video_row(exam: Exam, played: Performance) -> dict[str, Any]:
    """The video's line in ``videos.jsonl``."""
    steps = []
    for step, scores in exam.scores.items():
        start, end = played.spans[step]
        steps.append({"step_id": step, "start": start, "end": end, "score": dict(scores)})
    name = exam.video_id
    return {
        "video_id": name,
        "media": f"media/{name}.mp4",
        "duration": played.duration,
        "synthetic": True,
        "steps": steps,
    }


def event_log(exam: Exam, played: Performance) -> dict[str, Any]:
    """``events/<video_id>.json``: who did what when, and why each point was lost."""
    steps = []
    for step, truth in exam.truth.items():
        lost = [{"kind": loss.kind, "cause": loss.cause, "points": loss.points} for loss in truth.losses]
        steps.append({"step_id": step, "raw": truth.raw, "points": truth.points, "lost": lost})
    return {
        "video_id": exam.video_id,
        "synthetic": True,
        "ability": round(exam.plan.ability, 3),
        "entailed": sorted(exam.plan.entailed),
        "steps": steps,
        "events": [dict(event) for event in played.events],
    }


def describe(folder: Path, rows: Sequence[dict[str, Any]], pairs: Sequence[dict[str, Any]], request: Recipe) -> None:
    """Write everything but media, logs and pictures: the folder is a dataset afterwards."""
    from siming_tasks.tools.simulator.video import FPS

    for name, lines in (("videos.jsonl", rows), ("pairs.jsonl", pairs)):
        if lines:
            with atomic_write(folder / name) as stream:
                stream.writelines(json.dumps(line) + "\n" for line in lines)
    with atomic_write(folder / "rubric.yaml") as stream:
        stream.write((resources.files("siming_tasks.rubrics") / "default.yaml").read_text(encoding="utf-8"))
    media = {row["media"]: sha256_file(folder / row["media"]) for row in rows}
    rubric = load_rubric(folder / "rubric.yaml").model_dump(mode="json")
    about = {
        "name": "siming-demo",
        "version": f"{request.generator_version}.{request.seed}",
        "license": "CC0-1.0",
        "synthetic": True,
        "languages": ["en"],
        "label_sources": {
            "rater_a": "simulated rater",
            "rater_b": "simulated rater",
            "consensus": "true by construction",
        },
        "simulation": request.to_json(),
        "digest": sha256_json({"rubric": rubric, "videos": list(rows), "media": media}),
        "media_sha256": media,
    }
    with atomic_write(folder / "dataset.yaml") as stream:
        stream.write("# SYNTHETIC: drawn by a program; no real exam, person or score.\n")
        yaml.safe_dump(about, stream, sort_keys=False)
    form = ", short form: time-lapse with sets of six strokes, for tests only" if request.short else ""
    with atomic_write(folder / "README.md") as stream:
        stream.write(
            _CARD.format(
                videos=len(rows),
                version=request.generator_version,
                seed=request.seed,
                form=form,
                fps=FPS,
                pairs=_PAIRS if pairs else "",
            )
        )
