"""The exams of a folder: plain videos, or those of a built data set without anything that its labels say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.files import digest_of, known_digest
from siming_tasks.data import open_dataset
from siming_tasks.media import Timeline, read_timeline
from siming_tasks.rubrics import Rubric, default_rubric, load_rubric
from siming_tasks.tools.builder.video_files import VideoFiles
from siming_tasks.tools.station.event_log import rubric_digest

__all__ = ["Exam", "Exams", "find_exams", "is_dataset"]


@dataclass(frozen=True)
class Exam:
    """One video to rate.

    Attributes:
        name: as a score sheet has it: path below the folder, or the data set's id.
        path: the file.
        digest: SHA-256 of its content.
        steps: ids of the steps on its score sheet, whether they apply or not.
    """

    name: str
    path: Path
    digest: str
    steps: tuple[str, ...]

    def changed(self) -> str:
        """Message for a file that has changed since it was found; empty if it has not."""
        try:
            same = digest_of(self.path) == self.digest
        except OSError:
            same = False
        return "" if same else f"{self.name} was replaced or changed while it was being rated. Put the video back."

    def timeline(self) -> Timeline:
        """Times of the frames.

        Raises:
            MediaError: the file cannot be read.
        """
        return read_timeline(self.path)


@dataclass(frozen=True)
class Exams:
    """Exams to rate, their rubric, and a mark if they are simulated."""

    rubric: Rubric
    exams: tuple[Exam, ...]
    synthetic: bool = False


def is_dataset(folder: Path) -> bool:
    """True if a folder is a built data set."""
    return (folder / "dataset.yaml").is_file()


def find_exams(folder: Path, cache: Path, rubric: Path | None = None) -> Exams:
    """The exams of a folder, each file read once for its digest.

    Args:
        folder: of videos, or a built data set.
        cache: where digests are kept.
        rubric: for plain videos (default: the embedded one).

    Raises:
        DataError: no video, two copies of one, a damaged one, or a data set with another rubric than ``rubric``.
    """
    if is_dataset(folder):
        return _dataset(folder, cache, rubric)
    chosen = load_rubric(rubric) if rubric else default_rubric()
    steps = tuple(step.id for step in chosen.steps)
    files = VideoFiles(folder).files
    digests = _digests(files, cache)
    exams = [
        Exam(path.relative_to(folder).as_posix(), path, digest, steps)
        for path, digest in zip(files, digests, strict=True)
    ]
    return Exams(chosen, _checked(exams))


def _dataset(folder: Path, cache: Path, rubric: Path | None) -> Exams:
    dataset = open_dataset(folder)
    if rubric and rubric_digest(load_rubric(rubric)) != rubric_digest(dataset.rubric):
        raise DataError(f"{rubric}: is not the rubric of the data set {folder}. Leave out --rubric.")
    digests = _digests([dataset.media_path(video) for video in dataset.videos], cache)
    exams = []
    for video, digest in zip(dataset.videos, digests, strict=True):
        dataset.media_digest(video, cache)  # refuses a file that is not the one stated
        steps = tuple(step.step_id for step in video.steps)
        exams.append(Exam(video.video_id, dataset.media_path(video), digest, steps))
    return Exams(dataset.rubric, _checked(exams), dataset.synthetic)


def _digests(paths: Sequence[Path], cache: Path) -> list[str]:
    try:
        new = sum(known_digest(path, cache) is None for path in paths)
        shown = tqdm(paths, "Reading the videos once", unit="video", leave=False, disable=new < 2)
        return [digest_of(path, cache) for path in shown]
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}).") from None


def _checked(exams: Sequence[Exam]) -> tuple[Exam, ...]:
    first: dict[str, Exam] = {}
    problems = []
    for exam in exams:
        if first.setdefault(exam.digest, exam) is not exam:
            problems.append(f"{exam.name!r} is the same video as {first[exam.digest].name!r}. Take one of them away.")
        else:
            try:
                exam.timeline()
            except MediaError as error:
                problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems[:20]))
    return tuple(exams)
