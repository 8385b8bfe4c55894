"""The verdict in words: who is best, how sure, how far from the physicians, who beats the no-video baselines.

A sentence is a list of parts, each a text and whether it is the name of a run, so that a page can set the name apart
and Markdown can escape it. Nothing is said here that :func:`siming_tasks.report.study.verdict.verdict` has not tested.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.thresholds import FEWEST
from siming_tasks.report.formatting import plain_pvalue as pvalue
from siming_tasks.report.pages.site import number, percent, signed

__all__ = ["Sentence", "corrections", "headline_words", "scale", "verdict_words", "words"]

Sentence = list[tuple[str, bool]]

_SCALES = {
    "qwk": "1: every label as the reference has it; 0: no better than chance or a constant; larger is better",
    "mcc": "1: every error found and none invented; 0: no better than chance or a constant; larger is better",
}


def scale(metric: str) -> str:
    """What the ends of the headline's scale mean, in words."""
    row = CATALOGUE[metric]
    up = "larger" if row.higher_is_better else "smaller"
    return _SCALES.get(metric, f"{number(row.low, 0)} to {number(row.high, 0)}; {up} is better")


def words(sentences: Sequence[Sentence]) -> str:
    """As plain text."""
    return " ".join("".join(text for text, _ in sentence) for sentence in sentences)


def headline_words(board: Mapping[str, Any]) -> Sentence:
    """Who is best, in one sentence; or why nobody is."""
    found, rows = board["verdict"], {row["name"]: row for row in board["rows"]}
    ranked, metric = found["runs"], CATALOGUE[board["metric"]].title.removesuffix(" (quadratic)")
    judges = [row for row in board["rows"] if row["slug"]]

    def value(name: str) -> str:
        return _estimate(rows[name]["imputed"][board["metric"]])

    if not ranked:
        return _nobody(board, judges)
    top, behind = found["top"], found["behind"]
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


def _nobody(board: Mapping[str, Any], judges: Sequence[Mapping[str, Any]]) -> Sentence:
    if not judges:
        return [("Only physicians and no-video baselines were run: there is no model to judge.", False)]
    runs = "run" if len(judges) == 1 else f"{len(judges)} runs"
    if all(row["metrics"][board["metric"]]["value"] is None for row in judges):
        if not any(row["role"] == "no_video" for row in board["rows"]):
            return [(f"The labels are withheld: how good the {runs if len(judges) > 1 else 'run'} "
                     f"{'are' if len(judges) > 1 else 'is'} cannot be said.", False)]  # fmt: skip
        return [(f"Nothing can be said of the {runs}: no step that has a label was answered.", False)]
    fullest = max(judges, key=lambda row: row["metrics"][board["metric"]]["coverage"] or 0.0)
    share = percent(fullest["metrics"][board["metric"]]["coverage"])
    if fullest["metrics"][board["metric"]]["undefined"]:
        return [(f"No run can be ranked: the {CATALOGUE[board['metric']].title} of ", False), (fullest["name"], True),
                (" is undefined.", False)]  # fmt: skip
    return [("No run is complete enough to be ranked; ", False), (fullest["name"], True),
            (f" answered most, {share} of what it was asked.", False)]  # fmt: skip


def verdict_words(board: Mapping[str, Any]) -> list[Sentence]:
    """The whole verdict: the headline, the physicians, the no-video baselines, what is not ranked."""
    return [headline_words(board), *_physicians(board), *_blind(board), *_left_out(board)]


