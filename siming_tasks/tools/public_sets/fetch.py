"""A public set as a data set folder: annotations read or downloaded, the user's videos matched and encoded."""

from __future__ import annotations

import math
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from siming_tasks import __version__
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.output_folder import make_once, output_folder
from siming_tasks.common.printed_value import counted
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.data.makers import Maker
from siming_tasks.options import variable
from siming_tasks.tools.builder.build_folder import inputs_of
from siming_tasks.tools.builder.transcode import transcode
from siming_tasks.tools.public_sets import captaincook4d, egoems, egooops
from siming_tasks.tools.public_sets.public_set import PublicSet

SETS: dict[str, PublicSet] = {"egooops": egooops.SET, "captaincook4d": captaincook4d.SET, "egoems": egoems.SET}
"""By the name that ``siming data fetch`` and ``SIMING_DATA`` know; each is registered in ``pyproject.toml``."""

GITHUB = "https://codeload.github.com"
VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")
ORIGIN = {
    "person": "the set's own annotators judged every step",
    "rule": "no person judged the steps: rules of siming-tasks made points of which steps were done, and when",
}
"""Origin of the labels, as the data set's card states it."""


def fetch(
    name: str,
    out: Path,
    *,
    annotations: Path | None = None,
    videos: Path | None = None,
    cache: Path | None = None,
    keep_audio: bool = False,
    jobs: int = 2,
) -> tuple[Dataset, list[Problem]]:
    """Make a data set folder of a public set, and say what should be looked at; one of the same files is left as it is.

    Args:
        name: of the set.
        out: the new folder.
        annotations: folder with the published annotation files; None: they are downloaded once into ``cache``.
        videos: folder of the videos, at any depth; None: that of ``<NAME>_VIDEO_DIR``, or labels alone.
        cache: folder for downloads.
        keep_audio: keep the sound.
        jobs: videos worked on at once.

    Raises:
        DataError: the set is unknown, its files cannot be had or are others than published, or no video is there.
    """
    if name not in SETS:
        raise DataError(f"{name!r} is not a public set; the sets are {', '.join(SETS)}.")
    public, files, problems = SETS[name], dict[str, Path](), list[Problem]()
    folder = annotations or download(public, (cache or Path(tempfile.gettempdir())) / "public-sets")
    public.check(folder)
    skills, recordings = public.read(folder)
    steps = {skill["id"]: skill["steps"] for skill in skills}
    rows = {one.video_id: (one.duration, public.row(one, steps[one.skill])) for one in recordings}
    stated = variable(f"{name.upper()}_VIDEO_DIR")
    if videos := videos or (Path(stated).expanduser() if stated else None):
        files = match_videos(videos, [*rows])
        if not files:
            raise DataError(f"{videos}: no file begins with the name of a recording. The videos: {public.videos_from}")
        if missing := len(rows) - len(files):
            what = f"there is no video of {missing:,} of {counted(len(rows), 'recording')}."
            problems.append(Problem("videos-missing", what, "They are left out.", str(videos), severity="warning"))
        rows = {video: rows[video] for video in files}
    stamps = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files.values()]
    key = sha256_json([name, public.digest, stamps, keep_audio])

    def make(part: Path) -> None:
        media = transcode(files, part, keep_audio=keep_audio, jobs=jobs, progress=True) if files else {}
        lengths = {video: round(float(done["duration"]), 6) for video, done in media.items()}
        lengths = lengths or {video: math.ceil(stated * 1000) / 1000 for video, (stated, _) in rows.items()}
        fitted = [_fitted(row, lengths[video], problems) for video, (_, row) in rows.items()]
        info = _info(name, key)
        if files:
            info |= {"sound": keep_audio, "processing": "Videos as H.264 .mp4 with a constant rate and even sides."}
        about = {"schema_version": 1, "rubric_id": name, "version": "1", **public.rubric, "skills": skills}
        with atomic_write(part / ".rubric.yaml") as stream:
            yaml.safe_dump(about, stream, sort_keys=False, allow_unicode=True, width=120)
        digests = {f"media/{video}.mp4": str(done["sha256"]) for video, done in media.items()}
        write_folder(part, part / ".rubric.yaml", fitted, info, digests)
        (part / ".rubric.yaml").unlink()
        shutil.rmtree(part / "done", ignore_errors=True)
        open_dataset(part, media=bool(files))

    make_once(out, f"made of these files of {name}", lambda folder: inputs_of(folder) == key, make, key)
    return open_dataset(out, media=bool(files)), problems


