"""A dataset folder in memory, and how it is opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from siming_tasks.benchmark.exams import AttemptRule, Exams, Video
from siming_tasks.benchmark.rubrics import Rubric, load_rubric
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.display import Card, Shown
from siming_tasks.common.errors import DataError, MediaError, Problem, RubricError
from siming_tasks.common.files import canonical_json, digest_of, inside, open_regular, read_yaml
from siming_tasks.common.input_kinds import misplaced, path_of
from siming_tasks.common.sanitize import is_well_formed
from siming_tasks.data.digest import content_digest, fingerprint, folder_error, label_difference, media_difference
from siming_tasks.data.jsonl import read_jsonl
from siming_tasks.data.row_schema import DatasetInfo, Simulated, VideoRow, problems_of
from siming_tasks.data.sound_facts import SoundFacts, sound_facts_of
from siming_tasks.media.container import open_video

SPAN_TOLERANCE = 0.05
"""Seconds by which a span may pass the stated duration: a frame or two of rounding in a score sheet."""
_PAIR_KEYS = frozenset(("pair_id", "kind", "video_a", "video_b", "step_id", "direction", "unchanged_steps"))


@dataclass(frozen=True, repr=False, kw_only=True)
class Dataset(Exams, Shown):
    """Exams of a checked dataset folder: the videos in file order, their steps in rubric order.

    Attributes:
        root: the folder.
        version: from ``dataset.yaml``.
        simulated: whether its videos, which then show nobody, and its labels are simulated.
        digest: hex SHA-256 that stands for rubric, labels and media.
        meta: the rest of ``dataset.yaml``.
        lines: line number of each video in ``videos.jsonl``.
        part: of a split, whose videos these are (:func:`siming_tasks.data.splits.take_part`); empty: all videos.
        whole: the data set with all videos, if these are a part.

    Example:
        >>> from siming_tasks import open_dataset
        >>> dataset = open_dataset(exams)
        >>> label = dataset.videos[0].step("cpr_01")
        >>> 0 <= label.consensus <= dataset.rubric.by_id["cpr_01"].max_score, label.span[0] < label.span[1]
        (True, True)
    """

    root: Path
    version: str
    digest: str
    simulated: Simulated = field(default_factory=Simulated)
    meta: Mapping[str, Any] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    part: str = ""
    whole: Dataset | None = field(default=None, repr=False, compare=False)

    @property
    def synthetic(self) -> bool:
        """True if videos or labels are simulated: every output must say so."""
        return self.simulated.videos or self.simulated.labels

    @property
    def title(self) -> str:
        """Name and version, marked where the data are synthetic."""
        return f"{self.name} {self.version}{' SYNTHETIC' if self.synthetic else ''}"

    @property
    def card(self) -> Card:
        """Exams, steps, raters and digest."""
        rows = (
            ("exams", f"{len(self.videos):,}"),
            ("minutes", f"{sum(video.duration for video in self.videos) / 60:.1f}"),
            ("judged steps", f"{sum(len(video.applicable) for video in self.videos):,}"),
            ("raters", ", ".join(name for name in self.raters if name != CONSENSUS) or "labels withheld"),
            ("digest", self.digest[:12]),
            ("folder", str(self.root)),
        )
        return Card(self.title, "Simulated exams: numbers say nothing about real ones." * self.synthetic, (), rows)

    def media_path(self, video: Video) -> Path:
        """The video's file.

        Raises:
            DataError: the path leaves the folder.
        """
        if video.media not in self._media_files:  # follows every link: too long for each request
            try:
                self._media_files[video.media] = media_file(self.root, video.media)
            except ValueError as error:
                raise DataError(f"Video {video.video_id!r}: media path {error}.") from None
        return self._media_files[video.media]

    @cached_property
    def _media_files(self) -> dict[str, Path]:
        return {}

    def media_digest(self, video: Video, cache: Path | None = None) -> str:
        """Hex SHA-256 of the video's file as it is now, read once.

        Raises:
            DataError: ``dataset.yaml`` states another one, or the file cannot be read.
        """
        try:
            digest = digest_of(self.media_path(video), cache)
        except OSError as error:
            raise DataError(f"Video {video.video_id!r}: {error.filename}: {error.strerror}. Put it back.") from None
        stated: Mapping[str, str] = self.meta.get("media_sha256") or {}
        if digest != stated.get(video.media, digest):
            raise folder_error(self.root, [media_difference(self.root, video.media, stated[video.media], digest)])
        return digest

    @property
    def raters_in_words(self) -> dict[str, str]:
        """By name, what is stated of a rater: its kind, and what a person saw and heard; of the consensus if stated."""
        named = {name: self.rater_facts.get(name) for name in self.raters}
        return {name: str(rater or "not stated") for name, rater in named.items() if rater or name != CONSENSUS}

    @cached_property
    def sound_facts(self) -> SoundFacts:
        """Sound and transcripts of the videos, and who can judge the steps that need them."""
        return sound_facts_of(self.rubric, self.meta.get("sound"), self.videos, self.raters, self.rater_facts)

    @property
    def facts(self) -> dict[str, Any]:
        """Facts in every result: name, version, digest; the split and the rule of attempts, if any."""
        stated = {"split": self.part, "attempts": self.attempt_rule}
        about = {"name": self.name, "version": self.version, "digest": self.digest}
        return {**about, **{name: value for name, value in stated.items() if value}}

    @property
    def attempt_rule(self) -> AttemptRule | None:
        """Rule by which one of several attempts is the label of a step, as ``dataset.yaml`` states it."""
        return self.meta.get("attempts")

    @property
    def different_names(self) -> frozenset[frozenset[str]]:
        """The pairs under ``different`` in ``dataset.yaml``."""
        return frozenset(map(frozenset, self.meta.get("different", ())))

    @property
    def minimal_pairs(self) -> frozenset[frozenset[str]]:
        """The two videos of every pair of ``pairs.jsonl`` (DataError as :func:`read_pairs`)."""
        return frozenset(frozenset((pair["video_a"], pair["video_b"])) for pair in read_pairs(self))


def open_dataset(root: str | Path, *, media: bool = True) -> Dataset:
    """Open a dataset folder and check it, except what needs whole videos.

    Rubric and labels must be those that the stated digest was taken of; :func:`verify_media` sees to the media.

    Args:
        root: a folder with ``dataset.yaml``, ``rubric.yaml``, ``videos.jsonl`` and the media files they name.
        media: look at the media files; False to score predictions where the videos are not at hand.

    Raises:
        DataError: lists every error found (``.problems``), each with file, line, field and the way out.

    Example:
        >>> from siming_tasks import open_dataset
        >>> dataset = open_dataset(exams)
        >>> len(dataset.videos), dataset.rubric.max_score, dataset.physicians, dataset.synthetic
        (4, 100.0, ('rater_a', 'rater_b'), True)
    """
    root = path_of(root, "root", "data set")
    dataset, problems = scan(root, media)
    if errors := [problem for problem in problems if problem.severity == "error"]:
        raise folder_error(root, errors)
    if dataset is None:
        raise DataError(f"{root}: no dataset could be read.")
    return dataset


def scan(root: Path, media: bool = True) -> tuple[Dataset | None, list[Problem]]:
    """Whatever can be read of a dataset folder, and every problem met; None if there is no rubric or no video."""
    if why := misplaced(root, "data set"):
        return None, [Problem("other-kind", *why, str(root))]
    if not is_well_formed(str(root.absolute())):
        return None, [Problem("dataset-unreadable", "its path is not UTF-8.", "Rename the folder.", str(root))]
    if not root.is_dir():
        fix = "Set SIMING_DATA (or the argument) to the folder that contains dataset.yaml."
        return None, [Problem("folder-missing", "no such folder.", fix, str(root))]
    problems: list[Problem] = []
    info = DatasetInfo(name=root.name[:200] or "unnamed")
    try:
        info = DatasetInfo.model_validate(read_yaml(root / "dataset.yaml", DatasetInfo))
    except DataError as error:
        fix = "It needs at least `name: my-exams`."
        problems.append(Problem("dataset-unreadable", str(error), fix, "dataset.yaml"))
    except ValidationError as error:
        problems += problems_of(error, "dataset.yaml")
    try:
        rubric = load_rubric(root / "rubric.yaml")
    except RubricError as error:
        fix = "`siming data build` writes one; siming_tasks/benchmark/rubrics/default.yaml is an example."
        problems += error.problems or [Problem("rubric-unreadable", str(error), fix, "rubric.yaml")]
        return None, problems
    videos, lines, rows = _read_videos(root, rubric, problems, media)
    digest = _digest(root, info, rubric, videos, rows, problems)
    meta = info.model_dump(exclude={"name", "version", "simulated", "digest", "raters"})
    if root.resolve().parent.name == "snapshots":
        meta["revision"] = root.resolve().name  # a Hugging Face snapshot is named by its commit
    facts = {name: row.rater() for name, row in info.raters.items()}
    dataset = Dataset(
        rubric, tuple(videos), info.name, facts,
        root=root, version=info.version, simulated=info.simulated, digest=digest, meta=meta, lines=lines,
    )  # fmt: skip
    problems += _rater_problems(dataset)
    return (dataset if videos else None), problems


def _rater_problems(dataset: Dataset) -> Iterator[Problem]:
    """Entries of raters who judged nothing: a misspelt name would leave an instrument among the human raters."""
    known = {name for video in dataset.videos for step in video.steps for name in (*step.scores, *step.findings)}
    for name in dataset.rater_facts.keys() - known if known else ():
        what = f"states facts about {name[:64]!r}, who gave no points; the raters are {', '.join(sorted(known))}."
        yield Problem("rater-unused", what, "Correct the name, or remove the entry.", "dataset.yaml", None, "raters")


def _digest(
    root: Path, info: DatasetInfo, rubric: Rubric, videos: list[Video], rows: list[str], problems: list[Problem]
) -> str:
    """The digest of what stands in the folder, and a problem if another is stated; the stated one if rows are wrong.

    Where a file's SHA-256 is not stated, its fingerprint stands in, and a stated digest says nothing.
    """
    wrong = {problem.code for problem in problems if problem.severity == "error"}
    whole = all(video.media in info.media_sha256 for video in videos)
    if not videos or not all(code.startswith("media-") for code in wrong) or (wrong and not whole):
        return info.digest or ""
    media = {}
    for video in videos:
        media[video.media] = info.media_sha256.get(video.media, "")
        if not media[video.media]:
            with suppress(OSError):  # not there, or not readable, which is a problem of its own
                media[video.media] = fingerprint(media_file(root, video.media))
    digest = content_digest(rubric, rows, media)
    if info.digest and whole and digest != info.digest:
        problems.append(label_difference(root, info.digest, digest))
    return digest


def _read_videos(
    root: Path, rubric: Rubric, problems: list[Problem], media: bool
) -> tuple[list[Video], dict[str, int], list[str]]:
    """The videos without a fault, the line of every video, and the videos' rows as text: a quarter of the memory."""
    order = {step.id: index for index, step in enumerate(rubric.steps)}
    videos: list[Video] = []
    rows: list[str] = []
    alike: dict[Any, Any] = {}
    lines: dict[str, int] = {}
    for line, row in _rows(root, problems):
        try:
            checked = VideoRow.model_validate(row)
        except ValidationError as error:
            problems += problems_of(error, "videos.jsonl", line, row)
            continue
        row_problems = [*_step_problems(checked, rubric, line), *_media_problems(root, checked, line, media)]
        if checked.video_id in lines:
            what = f"video {checked.video_id!r} is already on line {lines[checked.video_id]}."
            fix = "Give every video its own id."
            row_problems.append(Problem("video-twice", what, fix, "videos.jsonl", line, "video_id"))
        problems += row_problems
        lines.setdefault(checked.video_id, line)
        if not any(problem.code in ("step-unknown", "step-twice", "video-twice") for problem in row_problems):
            videos.append(checked.video(order, alike))
            rows.append(canonical_json(row))
    if not videos and not problems:
        problems.append(Problem("no-videos", "there is no video.", "Write one line per video.", "videos.jsonl"))
    return videos, lines, rows


