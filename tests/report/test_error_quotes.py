"""Quotes from wrong answers: the words that are kept and their order."""

from __future__ import annotations

import re

import pytest

from siming_tasks.parsing import Parsed
from siming_tasks.report.error_quotes import MAX_QUOTES, ErrorQuote, ErrorQuoteSampler, cluster_quotes, sentences_about
from siming_tasks.results.record import Record

MASK = ("the mask leaks and no chest rise", "no rise of the chest since the mask leaks", "mask leaks badly, chest flat")
CLEAR = (
    "nobody says clear before shock",
    "shock without anybody saying clear",
    "clear was never said before the shock",
)


def said(texts, kind: str, run: str = "a") -> list[tuple[str, str, ErrorQuote]]:
    return [
        (run, run.upper(), ErrorQuote(f"{kind}{k:04}", f"v{k % 5}", "bmv_03", kind, text))
        for k, text in enumerate(texts)
    ]


def test_similar_quotes_are_clustered() -> None:
    """Two ways of being wrong, thirty sayings each, in turn; the groups are these two, whatever the order."""
    mixed = [*said(MASK * 10, "alarm"), *said(CLEAR * 10, "miss")]
    groups = cluster_quotes(mixed)
    assert cluster_quotes(mixed[::-1]) == groups
    by_kind: dict[str, int] = {}
    for group in groups:
        assert len(group["kinds"]) == 1, "no group mixes the two"
        (kind,) = group["kinds"]
        by_kind[kind] = by_kind.get(kind, 0) + group["count"]
        own = MASK if kind == "alarm" else CLEAR
        assert {example["text"] for example in group["examples"]} <= set(own)
        assert all(any(term in text for text in own) for term in group["terms"])
    assert by_kind == {"alarm": 30, "miss": 30}
    assert sum(group["share"] for group in groups) == pytest.approx(1)


def test_examples_are_three_of_different_exams() -> None:
    words = [f"the elbows are bent in set number {name}" for name in ("one", "two", "three", "four", "five", "six")]
    groups = cluster_quotes([*said(words * 3, "miss"), *said(MASK * 6, "alarm")])
    assert groups
    for group in groups:
        videos = [example["video"] for example in group["examples"]]
        assert len(videos) == 3 and len(set(videos)) == 3


@pytest.mark.parametrize("texts", [[], MASK * 2, ["all of them say the same words"] * 20])
def test_too_few_or_all_the_same(texts) -> None:
    groups = cluster_quotes(said(texts, "miss"))
    assert sum(group["count"] for group in groups) == (len(texts) if len(texts) >= 8 else 0)
    assert len(groups) <= 1


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
    found = sentences_about(text, re.compile(about) if about else None)
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
            found = words.by_setting().get("full_error", [])
            expected = [] if bool(value) == wrong else ["alarm" if value else "miss"]
            assert [(saying.kind, saying.text) for saying in found] == [
                (kind, "The chest is pressed deep enough.") for kind in expected
            ]
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
        kept.append(words.by_setting()["clip_error"])
    assert kept[0] == kept[1] == kept[2] and len(kept[0]) == MAX_QUOTES


def test_an_unclosed_block_of_json_is_no_quote(lab) -> None:
    """A reply that was cut in its block: the strings in it are no words of the judge about the step."""
    dataset, step = lab.dataset, lab.dataset.rubric.steps[10]
    video = next(video for video in dataset.videos if video.step(step.id).consensus == step.max_score)
    sampler = ErrorQuoteSampler(dataset, "consensus")
    reply = f'{step.id}: The elbows stay bent.\n```json\n"note": "{step.id} was given as an example of the form.'
    sampler.put(Record("full_error", video.video_id, None, Parsed("ok", {step.id: 1.0})), reply)
    assert [quote.text for quote in sampler.by_setting()["full_error"]] == ["The elbows stay bent."]


def test_the_page_says_where_replies_hold_no_words(lab) -> None:
    page = (lab.out / "disagreements" / "prototypes.html").read_text()
    assert "The replies hold no words about steps that were judged wrong" in page
