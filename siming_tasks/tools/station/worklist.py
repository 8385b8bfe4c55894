"""Worklist of one rater: exams in an order, each with a state that its events come to; rating and adjudication."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

from siming_tasks.benchmark.rubrics import Rubric, allowed_points, in_chinese
from siming_tasks.benchmark.types import CONSENSUS
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.person_names import alike_pairs, is_aggregate, name_keys, not_a_name
from siming_tasks.common.sanitize import shown_name, visible, well_formed
from siming_tasks.media import has_sound, read_timeline
from siming_tasks.tools.station.event_log import (
    ABOUT_STEP,
    ADJUDICATION,
    RATING,
    SHORTEST_SPAN,
    EventLog,
    Known,
    UsedName,
    check_event,
)
from siming_tasks.tools.station.replay import ExamState, StepState, replay, replay_exams
from siming_tasks.tools.station.station_exams import Exam, Exams
from siming_tasks.tools.station.words import LANGUAGES, Sentence

_MAX_NAME = 60
"""Characters of a rater's name."""
_PORTS = 20_000, 10_000
"""First of the usual ports and their number: below those that systems hand out."""
_EVENT_ID = re.compile(r"[A-Za-z0-9-]{8,64}")


class Refusal(Exception):
    """An event that cannot be done; the sentence is for the page.

    Args:
        why: its key in the table of words, or the sentence itself.
        values: its fields.
    """

    def __init__(self, why: str | Sentence, **values: Any) -> None:
        self.sentence = Sentence(why, values) if isinstance(why, str) else why
        super().__init__(self.sentence.within(LANGUAGES[0]))


@dataclass(frozen=True)
class Item:
    """One exam to work on and the steps that are asked about."""

    exam: Exam
    steps: tuple[str, ...]


@lru_cache(maxsize=8)
def frames_of(exam: Exam) -> tuple[tuple[float, ...], float]:
    """Start of each frame of an exam, and end of the last; seconds from second 0. The last few exams are kept."""
    timeline = read_timeline(exam.path)
    return tuple(round(time, 6) for time in timeline.times.tolist()), round(timeline.duration, 6)


def rater_name(text: str, known: Sequence[str] = (), different: Sequence[tuple[str, str]] = ()) -> str:
    """A rater's name as the event log has it.

    Args:
        text: as it was given.
        known: those who have rated in the log.
        different: pairs of which was said that they are two.

    Raises:
        OptionsError: it is empty, too long, the consensus or not a name, has invisible characters, or is similar to
            another rater's name.
    """
    name = shown_name(text)
    if not name or len(name) > _MAX_NAME or "⟦U+" in name:
        raise OptionsError(f"--rater {text!r:.80} must be 1 to {_MAX_NAME} visible characters.")
    if name_keys(name) & name_keys(CONSENSUS):
        raise OptionsError("--rater consensus is reserved for --adjudicate. Give the physician's own name.")
    if (fault := not_a_name(name)) or is_aggregate(name):
        raise OptionsError(f"--rater {name!r} {fault or 'is not a person'}. Give the physician's own name.")
    others = [] if name in known else known
    for _, other in (pair for one in others for pair in alike_pairs([one, name], different)):
        fix = f"Give that name, or give --different {other!r} {name!r} if they are two."
        raise OptionsError(f"--rater {name!r}: {other!r} has rated in this file. {fix}")
    return name


