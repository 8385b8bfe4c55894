"""Quotes from wrong answers: the words that are kept and their order."""

from __future__ import annotations

import json
import re
from itertools import product

import pytest

from siming_tasks.options import Options
from siming_tasks.parsing import Parsed
from siming_tasks.report.build import write_report
from siming_tasks.report.error_quotes import MAX_QUOTES, ErrorQuote, ErrorQuoteSampler, group_quotes, sentences_about
from siming_tasks.results.record import Record

MASK = ("the mask leaks and no chest rise", "no rise of the chest since the mask leaks", "mask leaks badly, chest flat")
CLEAR = (
    "nobody says clear before shock",
    "shock without anybody saying clear",
    "clear was never said before the shock",
)


def said(texts, is_miss: bool, run: str = "a") -> list[tuple[str, str, ErrorQuote]]:
    return [
        (run, run.upper(), ErrorQuote(f"{is_miss}{k:04}", f"v{k % 5}", "bmv_03", is_miss, text))
        for k, text in enumerate(texts)
    ]


def test_similar_quotes_are_grouped() -> None:
    """Two ways of being wrong, thirty sayings each; no group mixes them, whatever the order."""
    mixed = [*said(MASK * 10, False), *said(CLEAR * 10, True)]
    groups = group_quotes(mixed)
    assert group_quotes(mixed[::-1]) == groups
    counts = {True: 0, False: 0}
    for group in groups:
        (kind,) = {quote.is_miss for _, _, quote in group["members"]}
        counts[kind] += len(group["members"])
        own = CLEAR if kind else MASK
        assert group["nearest"][2].text in own and all(any(term in text for text in own) for term in group["terms"])
    assert counts == {True: 30, False: 30}


@pytest.mark.parametrize("texts", [[], MASK * 2, ["all of them say the same words"] * 20])
def test_too_few_or_all_the_same_are_no_groups(texts) -> None:
    assert group_quotes(said(texts, True)) == []


@pytest.mark.parametrize(
    ("text", "about", "words"),
    [
        ("cpr_01: Looks safe. cpr_02: The elbows are bent.", "cpr_02", "The elbows are bent."),
        ("cpr_01: all of it done well.\ncpr_02: 3", "cpr_02", ""),
        ("The mask leaks badly.\nNo rise at all.", None, "The mask leaks badly. No rise at all."),
        ("3", None, ""),
        ("按压深度不足而且节律不均匀", None, "按压深度不足而且节律不均匀"),
        ("The hands\u202e leave the chest", None, "The hands⟦U+202E⟧ leave the chest"),
        ("It used api_key=sk-1234567890abcdef as the header", None, None),
    ],
)
def test_words_about_a_step(text: str, about: str | None, words: str | None) -> None:
    found = sentences_about(text, [about] if about else [])
    assert "sk-1234567890abcdef" not in found
    assert words is None or found == words


def test_only_what_was_judged_wrong_is_kept_and_not_without_end(lab) -> None:
    dataset, step = lab.dataset, lab.dataset.rubric.steps[10]
    text = f"{step.id}: The chest is pressed deep enough.\n{{}}"
    for video in dataset.videos:
        wrong = video.step(step.id).consensus < step.max_score
        for value in (0.0, 1.0):
            words = ErrorQuoteSampler(dataset, "consensus")
            record = Record("full_error", video.video_id, None, Parsed("ok", {step.id: value}))
            words.put(record, text)
            expected = [] if bool(value) == wrong else [(not value, "The chest is pressed deep enough.")]
            assert [(quote.is_miss, quote.text) for quote in words.kept["full_error"].values()] == expected
    one = next(video for video in dataset.videos if video.step(step.id).consensus == step.max_score)
    records = [  # a name of its own for each request, all about one step
        Record("clip_error", one.video_id, f"request_{k}", Parsed("ok", {step.id: 1.0}))
        for k in range(MAX_QUOTES + 200)
    ]
    kept = []
    for order in (records, records[::-1], [*records, *records[:50]]):
        words = ErrorQuoteSampler(dataset, "consensus")
        for record in order:
            words.put(record, "The chest is pressed deep enough.")
        kept.append(words.kept["clip_error"])
    assert kept[0] == kept[1] == kept[2] and len(kept[0]) == MAX_QUOTES


def test_an_unclosed_block_of_json_is_no_quote(lab) -> None:
    """A reply that was cut in its block: the strings in it are no words of the judge about the step."""
    dataset, step = lab.dataset, lab.dataset.rubric.steps[10]
    video = next(video for video in dataset.videos if video.step(step.id).consensus == step.max_score)
    sampler = ErrorQuoteSampler(dataset, "consensus")
    reply = f'{step.id}: The elbows stay bent.\n```json\n"note": "{step.id} was given as an example of the form.'
    sampler.put(Record("full_error", video.video_id, None, Parsed("ok", {step.id: 1.0})), reply)
    assert [quote.text for quote in sampler.kept["full_error"].values()] == ["The elbows stay bent."]


def test_a_report_has_a_table_of_groups_where_replies_have_words(lab, tmp_path) -> None:
    """Verdicts on six steps, all of them false, with two kinds of words and a hostile one."""
    steps, lines = lab.dataset.rubric.steps[:6], []
    for number, (video, step) in enumerate(product(lab.dataset.videos, steps)):
        wrong = video.step(step.id).consensus < step.max_score
        words = [*MASK, *CLEAR][number % 6] + "<script>"
        verdict = json.dumps({"verdict": "correct" if wrong else "incorrect"})
        lines.append({"setting": "clip_error", "video_id": video.video_id, "step_id": step.id,
                      "response": f"{words}\n{verdict}"})  # fmt: skip
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = write_report([tmp_path / "said.jsonl"], lab.dataset, tmp_path / "report", Options(resamples=10), media="none",
                       progress=False)  # fmt: skip
    page = (out / "disagreements" / "index.html").read_text()
    _, _, table = page.partition("What is said of wrong answers: Step clips, errors")
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th><td class=\"num\">(\d+)</td>", table)
    assert sum(int(count) for _, count in rows) == len(lines) and any("mask" in terms for terms, _ in rows)
    assert "&lt;script&gt;" in table and "<script>" not in table
    assert "What is said of wrong answers" not in (lab.out / "disagreements" / "index.html").read_text()
