"""Verdict on a setting: the best judge, how sure that is, its distance to physicians and no-video baselines.

Every claim is a paired test, corrected by Holm over its family in all settings: all pairs of the ranked runs; each
ranked run against the physicians; each ranked run against the no-video baselines. In words, a sentence is a list of
parts, each a text and whether it is the name of a run, so that a page can set the name apart and Markdown can escape
it; no sentence claims what :func:`build_verdict` has not tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from siming_tasks.analysis.comparison import Comparison
from siming_tasks.analysis.human_ceiling import rater_agreement
from siming_tasks.analysis.paired_tests import holm
from siming_tasks.analysis.physician_equivalence import physician_equivalence
from siming_tasks.analysis.rater_agreement import rater_pairs, rater_references
from siming_tasks.analysis.video_contribution import hardest_baseline, no_video_matrices
from siming_tasks.common.sanitize import literal
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.thresholds import ALPHA, TRUSTED
from siming_tasks.options import Options
from siming_tasks.report.formatting import (
    named_people,
    page_estimate,
    page_interval,
    page_number,
    page_percent,
    page_pvalue,
    page_signed,
)


class RankedRun(NamedTuple):
    """A run that is ranked: its answers, and the shuffle p of its headline (None if it is undefined)."""

    name: str
    matrix: ScoreMatrix
    shuffle_p: float | None


def run_tests(
    ranked: Sequence[RankedRun], dataset: Dataset, setting: str, metric: str, options: Options
) -> dict[str, dict[str, Any]]:
    """Tests of the ranked runs against the physicians and the no-video baselines, as plain JSON, not yet corrected.

    Returns:
        ``humans`` (empty without two physicians) and ``no_video``: by run, the test with its ``p``; ``agreement``: of
        the ``runs`` and of the ``no_video`` baselines, the mean with the physicians and that with ``each`` of them.
    """
    return {
        "humans": _against_physicians(ranked, dataset, setting, metric, options),
        "no_video": _against_no_video(ranked, metric, options),
        "agreement": _with_physicians(ranked, dataset, setting, metric, options),
    }


def correct_tests(boards: Sequence[Mapping[str, Mapping[str, dict[str, Any]]]]) -> None:
    """Correct :func:`run_tests` of several settings, in place: each kind of test is one family of Holm over them all.

    Each test gets ``p_holm`` and, against the physicians, ``side`` (0 if no difference is found), against the no-video
    baselines ``beats``. ``equivalence`` with the physicians gets ``not_inferior`` and ``equivalent``, which are False
    where a no-video baseline meets the margin as well.
    """
    for kind in ("humans", "no_video"):
        tests = [test for board in boards for test in board[kind].values()]
        for test, p in zip(tests, _holm([test["p"] for test in tests]), strict=True):
            found = p is not None and p <= ALPHA
            test |= {"p_holm": p}
            test |= {"beats": found} if kind == "no_video" else {"side": int(np.sign(test["value"])) if found else 0}
    claims = [test["equivalence"] for board in boards for test in board["humans"].values()]
    for key, name in (("p_inferior", "not_inferior"), ("p_different", "equivalent")):
        for claim, p in zip(claims, _holm([claim[key] for claim in claims]), strict=True):
            claim |= {f"{key}_holm": p, name: p is not None and p <= ALPHA and not claim["passed_unseen"]}


def build_verdict(
    names: Sequence[str], comparison: Comparison | None, metric: str, tests: Mapping[str, Mapping[str, dict[str, Any]]]
) -> dict[str, Any]:
    """Results of the tests of the ranked runs, as plain JSON.

    Args:
        names: runs that answered enough of the same questions.
        comparison: of them; None for fewer than two.
        metric: that orders the table.
        tests: of :func:`run_tests`, corrected.

    Returns:
        ``top``: the runs that may be the best (:attr:`siming_tasks.analysis.ranks.RunRank.may_be_best`), the largest
        value first (one: the best; several: they cannot be told apart); ``behind``: the others, each of which some run
        is better than; ``tested``: whether there was a test of every pair;
        ``pairs``: how many; ``humans``, ``no_video`` and ``agreement``: those of :func:`run_tests`.
    """
    best: dict[str, Any] = {"top": [] if comparison else names, "behind": [], "tested": False, "pairs": 0}
    if comparison and (ranks := comparison.ranks.get(metric)):
        value = {name: comparison.imputed[name][metric].value or 0.0 for name in ranks}
        order = sorted(ranks, key=lambda name: (ranks[name].rank, -CATALOGUE[metric].sign * value[name], name))
        pairs = [item for item in comparison.differences if item.metric == metric and {item.a, item.b} <= {*ranks}]
        tested = sum(item.p_holm is not None for item in pairs)
        best = {
            "top": [name for name in order if ranks[name].may_be_best],
            "behind": [name for name in order if not ranks[name].may_be_best],
            "tested": tested == len(pairs) == math.comb(len(ranks), 2),
            "pairs": tested,
        }
    return {"runs": list(names), **best, **tests}


def _against_physicians(
    ranked: Sequence[RankedRun], dataset: Dataset, setting: str, metric: str, options: Options
) -> dict[str, Any]:
    """By run, agreement with the physicians minus theirs with each other, and its equivalence within a margin."""
    if not ranked or not rater_pairs(dataset, setting):
        return {}
    tests = {}
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    for run in ranked:
        references = rater_references(dataset, setting, run.matrix)
        found = physician_equivalence(run.matrix, references, no_video_matrices(run.matrix), **how)
        tests[run.name] = plain(found.difference._asdict())
        tests[run.name]["equivalence"] = {
            "margin": found.margin,
            "margin_from": found.margin_from,
            "p_inferior": found.judge.p_inferior,
            "p_different": found.judge.p_different,
            "passed_unseen": list(found.passed_unseen),
        }
    return tests


def _with_physicians(
    ranked: Sequence[RankedRun], dataset: Dataset, setting: str, metric: str, options: Options
) -> dict[str, Any]:
    """By run and no-video baseline, agreement with the physicians on the scale of theirs with each other."""
    if not ranked or not rater_pairs(dataset, setting):
        return {}
    first = ranked[0].matrix
    matrices = {name.replace("-", " "): panel for name, panel in no_video_matrices(first).items()}
    matrices = {name: panel for name, panel in matrices.items() if panel.answered.any()}

    def agreement(matrix: ScoreMatrix) -> Any:
        references = rater_references(dataset, setting, matrix)
        mean, each = rater_agreement(matrix, *references, mapping=options.mapping, positive=options.positive)[metric]
        return plain({"value": mean.value, "low": mean.low, "high": mean.high, "each": list(each)})

    return {
        "runs": {run.name: agreement(run.matrix) for run in ranked},
        "no_video": {name: agreement(panel) for name, panel in matrices.items()},
    }


def _against_no_video(ranked: Sequence[RankedRun], metric: str, options: Options) -> dict[str, Any]:
    """By run, the test that it beats every no-video baseline: the largest of the p-values against each of them.

    ``over`` is that baseline; where no test is defined, it and p are None.
    """
    tests = {}
    for run in ranked:
        how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
        over, lead = hardest_baseline(run.matrix, metric, run.shuffle_p, **how)
        tests[run.name] = {"over": None, "p": None} if math.isnan(lead.p) else {"over": over, "p": lead.p}
    return tests


def _holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's p of those that are known; None for the others."""
    values = np.array([math.nan if value is None else value for value in p], float)
    known = ~np.isnan(values)
    values[known] = holm(values[known])
    return [None if math.isnan(value) else value for value in values.tolist()]


