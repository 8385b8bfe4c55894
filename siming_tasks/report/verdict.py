"""Verdict on a setting: the best judge, how sure that is, its distance to physicians and no-video baselines.

Every claim is a paired test over videos, corrected over its family by Holm: all pairs of the ranked runs; each ranked
run against the physicians; each ranked run against the no-video baselines. In words, a sentence is a list of parts,
each a text and whether it is the name of a run, so that a page can set the name apart and Markdown can escape it; no
sentence claims what :func:`build_verdict` has not tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from siming_tasks.analysis.comparison import Comparison
from siming_tasks.analysis.human_ceiling import human_difference
from siming_tasks.analysis.paired_tests import Paired, holm, paired_difference
from siming_tasks.analysis.rater_agreement import rater_pairs, rater_references
from siming_tasks.analysis.video_contribution import no_video_matrices
from siming_tasks.data import Dataset
from siming_tasks.metrics import ScoreMatrix
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import plain
from siming_tasks.metrics.sufficient_stats import Tally
from siming_tasks.metrics.thresholds import ALPHA, FEWEST
from siming_tasks.options import Options
from siming_tasks.report.formatting import (
    page_estimate,
    page_interval,
    page_number,
    page_percent,
    page_pvalue,
    page_signed,
)

__all__ = [
    "RankedRun",
    "Sentence",
    "build_verdict",
    "describe_corrections",
    "describe_scale",
    "headline_sentence",
    "plain_sentences",
    "shuffle_p_value",
    "verdict_sentences",
]


@dataclass(frozen=True, eq=False)
class RankedRun:
    """A run that is ranked: its answers, and the shuffle p of its headline (None if it is undefined)."""

    name: str
    matrix: ScoreMatrix
    shuffle_p: float | None


def build_verdict(
    ranked: Sequence[RankedRun],
    comparison: Comparison | None,
    dataset: Dataset,
    setting: str,
    metric: str,
    options: Options,
) -> dict[str, Any]:
    """Results of the tests of the ranked runs, as plain JSON.

    Args:
        ranked: runs that answered enough of the same questions.
        comparison: of them; None for fewer than two.
        dataset: with the physicians' labels, if there are any.
        setting: name.
        metric: that orders the table.
        options: label mapping and positive class.

    Returns:
        ``top``: the runs that none is better than, the largest value first (one: the best; several: they cannot be told
        apart); ``behind``: those that the first is better than; ``tested``: whether there was a test of every pair;
        ``pairs``: how many; ``humans`` and ``no_video``: by run, the test against the physicians (empty without two),
        and against the no-video baselines.
    """
    verdict: dict[str, Any] = {"runs": [run.name for run in ranked]}
    verdict |= {"top": [], "behind": [], "tested": False, "pairs": 0}
    if comparison is None:
        verdict["top"] = [run.name for run in ranked]
    else:
        verdict |= _best_runs(comparison, metric)
    verdict["humans"] = _against_physicians(ranked, dataset, setting, metric, options)
    verdict["no_video"] = _against_no_video(ranked, metric, options)
    return verdict


def _best_runs(comparison: Comparison, metric: str) -> dict[str, Any]:
    """The run with the best rank, those that it is not better than, and those that it is."""
    ranks = comparison.ranks.get(metric, {})
    value = {name: comparison.imputed[name][metric].value or 0.0 for name in ranks}
    order = sorted(ranks, key=lambda name: (ranks[name].rank, -CATALOGUE[metric].sign * value[name], name))
    if not order:
        return {}
    rows = [item for item in comparison.differences if item.metric == metric]
    beaten = {item.a if item.better == item.b else item.b for item in rows if item.better == order[0]}
    tested = [item for item in rows if item.p_holm is not None]
    return {
        "top": [name for name in order if name not in beaten],
        "behind": [name for name in order if name in beaten],
        "tested": len(tested) == len(rows),
        "pairs": len(tested),
    }


def _against_physicians(
    ranked: Sequence[RankedRun], dataset: Dataset, setting: str, metric: str, options: Options
) -> dict[str, Any]:
    """By run, agreement with the physicians minus theirs with each other; ``side`` is 0 if no difference is found."""
    if not ranked or not rater_pairs(dataset, setting):
        return {}
    scoring: Any = {"mapping": options.mapping, "positive": options.positive}
    gaps = [
        human_difference(run.matrix, *rater_references(dataset, setting, run.matrix), **scoring)[metric]
        for run in ranked
    ]
    corrected = _holm([gap.p for gap in gaps])
    return {run.name: _gap(gap, p) for run, gap, p in zip(ranked, gaps, corrected, strict=True)}


def _gap(gap: Paired, p: float | None) -> dict[str, Any]:
    sure = p is not None and p <= ALPHA
    return plain({**gap._asdict(), "p_holm": p, "side": int(np.sign(gap.value)) if sure else 0})  # type: ignore[no-any-return]


def _against_no_video(ranked: Sequence[RankedRun], metric: str, options: Options) -> dict[str, Any]:
    """By run, the test that it beats every no-video baseline: the largest of the p-values against each of them.

    A judge whose metric is undefined is no rival. ``over`` is the rival with the largest p. The run's own answers given
    to other videos are a rival too, by the exchanges of videos.
    """
    hardest = [_hardest_baseline(run, metric, options) for run in ranked]
    corrected = _holm([math.nan if p is None else p for _, p in hardest])
    return {
        run.name: {"over": over, "p": p, "p_holm": p_holm, "beats": p_holm is not None and p_holm <= ALPHA}
        for run, (over, p), p_holm in zip(ranked, hardest, corrected, strict=True)
    }


def _hardest_baseline(run: RankedRun, metric: str, options: Options) -> tuple[str | None, float | None]:
    """The baseline with the largest p-value against a run, and that p; None where no test is defined."""
    own = _tally(run.matrix.imputed(), metric, options)
    p_values: dict[str, float] = {}
    for name, matrix in no_video_matrices(run.matrix).items():
        rival = _tally(matrix, metric, options)
        lead = paired_difference(own, rival)[metric]
        ahead = CATALOGUE[metric].sign * lead.value > 0
        if math.isnan(rival.observed[metric]) or (ahead and lead.stderr == 0):  # a lead that never varies has no p
            continue
        p_values[name] = lead.p if ahead or math.isnan(lead.p) else 1.0
    if run.shuffle_p is not None:
        p_values["shuffled-self"] = run.shuffle_p
    if not p_values or any(map(math.isnan, p_values.values())) or math.isnan(own.observed[metric]):
        return None, None
    over = max(p_values, key=p_values.__getitem__)
    return over, p_values[over]


def _tally(matrix: ScoreMatrix, metric: str, options: Options) -> Tally:
    return Tally.of(matrix.sorted(), options.mapping, options.positive, [metric])


def _holm(p: Sequence[float]) -> list[float | None]:
    """Holm's p of those that are known; None for the others."""
    known = [k for k, value in enumerate(p) if not math.isnan(value)]
    corrected: list[float | None] = [None] * len(p)
    for k, value in zip(known, holm(np.array([p[k] for k in known], float)).tolist(), strict=True):
        corrected[k] = value
    return corrected


