"""Everything about a build that is decided, and everything that can go wrong, before a video is touched."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count, product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from siming_tasks.benchmark.exams import Rater, human_raters
from siming_tasks.benchmark.rubrics import Rubric, load_rubric
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError, OptionsError, Problem
from siming_tasks.common.files import check_file_name, sha256_json
from siming_tasks.common.hosts import stated_host
from siming_tasks.common.person_names import is_aggregate
from siming_tasks.common.printed_value import counted
from siming_tasks.data.consent import ANY
from siming_tasks.data.row_schema import MAX_VIDEO_ID, VIDEO_ID
from siming_tasks.tools.builder.event_log_sheet import UseRatings, station_facts
from siming_tasks.tools.builder.label_rows import Judgment, LabelRow, Persons, copied, joined
from siming_tasks.tools.builder.label_tables import read_labels
from siming_tasks.tools.builder.source_gate import Recording
from siming_tasks.tools.builder.transcode import stamp
from siming_tasks.tools.builder.transcripts import Names, read_names, read_transcripts, transcript_rows
from siming_tasks.tools.builder.video_files import (
    VideoFiles,
    find_sources,
    minutes_problem,
    new_ids,
    sound_problems,
    span_problems,
)


@dataclass(frozen=True)
class Inputs:
    """The files that a dataset is built of (see :func:`siming_tasks.tools.builder.build_folder.build_dataset`)."""

    rubric: Path
    labels: Sequence[Path]
    videos: Path
    ratings: UseRatings = field(default_factory=UseRatings)
    transcripts: Sequence[Path] = ()
    names: Path | None = None


@dataclass(frozen=True)
class BuildOptions:
    """Options of a build.

    Attributes:
        name: of the dataset (default: the folder's name).
        version: of the dataset.
        license: SPDX name, e.g. ``cc-by-nc-4.0``.
        languages: spoken or shown, e.g. ``("zh",)``.
        consensus: ``agree``, ``mean`` or a rater's name (see
            :func:`siming_tasks.tools.builder.build_plan.decide`), who is then no physician.
        physicians: names of raters who stay physicians, though ``consensus`` names them or they are called
            ``Final``.
        different: pairs of names that are alike and mean two.
        keep_audio: keep the first audio stream.
        keep_ids: keep the table's names as video ids instead of ``v001``...
        keep_rater_names: keep the table's names of raters instead of ``rater_a``...
        allow_loss: build also videos of which more than one picture in twenty is lost.
        simulated_videos, simulated_labels: they are simulated.
        consent: host names of those who may receive recordings, or ``any``.
        rater_facts: by the table's name, the facts about a rater; an instrument is a rater of that kind.
    """

    name: str = ""
    version: str = "1"
    license: str = ""
    languages: tuple[str, ...] = ()
    consensus: str = "agree"
    physicians: tuple[str, ...] = ()
    different: tuple[tuple[str, str], ...] = ()
    keep_audio: bool = False
    keep_ids: bool = False
    keep_rater_names: bool = False
    allow_loss: bool = False
    simulated_videos: bool = False
    simulated_labels: bool = False
    consent: tuple[str, ...] = ()
    rater_facts: Mapping[str, Rater] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            for host in {*self.consent} - {ANY}:
                stated_host(host)
        except ValueError as error:
            raise OptionsError(f"--consent: {error}.") from None


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

    ``sources``, ``ids``, ``students`` and ``raters`` are by the names that the table has; the consensus is not among
    the raters. ``rater_facts`` are by the names that the dataset has. ``transcripts`` has the rows of each video that
    has any, ``speakers`` by video those who got a number; ``reference`` is the rater whose points are the consensus.
    """

    rubric: Rubric
    rubric_file: Path
    rows: tuple[LabelRow, ...]
    decision: Decision
    sources: Mapping[str, Recording]
    ids: Mapping[str, str]
    students: Mapping[str, str]
    raters: Mapping[str, str]
    options: BuildOptions
    rater_facts: Mapping[str, Rater] = field(default_factory=dict)
    transcripts: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    speakers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reference: str = ""

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
    videos, labels, names = _read(inputs, rubric, options)
    rows, problems, reference = labels
    if any(problem.code == "cells-unseen" for problem in problems):  # a cell that cannot be read is not an empty one
        problems = [problem for problem in problems if problem.code != "applicable-differs"]
    options = replace(options, consensus="agree") if reference else options
    sources, source_problems = find_sources(videos, rows, options.allow_loss)
    missing = [problem for problem in source_problems if problem.code == "video-missing"]
    problems = [*missing, *problems]  # first: columns in the wrong order give many other findings
    unread = any(problem.severity == "error" for problem in problems)
    source_problems += sound_problems(sources) if options.keep_audio else []
    facts = dict(options.rater_facts)
    problems += _unmet_facts(facts, rows)
    of_station, station_problems = station_facts(inputs.labels, inputs.ratings, videos, options.simulated_videos)
    scored = {name for row in rows for name in row.scores}
    stated = {name: Rater() for name in options.physicians if is_aggregate(name)}
    facts = {name: rater for name, rater in {**stated, **of_station}.items() if name in scored} | facts
    problems += station_problems
    raters = rater_names(rows, options.keep_rater_names, facts)
    rule = options.consensus
    if rule not in ("agree", "mean", *raters):
        what = f"--consensus {rule!r} is neither agree nor mean nor a rater of the table."
        fix = f"Its raters are {', '.join(raters)}." if raters else "It has no rater's points."
        problems.append(Problem("rater-unknown", what, fix, rows[0].file if rows else None))
        rule, unread = "agree", True
    decision = decide([row for row in rows if row.video in sources], rule, facts)
    if unread:  # points may lack for that reason alone: only what the raters differ in is sure, and nobody decides yet
        open_ones = tuple(problem for problem in decision.problems if problem.code == "consensus-open")
        decision = replace(decision, problems=open_ones, open=())
    problems += [problem for problem in source_problems if problem not in missing]
    durations = {name: source.duration for name, source in sources.items()}
    problems += span_problems(rows, durations)
    problems += minutes_problem(rows, {name: whole for name, whole in durations.items() if whole})
    problems += decision.problems
    if not scored and not unread:
        what = "no table gives points: the labels are withheld, and nothing can be scored."
        fix = "If physicians scored these videos: is the file saved, and is it the right one?"
        problems.append(Problem("labels-withheld", what, fix, rows[0].file if rows else None, severity="warning"))
    problems += copied(rows, human_raters(raters, facts))
    problems += _unkept_ids(rows) if options.keep_ids else []
    ids = new_ids(dict.fromkeys(row.video for row in rows), options.keep_ids)
    students = new_ids(dict.fromkeys(row.about["student"] for row in rows if "student" in row.about), prefix="s")
    files, transcript_problems = read_transcripts(inputs.transcripts, videos, list(ids))
    problems += transcript_problems
    said: dict[str, list[dict[str, Any]]] = {}
    speakers: dict[str, dict[str, str]] = {}
    for name, file in files.items():
        if name in sources:
            said[name], speakers[name] = transcript_rows(name, file, sources[name], names, problems)
    problems += names.unmet(inputs.names)
    plan = BuildPlan(rubric, inputs.rubric, tuple(rows), decision, sources, ids, students, raters, options,
                     {raters.get(name, name): rater for name, rater in facts.items()},
                     said, speakers, reference)  # fmt: skip
    return plan, problems


