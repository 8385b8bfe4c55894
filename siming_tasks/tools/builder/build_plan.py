"""Everything about a build that is decided, and everything that can go wrong, before a video is touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any, TypeVar

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import check_file_name, sha256_json
from siming_tasks.common.schema import CONSENSUS, Rater, human_raters
from siming_tasks.data.row_schema import MAX_VIDEO_ID, VIDEO_ID
from siming_tasks.rubrics import Rubric, load_rubric
from siming_tasks.tools.builder.annotations import Matcher, read_marks, span_files
from siming_tasks.tools.builder.event_log_sheet import UseRatings, ratings_problems, station_raters
from siming_tasks.tools.builder.label_rows import LabelRow
from siming_tasks.tools.builder.mapping import Kind, SheetMapping, Words, read_mapping
from siming_tasks.tools.builder.read_sheets import label_files, read_sheets
from siming_tasks.tools.builder.transcode import stamp
from siming_tasks.tools.builder.transcripts import (
    Names,
    TranscriptFile,
    read_transcripts,
    transcript_rows,
    unmet_names,
)
from siming_tasks.tools.builder.video_files import VideoFile, VideoFiles, find_sources, new_ids, span_problems
from siming_tasks.tools.station.event_log import is_event_log

_T = TypeVar("_T")


@dataclass(frozen=True)
class Inputs:
    """The files that a dataset is built of (see :func:`siming_tasks.tools.builder.build_folder.build_dataset`).

    ``labels`` is one file or several, each ``FILE`` or ``NAME=FILE``.
    """

    rubric: Path
    labels: str | Path | Sequence[str | Path]
    videos: Path
    spans: Path | Sequence[Path] | None = None
    adjudicated: Path | None = None
    mapping: Path | None = None
    encoding: str | None = None
    spans_fps: float | None = None
    ratings: UseRatings = field(default_factory=UseRatings)
    transcripts: Sequence[Path] = ()


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build.

    Attributes:
        name: of the dataset (default: the folder's name).
        version: of the dataset.
        license: SPDX name, e.g. ``cc-by-nc-4.0``.
        languages: spoken or shown, e.g. ``("zh",)``.
        consensus: ``agree``, ``mean`` or a rater's name (see
            :func:`siming_tasks.tools.builder.build_plan.decide`).
        keep_audio: keep the first audio stream.
        keep_ids: keep the sheet's names as video ids instead of ``v001``...
        keep_rater_names: keep the sheet's names of raters instead of ``rater_a``...
        synthetic: the videos or labels are simulated.
        rater_facts: by the sheet's name, what is known of a rater, beside ``rater_facts`` of the mapping file.
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
    rater_facts: Mapping[str, Rater] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """Points per (video, step) and rater with the consensus filled in, and how each consensus came about.

    ``open`` lists the rows that somebody must adjudicate; it is empty when ``problems`` is.
    """

    scores: Mapping[tuple[str, str], dict[str, float | None]]
    origins: Mapping[str, int]
    problems: tuple[Problem, ...]
    open: tuple[LabelRow, ...]


@dataclass(frozen=True)
class BuildPlan:
    """Plan of a build: all its decisions, before a video is touched.

    ``sources``, ``ids``, ``students`` and ``raters`` are by the names that the sheet has; the consensus is not among
    the raters. ``rater_facts`` are by the names that the dataset has. ``transcripts`` has the rows of each video that
    has any, ``speakers`` by video those who got a number.
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
    rater_facts: Mapping[str, Rater] = field(default_factory=dict)
    transcripts: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    speakers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def key(self) -> str:
        """Digest of the inputs, by which a finished or half-finished build of the same is recognised."""
        files = [[self.ids[name], *stamp(source.path)] for name, source in self.sources.items()]
        rows = [[row.video, row.step_id, row.start, row.end, row.applicable, dict(row.about)] for row in self.rows]
        scores = [[*place, values] for place, values in self.decision.scores.items()]
        facts = {name: asdict(rater) for name, rater in self.rater_facts.items()}
        key = [self.rubric.model_dump(mode="json"), files, rows, scores, asdict(self.options), facts]
        return sha256_json([*key, self.transcripts] if self.transcripts else key)