def _rows(root: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        yield from read_jsonl(root / "videos.jsonl", problems)
    except OSError as error:
        fix = "One JSON object per video; `siming data build` writes it from a label sheet."
        problems.append(Problem("videos-unreadable", f"{error.strerror}.", fix, "videos.jsonl"))


def _step_problems(row: VideoRow, rubric: Rubric, line: int) -> Iterator[Problem]:
    problem = partial(Problem, file="videos.jsonl", line=line)
    seen: set[str] = set()
    for index, step in enumerate(row.steps):
        where = f"steps[{index}] ({step.step_id[:64]})"
        rule = rubric.by_id.get(step.step_id)
        if rule is None:
            what, fix = f"the rubric has no step {step.step_id[:64]!r}.", "Correct the id or add it to rubric.yaml."
            yield problem("step-unknown", what, fix, field=where)
            continue
        if step.step_id in seen:
            yield problem("step-twice", "this step is listed twice.", "Keep one entry per step and video.", field=where)
        seen.add(step.step_id)
        if step.end is not None and step.end > row.duration + SPAN_TOLERANCE:
            what = f"ends at {step.end:g} s, after the video's {row.duration:g} s."
            yield problem("span-outside", what, "Correct `end` or `duration`.", field=f"{where}.end")
        for rater, points in step.score.items():
            if points is not None and not 0 <= points <= rule.max_score:
                what = f"{points:g} is outside the step's range 0-{rule.max_score:g}."
                fix = "Correct the points, or max_score in rubric.yaml."
                yield problem("score-off-scale", what, fix, field=f"{where}.score.{rater}")


def media_file(root: Path, relative: str) -> Path:
    """``root / relative``, inside ``root`` or, for a Hugging Face snapshot, in the blob store that its links point to.

    Raises:
        ValueError: the path leaves the dataset.
    """
    try:
        return inside(root, relative)
    except ValueError:
        blobs = root.resolve().parent.parent / "blobs"
        plain = "\\" not in relative and "\0" not in relative and ".." not in Path(relative).parts
        if plain and root.resolve().parent.name == "snapshots" and (root / relative).resolve().parent == blobs:
            return root / relative
        raise


def _media_problems(root: Path, row: VideoRow, line: int, opened: bool) -> Iterator[Problem]:
    """The problem of a video's file as far as opening it tells; if not ``opened``, with its path alone."""

    def problem(code: str, what: str, fix: str) -> Problem:
        return Problem(code, f"video {row.video_id!r}: {what}", fix, "videos.jsonl", line, "media")

    try:
        path = media_file(root, row.media)
    except ValueError as error:
        yield problem("media-outside", f"{error}.", "Put the file into the dataset folder and name it from there.")
        return
    if not opened:
        return
    try:
        if not path.is_file():
            yield problem("media-missing", f"media not found. Looked for {path}.", "Copy it there or correct `media`.")
            return
        if path.suffix != ".mp4":
            what = f"{row.media!r} is not an .mp4 file; some models cannot read other formats or read them as audio."
            yield problem("media-not-mp4", what, "`siming data build` converts it.")
            return
        with open_regular(path) as stream:
            head = stream.read(64)
    except OSError as error:
        fix = "Make file and folder readable for this account, or copy the file again."
        yield problem("media-unreadable", f"{row.media} cannot be opened ({error.strerror}).", fix)
        return
    if not head:
        yield problem("media-empty", f"{row.media} is empty.", "Copy it again from the source.")
    elif head.startswith(b"version https://git-lfs"):
        yield problem("media-lfs-pointer", f"{row.media} is a Git LFS pointer, not the video.", "Run `git lfs pull`.")
    else:
        try:
            with open_video(path):
                pass
        except MediaError as error:
            yield problem("media-unreadable", str(error), "Replace it with a playable H.264 .mp4.")


def read_pairs(dataset: Dataset) -> list[dict[str, Any]]:
    """The lines of ``pairs.jsonl`` whose two videos, which differ in one act, are both there; empty without the file.

    Raises:
        DataError: a line is not a pair of this data set; names the line.
    """
    path = dataset.root / "pairs.jsonl"
    if not path.is_file():
        return []
    pairs: list[dict[str, Any]] = []
    problems: list[Problem] = []
    for line, row in read_jsonl(path, problems):
        if not (
            row.keys() >= _PAIR_KEYS
            and isinstance(unchanged := row["unchanged_steps"], list)
            and all(isinstance(name, str) for name in (row["video_a"], row["video_b"], row["step_id"], *unchanged))
            and {row["video_a"], row["video_b"]} <= (dataset.whole or dataset).by_id.keys()
            and {row["step_id"], *unchanged} <= dataset.rubric.by_id.keys()
            and row["step_id"] not in unchanged
            and row["direction"] in (1, -1)
        ):
            fix = "Build the folder again, or remove pairs.jsonl."
            problems.append(Problem("pair-invalid", "not a pair of this data set.", fix, path.name, line))
        elif {row["video_a"], row["video_b"]} <= dataset.by_id.keys():
            pairs.append(row)
    if problems:
        raise DataError.of(problems)
    return pairs
