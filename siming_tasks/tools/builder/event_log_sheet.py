"""The event log of a rating station as a table of labels: what physicians gave there goes the way of every table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from siming_tasks.benchmark.exams import Rater
from siming_tasks.benchmark.rubrics import Rubric
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import digest_of
from siming_tasks.common.printed_value import counted
from siming_tasks.tools.builder.label_rows import Judgment
from siming_tasks.tools.builder.video_files import VideoFiles
from siming_tasks.tools.station.event_log import ADJUDICATION, RATING, EventLog, Known, is_event_log, rubric_digest
from siming_tasks.tools.station.replay import ExamState, StepState, replay_exams

_WATCHED = 0.5
"""Share of a video that is played at least by who watches it."""


@dataclass(frozen=True)
class UseRatings:
    """Rules by which an event log becomes labels.

    Attributes:
        spans_from: whose marks are the spans where nobody adjudicated them; None: those of the only rater who marked.
        finished: leave out exams that a rater has begun and not finished, instead of refusing them.
    """

    spans_from: str | None = None
    finished: bool = False


def ratings_labels(path: Path, rubric: Rubric, use: UseRatings) -> tuple[list[Judgment], list[Problem]]:
    """The judgments of an event log, and what is wrong with it.

    Points are the raters' own; the consensus is what adjudication gave. A step's span is the adjudicated one, else that
    of ``use.spans_from``, else the one that all who marked the step agree about. A step that was marked and not scored
    has a row of times. No judgment has a line.

    Raises:
        DataError: it is not an event log, or its rubric differs from the build's.
    """
    with closing(EventLog.read(path)) as event_log:
        if rubric_digest(event_log.rubric) != rubric_digest(rubric):
            logged = f"{event_log.rubric.rubric_id} {event_log.rubric.version}"
            raise DataError(f"{path}: was rated with another rubric ({logged}). Give that one as --rubric.")
        exams = list(event_log.exams().values())
        states = replay_exams([*event_log.events(RATING), *event_log.events(ADJUDICATION)])
    problems: list[Problem] = []

    def add(code: str, what: str, fix: str, *, warning: bool = False) -> None:
        problems.append(Problem(code, what, fix, str(path), severity="warning" if warning else "error"))

    raters = sorted({rater for rater, _ in states} - {CONSENSUS})
    if use.spans_from and use.spans_from not in raters:
        add("rater-unknown", f"{use.spans_from!r} rated nothing here.",
            f"--spans-from takes {', '.join(raters) or 'nobody'}.")  # fmt: skip
    rows: list[Judgment] = []
    differing: list[str] = []
    unmarked: list[str] = []
    undecided = 0
    for exam in exams:
        begun = {rater: states.get((rater, exam.digest), ExamState()) for rater in raters}
        begun = {rater: state for rater, state in begun.items() if state.steps}
        agreed = states.get((CONSENSUS, exam.digest), ExamState())
        for rater, state in [*begun.items(), (CONSENSUS, agreed)]:
            scored = rater != CONSENSUS and any(state.step(step).decided for step in exam.steps)
            # Who only marked times, or adjudicates, has to decide nothing more; but a mark needs its other one.
            left = [step for step in state.left(exam.steps) if scored or state.step(step).half_marked]
            if left:
                named = [f"{step} (one mark of two)" if state.step(step).half_marked else step for step in left[:5]]
                shown = ", ".join(named) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
                fix = "Finish it in `siming data rate`, or leave out such exams with --finished."
                fix = "It is left out." if use.finished else fix
                what = f"{rater} has not finished {exam.name!r}: {shown}."
                add("exam-unfinished", what, fix, warning=use.finished)
                begun.pop(rater, None)
        for step in exam.steps:
            span, wrong = _span(step, begun, agreed, use.spans_from)
            differing += [f"{exam.name} {step}"] if wrong == "differs" else []
            unmarked += [f"{exam.name} {step}"] if wrong == "unmarked" else []
            given = [
                (who, at) for who, state in [*begun.items(), (CONSENSUS, agreed)] if (at := state.step(step)).decided
            ]
            undecided += not agreed.step(step).decided and len({at.points for _, at in given}) > 1
            nobody = [("", StepState())] if span != (None, None) else []
            for who, at in given or nobody:
                place = (exam.name, step, str(path), None)
                rows.append(Judgment(*place, who, at.points, at.applicable, *span, {}))
    if differing:
        what = f"raters marked {counted(len(differing), 'step')} differently, the first being {differing[0]}."
        add("span-differs", what, f"Choose whose marks are the spans: --spans-from {' or '.join(map(repr, raters))}.")
    if unmarked:
        what = f"others marked {counted(len(unmarked), 'step')} that {use.spans_from!r} did not mark, the first being"
        add("span-missing", f"{what} {unmarked[0]}.", "They have no clip.", warning=True)
    if undecided:
        what = f"raters differ on {counted(undecided, 'step')} that nobody has adjudicated."
        add("adjudication-open", what, "Decide them with `siming data rate DIR --adjudicate`.", warning=True)
    if not rows and not problems:
        add("nothing-read", "contains no labels.", "Is it the right file?")
    return rows, problems


def _span(
    step: str, states: Mapping[str, ExamState], agreed: ExamState, spans_from: str | None
) -> tuple[tuple[float | None, float | None], str]:
    """Start and end of a step (None: not marked); ``unmarked`` or ``differs`` if the raters' marks do not decide it."""
    if agreed.step(step).span:
        return (agreed.step(step).start, agreed.step(step).end), ""
    marked = {rater: (at.start, at.end) for rater, state in states.items() for at in [state.step(step)]}
    marked = {rater: span for rater, span in marked.items() if span != (None, None)}
    if spans_from:
        return marked.get(spans_from, (None, None)), "unmarked" if marked and spans_from not in marked else ""
    return next(iter(marked.values()), (None, None)), "differs" if len(set(marked.values())) > 1 else ""


