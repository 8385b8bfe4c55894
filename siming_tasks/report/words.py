"""Every sentence that pages, files and cards of a report print beside their numbers; each says one thing.

Text in braces is filled in; what is not ours (a run's or a rater's name) is escaped where it is printed. Titles and
captions of the tables stand beside their numbers (:func:`siming_tasks.analysis.tables.table_texts`).
"""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    # every page
    "synthetic": "Simulated exams, labels and raters: no number here says anything about how a model, or a physician, "
    "judges real exams.",
    "machines": "No person gave points here: the reference is the labels of {machines}.",
    "withheld": "The labels are withheld: there is nothing that an answer could be compared with.",
    "facts": "{runs} on {exams} of {name} {version}, {steps} rubric steps.",
    "reference": "The reference is {rater}.",
    "intervals": "Intervals hold 95 %, over {clusters}.",
    # the comparison
    "alone": "{judge} agrees with the reference by {value} in {metric}, over {over}.",
    "figure": "Each mark is a judge, and its line a 95 % interval.",
    "figure_physicians": "The green band is how well the physicians agree with each other; compare it with the upper "
    "marks alone.",
    "figure_zone": "The grey zone ends where the best judge that never looks at a video ends.",
    "figure_pale": "Pale judges are not ranked.",
    "missing": "A missing answer counts as full points, or as “correct”: leaving a step out gains nothing.",
    "rank": "Rank, and the ranks that chance leaves open.",
    "with_physicians": "Mean agreement with each physician; below it, that minus the physicians’ agreement with each "
    "other.",
    "over": "The judge minus the best judge that never looks at a video; ✓ where it is better than every one of them "
    "beyond chance.",
    "better": "Ranked judges that it is better than, beyond chance after Holm’s correction over all pairs.",
    "answered": "Share of the asked steps that have an answer.",
    "detectable": "A difference of {value} would have been found in four of five such studies.",
    "further": "Every value counts missing answers in the same way; what was answered alone is on the judge’s page.",
    "pairs": "The first judge minus the second, over the same exams; p is corrected over {tests} tests by Holm.",
    "apart": "These runs were asked otherwise, shown otherwise, or asked about other exams: their values do not stand "
    "beside those above.",
    # a judge
    "judge": "What this run got right and wrong, and what it was shown.",
    "disagreements": "Where it disagrees with {rater}: a link leads to the second in the exam.",
    "miss": "A missed error is a step with less than full points that it called fully correct; a false alarm is the "
    "opposite.",
    "worst": "The exams and steps where its points are furthest away.",
    "no_labels": "No step has both a label and an answer: there is nothing to break down.",
    "unread": "Replies that were not read whole, the beginning of each; a link leads to the whole reply.",
    "cost": "What its requests took.",
    # an exam
    "hint": "Choose a cell or a span: the video goes to the step, and the reply stands here beside what it should "
    "have seen.",
    "keys": "Arrow keys move, Enter opens, Space plays the step, j and k go to the next and the last disagreement, p "
    "plays and pauses.",
    "colours": "Colours are labels: those of the reference’s, a physician’s or a judge’s points; a verdict “incorrect” "
    "has the middle one.",
    "shapes": "Shapes are differences from the reference; a dash is a missing answer; an empty cell was not asked.",
    "incomplete": "Where a total says how many steps it rests on, the others are unanswered: points are prorated, and "
    "below 80 % of the steps there is no total.",
    "no_media": "The report was made without videos (--video-files none).",
    "exams": "Worst first: the share of steps in which {judges} miss an error or invent one.",
    # the board
    "board": "Every number is computed here from the predictions as they were sent.",
    "verified": "Verified: the host ran the model again, and the run {same}.",
    "findings": "Findings are automatic checks; they say what is odd, not why.",
    # a card
    "not_clinical": "This is agreement with raters on one set of exams. It does not show that the model may pass or "
    "fail a person, teach without a physician, or be used on patients.",
    "training": "It is not known here whether the model was trained on these recordings or their labels.",
}

NO_MODEL: Mapping[str, str] = {
    "reference": "Reference judge, no model: not ranked.",
    "supervised": "Learnt from these labels: not ranked.",
}
"""Why a judge of such a role has no rank beside models."""

ROLE_TITLES: Mapping[str, str] = {
    "model": "model",
    "reference": "reference judge: no model",
    "supervised": "supervised baseline: learnt from these labels",
    "human": "physicians",
    "no_video": "judge that never looks at a video",
}


def say(key: str, /, people: str = "physicians", **values: object) -> str:
    """A sentence; ``people`` is the noun for those who scored.

    Example:
        >>> say("reference", rater="rater_b")
        'The reference is rater_b.'
    """
    return named_people(WORDS[key], people).format(**values)


def named_people(text: str, people: str) -> str:
    """A text of ours with the noun for those who scored; ours say physicians.

    Example:
        >>> named_people("Physicians agree; with one physician", "raters")
        'Raters agree; with one rater'
    """
    if people == "physicians":
        return text
    return text.replace("physician", people[:-1]).replace("Physician", people[:-1].capitalize())
