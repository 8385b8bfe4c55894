"""The dataset card: a Hugging Face header and the datasheet questions, answered as far as the files tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from siming_tasks.common.schema import CONSENSUS
from siming_tasks.rubrics import Rubric

__all__ = ["card"]

_OPEN = "*Not stated. To be answered by the owner of the data.*"

_TEXT = """\
# {name}

{synthetic}Videos of clinical skill exams with step scores, for SiMing-Bench (`siming-tasks`). {canary}

## Motivation

* For what purpose was the dataset created, by whom, who paid for it? {open}

## Composition

* {videos} videos, {hours:.2f} h in all, {shortest:.1f} to {longest:.1f} s each; {sites} site(s).
* Rubric `{rubric_id}` version {rubric_version}: {steps} steps in {skills} skill(s), {points:g} points.
* {judged} judged steps; {clips} have a time span; {skipped} are marked as not applicable.
* Raters: {raters}. Reference: `consensus` ({origins}).
* {reference}
* Does the dataset identify people, directly or indirectly? Faces, name badges and voices are not searched for. {open}

## Collection

* How were the exams recorded, who was filmed, did they consent, was there an ethical review? {open}

## Preprocessing

* {processing}
* The table from original file names to ids is kept outside this folder.

## Uses

* Made for measuring how well a judge's scores agree with physicians' scores. Not for certifying people, and not for
  clinical decisions.
* What else should it (not) be used for? {open}

## Distribution and maintenance

* License: {license}. Who maintains it, where are errors reported? {open}
* Content digest (SHA-256 of rubric, labels and media): `{digest}`

```python
from siming_tasks.data import open_dataset      # checks everything
import datasets; datasets.load_dataset("path/to/this/folder")   # the label rows
```
"""


def card(info: Mapping[str, Any], rubric: Rubric, rows: Sequence[Mapping[str, Any]]) -> str:
    """The text of ``README.md``.

    Args:
        info: what ``dataset.yaml`` says.
        rubric: the checked rubric.
        rows: the objects of ``videos.jsonl``.
    """
    head = {
        "pretty_name": info["name"],
        "license": str(info.get("license") or "other").lower(),
        "language": list(info.get("languages") or ()),
        "task_categories": ["video-classification"],
        "tags": ["siming-bench", "video", "clinical-skills", *(["synthetic"] if info.get("synthetic") else [])],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "videos.jsonl"}]}],
    }
    steps = [step for row in rows for step in row["steps"]]
    judged = [step for step in steps if step.get("applicable", True)]
    durations = [row["duration"] for row in rows]
    sources = info.get("label_sources") or {}
    text = _TEXT.format(
        name=info["name"],
        synthetic="**SYNTHETIC: no real exam, person or score.** " if info.get("synthetic") else "",
        canary=f"Please keep this canary with every copy: {info['canary']}" if info.get("canary") else "",
        open=_OPEN,
        videos=len(rows),
        hours=sum(durations) / 3600,
        shortest=min(durations),
        longest=max(durations),
        sites=len({row["site"] for row in rows if row.get("site")}) or "unstated number of",
        rubric_id=rubric.rubric_id,
        rubric_version=rubric.version,
        steps=len(rubric.steps),
        skills=len(rubric.skills),
        points=rubric.max_score,
        judged=len(judged),
        clips=sum(step.get("start") is not None for step in judged),
        skipped=len(steps) - len(judged),
        raters=", ".join(sources.get("raters", ())) or "none named",
        origins=", ".join(f"{how}: {count}" for how, count in (sources.get("consensus") or {}).items()) or "withheld",
        reference=_prevalence(judged, rubric),
        processing=info.get("processing") or _OPEN,
        license=info.get("license") or "not stated",
        digest=info["digest"],
    )
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}"


def _prevalence(judged: Sequence[Mapping[str, Any]], rubric: Rubric) -> str:
    known = [(step["step_id"], step.get("score", {}).get(CONSENSUS)) for step in judged]
    missed = [points < rubric.by_id[name].max_score for name, points in known if points is not None]
    if not missed:
        return "The labels are withheld: models can be run, and their prediction files scored by the labels' keeper."
    return f"{100 * sum(missed) / len(missed):.1f} % of the judged steps with a consensus lost points."