def shuffle_p_value(part: Mapping[str, Any], metric: str) -> float | None:
    """The shuffle p of the headline metric of an analyzed setting; None without labels."""
    return ((part["contribution"] or {}).get("shuffle_p") or {}).get(metric)


Sentence = list[tuple[str, bool]]

_SCALES = {
    "qwk": "1: every label as the reference has it; 0: no better than chance or a constant; larger is better",
    "mcc": "1: every error found and none invented; 0: no better than chance or a constant; larger is better",
}


def describe_scale(metric: str) -> str:
    """Meaning of the ends of the headline metric's scale, in words."""
    row = CATALOGUE[metric]
    up = "larger" if row.higher_is_better else "smaller"
    return _SCALES.get(metric, f"{page_number(row.low, 0)} to {page_number(row.high, 0)}; {up} is better")


def plain_sentences(sentences: Sequence[Sentence]) -> str:
    """Sentences as plain text."""
    return " ".join("".join(text for text, _ in sentence) for sentence in sentences)


def headline_sentence(board: Mapping[str, Any]) -> Sentence:
    """The best judge in one sentence, or the reason why there is none."""
    verdict, rows = board["verdict"], {row["name"]: row for row in board["rows"]}
    ranked, metric = verdict["runs"], CATALOGUE[board["metric"]].title.removesuffix(" (quadratic)")
    judges = [row for row in board["rows"] if row["slug"]]

    def value(name: str) -> str:
        return page_estimate(rows[name]["imputed"][board["metric"]])

    if not ranked:
        return _nobody_ranked(board, judges)
    top, behind = verdict["top"], verdict["behind"]
    kind = "model" if board["models"] else "reference judge"
    if len(ranked) == 1:
        only = "is the only one that can be ranked" if len(judges) > 1 else "was run alone"
        return [(ranked[0], True), (f" {only}: {metric} {value(ranked[0])}.", False)]
    first: Sentence = [(top[0], True)] if top else [(ranked[0], True)]
    if board["videos"] < FEWEST:
        most = f" has the largest {metric} of {len(ranked)} {kind}s, {value(first[0][0])}"
        return [*first, (f"{most}; below {FEWEST} videos nothing is tested.", False)]
    if len(top) == 1:
        ahead = f"the other {kind}" if len(behind) == 1 else f"each of the other {len(behind)} {kind}s"
        sure = f"ahead of {ahead} beyond chance"
        return [("Best: ", False), *first, (f", {metric} {value(top[0])}, {sure}.", False)]
    lead = "it is" if len(top) > 2 else "the first is"
    tail = f"; {lead} ahead of the other {len(behind)} beyond chance" if behind else ""
    if len(top) == 2:
        return [*first, (f" ({metric} {value(top[0])}) and ", False), (top[1], True),
                (f" ({value(top[1])}) cannot be told apart{tail}.", False)]  # fmt: skip
    if not behind:
        return [(f"None of the {len(top)} {kind}s can be told apart from the first, ", False), *first,
                (f", {metric} {value(top[0])}.", False)]  # fmt: skip
    among = f"{len(top) - 1} of the other {len(ranked) - 1} {kind}s"
    most = f" has the largest {metric}, {value(top[0])}"
    return [*first, (f"{most}, but cannot be told apart from {among}{tail}.", False)]


