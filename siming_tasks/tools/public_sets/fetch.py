"""A public set as a data set folder: annotations read or downloaded, the user's videos matched and encoded."""

from __future__ import annotations

import math
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from siming_tasks import __version__
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.common.output_folder import check_place, make_once, output_folder
from siming_tasks.common.schema import AttemptRule
from siming_tasks.data.dataset import Dataset, open_dataset
from siming_tasks.data.folder_files import write_folder
from siming_tasks.options import videos_of_public_set
from siming_tasks.rubrics.load import rubric_from
from siming_tasks.tools.builder.build_folder import inputs_of
from siming_tasks.tools.builder.transcode import transcode
from siming_tasks.tools.public_sets.public_set import PublicSet, Published, Recording, annotation
from siming_tasks.tools.public_sets.registry import SETS

MAX_ARCHIVE = 1_000_000_000  # bytes of a repository's archive that are read
VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")


@dataclass(frozen=True)
class Fetched:
    """A set made a folder.

    Attributes:
        dataset: the folder; without videos, labels alone.
        videos: number of video files; 0: none were given.
        published: counts of the whole set as annotated (:meth:`PublicSet.counts`).
        made: the same of the folder's recordings, before spans were cut back to their videos.
        videos_from: where the videos are to be had.
        warnings: what should be looked at.
    """

    dataset: Dataset
    videos: int
    published: Mapping[str, Any]
    made: Mapping[str, Any]
    videos_from: str
    warnings: tuple[Problem, ...]


def fetch(
    name: str,
    out: Path,
    *,
    annotations: Path | None = None,
    videos: Path | None = None,
    rule: AttemptRule | None = None,
    cache: Path | None = None,
    keep_audio: bool = False,
    jobs: int = 2,
    progress: bool = False,
) -> Fetched:
    """Make a data set folder of a public set.

    Args:
        name: of the set.
        out: the new folder; nothing is done if it was made from the same files.
        annotations: folder with the published annotation files; None: they are downloaded once into ``cache``.
        videos: folder of the videos, at any depth; None: that of ``<NAME>_VIDEO_DIR``, or labels alone.
        rule: which of several attempts is a step's label; None: the set's own rule.
        cache: folder for downloads.
        keep_audio: keep the sound.
        jobs: videos worked on at once.
        progress: show a bar on stderr.

    Raises:
        DataError: the set is unknown, its files are missing or cannot be had, or no video is there.
    """
    if name not in SETS:
        raise DataError(f"{name!r} is no public set; they are {', '.join(SETS)}.")
    source = SETS[name]
    check_place(out, f"made of {name}", lambda folder: inputs_of(folder) is not None)
    folder = annotations or download(source.published, (cache or Path(tempfile.gettempdir())) / "public-sets")
    digest, names = source.published.digest_of(folder), ", ".join(source.published.patterns)
    with annotation(folder, names):
        public = source.read(folder)
        if not public.recordings:
            raise ValueError("there is no recording")
    rubric_from(public.rubric, f"{folder} ({names})")
    warnings = [] if digest == source.published.digest else [_other_version(folder, source.published)]
    rule = rule or public.rule
    videos = videos or videos_of_public_set(name)
    files = match_videos(videos, [recording.video_id for recording in public.recordings]) if videos else {}
    if videos and not files:
        raise DataError(f"{videos}: no file begins with the name of a recording. The videos: {public.videos_from}")
    recordings = [one for one in public.recordings if one.video_id in files] if files else list(public.recordings)
    if len(recordings) < len(public.recordings):
        what = f"{len(public.recordings) - len(recordings):,} of {len(public.recordings):,} recordings have no video."
        warnings.append(Problem("videos-missing", what, "They are left out.", str(videos), severity="warning"))
    stamps = [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files.values()]
    key = sha256_json([name, digest, rule, stamps, keep_audio])

    def make(part: Path) -> list[Problem]:
        media = transcode(files, part, keep_audio=keep_audio, jobs=jobs, progress=progress) if files else {}
        durations = {video: round(float(done["duration"]), 6) for video, done in media.items()}
        rows, cut = _rows(public, recordings, rule, durations)
        raters = sorted({rater for row in rows for step in row["steps"] for rater in step.get("score", ())})
        info = _info(name, public, rule, raters, source.published, digest, key, bool(files))
        info |= {"sound": keep_audio} if files else {}
        with atomic_write(part / ".rubric.yaml") as stream:
            yaml.safe_dump(dict(public.rubric), stream, sort_keys=False, allow_unicode=True, width=120)
        digests = {f"media/{video}.mp4": str(done["sha256"]) for video, done in media.items()}
        write_folder(part, part / ".rubric.yaml", rows, info, digests)
        (part / ".rubric.yaml").unlink()
        shutil.rmtree(part / "done", ignore_errors=True)
        open_dataset(part, media=bool(files))
        return cut

    made = make_once(out, f"made of these files of {name}", lambda folder: inputs_of(folder) == key, make, key)
    dataset = open_dataset(out, media=bool(files))
    counts = {"published": public.counts(rule), "made": public.counts(rule, recordings)}
    return Fetched(dataset, len(files), **counts, videos_from=public.videos_from, warnings=(*warnings, *(made or ())))