def make_plan(inputs: Inputs, options: BuildOptions) -> tuple[BuildPlan, list[Problem]]:
    """The plan, and every problem found on the way; the plan must not be carried out if one is an error.

    Raises:
        DataError: a file cannot be read at all.
        RubricError: the rubric is wrong.
    """
    rubric = load_rubric(inputs.rubric)
    rows, videos, transcripts, problems = read_inputs(inputs, rubric)
    unread = any(problem.severity == "error" for problem in problems)
    sources, source_problems = find_sources(videos, rows)
    sheets = (*(file.path for file in label_files(inputs.labels)), *span_files(inputs.spans), inputs.adjudicated)
    mapping = read_mapping(inputs.mapping) if inputs.mapping else SheetMapping()
    facts = {**{name: row.rater() for name, row in mapping.rater_facts.items()}, **options.rater_facts}
    problems += _unmet_facts(facts, rows)
    of_station, station_problems = station_raters(sheets)
    scored = {name for row in rows for name in row.scores}
    facts = {**{name: rater for name, rater in of_station.items() if name in scored}, **facts}
    problems += station_problems
    raters = rater_names(rows, options.keep_rater_names, facts)
    rule = next((name for name, letter in raters.items() if letter == options.consensus), options.consensus)
    if rule not in ("agree", "mean", *raters):
        what = f"--consensus {rule!r} is neither agree nor mean nor a rater of the sheet."
        fix = f"Its raters are {', '.join(raters)}." if raters else "It has no rater's points."
        problems.append(Problem("rater-unknown", what, fix, rows[0].file if rows else None))
    decision = decide(rows, options.consensus if options.consensus in raters else rule, facts)
    if unread:  # points may lack for that reason alone: only what the raters differ in is sure, and nobody decides yet
        open_ones = tuple(problem for problem in decision.problems if problem.code == "consensus-open")
        decision = replace(decision, problems=open_ones, open=())
    problems += source_problems
    problems += span_problems(rows, {name: source.duration for name, source in sources.items()})
    first: dict[tuple[str, str], tuple[str, int]] = {}
    for row in rows:
        for name, value in row.about.items():
            known, line = first.setdefault((row.video, name), (value, row.lines[0]))
            if known != value:
                what = f"{name} is {value!r} here and {known!r} on line {line}."
                problems.append(row.problem("video-differs", what, "Write the same in all rows of a video.", name))
    problems += ratings_problems(sheets, inputs.ratings, videos, options.synthetic)
    problems += decision.problems
    problems += _unkept_ids(rows) if options.keep_ids else []
    ids = new_ids(dict.fromkeys(row.video for row in rows), options.keep_ids)
    students = new_ids(dict.fromkeys(row.about["student"] for row in rows if "student" in row.about), prefix="s")
    names = Names(mapping.names)
    said: dict[str, list[dict[str, Any]]] = {}
    speakers: dict[str, dict[str, str]] = {}
    for name, file in transcripts.items():
        if name in sources:
            said[name], speakers[name] = transcript_rows(name, file, sources[name], mapping.said_from, names, problems)
    problems += unmet_names(names)
    plan = BuildPlan(rubric, inputs.rubric, tuple(rows), decision, sources, ids, students, raters, options,
                     {raters.get(name, name): rater for name, rater in facts.items()},
                     said, speakers)  # fmt: skip
    return plan, problems