class Work:
    """One rater's work on the exams of a folder; all state is in the event log.

    Attributes:
        event_log: where events go.
        name: of the work in the event log, and what the page is told to be.
        items: in an order that rater, work and video decide, the same at every start.
        names: by which a page calls them: of this file, work and rater alone, so that a page that was left open never
            writes under another rater's name.
        language: the page's language; None: what the physician chose last, or else the browser's.
    """

    name: ClassVar[str]

    def __init__(self, event_log: EventLog, rater: str, rubric: Rubric, items: Sequence[Item]) -> None:
        self.event_log, self.rater, self.rubric = event_log, rater, rubric
        self.language: str | None = None
        self._turn = threading.Lock()
        whose = f"{rater}\0{self.name}\0"
        self.items = sorted(items, key=lambda item: hashlib.sha256((whose + item.exam.digest).encode()).digest())
        self.names = [self._digest(item.exam.digest)[:16] for item in self.items]

    @property
    def usual_port(self) -> int:
        """Port of this rater's pages: what a page could not save before its station died goes to the next one there."""
        first, count = _PORTS
        return first + int(self._digest(), 16) % count

    def _digest(self, *more: str) -> str:
        """Name of this file, work and rater that nobody can read them from."""
        whose = (str(self.event_log.path.resolve()), self.name, self.rater, *more)
        return hashlib.sha256("\0".join(whose).encode()).hexdigest()

    def state(self, item: Item) -> ExamState:
        """Answers of this rater to the exam so far."""
        return replay(self.event_log.events(self.name, self.rater, item.exam.digest))

    def open_steps(self) -> list[int]:
        """Number of undecided steps of every exam."""
        states = replay_exams(self.event_log.events(self.name, self.rater))
        return [len(states.get((self.rater, item.exam.digest), ExamState()).left(item.steps)) for item in self.items]

    def start(self) -> dict[str, Any]:
        """Data that the page needs once: the rubric, and the progress of each exam."""
        skills = [
            {
                "name": skill.name,
                "zh": skill.name_zh,
                "steps": [
                    {
                        **step.model_dump(include={"id", "name", "requirement", "criteria"}),
                        "zh": step.name_zh,
                        "chinese": in_chinese(step),
                        "points": allowed_points(step),
                        "heard": step.evidence.is_heard,
                    }
                    for step in skill.steps
                ],
            }
            for skill in self.rubric.skills
        ]
        return {
            "mode": self.name,
            "language": self.language,
            "rater": visible(self.rater),
            "synthetic": self.event_log.synthetic,
            "skills": skills,
            "items": [
                {"id": name, "left": left, "of": len(item.steps)}
                for name, item, left in zip(self.names, self.items, self.open_steps(), strict=True)
            ],
        }

    def open(self, number: int, name: Any) -> dict[str, Any]:
        """Data that the page needs of one exam; opening it is an event."""
        item = self._item(number)
        times, end = frames_of(item.exam)
        self._append(item, name, None, "open", {"seconds": end})
        player = {"times": times, "end": end, "src": f"media/{number}", "sound": has_sound(item.exam.path)}
        about = {"name": visible(item.exam.name), "steps": item.steps, "player": player}
        return {**about, **self.shown(item), **self.news(item)}

    def event(self, number: int, name: Any, step: Any, kind: Any, value: Any, was: Any = None) -> dict[str, Any]:
        """Do one event and say what the exam's state is now.

        Args:
            number: of the exam.
            name: of the event, made by the page, so that one sent twice is done once.
            step: rubric step of the exam; None for what was played.
            kind: see :mod:`siming_tasks.tools.station.event_log`.
            value: as there, but ``start`` and ``end`` are numbers of frames.
            was: what the page knows of the field: if another page has changed it since, nothing is done.

        Raises:
            Refusal: the event cannot be done.
        """
        item = self._item(number)
        if kind not in (*ABOUT_STEP, "played"):
            raise Refusal("not_taken", kind=f"{kind!r:.40}")
        if step is not None and (not isinstance(step, str) or step not in item.steps):
            raise Refusal("no_such_step", step=f"{step!r:.80}")
        if kind in ("start", "end") and value is not None:
            value = self._seconds(item, step, kind, value)
        elif isinstance(value, str):
            value = well_formed(value)
        if wrong := check_event(self.rubric, step, kind, value):
            raise Refusal(wrong)
        with self._turn:  # of two pages of one rater
            known = asdict(self.state(item).step(step or ""))
            if isinstance(was, dict) and {**known, **was} != known and not self.event_log.has(str(name)):
                raise Refusal("done_elsewhere")
            self._append(item, name, step, kind, value)
        return self.news(item)

    def _item(self, number: int) -> Item:
        item = self.items[number]
        if changed := item.exam.changed():
            raise Refusal(changed)
        return item

    def _append(self, item: Item, name: Any, step: str | None, kind: str, value: Any) -> None:
        if not isinstance(name, str) or not _EVENT_ID.fullmatch(name):
            raise Refusal("no_name")
        who = {"work": self.name, "rater": self.rater, "exam": item.exam.digest}
        try:
            self.event_log.append(name, **who, step=step, kind=kind, value=value)
        except UsedName:
            raise Refusal("used_name") from None

    def _seconds(self, item: Item, step: str | None, kind: str, frame: Any) -> float:
        """Seconds at which a marked frame begins (start) or ends (end), so that the span holds both frames whole."""
        times, end = frames_of(item.exam)
        if isinstance(frame, bool) or not isinstance(frame, int) or not 0 <= frame < len(times):
            raise Refusal("no_such_frame", frame=f"{frame!r:.40}")
        at = (*times, end)[frame + (kind == "end")]
        now = self.state(item).step(step or "")
        other, wrong = (now.end, "start_too_late") if kind == "start" else (now.start, "end_too_early")
        if other is not None and (at >= other if kind == "start" else at <= other):
            raise Refusal(wrong, at=f"{other:.2f}")
        if other is not None and abs(at - other) < SHORTEST_SPAN - 1e-9:
            raise Refusal("too_short", least=f"{SHORTEST_SPAN:g}")
        return at

    def news(self, item: Item) -> dict[str, Any]:
        """The state of an exam as the page shows it."""
        state = self.state(item)
        return {
            "state": {step: asdict(state.step(step)) for step in item.steps if step in state.steps},
            "left": len(state.left(item.steps)),
            "seconds": round(state.seconds),
            "played": round(state.played, 1),
            "heard": state.heard,
        }

    def shown(self, item: Item) -> dict[str, Any]:
        """Further data of the exam for the page."""
        return {}


