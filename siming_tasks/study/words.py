"""Every sentence that the pages of a report and of a board show with their numbers: each says one thing.

Text in braces is filled in; what is not ours (a run's or a rater's name) is escaped where it is printed. What runs,
rows and rubrics say of themselves (replies, reasons, criteria) is data and is kept with the data.
"""

from __future__ import annotations

from collections.abc import Mapping

from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.reasons import Flag, Reason
from siming_tasks.benchmark.metrics.thresholds import FEW_CLUSTERS, FEW_ERRORS, FEW_VIDEOS, FEWEST, FEWEST_EFFECTIVE

WORDS: Mapping[str, str] = {
    # every page
    "synthetic": "Exams or labels are simulated: no number here says anything about real exams.",
    "machines": "No person gave points here: the reference is the labels of {machines}.",
    "withheld": "The labels are withheld: nothing can be compared here.",
    "nothing answered": "No step has both a label and an answer: nothing can be compared here.",
    "facts": "{runs} on {exams} of the data set {name}, {steps} each.",
    "reference": "The reference is {rater}.",
    "intervals": "Brackets are 95 % intervals over {clusters}.",
    # the verdicts: of the judges
    "alone": "{judge} agrees with the reference by {value} in {metric}, over {over}.",
    "alone undefined": "{judge} has no value in {metric}, over {over} ({why}).",
    "no pair": "Fewer than two judges can be ranked in {metric}, over {over}{why}.",
    "pair better": "{first} agrees better with the reference than {second}: by {size} in {metric}{p}, over {over}.",
    "pair open": "It is open which agrees better with the reference, {first} or {second}: they differ by {size} in "
    "{metric}{why}, over {over}.",
    "same answers": "{named} give the same answers, over {over}: they are the same run, or copies of it.",
    "pair not tested": "{first} and {second} are not tested: {why}, over {over}.",
    "none": "No judge agrees with the reference better than chance in {metric}, over {over}; the largest: {first}.",
    "best": "{first} agrees better with the reference than each of the {others} others in {metric}, over {over}.",
    "may be best": "{named} lead in {metric}; {over} cannot tell these {top} of {judges} judges apart.",
    # ... of the physicians
    "physicians as good": "{judge} agrees with the physicians as well as they do with each other, within {margin:g} "
    "{metric} (difference {size}).",
    "physicians better": "{judge} agrees better with the physicians than they do with each other; the difference "
    "in {metric} is {size}.",
    "physicians worse": "{judge} agrees less well with the physicians than they do with each other; the difference "
    "in {metric} is {size}.",
    "physicians open": "It is open whether {judge} agrees with the physicians as well as they do with each other: the "
    "difference is {size} {metric}.",
    "physicians not tested": "Whether {judge} agrees with the physicians as well as they do with each other is not "
    "tested here. {why}",
    "cannot tell": "The test cannot tell here: {judges}, without any video, passes it too (margin {margin}).",
    "single": "With single physicians as the reference {judge} has a {metric} of {single}.",
    "copy": "Its answers are the points of {physician}, who is left out.",
    "copies": "{pair} gave the same points to every step that both scored, in {videos}: one may be a copy of "
    "the other.",
    "pairs of raters": "The mean of the pairs weighs each pair alike; videos that both scored: {pairs}.",
    # ... of the no-video baselines
    "beats": "{judges} better with the reference than each of the {tried} no-video baselines tried "
    "here{others}{columns}.",
    "beats none": "It is not shown that {judges} agrees better with the reference than each of the {tried} no-video "
    "baselines tried here{lead}{columns}.",
    "columns": "; they know, column by column, {columns}",
    "student column": "the same student's other exams",
    "leak": "The column {column} alone tells which steps are wrong (AUROC {area:.2f}): "
    "it leaks the labels and is not a baseline.",
    "never tested": "{judge} is not tested against the no-video baselines: {why}.",
    "best baseline": "The best of these baselines, {name}, has {value} {metric}.",
    # ... of what may be cited, and what else the first lines say
    "no physicians": "There is no test: fewer than two physicians scored these exams, or no "
    "judge can be compared with them.",
    "other judges": "Of {others}: {told}.",
    "cited": "{judges}: {what}.",
    "synthetic cited": "The exams or labels are SYNTHETIC.",
    "pilot": "The numbers are of {exams}, fewer than {few}: a pilot.",
    "exams counted": "The numbers are of {exams}.",
    "allowed": "The runs may differ in {what} (--allow).",
    "rubric status": "Status of the rubric: {status}.",
    "not for people": "Not for scoring people.",
    # the comparison
    "band": "green: inter-physician agreement",
    "zone": "grey: no-video baselines",
    "missing": "A missing answer counts as full points or as “correct”.",
    "rank": "a range such as 1 to 3 means that the tests cannot tell these ranks apart.",
    "with each": "agreement with each physician, averaged; the difference is from inter-physician agreement, which is "
    "compared with this column only.",
    "over": "the judge minus the no-video baseline whose test decides; the answers of that baseline are taken as "
    "given.",
    "than": "ranked judges that it beats beyond chance.",
    "answered": "share of the asked steps that have an answer.",
    "detectable": "With {exams}, only differences of about {value} or more are detected with 80 % power.",
    "pairs": "Each difference is the first judge minus the second; p is corrected for {tests} (Holm).",
    "no largest group": "These runs used different questions or input, and no group of comparable runs is larger than "
    "every other: none is ranked.",
    "apart": "These runs used other questions or input and cannot be compared with those above.",
    # why a judge has no rank, and what else a row says
    "reference judge": "A reference judge is not ranked.",
    "supervised": "A judge that learnt from these labels is not ranked.",
    "asked": "It was asked {part}.",
    "partial": "It answered less than 95 % of the steps.",
    "constant": "All its answers are the same.",
    "not comparable": "‡ rests on less than 95 % of the asked steps: neither ranked nor tested.",
    "only these": "The interval is of exams {whose} and says nothing of others.",
    # a judge
    "miss": "A missed error is a step with less than full points that the judge called fully correct; a false alarm is "
    "the opposite.",
    "short": "{setting}: the run has replies to {have:,} of {asked}; the others count as missing.",
    "failed": "{setting}: {failed} failed before any model answered; they count as missing.",
    "no labels": "No step has both a label and an answer: there is nothing to break down.",
    # an exam
    "hint": "Choose a cell or a span: the video goes to that step, and the reply appears here.",
    "keys": "Keys: arrows move, Enter opens, Space plays the step, j and k go to the next and the previous "
    "disagreement, p plays.",
    "totals": "Totals with missing steps are scaled up; none is shown below 80 % of the steps.",
    "exams": "Sorted by disagreement: exams that the {judges} get most wrong come first.",
    "no scripts": "The time line and the replies need scripts, which are switched off here.",
    "no media": "The report was made without videos (--video-files none).",
    "no video": "The video cannot be read from here ({path}): `siming view REPORT --data DIR` finds it.",
    "no parts": "This server does not support range requests, so the player cannot seek.",
    "no reply": "The run has no raw reply to this question.",
    "no place": "The answer was inferred from its position; the reply does not name the step.",
    "no prompt": "The words of this prompt are not known here ({prompt}).",
}


