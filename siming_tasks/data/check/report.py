"""The doctor: every problem of a dataset folder in one run."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.exams import Video
from siming_tasks.benchmark.rubrics import DEFAULT_ID, Rubric, load_rubric
from siming_tasks.benchmark.rubrics.lint import lint_rubric
from siming_tasks.benchmark.tasks.prompt import EMERGENCY_EXAM, exam_context
from siming_tasks.common.display import ShortRepr
from siming_tasks.common.errors import Problem, RubricError
from siming_tasks.common.files import yaml_lines
from siming_tasks.common.input_kinds import path_of
from siming_tasks.common.printed_value import counted
from siming_tasks.data.check.label_checks import label_problems
from siming_tasks.data.check.media_checks import Inspection, inspect
from siming_tasks.data.dataset import Dataset, scan
from siming_tasks.data.digest import media_difference
from siming_tasks.data.splits import parts_of

NOT_CHECKED = (
    "faces, name badges, screens and other people in the picture",
    "copies that were re-encoded, cut, mirrored or filmed again",
    "whether the labels are correct",
)
"""What no finding says anything about; printed with every report."""

DIGEST_CODES = ("digest-absent", "digest-mismatch", "media-digest")
"""Codes of findings about digests, which ``--restate`` fixes."""


@dataclass(frozen=True, repr=False)
class CheckReport(ShortRepr):
    """All findings about a folder, errors first, and a few numbers about what was checked."""

    root: Path
    problems: tuple[Problem, ...]
    summary: Mapping[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Problems that stop a run or make its numbers wrong."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Problems that deserve a look."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "root": str(self.root),
            "ok": not self.errors,
            "errors": [problem.to_json() for problem in self.errors],
            "warnings": [problem.to_json() for problem in self.warnings],
            "summary": dict(self.summary),
            "not_checked": list(NOT_CHECKED),
        }


def check_dataset(
    root: str | Path, *, quick: bool = False, jobs: int | None = None, progress: bool = False
) -> CheckReport:
    """Check everything in a dataset folder; findings never raise.

    Args:
        root: the folder.
        quick: open the videos without decoding or hashing them.
        jobs: videos worked on at once (default: as many as there are processors).
        progress: show a bar on stderr.

    Example:
        >>> from siming_tasks import check_dataset
        >>> report = check_dataset(exams, quick=True)
        >>> report.errors, report.summary["videos"]
        ((), 4)
    """
    root = path_of(root, "root", "data set")
    dataset, scan_problems = scan(root)
    problems = list(scan_problems)
    summary: dict[str, Any] = {"quick": quick}
    if dataset is not None:
        broken = {problem.line for problem in scan_problems if problem.code.startswith("media-")}
        problems += label_problems(dataset)
        inspected = _inspect_all(dataset, broken, quick, jobs or os.cpu_count() or 1, progress)
        problems += [problem for item in inspected.values() for problem in item.problems]
        problems += _digests(dataset, inspected)
        problems += _rubric(dataset.rubric)
        summary |= {
            "name": dataset.name,
            "digest": dataset.digest,
            "synthetic": dataset.synthetic,
            "withheld": dataset.withheld,
            "videos": len(dataset.videos),
            "steps": sum(len(video.applicable) for video in dataset.videos),
            "spans": sum(step.span is not None for video in dataset.videos for step in video.applicable),
            "seconds": round(sum(video.duration for video in dataset.videos), 3),
            "raters": dataset.raters_in_words,
            "sound": list(dataset.sound_facts.sentences) if "sound" in dataset.meta else [],
            "splits": parts_of(dataset.videos),
            "frames": sum(item.frames or 0 for item in inspected.values()) if not quick else None,
        }
    if root.is_dir():
        unread = any(each.file == "videos.jsonl" and each.severity == "error" and not each.code.startswith("media-")
                     for each in scan_problems)  # fmt: skip
        problems += _strays(root, {video.media for video in dataset.videos} if dataset and not unread else None)
    problems.sort(key=lambda item: (item.severity != "error", item.file or "", item.line or 0, item.code, item.what))
    return CheckReport(root, tuple(dict.fromkeys(problems)), summary)


def check_rubric(path: Path) -> CheckReport:
    """Look at everything in a rubric's file; never raises on what it finds."""
    try:
        rubric = load_rubric(path)
    except RubricError as error:
        return CheckReport(path, error.problems or (Problem("rubric-unreadable", str(error), ""),))
    summary = {"skills": len(rubric.skills), "steps": len(rubric.steps), "points": rubric.max_score}
    problems = (*lint_rubric(rubric, str(path), yaml_lines(path)), *_rubric(rubric, str(path)))
    return CheckReport(path, problems, summary)


