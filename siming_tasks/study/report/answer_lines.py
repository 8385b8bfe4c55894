"""Answer lines: the four answers about a setting's judges, as the first lines of a page, a Markdown file and a card.

Every claim is one of :func:`siming_tasks.study.analysis.verdicts.four_answers`; only the words are put together here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from siming_tasks.benchmark.metrics.no_video import SHUFFLED
from siming_tasks.benchmark.metrics.thresholds import FEW_VIDEOS
from siming_tasks.common.printed_value import counted
from siming_tasks.common.sanitize import literal, one_line
from siming_tasks.study.analysis.comparison import Comparison
from siming_tasks.study.analysis.physicians import physician_sentence
from siming_tasks.study.analysis.verdicts import Answers, four_answers, no_video_sentence
from siming_tasks.study.report.standings import Standing
from siming_tasks.study.words import named_people, say

MOST = 3
"""Judges that are named in a list; of more the number is told."""


def answer_lines(standing: Standing) -> list[tuple[str, str]]:
    """The answer and its sentence: who leads, who saw the video, the comparison with physicians, what may be cited.

    Plain text with names of runs in it: escape it. One line where nothing can be compared.
    """
    made = standing.comparison
    if made is None:
        return [("Not compared", standing.why)]
    answers = four_answers(made)
    judged = [each for each in answers if each.run in made.judged]
    beside, told = _beside(made, judged)
    return [
        (_leader(answers), made.sentence()),
        (f"Use of the video: {_saw(judged)}", _unseen(standing, made)),
        (named_people(f"Compared with the physicians: {beside}", standing.people), named_people(told, standing.people)),
        _cited(standing, made, judged),
    ]


def answer_list(standing: Standing) -> str:
    """The lines as a list in Markdown."""
    return "\n".join(f"- **{literal(head)}.** {literal(said)}" for head, said in answer_lines(standing))


def _leader(answers: Sequence[Answers]) -> str:
    """Head of the first line: whoever leads, a tie with its size, or none."""
    tied = [each.run for each in answers if each.leads == "tie"]
    heads = {"alone": "One judge", "same answers": "The same answers"}
    for each in answers:
        if each.leads == "leader" or each.leads in heads:
            return heads.get(each.leads, f"Leader: {each.run}")
    return f"Tie of {len(tied)}" if len(tied) > 1 else "No leader"


def _saw(judged: Sequence[Answers]) -> str:
    if len(judged) == 1:
        return judged[0].sees_video
    return f"shown for {sum(each.sees_video == 'shown' for each in judged)} of {len(judged)}"


def _unseen(standing: Standing, made: Comparison) -> str:
    """The tests beside the no-video baselines, and the largest value of one that these judges were tested against."""
    others = {f"{SHUFFLED} of {run}" for run in made.runs if run not in made.judged}
    best = next((row for row in standing.rows if row.role == "no_video" and row.source not in others
                 and row.value and row.value.value is not None), None)  # fmt: skip
    said = [no_video_sentence(made, made.judged)]
    if best:
        said.append(say("best baseline", name=best.name, value=best.value, metric=standing.metric))
    return " ".join(filter(None, said))


def _beside(made: Comparison, judged: Sequence[Answers]) -> tuple[str, str]:
    """The claim about the best judge that stands beside the physicians, its sentence, and the claims of the others."""
    held = [each for each in judged if each.run in made.physicians]
    if not held:
        return "not tested", say("no physicians")
    first, *others = held
    said = physician_sentence(made.physicians[first.run], first.run, made.answer, made.unseen)
    counts = Counter(each.physicians for each in others)
    if counts:
        told = ", ".join(f"{number} {claim}" for claim, number in counts.items())
        said += f" {say('other judges', others=counted(counts.total(), 'other judge'), told=told)}"
    return first.physicians, said


def _cited(standing: Standing, made: Comparison, judged: Sequence[Answers]) -> tuple[str, str]:
    """Sentences on what may be cited of whom, with the limits that hold for all."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for each in judged:
        if each.cite:
            alike.setdefault(each.cite, []).append(each.run)
    head = f"May be cited: {'of ' + _some([run for runs in alike.values() for run in runs]) if alike else 'nothing'}"
    return head, " ".join(_limits(standing, made, alike))


def _limits(standing: Standing, made: Comparison, alike: dict[tuple[str, ...], list[str]]) -> Iterator[str]:
    if standing.synthetic:
        yield say("synthetic cited")
    yield from (say("cited", judges=_some(runs), what=", ".join(what)) for what, runs in alike.items())
    exams = counted(made.videos, "exam")
    yield say("pilot" if made.videos < FEW_VIDEOS else "exams counted", exams=exams, few=FEW_VIDEOS)
    if made.facts.get("allowed"):
        yield say("allowed", what=", ".join(made.facts["allowed"]))
    if standing.rubric:
        yield say("rubric status", status=re.split(r"(?<=[.。])\s", one_line(standing.rubric))[0].rstrip("."))
    yield say("not for people")


def _some(runs: Sequence[str]) -> str:
    return ", ".join(runs) if len(runs) <= MOST else f"{len(runs)} judges"