Sentence = list[tuple[str, bool]]
RUN = "\0"
"""Stands for the name of a run while a sentence is written; no text that is shown holds it."""
_SCALES = {
    "qwk": "1: every label as the reference has it; 0: no better than chance or a constant; larger is better",
    "mcc": "1: every error found and none invented; 0: no better than chance or a constant; larger is better",
}


def describe_scale(metric: str) -> str:
    """Meaning of the ends of the headline metric's scale, in words."""
    row = CATALOGUE[metric]
    up = "larger" if row.higher_is_better else "smaller"
    return _SCALES.get(metric, f"{page_number(row.low, 0)} to {page_number(row.high, 0)}; {up} is better")


def _sentence(text: str, *names: str) -> Sentence:
    """The parts of a text in which each :data:`RUN` stands for the next of the names."""
    first, *others = text.split(RUN, len(names))  # a reason that is quoted may hold anything
    parts: Sentence = [(first, False)]
    for name, words in zip(names, others, strict=True):
        parts += [(name, True), (words, False)]
    return parts


def verdict_sentences(board: Mapping[str, Any]) -> list[Sentence]:
    """The whole verdict: the headline, the physicians, the no-video baselines, what is not ranked."""
    people = board["estimand"]["people"]
    first = _headline(board) if board["verdict"]["runs"] else _nobody_ranked(board)
    said = [first, *_physician_sentences(board), *_no_video_sentences(board), *_unranked_sentences(board)]
    return [[(text if name else named_people(text, people), name) for text, name in sentence] for sentence in said]