def _read(
    inputs: Inputs, rubric: Rubric, options: BuildOptions
) -> tuple[VideoFiles, tuple[list[LabelRow], list[Problem], str], Names]:
    """The videos, the labels with what is wrong with them and the rater who is the consensus, the names to replace.

    Raises:
        DataError: a file cannot be read at all; ``.problems`` has the findings about the others, too.
    """
    failed: list[DataError] = []
    found: list[Any] = []
    for read in (
        lambda: VideoFiles(inputs.videos),
        lambda: read_names(inputs.names) if inputs.names else Names({}),
        lambda: read_labels(inputs.labels, rubric, inputs.ratings),
    ):
        try:
            found.append(read())
        except DataError as error:
            failed.append(error)
            found.append(None)
    videos, names, labels = found
    judgments, problems = labels or ([], [])
    judgments, reference = _consensus_of(judgments, options, problems)
    persons = Persons(options.different, options.physicians)
    rows, contradictions = joined(judgments, videos.speller() if videos else str, persons)
    problems += contradictions
    if failed:
        unread = [problem for error in failed for problem in error.problems or [Problem("unreadable", str(error), "")]]
        errors = [problem for problem in problems if problem.severity == "error"]
        raise DataError(str(DataError.of([*unread, *errors], shown=20)), [*unread, *problems])
    return videos, (rows, problems, reference), names


