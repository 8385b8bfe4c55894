"""The exams of a folder: plain videos, or those of a built data set without anything that its labels say."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from siming_tasks.benchmark.rubrics import Rubric, default_rubric, load_rubric
from siming_tasks.common.errors import DataError, MediaError
from siming_tasks.common.files import digest_of, known_digest
from siming_tasks.common.sanitize import visible
from siming_tasks.data import open_dataset
from siming_tasks.media import read_timeline
from siming_tasks.tools.builder.source_gate import look_at_all, loss_problem
from siming_tasks.tools.builder.video_files import VideoFiles
from siming_tasks.tools.station.event_log import rubric_digest
from siming_tasks.tools.station.words import Sentence

_log = logging.getLogger(__name__)


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

    def changed(self) -> Sentence | None:
        """Message for a file that has changed since it was found."""
        try:
            same = digest_of(self.path) == self.digest
        except OSError:
            same = False
        return None if same else Sentence("changed", {"name": visible(self.name)})


@dataclass(frozen=True)
class Exams:
    """Exams to rate, their rubric, and a mark if they are simulated."""

    rubric: Rubric
    exams: tuple[Exam, ...]
    synthetic: bool = False


def find_exams(folder: Path, cache: Path, rubric: Path | None = None) -> Exams:
    """The exams of a folder, each file read once for its digest.

    ``rubric`` is for plain videos (default: the embedded one).

    Raises:
        DataError: no video, two copies of one, a damaged one, or a data set with another rubric than ``rubric``.
    """
    dataset = open_dataset(folder) if (folder / "dataset.yaml").is_file() else None
    chosen = load_rubric(rubric) if rubric else dataset.rubric if dataset else default_rubric()
    if dataset and rubric_digest(chosen) != rubric_digest(dataset.rubric):
        raise DataError(f"{rubric}: is not the rubric of the data set {folder}. Leave out --rubric.")
    if dataset:
        found = [(video.video_id, dataset.media_path(video), video.steps) for video in dataset.videos]
        names = [(name, path, tuple(step.step_id for step in steps)) for name, path, steps in found]
    else:
        steps = tuple(step.id for step in chosen.steps)
        names = [(path.relative_to(folder).as_posix(), path, steps) for path in VideoFiles(folder).files]
    try:
        new = sum(known_digest(path, cache) is None for _, path, _ in names)
        shown = tqdm(names, "Reading the videos once", unit="video", leave=False, disable=new < 2)
        exams = [Exam(name, path, digest_of(path, cache), steps) for name, path, steps in shown]
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}).") from None
    if dataset:
        for video in dataset.videos:
            dataset.media_digest(video, cache)  # refuses a file that is not the one stated
    first: dict[str, Exam] = {}
    looked = look_at_all(exam.path for exam in exams)
    problems = []
    for exam in exams:
        try:
            if isinstance(recording := looked[exam.path], MediaError):
                raise recording
            if first.setdefault(exam.digest, exam) is not exam:
                other = first[exam.digest].name
                raise MediaError(f"{exam.name!r} is the same video as {other!r}. Remove one of them.")
            read_timeline(exam.path)
            for finding in filter(None, (recording.cut(), loss_problem(recording, recording.lost, allowed=True))):
                _log.warning("%s", finding)
        except MediaError as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems[:20]))
    return Exams(chosen, tuple(exams), bool(dataset and dataset.simulated.videos))
