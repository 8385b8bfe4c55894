"""The numbers of the package are those of the definition in NumPy and SciPy (``definition.py``), to the last digit."""

import ast
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siming_tasks.benchmark.metrics import Estimate, ScoreMatrix, evaluate, thresholds
from siming_tasks.benchmark.metrics.catalogue import select, statistic
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED, READINGS
from siming_tasks.benchmark.metrics.jackknife import difference, holm
from siming_tasks.benchmark.metrics.labels import CUTS
from siming_tasks.benchmark.metrics.no_video import no_video_baselines, shuffled_answers, used_and_leaking_columns
from siming_tasks.study.analysis.comparison import compare_judges
from siming_tasks.study.analysis.physicians import MEAN, MINUS, beside_physicians
from tests.benchmark.metrics import definition
from tests.benchmark.metrics.drawn import matrices

ROOT = Path(__file__).parents[3]
FIELDS = ("value", "stderr", "low", "high", "n", "clusters")


def hard_cases() -> dict[str, ScoreMatrix]:
    """Twenty more: clusters of unequal size, sites, half points, questions that were not asked, and degenerate ones."""
    cases = {}
    for number in range(20):
        rng, kind = np.random.default_rng(number), number % 10
        videos, steps = int(rng.integers(9, 40)), int(rng.integers(2, 9))
        top = rng.choice([0.5, 1.0, 2.0, 5.0], steps)
        reference, said = (np.floor(rng.random((2, videos, steps)) * (2 * top + 1)) / 2).clip(0, top)
        said = np.where(rng.random(said.shape) < 0.5, reference, said)
        if kind in (1, 7):  # the judge knows it all, or all but one video
            said = reference.copy()
            said[0] = top - said[0] if kind == 7 else said[0]
        if kind in (3, 6):  # the judge says one thing
            said[:] = top
        if kind in (5, 6):  # one video alone has a mistake, or none
            reference[kind == 5 :] = top
        if kind == 9:  # hardly anything is called wrong, and what is called so is
            said = np.where((np.arange(videos) < 7)[:, None], reference, top)
        reference[rng.random(said.shape) < 0.1] = np.nan
        answer = "error" if number >= 10 else "score"
        said = (said < top).astype(float) if answer == "error" else said
        said[rng.random(said.shape) < (0.0 if kind in (7, 9) else 0.04)] = np.nan
        if kind == 8:  # nothing is answered
            said[:] = np.nan
        members = rng.integers(0, 9, videos)
        clusters = {"clusters": tuple(f"student {k}" for k in members), "unit": "student"} if number % 3 else {}
        cases[f"hard {number}"] = ScoreMatrix(
            tuple(f"v{v}" for v in range(videos)), tuple("abcdefgh"[:steps]), ("cpr",) * steps, top, reference, said,
            rng.random(said.shape) < 0.95, answer, sites=tuple(rng.choice(["x", "y", "z"], videos)), **clusters,
        )  # fmt: skip
    return cases


CASES = dict(matrices()) | hard_cases()


def judge_of(matrix: ScoreMatrix) -> Any:
    """The matrix as the definition has it."""
    sites = np.array(matrix.sites or [""] * len(matrix.video_ids))
    verdicts, clusters = matrix.answer == "error", np.array(matrix.clusters)
    return definition.Judge(
        matrix.max_score, matrix.reference, matrix.predicted, matrix.asked, verdicts, clusters, sites
    )


def same(found: Estimate, expected: tuple[float, ...], *where: object, tested: bool = False) -> None:
    value, stderr, low, high, p, n, clusters = expected
    wanted = dict(zip(FIELDS, (value, stderr, low, high, n, clusters), strict=True)) | ({"p": p} if tested else {})
    for name, number in wanted.items():
        mine = getattr(found, name)
        if math.isnan(number):
            assert mine is None, (*where, name, mine)
            assert found.why or name == "p", where
        else:
            assert mine == pytest.approx(number, abs=1e-12, rel=0), (*where, name)