def _unmet_facts(facts: Mapping[str, Rater], rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Facts about raters whom the sheet lacks: a misspelt name would make a person of an instrument."""
    known = {name for row in rows for name in row.scores} | {CONSENSUS}
    for name in facts.keys() - known:
        what = f"facts about a rater {name!r}, who gave no points; there are {', '.join(sorted(known))}."
        yield Problem("rater-unknown", what, "Write the name as `raters:` has it, or as the sheet does.")


def _unkept_ids(rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Names that cannot be ids: an id is part of paths and of prediction files."""
    fix = "in the sheet and on disk, or leave out --keep-ids."
    first: dict[str, str] = {}
    for row in rows:
        if (known := first.setdefault(row.video.casefold(), row.video)) != row.video:
            what = f"video {row.video!r} cannot be kept as an id beside {known!r}: on some systems they are one file."
            yield Problem("id-not-kept", what, f"Rename one {fix}", row.file, row.lines[0], "video_id")
            first[row.video.casefold()] = row.video
    for row in {row.video: row for row in reversed(rows)}.values():
        if not re.fullmatch(VIDEO_ID, row.video) or len(row.video) > MAX_VIDEO_ID:
            what = f"video {row.video!r} cannot be kept as an id: letters A-z, digits, `.`, `_` and `-` only."
            yield Problem("id-not-kept", what, f"Rename it {fix}", row.file, row.lines[0], "video_id")
        try:
            check_file_name(row.video)
        except ValueError as error:
            what = f"video {row.video!r} cannot be kept as an id: {error}."
            yield Problem("id-not-kept", what, f"Rename it {fix}", row.file, row.lines[0], "video_id")


def rater_names(
    rows: Iterable[LabelRow], keep: bool = False, facts: Mapping[str, Rater] | None = None
) -> dict[str, str]:
    """The name in the dataset by the sheet's name, in order of appearance; the consensus is no rater.

    Names that are letters or numbers already stay (``rater_li`` may be somebody), and those of instruments, rules and
    models; the others get the letters that are left. ``keep``: all stay.
    """
    names = list(dict.fromkeys(name for row in rows for name in row.scores if name != CONSENSUS))
    persons = human_raters(names, facts or {})
    plain = re.compile(r"rater_(?:[a-z]|[0-9]{1,3})")
    taken = {name for name in names if keep or name not in persons or plain.fullmatch(name)}
    letters = ("rater_" + "".join(letter) for length in count(1) for letter in product(ascii_lowercase, repeat=length))
    free = (name for name in letters if name not in taken)
    return {name: name if name in taken else next(free) for name in names}


def decide(rows: Iterable[LabelRow], rule: str = "agree", facts: Mapping[str, Rater] | None = None) -> Decision:
    """Fill in each step's consensus.

    A consensus that the sheet gives stands. Otherwise: the common points of at least two human raters who agree; else
    what ``rule`` says. A sheet without any points at all is a dataset with withheld labels.

    Args:
        rows: label rows.
        rule: ``agree`` (disagreement is an error), ``mean`` (of all human raters) or a rater's name (that rater's
            points, also an instrument's).
        facts: what is known of the raters; one of whom nothing is known is a person.
    """
    facts = facts or {}
    rows = [row for row in rows if row.applicable]
    withheld = not any(row.scores for row in rows)
    scores: dict[tuple[str, str], dict[str, float | None]] = {}
    origins: Counter[str] = Counter()
    undecided: list[LabelRow] = []
    for row in rows:
        points = [row.scores[name] for name in human_raters(row.scores, facts)]
        value: float | None
        if withheld:
            value, origin = None, "withheld"
        elif CONSENSUS in row.scores:
            value, origin = row.scores[CONSENSUS], "given"
        elif len(points) > 1 and len(set(points)) == 1:
            value, origin = points[0], "raters agree"
        elif rule == "mean" and points:
            value, origin = sum(points) / len(points), "mean of raters"
        elif rule in row.scores:
            value, origin = row.scores[rule], f"points of {rule}"
        else:
            value, origin = None, "undecided"
            undecided.append(row)
        origins[origin] += 1
        scores[row.video, row.step_id] = {**row.scores, CONSENSUS: value}
    problems = tuple(_undecided(row, rule, facts) for row in undecided)
    return Decision(scores, dict(origins), problems, tuple(undecided))


def _undecided(row: LabelRow, rule: str, facts: Mapping[str, Rater]) -> Problem:
    scores = ", ".join(f"{rater} {points:g}" for rater, points in row.scores.items())
    if not row.scores:
        fix = "Fill in points, or mark the step as not applicable."
        return row.problem("label-missing", "no rater gave points.", fix)
    if rule != "agree":
        what = f"no points of {rule!r} ({scores})."
        return row.problem("consensus-missing", what, "Fill in the consensus.", CONSENSUS)
    if not (people := human_raters(row.scores, facts)):
        what = f"no person gave points ({scores})."
        fix = f"Fill in the consensus, or --consensus {next(iter(row.scores))}."
        return row.problem("consensus-missing", what, fix, CONSENSUS)
    if len(people) == 1:
        fix = f"Fill in the consensus, or --consensus {people[0]}."
        return row.problem("consensus-missing", f"only one rater gave points ({scores}).", fix)
    fix = "Fill in the consensus column, or say --consensus mean or --consensus RATER."
    return row.problem("consensus-open", f"the raters differ ({scores}).", fix, CONSENSUS)


def read_inputs(
    inputs: Inputs, rubric: Rubric
) -> tuple[list[LabelRow], VideoFiles, dict[str, TranscriptFile], list[Problem]]:
    """The label rows, with the spans and the adjudicated points of further sheets filled in, the videos, transcripts.

    Raises:
        DataError: a file cannot be read at all; ``.problems`` has the findings about the others, too.
    """
    problems: list[Problem] = []
    failed: list[Problem] = []

    def tried(read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except DataError as error:
            failed.extend(error.problems or [Problem("unreadable", str(error), "")])
            return None

    file, files = inputs.mapping, label_files(inputs.labels)
    mapping = tried(lambda: read_mapping(file)) if file else SheetMapping()
    words = Words(mapping or SheetMapping(), str(file) if file else None)
    if inputs.spans_fps and words.rate is None:
        words.rate = Fraction(str(inputs.spans_fps))
    videos = tried(lambda: VideoFiles(inputs.videos))
    spelling = videos.speller() if videos else None
    labels = tried(lambda: read_sheets(files, rubric, words, inputs.encoding, "labels", (), spelling, inputs.ratings))
    rows, sheet_problems = labels or ([], [])
    problems += sheet_problems
    known = {(row.video, row.step_id): row for row in rows}
    raters = {rater for row in rows for rater in row.scores}

    def read_further(path: Path, kind: Kind) -> tuple[list[LabelRow], list[Problem]]:
        """The rows of a further sheet, or of an annotation tool's file."""
        tools = kind == "spans" and not is_event_log(path)
        marks = read_marks(path, words, inputs.spans_fps, inputs.encoding) if tools else None
        if marks is None:
            spelling = videos.speller() if videos else None
            return read_sheets(path, rubric, words, inputs.encoding, kind, raters, spelling, inputs.ratings)
        matched, findings = Matcher(rubric, words, videos.find if videos else None).rows(marks.marks)
        return matched, [*marks.problems, *findings]

    spans = tried(lambda: span_files(inputs.spans)) or []
    adjudicated = [inputs.adjudicated] if inputs.adjudicated else []
    further: list[tuple[Kind, list[Path]]] = [("spans", spans), ("adjudicated", adjudicated)]
    for kind, paths in further:
        more: list[LabelRow] = []
        for path in paths:
            further_rows, findings = tried(lambda: read_further(path, kind)) or ([], [])  # noqa: B023
            more += further_rows
            problems += findings
        problems += _fill_in(known, more, videos, kind) if labels else []
    transcripts: dict[str, TranscriptFile] = {}
    if inputs.transcripts and videos and labels:
        labelled = list(dict.fromkeys(video for video, _ in known))
        read = tried(lambda: read_transcripts(inputs.transcripts, words, videos, labelled))
        transcripts, findings = read or ({}, [])
        problems += findings
    if mapping is not None:
        problems += words.unmatched([*(file.path for file in files), *spans, *adjudicated, *inputs.transcripts])
    if failed or labels is None or videos is None:
        errors = [problem for problem in problems if problem.severity == "error"]
        raise DataError(str(DataError.of([*failed, *errors], shown=20)), [*failed, *problems])
    return list(known.values()), videos, transcripts, problems


def _fill_in(
    known: dict[tuple[str, str], LabelRow], more: list[LabelRow], videos: VideoFiles | None, kind: Kind
) -> list[Problem]:
    """Fill the rows of a further sheet into the score sheet's; a row that has no partner there is a finding."""
    problems: list[Problem] = []
    names = list(dict.fromkeys(video for video, _ in known))
    same = {name: videos.same(name, names) if videos else name for name in dict.fromkeys(row.video for row in more)}
    done: dict[tuple[str, str], LabelRow] = {}
    for row in more:
        at = (same[row.video] or row.video, row.step_id)
        if at not in known:
            lacks = "such row" if any(video == at[0] for video in names) else "such video"
            fix = "Write the id as it stands there, add its points, or delete this row."
            problems.append(row.problem("row-unlabelled", f"the score sheet has no {lacks}.", fix))
        elif (first := done.setdefault(at, row)) is not row:
            at_line = f" on line {first.lines[0]}" if first.lines[0] else ""
            where = f"{at_line} already" if first.file == row.file else f" in {first.file}{at_line} already"
            times = f" ({first.start:g}-{first.end:g} s there)" if None not in (first.start, first.end) else ""
            what = f"stands{where}, as {first.video!r}{times}."
            problems.append(row.problem("label-twice", what, "Keep one row per video and step."))
        else:
            fill = _with_span if kind == "spans" else _with_consensus
            known[at] = fill(known[at], row, problems)
    return problems


def _with_span(label: LabelRow, row: LabelRow, problems: list[Problem]) -> LabelRow:
    for name in ("start", "end"):
        first, second = getattr(label, name), getattr(row, name)
        if None not in (first, second) and first != second:
            what = f"{name} is {second:g} s here and {first:g} s in the score sheet (line {label.lines[0]})."
            problems.append(row.problem("span-differs", what, "Keep one of the two.", name))
    start, end = (getattr(row if getattr(row, name) is not None else label, name) for name in ("start", "end"))
    return replace(label, start=start, end=end)


def _with_consensus(label: LabelRow, row: LabelRow, problems: list[Problem]) -> LabelRow:
    for rater, points in row.scores.items():
        if rater in label.scores and label.scores[rater] != points:
            what = f"{rater} has {points:g} points here and {label.scores[rater]:g} in the score sheet."
            problems.append(row.problem("two-sources", what, "Correct the score sheet, or this row.", rater))
    if label.applicable != row.applicable:
        what = "this row and the score sheet do not agree whether the step applies."
        problems.append(row.problem("applicable-differs", what, "Write the same in both."))
    consensus = {CONSENSUS: row.scores[CONSENSUS]} if CONSENSUS in row.scores else {}
    return replace(label, scores={**label.scores, **consensus})