def _physicians(board: Mapping[str, Any]) -> Iterator[Sentence]:
    humans = [row for row in board["rows"] if row["role"] == "human"]
    found = board["verdict"]
    if not any(row["role"] == "no_video" for row in board["rows"]):
        return  # no labels at all
    if not humans:
        yield [("No two physicians scored the same steps, so there is no human ceiling.", False)]
        return
    values = [_estimate(row["imputed"][board["metric"]]) for row in humans]
    line = f"Physicians agree with each other at {' and '.join(values)}"
    first = next(iter(found["top"] or found["runs"]), None)
    gap = found["humans"].get(first)
    if gap is None or gap["value"] is None:
        yield [(f"{line}.", False)]
        return
    way = "more than they do with each other" if gap["value"] > 0 else "less than they do with each other"
    sure = f"{way} (p {_p(gap['p_holm'])})" if gap["side"] else "no difference beyond chance"
    if gap["p_holm"] is None:
        sure = "not tested"
    yield [(f"{line}; ", False), (str(first), True),
           (f"’s agreement with them differs from that by {_signed(gap)}: {sure}.", False)]  # fmt: skip


def _blind(board: Mapping[str, Any]) -> Iterator[Sentence]:
    found = board["verdict"]["no_video"]
    tested = {name: item for name, item in found.items() if item["p"] is not None}
    if not found or board["videos"] < FEWEST:
        return
    if not tested:
        yield [("Whether it beats the no-video baselines cannot be tested.", False)]
        return
    won = [name for name, item in tested.items() if item["beats"]]
    lost = [name for name in tested if name not in won]
    if len(tested) == 1:
        over = "" if won else f" (not beyond chance: {_over(tested[lost[0]]['over'])})"
        yield [(f"It {'beats' if won else 'does not beat'} every no-video baseline{over}.", False)]
    elif not won:
        yield [(f"None of the {len(tested)} beats every no-video baseline.", False)]
    else:
        kind = "models" if board["models"] else "judges without a model"
        all_of = f"All {len(tested)}" if not lost else f"{len(won)} of {len(tested)}"
        verb = "beats" if len(won) == 1 and lost else "beat"
        yield [(f"{all_of} {kind} {verb} every no-video baseline.", False)]


def _left_out(board: Mapping[str, Any]) -> Iterator[Sentence]:
    judges = [row for row in board["rows"] if row["slug"] and (row["role"] == "model" or not board["models"])]
    out = [row for row in judges if row["unranked"]]
    if board["verdict"]["runs"] and out:
        if len(out) == 1:
            yield [(out[0]["name"], True), (f" is not ranked: {out[0]['unranked']}", False)]
        else:
            yield [(f"{len(out)} runs are not ranked.", False)]
    if board["verdict"]["runs"] and board["videos"] < board["of"]:
        yield [(f"This rests on {board['videos']} of {board['of']} videos.", False)]


def corrections(board: Mapping[str, Any]) -> str:
    """What the tests are and how they are corrected; empty if there was none."""
    found = board["verdict"]
    families = [
        (found["pairs"], "pair", "pairs of runs"),
        (sum(item["p_holm"] is not None for item in found["humans"].values()), "difference from the physicians",
         "differences from the physicians"),
        (sum(item["p_holm"] is not None for item in found["no_video"].values()), "test against the no-video baselines",
         "tests against the no-video baselines"),
    ]  # fmt: skip
    said = [f"{n} {many if n > 1 else one}" for n, one, many in families if n]
    if not said:
        return ""
    listed = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"Paired tests over videos, missing answers imputed; Holm’s correction within each family: {listed}."


def _over(name: str) -> str:
    return name.replace("-", " ")


def _estimate(estimate: Mapping[str, Any]) -> str:
    return f"{number(estimate['value'])}{'*' * bool(estimate['undefined'])}{_span(estimate)}"


def _span(estimate: Mapping[str, Any], write: Callable[[float | None], str] = number) -> str:
    low, high = estimate["low"], estimate["high"]
    return "" if low is None or high is None else f" [{write(low)}, {write(high)}]"


def _signed(gap: Mapping[str, Any]) -> str:
    return f"{signed(gap['value'])}{_span(gap, signed)}"


def _p(p: float) -> str:
    return pvalue(p).replace("<", "< ")