def _inspect_all(
    dataset: Dataset, broken: set[int | None], quick: bool, jobs: int, progress: bool
) -> dict[str, Inspection]:
    """By video id, what its file shows; of those that could be opened at all."""
    from tqdm import tqdm

    videos = [video for video in dataset.videos if dataset.lines[video.video_id] not in broken]
    sound, heard = dataset.meta.get("sound"), dataset.sound_facts.steps

    def look(video: Video) -> tuple[str, Inspection]:
        line = dataset.lines[video.video_id]
        return video.video_id, inspect(dataset.media_path(video), video, line, quick, sound, heard)

    with ThreadPoolExecutor(jobs) as pool:  # an interrupt cancels what has not begun
        return dict(tqdm(pool.map(look, videos), total=len(videos), unit="video", disable=not progress))


def _digests(dataset: Dataset, inspected: Mapping[str, Inspection]) -> Iterator[Problem]:
    """Files that are not those stated, or of which nothing is stated; and two of the same content."""
    real = {dataset.video(name).media: item.sha256 for name, item in inspected.items() if item.sha256}
    first: dict[str, str] = {}
    for media, digest in sorted(real.items()):
        if first.setdefault(digest, media) != media:
            what, fix = f"{media} and {first[digest]} are the same file.", "Give each exam its own video."
            yield Problem("media-copy", what, fix, "videos.jsonl", None, "media", "warning")
    stated: Mapping[str, str] = dataset.meta.get("media_sha256") or {}
    fix = f"`siming data check {dataset.root} --restate` writes"
    if not stated:
        fix = f"{fix} them; without them, two copies cannot be compared."
        yield Problem("digest-absent", "gives no media_sha256.", fix, "dataset.yaml", severity="warning")
        return
    for media in sorted(real.keys() & stated.keys()):
        if real[media] != stated[media]:
            yield media_difference(dataset.root, media, stated[media], real[media])
    if lacking := sorted({video.media for video in dataset.videos} - stated.keys()):
        what = f"{lacking[0]} has no digest."
        yield Problem("digest-absent", what, f"{fix} it.", "dataset.yaml", None, "media_sha256", "warning")


def _rubric(rubric: Rubric, file: str = "rubric.yaml") -> Iterator[Problem]:
    """A rubric that does not say what its exam is: the prompts would speak of another one."""
    if rubric.rubric_id != DEFAULT_ID and exam_context(rubric).of == EMERGENCY_EXAM.of:
        what = "has neither title nor setting, so prompts describe emergency skills on a manikin."
        fix = "Write `title:` and `setting:` (such as `on a suture pad`)."
        yield Problem("rubric-untold", what, fix, file, None, "setting", "warning")


def _strays(root: Path, named: Collection[str] | None) -> Iterator[Problem]:
    """Links that leave the folder, private tables in it, and files in ``media`` that no row names (None: not known)."""
    home = root.resolve()
    blobs = home.parent.parent / "blobs"  # where a Hugging Face snapshot keeps its files
    spare: list[str] = []
    inside = (Path(folder) / name for folder, names, files in os.walk(root) for name in sorted([*names, *files]))
    for path in inside:
        if path.name.startswith(".git"):
            continue
        relative = path.relative_to(root).as_posix()
        if os.path.islink(path):  # also where the folder may not be entered
            target = path.resolve()
            if not (target.is_relative_to(home) or target.parent == blobs):
                fix = "Replace the link by the file; links break when the folder is copied or published."
                yield Problem("symlink-outside", "is a link that leaves the folder.", fix, relative)
        elif named is not None and relative.startswith("media/") and os.path.isfile(path) and relative not in named:
            spare.append(relative)
        if relative.endswith((".names.csv", ".key.json")):
            fix = "Keep it outside the folder."
            yield Problem("private-inside", "looks like a private table of names or labels.", fix, relative)
    if spare:  # originals that were left behind, say, with all that they tell
        names = ", ".join(spare[:3]) + ", ..." * (len(spare) > 3)
        what = f"media/ has {counted(len(spare), 'file')} that no video uses ({names})."
        yield Problem("media-spare", what, "Remove them, or add their rows.", "media", severity="warning")