def verdict_markdown(board: Mapping[str, Any]) -> str:
    """The whole verdict and how its tests are corrected as Markdown; the first sentence in bold, names escaped."""
    first, *others = (
        "".join(literal(text) if is_name else text for text, is_name in sentence)
        for sentence in verdict_sentences(board)
    )
    return " ".join([f"**{first}**", *others, describe_corrections(board)]).strip()


class Lamp(NamedTuple):
    """One of the three things that a verdict rests on: ``yes``, ``partly``, ``no`` or ``unknown``, and the numbers."""

    state: Literal["yes", "partly", "no", "unknown"]
    title: str
    why: str


def verdict_lamps(board: Mapping[str, Any]) -> list[Lamp]:
    """Is it the best, does it see the video, are there enough exams? All of the first of the ranked runs."""
    verdict, clusters, unit = board["verdict"], board["estimand"]["clusters"], board["estimand"]["unit"]
    top, runs = verdict["top"], len(verdict["runs"])
    if not runs:
        best = Lamp("unknown", "Nobody is ranked", "no run is complete enough")
    elif runs == 1 or not verdict["tested"] or clusters < board["fewest"]:
        best = Lamp("unknown", f"One of {runs}" if runs > 1 else "The only one ranked", "not tested against another")
    else:
        tests = f"{verdict['pairs']} paired test{'s' if verdict['pairs'] != 1 else ''}, Holm"
        alone = len(top) == 1
        best = Lamp(
            "yes" if alone else "partly", f"Best of {runs}" if alone else f"Tie of {len(top)} among {runs}", tests
        )
    sees = verdict["no_video"].get(next(iter(top or verdict["runs"]), None), {"p": None})
    if sees["p"] is None or clusters < board["fewest"]:
        seen = Lamp("unknown", "Sees the video?", "not tested against judges that see none")
    else:
        against = (
            f"against {sees['over'].replace('-', ' ')}, the hardest that sees none: p {page_pvalue(sees['p_holm'])}"
        )
        seen = (
            Lamp("yes", "Sees the video", against)
            if sees["beats"]
            else Lamp("no", "Not shown to see the video", against)
        )
    count = f"{clusters} {unit}{'s' if clusters != 1 else ''}; {TRUSTED} for an interval to be trusted"
    if clusters >= TRUSTED:
        return [best, seen, Lamp("yes", "Enough exams", count)]
    few = f"{count}, {board['fewest']} for any test"
    return [
        best,
        seen,
        Lamp("partly", "Few exams", few) if clusters >= board["fewest"] else Lamp("no", "Too few exams", few),
    ]


