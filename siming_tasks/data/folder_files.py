"""The small files of a dataset folder, written around the media that are there already."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.common.files import atomic_write
from siming_tasks.common.schema import CONSENSUS, PERSON, Rater, kinds_in_words
from siming_tasks.data.digest import content_digest
from siming_tasks.data.sound_facts import SoundFacts
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
        stream.write(_card(info, rubric, rows))


def _card(info: Mapping[str, Any], rubric: Rubric, rows: Sequence[Mapping[str, Any]]) -> str:
    """The dataset card: a Hugging Face header and the datasheet questions, answered as far as the files tell."""
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
    steps = [step for row in rows for step in row["steps"]]
    judged = [step for step in steps if step.get("applicable", True)]
    known = [(step["step_id"], step.get("score", {}).get(CONSENSUS)) for step in judged]
    missed = [points < rubric.by_id[name].max_score for name, points in known if points is not None]
    reference = "The labels are withheld: models can be run, and their prediction files scored by the labels' keeper."
    if missed:
        reference = f"{100 * sum(missed) / len(missed):.1f} % of the judged steps with a consensus lost points."
    durations = [row["duration"] for row in rows]
    sources = info.get("label_sources") or {}
    origins = ", ".join(f"{how}: {count}" for how, count in (sources.get("consensus") or {}).items())
    text = _TEXT.format(
        info=info,
        rubric=rubric,
        synthetic="**SYNTHETIC: no real exam, person or score.** " if info.get("synthetic") else "",
        canary=f"Please keep this canary with every copy: {info['canary']}" if info.get("canary") else "",
        open=_OPEN,
        videos=len(rows),
        hours=sum(durations) / 3600,
        shortest=min(durations),
        longest=max(durations),
        sites=len({row["site"] for row in rows if row.get("site")}) or "unstated number of",
        steps=len(rubric.steps),
        skills=len(rubric.skills),
        judged=len(judged),
        clips=sum(step.get("start") is not None for step in judged),
        skipped=len(steps) - len(judged),
        raters=", ".join(sources.get("raters", ())) or "none named",
        origins=origins or (sources.get("rule") or "origin not stated" if missed else "withheld"),
        reference=reference,
        processing=info.get("processing") or _OPEN,
        license=info.get("license") or "not stated",
        citation=info.get("citation") or "not stated",
        exams=_exams(rubric),
        whose=_whose(info, steps, clinical),
        sound=_sound(info, rubric, rows),
    )
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}"


def _sound(info: Mapping[str, Any], rubric: Rubric, rows: Sequence[Mapping[str, Any]]) -> str:
    """Lines of the card on sound; none where ``dataset.yaml`` does not state it."""
    if info.get("sound") is None:
        return ""
    facts = SoundFacts.of(
        rubric,
        kept=info["sound"],
        videos=len(rows),
        transcripts=sum(row.get("transcript") is not None for row in rows),
        raters={name for row in rows for step in row["steps"] for name in step.get("score", ())},
        facts={
            name: Rater(row.get("kind", PERSON), row.get("heard")) for name, row in (info.get("raters") or {}).items()
        },
    )
    return "".join(f"\n* {line}" for line in facts.sentences)


def _exams(rubric: Rubric) -> str:
    """The exams in the rubric's words: its title and setting; the embedded rubric's title is about itself."""
    if rubric.rubric_id == DEFAULT_ID and not rubric.setting:
        return "clinical skill exams"
    title, where = (" ".join((text or "").split()) for text in (rubric.title, rubric.setting))
    return " ".join(filter(None, (f"“{title}”" if title else "exams", where)))


def _whose(info: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], clinical: bool) -> str:
    """Whose scores the reference is: physicians', other people's, or those of raters who are no persons, by kind."""
    given = {name for step in steps for name in step.get("score", ())}
    facts = info.get("raters") or {}
    raters = [Rater(facts.get(name, {}).get("kind", PERSON)) for name in sorted(given - {CONSENSUS} or given)]
    if raters and all(rater.kind != PERSON for rater in raters):
        return f"the scores of {kinds_in_words(raters)}, no person"
    return "physicians' scores" if clinical else "the annotators' scores"