def _nobody_ranked(board: Mapping[str, Any], judges: Sequence[Mapping[str, Any]]) -> Sentence:
    """The reason why no run is ranked."""
    if not judges:
        return [("Only physicians and no-video baselines were run: there is no model to judge.", False)]
    runs = "run" if len(judges) == 1 else f"{len(judges)} runs"
    if all(row["metrics"][board["metric"]]["value"] is None for row in judges):
        if not any(row["role"] == "no_video" for row in board["rows"]):
            return [(f"The labels are withheld: how good the {runs if len(judges) > 1 else 'run'} "
                     f"{'are' if len(judges) > 1 else 'is'} cannot be said.", False)]  # fmt: skip
        return [(f"Nothing can be said of the {runs}: no step that has a label was answered.", False)]
    fullest = max(judges, key=lambda row: row["metrics"][board["metric"]]["coverage"] or 0.0)
    share = page_percent(fullest["metrics"][board["metric"]]["coverage"])
    if fullest["metrics"][board["metric"]]["undefined"]:
        return [(f"No run can be ranked: the {CATALOGUE[board['metric']].title} of ", False), (fullest["name"], True),
                (" is undefined.", False)]  # fmt: skip
    return [("No run is complete enough to be ranked; ", False), (fullest["name"], True),
            (f" answered most, {share} of what it was asked.", False)]  # fmt: skip


def verdict_sentences(board: Mapping[str, Any]) -> list[Sentence]:
    """The whole verdict: the headline, the physicians, the no-video baselines, what is not ranked."""
    return [
        headline_sentence(board),
        *_physician_sentences(board),
        *_no_video_sentences(board),
        *_unranked_sentences(board),
    ]