def _headline(board: Mapping[str, Any]) -> Sentence:
    """The best judge in one sentence."""
    verdict, rows = board["verdict"], {row["name"]: row for row in board["rows"]}
    ranked, top, behind = (verdict[key] for key in ("runs", "top", "behind"))
    metric = CATALOGUE[board["metric"]].title.removesuffix(" (quadratic)")
    kind = "model" if board["models"] else "reference judge"

    def value(name: str) -> str:
        return page_estimate(rows[name]["imputed"][board["metric"]])

    first = top[0] if top and len(ranked) > 1 else ranked[0]
    if len(ranked) == 1:
        others = sum(row["slug"] is not None for row in board["rows"]) > 1
        only = "is the only one that can be ranked" if others else "was run alone"
        return _sentence(f"{RUN} {only}: {metric} {value(first)}.", first)
    if board["estimand"]["clusters"] < board["fewest"]:
        most = f"has the largest {metric} of {len(ranked)} {kind}s, {value(first)}"
        return _sentence(
            f"{RUN} {most}; below {board['fewest']} {board['estimand']['unit']}s nothing is tested.", first
        )
    if len(top) == 1:
        ahead = f"the other {kind}" if len(behind) == 1 else f"each of the other {len(behind)} {kind}s"
        return _sentence(f"Best: {RUN}, {metric} {value(first)}, ahead of {ahead} beyond chance.", first)
    rest = "the other is" if len(behind) == 1 else f"each of the other {len(behind)} is"
    tail = f"; {rest} behind one of them beyond chance" if behind else ""
    if len(top) == 2:
        text = f"{RUN} ({metric} {value(first)}) and {RUN} ({value(top[1])}) cannot be told apart{tail}."
        return _sentence(text, *top)
    if not behind:
        none = f"None of the {len(top)} {kind}s can be told apart from the first"
        return _sentence(f"{none}, {RUN}, {metric} {value(first)}.", first)
    may = f"{len(top)} of {len(top) + len(behind)} {kind}s may be the best"
    return _sentence(f"{may}: {RUN} has the largest {metric}, {value(first)}{tail}.", first)


def _nobody_ranked(board: Mapping[str, Any]) -> Sentence:
    """The reason why no run is ranked."""
    judges = [(row["name"], row["metrics"][board["metric"]]) for row in board["rows"] if row["slug"]]
    if not judges:
        return _sentence("Only physicians and no-video baselines were run: there is no model to judge.")
    if all(estimate["value"] is None for _, estimate in judges):
        runs, be = ("run", "is") if len(judges) == 1 else (f"{len(judges)} runs", "are")
        if not any(row["role"] == "no_video" for row in board["rows"]):
            return _sentence(f"The labels are withheld: how good the {runs} {be} cannot be said.")
        return _sentence(f"Nothing can be said of the {runs}: no step that has a label was answered.")
    name, fullest = max(judges, key=lambda judge: judge[1]["coverage"] or 0.0)
    if fullest["undefined"]:
        return _sentence(f"No run can be ranked: the {CATALOGUE[board['metric']].title} of {RUN} is undefined.", name)
    share = page_percent(fullest["coverage"])
    most = f"answered most, {share} of what it was asked"
    return _sentence(f"No run is complete enough to be ranked; {RUN} {most}.", name)


def _physician_sentences(board: Mapping[str, Any]) -> Iterator[Sentence]:
    verdict, humans = board["verdict"], [row for row in board["rows"] if row["role"] == "human"]
    if not any(row["role"] == "no_video" for row in board["rows"]):
        return  # no labels at all
    if not humans:
        people = "physicians" if board["estimand"]["people"] == "physicians" else "people"
        yield _sentence(f"No two {people} scored the same steps, so there is no human ceiling.")
        return
    values = [page_estimate(row["imputed"][board["metric"]]) for row in humans]
    line = f"Physicians agree with each other at {' and '.join(values)}"
    first = next(iter(verdict["top"] or verdict["runs"]), None)
    gap = verdict["humans"].get(first)
    if gap is None or gap["value"] is None:
        yield _sentence(f"{line}.")
        return
    way = "more than they do with each other" if gap["value"] > 0 else "less than they do with each other"
    sure = f"{way} (p {page_pvalue(gap['p_holm'])})" if gap["side"] else _no_difference(gap["equivalence"])
    sure = "not tested" if gap["p_holm"] is None else sure
    difference = page_signed(gap["value"]) + page_interval(gap, signed=True)
    text = f"{line}; {RUN}’s agreement with them differs from that by {difference}: {sure}."
    yield _sentence(text, str(first))