def station_facts(
    inputs: Iterable[Path], use: UseRatings, videos: VideoFiles, simulated: bool
) -> tuple[dict[str, Rater], list[Problem]]:
    """Facts about the raters of a build's event logs, and problems of the logs apart from their labels.

    Raters saw the recording, and heard it if the sound was on while it played: an exam was heard if at least half of
    what was played of it had sound. Of a rater who heard some exams and not others, or of whom no playing is known,
    nothing is stated. Wrong are other videos than those rated, simulated ones called real, and unused options.
    """
    facts: dict[str, Rater] = {}
    problems: list[Problem] = []
    paths = [path for path in dict.fromkeys(inputs) if is_event_log(path)]
    if use != UseRatings() and not paths:
        what = "--spans-from and --finished need the event log of a rating station; none is given."
        problems.append(Problem("ratings-unused", what, "Leave them out."))
    for path in paths:
        with closing(EventLog.read(path)) as event_log:
            states = replay_exams([*event_log.events(RATING), *event_log.events(ADJUDICATION)])
            exams = event_log.exams()
        if event_log.synthetic and not simulated:
            what = "the rated videos are SYNTHETIC."
            problems.append(Problem("synthetic-unsaid", what, "Add --simulated-videos.", str(path)))
        for exam in exams.values():
            files = videos.find(exam.name)
            if len(files) == 1 and (digest := digest_of(files[0])) != exam.digest:
                what = f"{files[0]} is not the video that was rated as {exam.name!r}"
                both = f"(rated {exam.digest[:12]}, found {digest[:12]})"
                fix = "Give the folder of the rated files as --videos."
                problems.append(Problem("media-differs", f"{what} {both}.", fix, str(path)))
        problems += _hardly_played(path, states, exams)
        shares: dict[str, list[float | None]] = {}
        for (rater, _), state in states.items():
            if state.steps:
                shares.setdefault(rater, []).append(state.heard)
        for rater, known in shares.items():
            heard = {None if share is None else share >= 0.5 for share in known}
            facts[rater] = Rater(heard=heard.pop() if len(heard) == 1 else None, saw="recording")
            if {True, False} <= heard:
                count = sum(share is not None and share >= 0.5 for share in known)
                had = f"{rater} had the sound on in {count} of {counted(len(known), 'exam')}"
                fix = "State `heard` under `raters:` in dataset.yaml if you know it."
                what = f"{had}: whether they heard the exams is not stated."
                problems.append(Problem("heard-differs", what, fix, str(path), severity="warning"))
    return facts, problems


def _hardly_played(
    path: Path, states: Mapping[tuple[str, str], ExamState], exams: Mapping[str, Known]
) -> Iterator[Problem]:
    """Warnings about raters who scored whole exams without playing half of the video."""
    shares: dict[str, list[tuple[float, str]]] = {}
    for (rater, digest), state in states.items():
        if rater != CONSENSUS and state.played_share is not None and not state.left(exams[digest].steps):
            shares.setdefault(rater, []).append((state.played_share, exams[digest].name))
    for rater, played in shares.items():
        if few := sorted(each for each in played if each[0] < _WATCHED):
            share, name = few[0]
            share_of = f"{len(few)} of {counted(len(played), 'exam')}"
            what = f"{rater} scored {share_of} with less than half of the video played"
            fix = "Ask whether the videos were watched elsewhere; if not, have them rated again."
            least = f"the least of all {name!r} ({100 * share:.0f} %)"
            yield Problem("hardly-played", f"{what}, {least}.", fix, str(path), severity="warning")