def test_the_page_names_the_module_which_needs_numpy_and_scipy_alone():
    path = Path(definition.__file__)
    page, tree = (ROOT / "docs/reference/definition.md").read_text("utf-8"), ast.parse(path.read_text("utf-8"))
    assert path.relative_to(ROOT).as_posix() in page
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert {name.split(".")[0] for name in imported} == {"itertools", "numpy", "scipy", "typing"}


def test_the_limits_are_those_of_the_definition():
    limits = {"ALPHA": 0.05, "COMPARABLE": 0.95, "FEWEST": 5, "FEWEST_ALIKE": 6, "FEWEST_EFFECTIVE": 4,
              "FEW_CLUSTERS": 7, "FEW_ERRORS": 20, "FEW_VIDEOS": 20, "LEVEL": 0.95, "MARGIN": 0.05,
              "MIN_ANSWERED": 0.8, "NOISE": 1e-9, "POWER": 0.8}  # fmt: skip
    assert {name: value for name, value in vars(thresholds).items() if name.isupper()} == limits


def defined(answer: Any) -> list[str]:
    """The metrics that the definition has; one that is newer has a test of its own."""
    known = {"qwk", "mcc", *definition.SHARES, *definition.CORRELATIONS}
    assert known <= {*select(compared=True)}
    return [key for key in select(answer, compared=True) if key in known]


@pytest.mark.parametrize("name", CASES)
def test_metrics(name):
    matrix = CASES[name]
    rows, judge = evaluate(matrix), judge_of(matrix)
    for key in defined(matrix.answer):
        same(rows.one(ANSWERED, ALL, key), definition.estimate(definition.jackknife(judge, key)), name, key)
        same(
            rows.one(RANKED, ALL, key),
            definition.estimate(definition.jackknife(definition.ranked(judge), key)),
            name,
            key,
        )
    for skill in rows.names("row")[1:3] if len(set(matrix.skills)) > 1 else ():
        steps = np.array(matrix.skills) == skill
        part = judge._replace(top=judge.top[steps], reference=judge.reference[:, steps], said=judge.said[:, steps],
                              asked=judge.asked[:, steps])  # fmt: skip
        for key in defined(matrix.answer):
            same(rows.one(ANSWERED, skill, key), definition.estimate(definition.jackknife(part, key)), name, skill, key)


@pytest.mark.parametrize("name", list(CASES)[::3])
def test_other_readings(name):
    matrix = CASES[name]
    rows, judge = evaluate(matrix), definition.ranked(judge_of(matrix))

    def read(cut: float | None = None, turn: int = 1) -> Any:
        return lambda part, key: definition.of_table(definition.table(part, key, cut)[::turn, ::turn], key)

    for mapping, cut in CUTS.items() if matrix.answer == "score" else ():
        expected = definition.estimate(definition.jackknife(judge, "qwk", read(cut)))
        same(rows.one(READINGS, f"mapping {mapping}", "qwk"), expected, name, mapping)
    for key in ("mcc", "precision", "recall", "f1"):
        expected = definition.estimate(definition.jackknife(judge, key, read(turn=-1)))
        same(rows.one(READINGS, "positive correct", key), expected, name, key)