REASONS: Mapping[str, str] = {
    Reason.FEW_CLUSTERS: "Fewer than {fewest} {unit}s: no interval.",
    Reason.UNEVEN_CLUSTERS: "The {unit}s are so uneven that they count as fewer than {effective}: no interval.",
    Reason.UNDEFINED_WITHOUT_ONE: "No interval: undefined when one {unit} is left out.",
    Reason.PERFECT_CORRELATION: "No interval: the correlation is exactly 1 or -1, here or with one {unit} left out.",
    Reason.NO_VARIATION: "Leaving out any one {unit} does not change the value, so no interval can be computed.",
    Reason.UNDEFINED: "Undefined (0/0).",
    Reason.NOTHING_ANSWERED: "No step has both a reference and an answer.",
    Reason.NOT_ASKED: "No step was asked about.",
    Reason.ONE_LABEL: "Undefined (0/0): reference and judge give the same single label everywhere.",
    Reason.ONE_CLASS: "Undefined (0/0): the reference or the judge has a single class.",
    Reason.NONE_CALLED_WRONG: "Undefined (0/0): no step was called wrong.",
    Reason.NONE_CALLED_CORRECT: "Undefined (0/0): no step was called correct.",
    Reason.NONE_WRONG: "Undefined (0/0): no step is wrong in the reference.",
    Reason.NONE_CORRECT: "Undefined (0/0): no step is correct in the reference.",
    Reason.NONE_WRONG_OR_CALLED_SO: "Undefined (0/0): no step is wrong in the reference or was called so.",
    Reason.NONE_CORRECT_OR_CALLED_SO: "Undefined (0/0): no step is correct in the reference or was called so.",
    Reason.FEW_TOTALS: "Fewer than three videos have a total.",
    Reason.EQUAL_REFERENCE_TOTALS: "Undefined (0/0): every total by the reference is the same.",
    Reason.EQUAL_JUDGE_TOTALS: "Undefined (0/0): every total by the judge is the same.",
    Reason.EQUAL_TOTALS: "Undefined (0/0): every total by the reference and by the judge is the same.",
    Reason.LEARNT: "It is learnt from these labels: no interval of its own.",
    Reason.SAME_TOTAL_BY_DESIGN: "It gives every video the same total; only the labels left out differ.",
    Reason.NOT_SHUFFLED: "No step has both a reference and an answer, or all of them are alike.",
    Reason.NO_SPAN_ANSWERED: "No step with a span was answered.",
    Reason.NO_PART_NAMED: "No part of the video was named.",
    Reason.NO_ERROR_NAMED: "No error is stated or named.",
}
"""The sentence on why a number or its interval is not there; a number's unit is filled in."""