def _consensus_of(
    judgments: list[Judgment], options: BuildOptions, problems: list[Problem]
) -> tuple[list[Judgment], str]:
    """The judgments with those of the rater whom ``--consensus`` names as the consensus, and that name; "" for none.

    Instruments and those of ``--physician`` stay raters, whose points :func:`decide` takes where the others differ.
    """
    name, stay = options.consensus, {*options.physicians, *options.rater_facts}
    if name in stay or name not in {row.rater for row in judgments} - {CONSENSUS}:
        return judgments, ""
    if decided := next((row for row in judgments if row.rater == CONSENSUS and row.judges), None):
        what = f"a {CONSENSUS} is given here, and --consensus {name!r} takes the points of {name!r} for it."
        fix = f"Leave out --consensus; or add --physician {name!r}: their points then decide only the other steps."
        problems.append(Problem("consensus-twice", what, fix, decided.file, decided.line, "rater"))
        return judgments, ""
    return [replace(row, rater=CONSENSUS) if row.rater == name else row for row in judgments], name


def _unmet_facts(facts: Mapping[str, Rater], rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Facts about raters whom the table lacks: a misspelt name would make a person of an instrument."""
    known = {name for row in rows for name in row.scores} | {CONSENSUS}
    for name in facts.keys() - known:
        what = f"facts about a rater {name!r}, who gave no points; there are {', '.join(sorted(known))}."
        yield Problem("rater-unknown", what, "Write the name as the table does.")


def _unkept_ids(rows: Sequence[LabelRow]) -> Iterator[Problem]:
    """Names that cannot be ids: an id is part of paths and of prediction files."""
    fix = "in the table and on disk, or leave out --keep-ids."
    seen: dict[str, LabelRow] = {}
    for row in rows:
        seen.setdefault(row.video, row)
    first: dict[str, str] = {}
    for row in seen.values():
        why = ""
        if (known := first.setdefault(row.video.casefold(), row.video)) != row.video:
            why = f"on some systems it is one file with {known!r}"
        elif not re.fullmatch(VIDEO_ID, row.video) or len(row.video) > MAX_VIDEO_ID:
            why = "letters A-z, digits, `.`, `_` and `-` only"
        else:
            try:
                check_file_name(row.video)
            except ValueError as error:
                why = str(error)
        if why:
            what = f"video {row.video!r} cannot be kept as an id: {why}."
            yield Problem("id-not-kept", what, f"Rename it {fix}", row.file, row.line, "video_id")


def rater_names(
    rows: Iterable[LabelRow], keep: bool = False, facts: Mapping[str, Rater] | None = None
) -> dict[str, str]:
    """The name in the dataset by the table's name, in order of appearance; the consensus is not a rater.

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

    A consensus in the table is kept. Otherwise: the common points of at least two human raters who agree; otherwise
    what ``rule`` says. A table without any points at all is a dataset with withheld labels.

    Args:
        rows: label rows.
        rule: ``agree`` (disagreement is an error), ``mean`` (of all human raters) or a rater's name (that rater's
            points, also an instrument's).
        facts: facts about the raters; a rater without facts is a person.
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
    problems = tuple(_undecided(rows, undecided, rule, facts))
    return Decision(scores, dict(origins), problems, tuple(undecided))


def _undecided(
    rows: Sequence[LabelRow], undecided: Sequence[LabelRow], rule: str, facts: Mapping[str, Rater]
) -> Iterator[Problem]:
    """Findings about steps without a consensus; what is left out of a whole video, or of all videos, is one."""
    people = human_raters([name for row in rows for name in row.scores], facts)
    gaps: list[LabelRow] = []
    alone: list[LabelRow] = []
    for row in undecided:
        scores = ", ".join(f"{rater} {points:g}" for rater, points in row.scores.items())
        here = human_raters(row.scores, facts)
        if not row.scores:
            gaps.append(row)
        elif rule != "agree":
            what = f"no points of {rule!r} ({scores})."
            yield row.problem("consensus-missing", what, f"Add a row of {CONSENSUS}.", "points")
        elif not here:
            fix = f"Add a row of {CONSENSUS}, or --consensus {next(iter(row.scores))}."
            yield row.problem("consensus-missing", f"no person gave points ({scores}).", fix, "points")
        elif len(here) > 1:
            fix = f"Add a row of {CONSENSUS} with the points that they agree on."
            yield row.problem("consensus-open", f"the raters differ ({scores}).", fix, "points")
        else:
            (alone if len(people) == 1 else gaps).append(row)
    yield from _left_out(rows, gaps, people)
    if alone:
        what = f"only {people[0]!r} gives points, in {counted(len(alone), 'step')} without a {CONSENSUS}."
        fix = f"Add the points of a second physician, or rows of {CONSENSUS}."
        if not any(CONSENSUS in row.scores for row in rows):
            fix += f" With --consensus {people[0]!r}, this rater is the reference, and compared with nobody."
        yield Problem("consensus-missing", what, fix, alone[0].file, alone[0].line)


def _left_out(rows: Sequence[LabelRow], gaps: Sequence[LabelRow], people: Sequence[str]) -> Iterator[Problem]:
    """Findings about steps with the points of one person or nobody, at the rows of those who gave none."""
    given = {(of, name) for row in rows for name in row.scores for of in (row.video, row.step_id)}
    places: dict[tuple[str, ...], Judgment] = {}
    for row in rows:
        for judgment in row.rows:
            for place in ((judgment.rater,), (judgment.rater, row.video), (judgment.rater, row.video, row.step_id)):
                places.setdefault(place, judgment)
    groups: dict[tuple[str, ...], list[LabelRow]] = {}
    for row in gaps:
        silent = [name for name in people if name not in row.scores]
        where = f"video {row.video!r}, step {row.step_id!r}"
        for kind, of in (("step", row.step_id), ("video", row.video)):
            if not any((of, name) in given for name in silent):
                where = f"{kind} {of!r}"
        groups.setdefault((where, *silent), []).append(row)
    for (where, *silent), steps in groups.items():
        row = steps[0]
        code, names, number = "consensus-missing", " and ".join(silent), counted(len(steps), "step")
        what = f"no points of {names} for {number} that {''.join({*people} - {*silent})} scored."
        fix = f"Let {names} score, or add rows of {CONSENSUS}."
        if not row.scores:
            code, what = "label-missing", f"no rater gave points ({number})."
            fix = "Fill in points, or N/A if the step does not apply."
        nearest = ((*silent[:1], row.video, row.step_id), (*silent[:1], row.video), (*silent[:1],))
        at = next((places[place] for place in nearest if place in places), row)
        yield Problem(code, f"{where}: {what}", fix, at.file, at.line if at.video == row.video else None)