def _physician_sentences(board: Mapping[str, Any]) -> Iterator[Sentence]:
    humans = [row for row in board["rows"] if row["role"] == "human"]
    verdict = board["verdict"]
    if not any(row["role"] == "no_video" for row in board["rows"]):
        return  # no labels at all
    if not humans:
        yield [("No two physicians scored the same steps, so there is no human ceiling.", False)]
        return
    values = [page_estimate(row["imputed"][board["metric"]]) for row in humans]
    line = f"Physicians agree with each other at {' and '.join(values)}"
    first = next(iter(verdict["top"] or verdict["runs"]), None)
    gap = verdict["humans"].get(first)
    if gap is None or gap["value"] is None:
        yield [(f"{line}.", False)]
        return
    way = "more than they do with each other" if gap["value"] > 0 else "less than they do with each other"
    sure = f"{way} (p {page_pvalue(gap['p_holm'])})" if gap["side"] else "no difference beyond chance"
    if gap["p_holm"] is None:
        sure = "not tested"
    difference = page_signed(gap["value"]) + page_interval(gap, signed=True)
    yield [(f"{line}; ", False), (str(first), True),
           (f"’s agreement with them differs from that by {difference}: {sure}.", False)]  # fmt: skip


def _no_video_sentences(board: Mapping[str, Any]) -> Iterator[Sentence]:
    no_video = board["verdict"]["no_video"]
    tested = {name: item for name, item in no_video.items() if item["p"] is not None}
    if not no_video or board["videos"] < FEWEST:
        return
    if not tested:
        yield [("Whether it beats the no-video baselines cannot be tested.", False)]
        return
    won = [name for name, item in tested.items() if item["beats"]]
    lost = [name for name in tested if name not in won]
    if len(tested) == 1:
        over = "" if won else f" (not beyond chance: {tested[lost[0]]['over'].replace('-', ' ')})"
        yield [(f"It {'beats' if won else 'does not beat'} every no-video baseline{over}.", False)]
    elif not won:
        yield [(f"None of the {len(tested)} beats every no-video baseline.", False)]
    else:
        kind = "models" if board["models"] else "judges without a model"
        all_of = f"All {len(tested)}" if not lost else f"{len(won)} of {len(tested)}"
        verb = "beats" if len(won) == 1 and lost else "beat"
        yield [(f"{all_of} {kind} {verb} every no-video baseline.", False)]


def _unranked_sentences(board: Mapping[str, Any]) -> Iterator[Sentence]:
    judges = [row for row in board["rows"] if row["slug"] and (row["role"] == "model" or not board["models"])]
    out = [row for row in judges if row["unranked"]]
    if board["verdict"]["runs"] and out:
        if len(out) == 1:
            yield [(out[0]["name"], True), (f" is not ranked: {out[0]['unranked']}", False)]
        else:
            yield [(f"{len(out)} runs are not ranked.", False)]
    if board["verdict"]["runs"] and board["videos"] < board["of"]:
        yield [(f"This rests on {board['videos']} of {board['of']} videos.", False)]


def describe_corrections(board: Mapping[str, Any]) -> str:
    """The tests and their corrections in a sentence; empty if there was none."""
    verdict = board["verdict"]
    families = [
        (verdict["pairs"], "pair", "pairs of runs"),
        (sum(item["p_holm"] is not None for item in verdict["humans"].values()), "difference from the physicians",
         "differences from the physicians"),
        (sum(item["p_holm"] is not None for item in verdict["no_video"].values()),
         "test against the no-video baselines", "tests against the no-video baselines"),
    ]  # fmt: skip
    counts = [f"{n} {plural if n > 1 else singular}" for n, singular, plural in families if n]
    if not counts:
        return ""
    listed = counts[0] if len(counts) == 1 else f"{', '.join(counts[:-1])} and {counts[-1]}"
    return f"Paired tests over videos, missing answers imputed; Holm’s correction within each family: {listed}."