def download(published: Published, cache: Path) -> Path:
    """The folder of the annotation files of one commit, downloaded once.

    Raises:
        DataError: they cannot be had, or are not those of the commit.
    """
    if not published.commit:
        raise DataError(
            f"Get the annotation files from {published.repository}, and give their folder as --annotations."
        )
    folder = cache / f"{published.repository.replace('/', '+')}-{published.commit[:12]}"
    if folder.is_dir():
        return folder
    with output_folder(folder) as part:
        try:
            with urllib.request.urlopen(published.archive, timeout=60) as answer:
                _extract(answer, published.patterns, part)
        except (OSError, tarfile.TarError, EOFError) as error:
            reason = getattr(error, "reason", error)
            raise DataError(
                f"{published.archive}: {reason}. Connect, or clone that repository and give it as --annotations."
            ) from None
        if published.digest_of(part) != published.digest:
            raise DataError(f"{published.archive}: the files are not those of the commit. Try again later.")
    return folder


def _extract(stream: Any, patterns: Collection[str], target: Path) -> None:
    """Write the wanted regular files of a tar archive, whose names begin with one folder, and no others."""
    size = 0
    with tarfile.open(fileobj=stream, mode="r|gz") as archive:
        for member in archive:
            size += member.size
            if size > MAX_ARCHIVE:
                raise tarfile.TarError(f"more than {MAX_ARCHIVE:,} bytes")
            path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
            depths = {len(PurePosixPath(pattern).parts) for pattern in patterns if path.match(pattern)}
            wanted = member.isfile() and ".." not in path.parts and len(path.parts) in depths
            if wanted and (content := archive.extractfile(member)):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(target / path, "wb") as file:
                    shutil.copyfileobj(content, file)


def match_videos(folder: Path, ids: Sequence[str]) -> dict[str, Path]:
    """The video file of each recording that has one: its name, or that of a folder above it, begins with the id.

    Raises:
        DataError: there is no such folder, or a recording has several files: which of them is to be taken is not said.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder. Give the folder of the videos.")
    known = set(ids)
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file():
            names = [path.stem, *path.relative_to(folder).parts[:-1]]
            if owner := next((video for name in names if (video := _longest(name, known))), None):
                found.setdefault(owner, []).append(path)
    if several := {video: paths for video, paths in found.items() if len(paths) > 1}:
        video, paths = next(iter(several.items()))
        shown = ", ".join(str(path.relative_to(folder)) for path in paths[:3])
        what = f"{len(several):,} recordings have several files ({video}: {shown})"
        raise DataError(f"{folder}: {what}. Give a folder with one view of each.")
    return {video: found[video][0] for video in ids if video in found}


def _longest(name: str, known: Collection[str]) -> str | None:
    """The longest id that a name begins with, up to a dot, dash or underscore: 1_28_360p is 1_28, and not 1_2."""
    ends = [len(name), *(place for place in range(len(name) - 1, 0, -1) if name[place] in "._-")]
    return next((name[:end] for end in ends if name[:end] in known), None)


def _rows(
    public: PublicSet, recordings: Sequence[Recording], rule: AttemptRule, durations: Mapping[str, float]
) -> tuple[list[dict[str, Any]], list[Problem]]:
    """Objects of ``videos.jsonl``, and a warning for each span that passes its video's end and was cut back."""
    rows, cut = [], []
    by_id = {recording.video_id: recording for recording in recordings}
    for row in public.rows(rule, recordings):
        video = row["video_id"]
        duration = durations.get(video) or math.ceil(by_id[video].duration * 1000) / 1000
        for step in row["steps"]:
            if step.get("end", 0) > duration:
                what = f"video {video!r}, step {step['step_id']!r}: end {step['end']:g} s is after the video's end."
                fix = "Cut back." if step["start"] < duration else "The step has no clip."
                cut.append(Problem("span-cut", what, fix, severity="warning"))
                step["end"] = duration
                if step["start"] >= duration:
                    del step["start"], step["end"]
        rows.append({"video_id": video, "media": f"media/{video}.mp4", "duration": duration, **row})
    return rows, cut


def _info(
    name: str,
    public: PublicSet,
    rule: AttemptRule,
    raters: Sequence[str],
    published: Published,
    digest: str,
    key: str,
    with_videos: bool,
) -> dict[str, Any]:
    """``dataset.yaml``, without the digests."""
    origin = {
        "person": "the set's own annotators judged every step",
        "rule": "no person judged the steps: rules of siming-tasks made points of which steps were done, and when",
    }
    middle = "; the consensus is the middle of the raters' points, the lower of two" if len(raters) > 1 else ""
    return {
        "name": name,
        "version": published.commit[:12] or digest[:12],
        "license": public.license,
        "synthetic": False,
        "languages": ["en"],
        "citation": public.citation,
        "source": published.source,
        "label_sources": {
            "raters": raters,
            "rule": origin[public.labels] + middle,
        },
        "raters": {rater: {"kind": public.labels} for rater in raters},
        "attempts": rule,
        "processing": "Videos as H.264 .mp4 with a constant rate and even sides."
        if with_videos
        else f"Labels alone; the videos: {public.videos_from}",
        "build": {"tool": f"siming-tasks {__version__}", "inputs": key, "annotations": digest},
    }


def _other_version(folder: Path, published: Published) -> Problem:
    if not published.commit:
        what = "the reader of this set follows its Readme; the published files were not at hand when it was written."
        fix = "Hold counts and some labels against the files before you use them."
        return Problem("other-version", what, fix, str(folder), severity="warning")
    what = f"these are not the files of {published.repository} at {published.commit[:12]}."
    fix = "Counts and labels may differ; check out that commit to have the documented ones."
    return Problem("other-version", what, fix, str(folder), severity="warning")
