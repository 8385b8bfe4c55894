"""The small files of a dataset folder, written around the media that are there already."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.common.files import atomic_write
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.digest import content_digest
from siming_tasks.rubrics import DEFAULT_ID, Rubric, load_rubric

_OPEN = "*Not stated. To be answered by the owner of the data.*"

_TEXT = """\
# {info[name]}

{synthetic}Videos of {exams}, with scores of steps, for SiMing-Bench (`siming-tasks`). {canary}

## Motivation

* For what purpose was the dataset created, by whom, who paid for it? {open}

## Composition

* {videos} videos, {hours:.2f} h in all, {shortest:.1f} to {longest:.1f} s each; {sites} site(s).
* Rubric `{rubric.rubric_id}` version {rubric.version}: {steps} steps in {skills} skill(s), {rubric.max_score:g} points.
* {judged} judged steps; {clips} have a time span; {skipped} are marked as not applicable.
* Raters: {raters}. Reference: `consensus` ({origins}).
* {reference}{sound}
* Does the dataset identify people, directly or indirectly? Faces, name badges and voices are not searched for. {open}

## Collection

* How were the exams recorded, who was filmed, did they consent, was there an ethical review? {open}

## Preprocessing

* {processing}
* The table from original file names to ids is kept outside this folder.

## Uses

* Made for measuring how well a judge's scores agree with {whose}. Not for certifying people, and not for
  clinical decisions.
* What else should it (not) be used for? {open}

## Distribution and maintenance

* License: {license}. Citation: {citation}.
* Who maintains it, where are errors reported? {open}
* Content digest (SHA-256 of rubric, labels and media): `{info[digest]}`

```python
from siming_tasks.data import open_dataset      # checks everything
import datasets; datasets.load_dataset("path/to/this/folder")   # the label rows
```
"""


_GATE = (
    "These are recordings of examinations. By asking for access you agree not to hand the files on, not to try to find "
    "out who is seen or heard, not to train models on them, and to keep the canary string with every copy."
)
"""Text that the Hugging Face Hub shows to people who ask for access, where a public folder is gated."""


def write_folder(
    root: Path,
    rubric_file: Path,
    rows: Sequence[Mapping[str, Any]],
    info: Mapping[str, Any],
    media: Mapping[str, str],
) -> None:
    """Write ``rubric.yaml``, ``videos.jsonl``, ``dataset.yaml`` and ``README.md``.

    ``rows`` are the objects of ``videos.jsonl``, ``info`` is the content of ``dataset.yaml`` without the digests,
    ``media`` the SHA-256 of each media file by its path relative to the folder.
    """
    shutil.copyfile(rubric_file, root / "rubric.yaml")
    rubric = load_rubric(root / "rubric.yaml")
    media = dict(sorted(media.items()))
    info = {**info, "digest": content_digest(rubric, rows, media), "media_sha256": media}
    with atomic_write(root / "videos.jsonl") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with atomic_write(root / "dataset.yaml") as stream:
        yaml.safe_dump(info, stream, sort_keys=False, allow_unicode=True)
    with atomic_write(root / "README.md") as stream:
        stream.write(_card(open_dataset(root, media=False), info))


def _card(dataset: Dataset, info: Mapping[str, Any]) -> str:
    """The dataset card: a Hugging Face header and the datasheet questions, answered as far as the files tell."""
    rubric, videos = dataset.rubric, dataset.videos
    clinical = rubric.examiner is None  # the prompt's is a physician
    tags = {"clinical-skills": clinical, "synthetic": info.get("synthetic")}
    head: dict[str, Any] = {
        "pretty_name": info["name"],
        "license": str(info.get("license") or "other").lower(),
        "language": list(info.get("languages") or ()),
        "task_categories": ["video-classification"],
        "tags": ["siming-bench", "video", *(tag for tag, holds in tags.items() if holds)],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "videos.jsonl"}]}],
    }
    if info.get("labels") == "withheld" and not info.get("synthetic"):
        head["extra_gated_prompt"] = _GATE
    judged = [step for video in videos for step in video.applicable]
    missed = [step.consensus < rubric.by_id[step.step_id].max_score for step in judged if step.consensus is not None]
    reference = "The labels are withheld: models can be run, and their prediction files scored by the labels' keeper."
    if missed:
        reference = f"{100 * sum(missed) / len(missed):.1f} % of the judged steps with a consensus lost points."
    whose = "physicians' scores" if clinical else "the annotators' scores"
    whose = f"the scores of {dataset.machine_raters}, no person" if dataset.machine_raters else whose
    durations = [video.duration for video in videos]
    sources = info.get("label_sources") or {}
    origins = ", ".join(f"{how}: {count}" for how, count in (sources.get("consensus") or {}).items())
    text = _TEXT.format(
        info=info,
        rubric=rubric,
        synthetic="**SYNTHETIC: no real exam, person or score.** " if info.get("synthetic") else "",
        canary=f"Please keep this canary with every copy: {info['canary']}" if info.get("canary") else "",
        open=_OPEN,
        videos=len(videos),
        hours=sum(durations) / 3600,
        shortest=min(durations),
        longest=max(durations),
        sites=len({video.site for video in videos if video.site}) or "unstated number of",
        steps=len(rubric.steps),
        skills=len(rubric.skills),
        judged=len(judged),
        clips=sum(step.span is not None for step in judged),
        skipped=sum(len(video.steps) for video in videos) - len(judged),
        raters=", ".join(sources.get("raters", ())) or "none named",
        origins=origins or (sources.get("rule") or "origin not stated" if missed else "withheld"),
        reference=reference,
        processing=info.get("processing") or _OPEN,
        license=info.get("license") or "not stated",
        citation=info.get("citation") or "not stated",
        exams=_exams(rubric),
        whose=whose,
        sound="".join(f"\n* {line}" for line in dataset.sound_facts.sentences) if "sound" in info else "",
    )
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}"


def _exams(rubric: Rubric) -> str:
    """The exams in the rubric's words: its title and setting; the embedded rubric's title is about itself."""
    if rubric.rubric_id == DEFAULT_ID and not rubric.setting:
        return "clinical skill exams"
    title, where = (" ".join((text or "").split()) for text in (rubric.title, rubric.setting))
    return " ".join(filter(None, (f"“{title}”" if title else "exams", where)))
