"""The small files of a data set folder, written after its media."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from siming_tasks.benchmark.rubrics import DEFAULT_ID, load_rubric
from siming_tasks.common.files import atomic_write
from siming_tasks.common.printed_value import counted
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.digest import content_digest

_OF_THE_OWNER = """\
To be said by the owner of the data: why it was made and who paid for it, how the exams were recorded, who was filmed
and agreed to it, the ethical review, whether faces, name badges or voices identify people (nobody searched for them),
what it should not be used for, and who maintains it.
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
    """The dataset card: a Hugging Face header, the facts that the files tell, and what its owner should say."""
    rubric, videos = dataset.rubric, dataset.videos
    clinical = rubric.examiner is None  # the prompt's is a physician
    tags = {"clinical-skills": clinical, "synthetic": dataset.synthetic}
    head: dict[str, Any] = {
        "pretty_name": info["name"],
        "license": str(info.get("license") or "other").lower(),
        "language": list(info.get("languages") or ()),
        "task_categories": ["video-classification"],
        "tags": ["siming-bench", "video", *(tag for tag, holds in tags.items() if holds)],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "videos.jsonl"}]}],
    }
    if info.get("labels") == "withheld" and not dataset.simulated.videos:
        head["extra_gated_prompt"] = _GATE
    judged = [step for video in videos for step in video.applicable]
    missed = [step.consensus < rubric.by_id[step.step_id].max_score for step in judged if step.consensus is not None]
    reference = "The labels are withheld: models can be run, and their prediction files scored by the labels' keeper."
    if missed:
        reference = f"{100 * sum(missed) / len(missed):.1f} % of the judged steps with a consensus lost points."
    whose = "physicians' scores" if clinical else "the annotators' scores"
    whose = f"the scores of {dataset.machine_raters}, no person" if dataset.machine_raters else whose
    seconds = [video.duration for video in videos]
    sites = {video.site for video in videos if video.site}
    skipped = sum(len(video.steps) for video in videos) - len(judged)
    sources = info.get("label_sources") or {}
    origins = ", ".join(f"{how}: {count}" for how, count in (sources.get("consensus") or {}).items())
    origins = origins or (sources.get("rule") or "origin not stated" if missed else "withheld")
    facts = [
        f"{counted(len(videos), 'video')}, {sum(seconds) / 3600:.2f} h in all, {min(seconds):.1f} to "
        f"{max(seconds):.1f} s each; {counted(len(sites), 'site') if sites else 'sites not stated'}.",
        f"Rubric `{rubric.rubric_id}` version {rubric.version}: {counted(len(rubric.steps), 'step')} in "
        f"{counted(len(rubric.skills), 'skill')}, {counted(rubric.max_score, 'point')}.",
        f"{counted(len(judged), 'judged step')}: {sum(step.span is not None for step in judged)} with a time span, "
        f"{skipped} not applicable.",
        f"Raters: {', '.join(sources.get('raters', ())) or 'none named'}. Reference: `consensus` ({origins}).",
        reference,
        *(dataset.sound_facts.sentences if "sound" in info else ()),
        f"{info.get('processing') or 'How the files were processed is not stated.'} The table from original file names "
        "to ids is kept outside this folder.",
        f"Made for measuring how well a judge's scores agree with {whose}. Not for certifying people, and not for "
        "clinical decisions.",
        f"License: {info.get('license') or 'not stated'}. Citation: {info.get('citation') or 'not stated'}.",
        f"Content digest (SHA-256 of rubric, labels and media): `{info['digest']}`",
    ]
    kinds = " and ".join(kind for kind, simulated in dataset.simulated if simulated)
    marked = f"**SYNTHETIC: its {kinds} are simulated.** " if kinds else ""
    exams = f"“{rubric.title}”" if rubric.title and rubric.rubric_id != DEFAULT_ID else "exams"
    about = f"{marked}Videos of {exams}, with scores of steps, for SiMing-Bench (`siming-tasks`)."
    if info.get("canary"):
        about += f" Please keep this canary with every copy: {info['canary']}"
    text = f"# {info['name']}\n\n{about}\n\n" + "".join(f"* {fact}\n" for fact in facts) + f"\n{_OF_THE_OWNER}"
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{text}"
