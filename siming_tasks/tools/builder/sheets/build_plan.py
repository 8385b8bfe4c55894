"""Everything about a build that is decided, and everything that can go wrong, before a video is touched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from siming_tasks.common.errors import Problem
from siming_tasks.common.files import sha256_json
from siming_tasks.data.row_schema import MAX_VIDEO_ID, VIDEO_ID
from siming_tasks.rubrics import Rubric, load_rubric
from siming_tasks.tools.builder.annotations.detect_format import span_files
from siming_tasks.tools.builder.sheets.build_inputs import Inputs, read_inputs
from siming_tasks.tools.builder.sheets.consensus import Decision, decide
from siming_tasks.tools.builder.sheets.event_log_sheet import ratings_problems
from siming_tasks.tools.builder.sheets.labels import LabelRow
from siming_tasks.tools.builder.sheets.sheet_per_rater import label_files, rater_names
from siming_tasks.tools.builder.sheets.transcode import stamp
from siming_tasks.tools.builder.sheets.video_sources import VideoFile, find_sources, new_ids, span_problems

__all__ = ["BuildOptions", "BuildPlan", "make_plan"]


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build.

    Attributes:
        name: of the dataset (default: the folder's name).
        version: of the dataset.
        license: SPDX name, e.g. ``cc-by-nc-4.0``.
        languages: spoken or shown, e.g. ``("zh",)``.
        consensus: ``agree``, ``mean`` or a rater's name (see
        :func:`siming_tasks.tools.builder.sheets.consensus.decide`).
        keep_audio: keep the first audio stream.
        keep_ids: keep the sheet's names as video ids instead of ``v001``...
        keep_rater_names: keep the sheet's names of raters instead of ``rater_a``...
        synthetic: the videos or labels are simulated.
    """

    name: str = ""
    version: str = "1"
    license: str = ""
    languages: tuple[str, ...] = ()
    consensus: str = "agree"
    keep_audio: bool = False
    keep_ids: bool = False
    keep_rater_names: bool = False
    synthetic: bool = False


@dataclass(frozen=True)
class BuildPlan:
    """Plan of a build: all its decisions, before a video is touched.

    Attributes:
        rubric: the checked rubric.
        rubric_file: where it came from.
        rows: the label rows.
        decision: their points, consensus included.
        sources: video files by the sheet's name.
        ids: ids by the sheet's name.
        students: ids by the sheet's name.
        raters: names in the dataset by the sheet's name; the consensus is not among them.
        options: the options.
    """

    rubric: Rubric
    rubric_file: Path
    rows: tuple[LabelRow, ...]
    decision: Decision
    sources: Mapping[str, VideoFile]
    ids: Mapping[str, str]
    students: Mapping[str, str]
    raters: Mapping[str, str]
    options: BuildOptions

    def key(self) -> str:
        """Digest of the inputs, by which a finished or half-finished build of the same is recognised."""
        files = [[self.ids[name], *stamp(source.path)] for name, source in self.sources.items()]
        rows = [[row.video, row.step_id, row.start, row.end, row.applicable, dict(row.about)] for row in self.rows]
        scores = [[*place, values] for place, values in self.decision.scores.items()]
        return sha256_json([self.rubric.model_dump(mode="json"), files, rows, scores, asdict(self.options)])


def make_plan(inputs: Inputs, options: BuildOptions) -> tuple[BuildPlan, list[Problem]]:
    """The plan, and every problem found on the way; the plan must not be carried out if one is an error.

    Raises:
        DataError: a file cannot be read at all.
        RubricError: the rubric is wrong.
    """
    rubric = load_rubric(inputs.rubric)
    rows, videos, problems = read_inputs(inputs, rubric)
    sources, source_problems = find_sources(videos, rows)
    raters = rater_names(rows, options.keep_rater_names)
    rule = next((name for name, letter in raters.items() if letter == options.consensus), options.consensus)
    decision = decide(rows, options.consensus if options.consensus in raters else rule)
    problems += source_problems
    problems += span_problems(rows, {name: source.duration for name, source in sources.items()})
    problems += _about_videos(rows)
    sheets = (*(file.path for file in label_files(inputs.labels)), *span_files(inputs.spans), inputs.adjudicated)
    problems += ratings_problems(sheets, inputs.ratings, videos, options.synthetic)
    problems += decision.problems
    if options.keep_ids:
        problems += _kept(rows)
    ids = new_ids(dict.fromkeys(row.video for row in rows), options.keep_ids)
    students = new_ids(dict.fromkeys(row.about["student"] for row in rows if "student" in row.about), prefix="s")
    plan = BuildPlan(rubric, inputs.rubric, tuple(rows), decision, sources, ids, students, raters, options)
    return plan, problems


def _about_videos(rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Facts about a video (site, student, split) must be the same in all its rows."""
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for row in rows:
        for name, value in row.about.items():
            known, line = first.setdefault((row.video, name), (value, row.lines[0]))
            if known != value:
                what = f"{name} is {value!r} here and {known!r} on line {line}."
                yield row.problem("video-differs", what, "Write the same in all rows of a video.", name)


def _kept(rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Names that cannot be ids: an id is part of paths and of prediction files."""
    first: dict[str, str] = {}
    for row in rows:
        if (known := first.setdefault(row.video.casefold(), row.video)) != row.video:
            what = f"video {row.video!r} cannot be kept as an id beside {known!r}: on some systems they are one file."
            fix = "Rename one in the sheet and on disk, or leave out --keep-ids."
            yield Problem("id-not-kept", what, fix, row.file, row.lines[0], "video_id")
            first[row.video.casefold()] = row.video
    for row in {row.video: row for row in reversed(rows)}.values():
        if not re.fullmatch(VIDEO_ID, row.video) or len(row.video) > MAX_VIDEO_ID:
            what = f"video {row.video!r} cannot be kept as an id: letters A-z, digits, `.`, `_` and `-` only."
            fix = "Rename it in the sheet and on disk, or leave out --keep-ids."
            yield Problem("id-not-kept", what, fix, row.file, row.lines[0], "video_id")