def say(key: str, /, people: str = "physicians", **values: object) -> str:
    """A sentence; ``people`` is the noun for those who scored.

    Example:
        >>> say("reference", rater="rater_b")
        'The reference is rater_b.'
    """
    return named_people(WORDS[key], people).format(**values)


def named_people(text: str, people: str) -> str:
    """One of our texts with the noun for those who scored; our texts say physicians.

    Example:
        >>> named_people("Physicians agree; with one physician", "raters")
        'Raters agree; with one rater'
    """
    if people == "physicians":
        return text
    return text.replace("physician", people[:-1]).replace("Physician", people[:-1].capitalize())


FLAGS: Mapping[str, str] = {
    Flag.FEW_VIDEOS: f"Fewer than {FEW_VIDEOS} videos: such intervals can be too short.",
    Flag.FEW_CLUSTERS: f"The clusters count as fewer than {FEW_CLUSTERS}, few or uneven as they are: intervals are "
    "long and rough.",
    Flag.FEW_ERRORS: f"Fewer than {FEW_ERRORS} steps are wrong in the reference: the value rests on these few.",
    Flag.NOT_COMPARABLE: say("not comparable"),
    Flag.THESE_SITES: say("only these", whose="at these sites"),
    Flag.THESE_STUDENTS: say("only these", whose="of these students"),
    Flag.THESE_PERFORMANCES: "Videos of one performance are taken as independent: the interval is too short.",
}
"""The sentence on each flag of an estimate."""


def reason(found: Estimate) -> str:
    """The sentence on why an estimate has no value or no interval; empty where it has both.

    Example:
        >>> from siming_tasks import Estimate
        >>> reason(Estimate(0.5, unit="student", why="few-clusters")), reason(Estimate(0.5, why="An analysis says so."))
        ('Fewer than 5 students: no interval.', 'An analysis says so.')
    """
    if found.why not in REASONS:
        return found.why
    return REASONS[found.why].format(unit=found.unit, fewest=FEWEST, effective=FEWEST_EFFECTIVE)


def notes(found: Estimate) -> tuple[str, ...]:
    """The reason and the flags of an estimate, as sentences to print."""
    return ((reason(found),) if found.why else ()) + flag_notes(found)


def flag_notes(found: Estimate) -> tuple[str, ...]:
    """The sentences on the flags of an estimate; those on its interval only where it has one."""
    of_value = (Flag.FEW_ERRORS, Flag.NOT_COMPARABLE)
    return tuple(FLAGS[flag] for flag in found.flags if found.low is not None or flag in of_value)
