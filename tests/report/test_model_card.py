"""``siming score --show card``: the text for a model's card says what the report says, and what it does not show."""

from __future__ import annotations

import re
from dataclasses import replace

from siming_tasks.report.model_card import model_card
from siming_tasks.report.table import to_markdown
from siming_tasks.results.discovery import run_at
from tests.report.conftest import OPTIONS, Lab


def cells(markdown: str, name: str) -> list[list[str]]:
    """The cells of every row of a judge, without its name, kind and rank, which depend on who stands beside it."""
    rows = [line for line in markdown.splitlines() if line.startswith("|") and name in line]
    return [[cell.strip(" *") for cell in re.split(r"(?<!\\)\|", row)[4:-3]] for row in rows]


def test_the_card_has_the_numbers_of_the_report(lab: Lab) -> None:
    card = to_markdown(model_card(run_at(lab.runs / "noisy"), lab.dataset, OPTIONS))
    for setting in ("full_score", "full_error", "clip_score", "clip_error"):
        table = (lab.out / "tables" / f"{setting}.md").read_text()
        for judge in ("example/Noisy-7B", "physicians with each other", "clock"):
            rows = cells(table, f"| {judge}")
            assert len(rows[0]) >= 4 and all(row in cells(card, f"| {judge} ") for row in rows), (setting, judge)
    assert card.index("**SYNTHETIC DATA.**") < card.index("### Full video")
    for said in (",\\*\\*\\*", lab.dataset.digest[:12], "reviewed by a clinician"):
        assert said in card
    assert "agreement with the consensus of these 2 physicians" in card
    assert "sk-private" not in card and str(lab.runs) not in card


def test_a_name_is_no_markup_and_simulated_data_alone_are_called_synthetic(lab: Lab) -> None:
    card = to_markdown(model_card(run_at(lab.runs / "hostile"), lab.dataset, OPTIONS))
    assert "<img" not in card.replace("\\<img", "") and "\u202e" not in card
    assert "replies" in card and "ok 1" in card  # the one proper answer of four
    real = to_markdown(model_card(run_at(lab.runs / "oracle"), replace(lab.dataset, synthetic=False), OPTIONS))
    assert "SYNTHETIC DATA" not in real