@pytest.mark.parametrize("name", CASES)
def test_differences_and_no_video_baselines(name):
    matrix = CASES[name].sorted()
    imputed, judge = matrix.imputed(), definition.ranked(judge_of(matrix))
    theirs = no_video_baselines(imputed)
    mine = {
        "step-prior": definition.step_prior(judge),
        "step-prior-within-site": definition.step_prior(judge, within_sites=True),
    }
    for label, other in mine.items():
        if label not in theirs:
            assert "site" not in used_and_leaking_columns(imputed)[0]
            continue
        said = theirs[label].predicted
        assert said[matrix.asked] == pytest.approx(other.said[matrix.asked], abs=1e-9)
        for key in defined(matrix.answer):
            lead = definition.minus(definition.jackknife(judge, key), definition.jackknife(other, key))
            same(difference(statistic(key), imputed, theirs[label]), definition.estimate(lead), name, key, tested=True)
    for key in ("qwk",) if matrix.answer == "score" else ("mcc", "precision", "recall", "f1"):
        expected = definition.jackknife(judge, key, definition.shuffled)
        found = shuffled_answers(imputed, key)
        assert (found.value, *found.without) == pytest.approx(
            (expected.value, *expected.without), abs=1e-11, nan_ok=True
        )
        if key in ("qwk", "mcc"):  # the others are not printed
            same(found.estimate(), definition.estimate(expected), name, key)


def test_the_cases_have_every_edge_of_the_rule():
    reasons = {row.why for matrix in CASES.values() for row in evaluate(matrix)}
    edges = {"few-clusters", "undefined-without-one", "no-variation", "perfect-correlation", "one-class",
             "none-called-wrong", "few-totals", "equal-judge-totals", "one-label"}  # fmt: skip
    assert edges <= reasons
    rare = evaluate(CASES["hard 19"]).one(RANKED, ALL, "precision")  # the rule of three over those called wrong alone
    assert (rare.value, rare.high) == (1, 1) and rare.low == 1 - 3 / rare.clusters and 5 <= rare.clusters <= 7


def physicians_of(matrix: ScoreMatrix, number: int) -> dict[str, np.ndarray]:
    """Two to four physicians, who leave steps out."""
    rng = np.random.default_rng(number)
    points = {}
    for name in "abcd"[: 2 + number % 3]:
        other = np.floor(rng.random(matrix.reference.shape) * (matrix.max_score + 1)).clip(0, matrix.max_score)
        own = np.where(rng.random(other.shape) < 0.6, np.nan_to_num(matrix.reference), other)
        points[name] = np.where(rng.random(other.shape) < 0.1, np.nan, own)
    return points


@pytest.mark.parametrize(("number", "name"), list(enumerate(CASES))[::2])
def test_judge_minus_physicians(number, name):
    matrix = CASES[name]
    points = physicians_of(matrix, number)
    key = select(matrix.answer, headline=True)[0]
    for margin in (0.05, 0.3):
        beside = beside_physicians(matrix, points, margin=margin)
        expected = definition.minus_physicians(judge_of(matrix), points, key)
        assert beside.copy_of == ""
        tested = matrix.answered_share >= 0.95
        same(beside.rows.one(MINUS, MEAN, key), definition.estimate(expected), name, tested=tested)
        assert beside.claim.kind == (definition.claim(expected, margin) if tested else "not tested")


def test_holm_and_ranks_follow_from_the_pairs(exams):
    rng = np.random.default_rng(3)
    first = exams(rng, videos=60)
    judges = {f"judge {k}": first.predicting(np.where(rng.random(first.reference.shape) < k / 6, first.reference,
                                                      first.predicted)) for k in range(5)}  # fmt: skip
    found = compare_judges(judges, setting="x")
    held = {name: definition.jackknife(definition.ranked(judge_of(matrix)), "qwk") for name, matrix in judges.items()}
    p = [definition.estimate(definition.minus(held[pair.a], held[pair.b]))[4] for pair in found.pairs]
    adjusted = definition.holm(p)
    assert holm(p) == pytest.approx(list(adjusted), abs=1e-15)
    assert [pair.estimate.p_holm for pair in found.pairs] == pytest.approx(list(adjusted), abs=1e-12)
    better = {(pair.leader, pair.a if pair.leader == pair.b else pair.b)
              for pair, q in zip(found.pairs, adjusted, strict=True) if q <= 0.05}  # fmt: skip
    assert better
    for name, rank in found.ranks.items():
        assert rank.low == 1 + sum(worse == name for _, worse in better)
        assert rank.high == 5 - sum(good == name for good, _ in better)
