"""The small files of a demo dataset: label rows, event logs, dataset.yaml and the card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from siming_tasks.rubrics import Rubric
from siming_tasks.simulate.exam import Exam
from siming_tasks.simulate.stage import Performance

__all__ = ["CARD", "event_log", "video_row"]

CARD = """\
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
(`siming demo`, generator version {version}, seed {seed}). **No person, patient or real exam is shown, and no physician
gave a score.** The labels are true by construction: a simulated trainee makes the rubric's named errors, the points
follow from the rubric, and `events/<video_id>.json` says why each point was lost. `rater_a` and `rater_b` are simulated
too; their `consensus` is the truth.

## What may be concluded

* That a pipeline (prompt, parser, metric, report) runs, and that it loses nothing between a label and a metric.
* Whether a judge reads these drawings: which drawn evidence it uses, and whether it carries the state of a procedure
  from one step to a later one.

## What may not be concluded

* Anything about how well a model, or a physician, judges real exams. Drawings are easier in some ways (no clutter) and
  harder in others (no sound, few details), and the raters imitate only the size of human disagreement.
* Anything clinical. The rubric is a reconstruction from public guidelines, not reviewed by a clinician.
"""


def video_row(exam: Exam, rubric: Rubric, played: Performance) -> dict[str, Any]:
    """The video's line in ``videos.jsonl``."""
    steps = []
    for step in rubric.steps:
        start, end = played.spans[step.id]
        steps.append({"step_id": step.id, "start": start, "end": end, "score": dict(exam.scores[step.id])})
    return {
        "video_id": exam.video_id,
        "media": f"media/{exam.video_id}.mp4",
        "duration": played.duration,
        "synthetic": True,
        "steps": steps,
    }


def event_log(exam: Exam, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """``events/<video_id>.json``: who did what when, and why each point was lost."""
    return {
        "video_id": exam.video_id,
        "synthetic": True,
        "ability": round(exam.plan.ability, 3),
        "entailed": sorted(exam.plan.entailed),
        "steps": [
            {
                "step_id": truth.step_id,
                "raw": truth.raw,
                "points": truth.points,
                "lost": [{"kind": loss.kind, "cause": loss.cause, "points": loss.points} for loss in truth.losses],
            }
            for truth in exam.truth.values()
        ],
        "events": [dict(event) for event in events],
    }