def _no_difference(claim: Mapping[str, Any]) -> str:
    """Words for a difference from the physicians that is not significant, which alone shows no equivalence."""
    margin = page_number(claim["margin"])
    if claim["passed_unseen"]:
        names = ", ".join(name.replace("-", " ") for name in claim["passed_unseen"])
        return f"no difference beyond chance; the test cannot tell here, as {names} meets its margin of {margin} too"
    if claim["equivalent"]:
        return f"equivalent within {margin} (two one-sided tests), as no no-video baseline is"
    if claim["not_inferior"]:
        return f"not inferior by {margin}, as no no-video baseline is"
    return f"no difference beyond chance, but a deficit of {margin} is not ruled out"


def _no_video_sentences(board: Mapping[str, Any]) -> Iterator[Sentence]:
    no_video = board["verdict"]["no_video"]
    tested = {name: item for name, item in no_video.items() if item["p"] is not None}
    won = sum(item["beats"] for item in tested.values())
    if not no_video or board["estimand"]["clusters"] < board["fewest"]:
        return
    if not tested:
        yield _sentence("Whether it beats the no-video baselines cannot be tested.")
    elif len(tested) == 1:
        (item,) = tested.values()
        over = "" if won else f" (not beyond chance: {item['over'].replace('-', ' ')})"
        yield _sentence(f"It {'beats' if won else 'does not beat'} every no-video baseline{over}.")
    elif not won:
        yield _sentence(f"None of the {len(tested)} beats every no-video baseline.")
    else:
        kind = "models" if board["models"] else "judges without a model"
        all_of = f"All {len(tested)}" if won == len(tested) else f"{won} of {len(tested)}"
        yield _sentence(f"{all_of} {kind} {'beats' if won == 1 else 'beat'} every no-video baseline.")


def _unranked_sentences(board: Mapping[str, Any]) -> Iterator[Sentence]:
    if not board["verdict"]["runs"]:
        return
    judges = [row for row in board["rows"] if row["slug"] and (row["role"] == "model" or not board["models"])]
    out = [row for row in judges if row["unranked"]]
    if len(out) == 1:
        yield _sentence(f"{RUN} is not ranked: {out[0]['unranked']}", out[0]["name"])
    elif out:
        yield _sentence(f"{len(out)} runs are not ranked.")
    if board["videos"] < board["of"]:
        yield _sentence(f"This rests on {board['videos']} of {board['of']} videos.")


def describe_corrections(board: Mapping[str, Any]) -> str:
    """The tests and their corrections in a sentence; empty if there was none."""
    verdict = board["verdict"]
    humans, no_video = (
        sum(item["p_holm"] is not None for item in verdict[key].values()) for key in ("humans", "no_video")
    )
    families = [
        (verdict["pairs"], "pair", "pairs of runs"),
        (humans, "difference from the physicians", "differences from the physicians"),
        (no_video, "test against the no-video baselines", "tests against the no-video baselines"),
    ]
    people = board["estimand"]["people"]
    counts = [f"{n} {named_people(plural if n > 1 else singular, people)}" for n, singular, plural in families if n]
    if not counts:
        return ""
    listed = counts[0] if len(counts) == 1 else f"{', '.join(counts[:-1])} and {counts[-1]}"
    families_of = "Holm’s correction within each family over all settings"
    return f"Paired tests over {board['estimand']['unit']}s, missing answers imputed; {families_of}; here {listed}."
