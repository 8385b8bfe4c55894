"""The page says what the reader does, and the tables say one thing only."""

from __future__ import annotations

import pytest
from grammar_docs import BLOCK, PAGE, grammar

from siming_tasks.parsing.grammar import FAMILIES, UNKNOWN, key_of
from siming_tasks.parsing.lexicon import CORRECT, ERROR, INCORRECT, NO, SYMBOLS, YES


def test_the_page_shows_the_tables_that_the_reader_uses() -> None:
    (shown,) = BLOCK.findall(PAGE.read_text("utf-8"))
    assert shown == grammar(), "run python tests/parsing/grammar_docs.py"


def test_no_word_says_two_things() -> None:
    groups = [CORRECT, INCORRECT, ERROR, YES, NO, set(SYMBOLS)]
    assert sum(map(len, groups)) == len(set().union(*groups))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_word_alone_is_of_its_first_family(family: object) -> None:
    first: dict[str, str] = {}
    for candidate in FAMILIES:
        for word in candidate.words:
            first.setdefault(word, candidate.name)
    words = family.words - {"full", "out", "#"}  # type: ignore[attr-defined]
    assert words
    for word in words:
        assert key_of(word).family.name == first[word], word


@pytest.mark.parametrize(
    ("key", "family", "polarity", "top"),
    [
        ("score", "points", None, None),
        ("Points_Awarded", "points", None, None),
        ("score (0-10)", "points", None, 10),
        ("score_out_of_5", "points", None, 5),
        ("得分（满分10分）", "points", None, 10),
        ("score1", "unknown", None, None),
        ("technique_score", "unknown", None, None),
        ("maxScore", "maximum", None, None),
        ("out_of", "maximum", None, None),
        ("fully_correct", "correct?", 1, None),
        ("points_deducted", "quantity", None, None),
        ("扣分", "quantity", None, None),
        ("total_score", "total", None, None),
        ("errors_detected", "error?", -1, None),
        ("hasDeviation", "error?", -1, None),
        ("no_errors", "correct?", 1, None),
        ("not correct", "error?", -1, None),
        ("not_incorrect", "correct?", 1, None),
        ("error_or_not", "unknown", None, None),
        ("error_type", "quantity", None, None),
        ("errors_corrected", "version", None, None),
        ("correct_or_incorrect", "verdict", 0, None),
        ("正确/错误", "verdict", 0, None),
        ("是否存在错误", "error?", -1, None),
        ("没有错误", "correct?", 1, None),
        ("判断 (verdict)", "verdict", 0, None),
        ("得分 (verdict)", "unknown", None, None),
        ("status", "status", 0, None),
        ("no", "step", None, None),
        ("completed", "unknown", None, None),
        ("sc\u0000ore", "points", None, None),
        ("", "unknown", None, None),
        ("x" * 500, "unknown", None, None),
        (None, "unknown", None, None),
    ],
)
def test_keys(key: str | None, family: str, polarity: int | None, top: float | None) -> None:
    meaning = key_of(key)
    assert (meaning.family.name, meaning.polarity, meaning.top) == (family, polarity, top)
    assert (meaning.family is UNKNOWN) == (family == "unknown")