def download(public: PublicSet, cache: Path) -> Path:
    """The folder of a set's annotation files, downloaded once (DataError: they cannot be had, or are others)."""
    address = f"{GITHUB}/{public.repository}/tar.gz/{public.commit}"
    folder = cache / f"{public.repository.replace('/', '+')}-{public.commit[:12]}"
    if folder.is_dir():
        return folder
    with output_folder(folder) as part:
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                _extract(answer, public.patterns, part)
        except (OSError, tarfile.TarError, EOFError) as error:
            reason = getattr(error, "reason", error)
            fix = "Connect, or clone that repository and give it as --annotations."
            raise DataError(f"{address}: {reason}. {fix}") from None
        public.check(part)
    return folder


def _extract(stream: Any, patterns: Sequence[str], target: Path) -> None:
    """Write the regular files whose names, below the archive's one folder, meet a pattern as a whole; no others."""
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            wanted = any(len(path.parts) == pattern.count("/") + 1 and path.match(pattern) for pattern in patterns)
            if wanted and member.isfile() and (content := archive.extractfile(member)):
                with atomic_write(target / path, "wb") as file:
                    shutil.copyfileobj(content, file)


def match_videos(folder: Path, ids: Sequence[str]) -> dict[str, Path]:
    """The video file of each recording that has one: its name begins with the id (DataError: no folder, two files)."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the folder of the videos.")
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        name = path.stem
        begun = [each for each in ids if name == each or (name.startswith(each) and name[len(each)] in "._-")]
        video = max(begun, key=len, default="")  # 1_28_360p is 1_28, and not 1_2
        if video and path.suffix.lower() in VIDEO_SUFFIXES:
            if video in found:
                both = f"{found[video].name} and {path.name}"
                raise DataError(f"{folder}: {both} are both of {video}. Give a folder with one view per recording.")
            found[video] = path
    return {video: found[video] for video in ids if video in found}


def _fitted(row: dict[str, Any], duration: float, problems: list[Problem]) -> dict[str, Any]:
    """The row with its media; a span that passes the video's end is cut back, with a problem that says so."""
    for step in row["steps"]:
        if step.get("end", 0) > duration:
            what = (
                f"video {row['video_id']!r}, step {step['step_id']!r}: end {step['end']:g} s is after the video's end."
            )
            fix = "Cut back." if step["start"] < duration else "The step has no clip."
            problems.append(Problem("span-cut", what, fix, severity="warning"))
            step["end"] = duration
            if step["start"] >= duration:
                del step["start"], step["end"]
    return {"video_id": row["video_id"], "media": f"media/{row['video_id']}.mp4", "duration": duration, **row}


def _info(name: str, key: str) -> dict[str, Any]:
    """``dataset.yaml`` of a folder of labels alone, without the digests."""
    public = SETS[name]
    return {
        "name": name,
        "version": public.commit[:12],
        "license": public.license,
        "languages": ["en"],
        "citation": public.citation,
        "source": f"https://github.com/{public.repository} at {public.commit}",
        "label_sources": {"raters": [CONSENSUS], "rule": ORIGIN[public.labels]},
        "raters": {CONSENSUS: {"kind": public.labels}},
        "attempts": public.rule,
        "processing": f"Labels alone; the videos: {public.videos_from}",
        "build": {"tool": f"siming-tasks {__version__}", "inputs": key, "annotations": public.digest},
    }


MAKER = Maker(lambda name, folder, cache: fetch(name, folder, cache=cache))
"""Maker of every set here, of the videos that its variable names."""