class Rating(Work):
    """The work of ``siming data rate DIR --rater NAME``: every step of every exam, blind to everybody else."""

    name = RATING

    def __init__(self, event_log: EventLog, rater: str, exams: Exams) -> None:
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
        super().__init__(event_log, rater, exams.rubric, [Item(exam, exam.steps) for exam in exams.exams])


def differ(first: StepState, second: StepState) -> bool:
    """True if two raters gave different points to a step, or only one of them says that it applies."""
    return (first.points, first.applicable) != (second.points, second.applicable)


class Adjudication(Work):
    """The work of ``siming data rate DIR --adjudicate``; its events are those of the rater ``consensus``.

    The steps on which two raters differ are shown with what both gave, and nobody's name. Only exams that both raters
    have finished are shown; ``waiting`` counts the others.
    """

    name = ADJUDICATION

    def __init__(self, event_log: EventLog, exams: Exams, raters: Sequence[str] | None = None) -> None:
        event_log.know(Known(exam.name, exam.digest, exam.steps) for exam in exams.exams)
        known = event_log.raters(RATING)
        chosen = list(dict.fromkeys(raters or known))
        names = ", ".join(map(repr, known)) or "nobody"
        if unknown := [name for name in chosen if name not in known]:
            raise OptionsError(f"--raters: {unknown[0]!r} rated nothing in {event_log.path}; {names} did.")
        if len(chosen) != 2:
            fix = "A second rater starts with --rater NAME, or is added with --join FILE."
            fix = "Give --raters A B." if len(known) > 2 else fix
            raise OptionsError(f"--adjudicate needs two raters; in {event_log.path} rated {names}. {fix}")
        states = replay_exams(event_log.events(RATING))
        self._both: dict[str, tuple[ExamState, ...]] = {}
        self.waiting = 0
        items = []
        for exam in exams.exams:
            both = tuple(states.get((rater, exam.digest), ExamState()) for rater in chosen)
            self._both[exam.digest] = both
            if any(state.left(exam.steps) for state in both):
                self.waiting += 1
            elif steps := tuple(step for step in exam.steps if differ(*(state.step(step) for state in both))):
                items.append(Item(exam, steps))
        super().__init__(event_log, CONSENSUS, exams.rubric, items)

    def shown(self, item: Item) -> dict[str, Any]:
        """Points of the raters in an order that says nothing, and the moment: all that either of them marked."""
        scores, moments = {}, {}
        for step in item.steps:
            both = [state.step(step) for state in self._both[item.exam.digest]]
            # The order is as by a coin for every step of every exam, and the same whenever it is asked for.
            coin = hashlib.sha256(f"{item.exam.digest}/{step}".encode()).digest()[0] % 2
            scores[step] = [
                {**asdict(state), "comment": visible(state.comment), "span": state.span}
                for state in both[:: 1 if coin else -1]
            ]
            if spans := [state.span for state in both if state.span]:
                moments[step] = [min(start for start, _ in spans), max(end for _, end in spans)]
        return {"scores": scores, "moments": moments}
