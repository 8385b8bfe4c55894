"""Tokens, money and time: what is unknown stays unknown, and a price table is read strictly."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.parsing import Parsed, parse_reply
from siming_tasks.benchmark.record import Conditions, Record, add_usage, answered_more, is_asked_again
from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset
from siming_tasks.study.report.formatting import usage_line
from siming_tasks.study.results.usage import Prices, Usage, load_prices, usage_summary
from tests.records import record_json
from tests.study.results.test_read import logged

TABLE = """\
currency: EUR
date: 2026-11-01
models:
  gpt-x: {input: 2.5, output: 10}
  gpt-x-mini*: {input: 0.1, output: 0.4}
  gpt-x-mini-2026-*: {input: 0.2, output: 0.8}
"""


def test_the_name_of_a_model_in_a_log_tells_no_key() -> None:
    read = Usage(model="https://me:sk-secret@host/v1?key=sk-secret", latency=1.5)
    assert "secret" not in f"{read!r}" and read.latency == 1.5 and Usage(model="org/Model-7B").model == "org/Model-7B"


def test_a_price_is_that_of_the_name_or_of_its_longest_pattern(tmp_path: Path) -> None:
    (file := tmp_path / "prices.yaml").write_text(TABLE)
    prices = load_prices(file)
    assert (prices.currency, prices.date) == ("EUR", "2026-11-01")
    assert prices.of("gpt-x") == (2.5, 10)
    assert prices.of("gpt-x-mini") == prices.of("gpt-x-mini-2025") == (0.1, 0.4)
    assert prices.of("gpt-x-mini-2026-05-01") == (0.2, 0.8)
    assert prices.of("gpt-x-2026") is None  # a name that only begins alike is another model
    assert prices.of(None, "other", "gpt-x") == (2.5, 10)
    # 20,000 tokens read at 2.5 and 500 written at 10 a million
    used = {"prompt_tokens": 20_000, "completion_tokens": 500, "model": "gpt-x"}
    assert prices.cost(used) == pytest.approx(0.055)
    assert prices.cost({**used, "completion_tokens": None}) is prices.cost({**used, "model": "unheard-of"}) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("date: '2026-13-01'\nmodels: {m: {input: 1, output: 2}}", "date"),
        ("date: 2026-11-01\nmodels: {m: {input: -1, output: 2}}", "models.m.input"),
        ("date: 2026-11-01\nmodels: {m: {input: .nan, output: 2}}", "models.m.input"),
        ("date: 2026-11-01\ncurrency: Dollars\nmodels: {m: {input: 1, output: 2}}", "currency"),
    ],
)
def test_a_wrong_price_table_is_named(tmp_path: Path, text: str, said: str) -> None:
    (file := tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(DataError) as caught:
        load_prices(file)
    assert str(file) in str(caught.value) and said in str(caught.value) and "`siming docs replies`" in str(caught.value)


def used(**facts: Any) -> Record:
    return Record("full_score", "v1", None, Parsed("ok"), Conditions(usage=facts))


def test_a_total_says_of_how_many_requests_it_is_known() -> None:
    records = [
        used(prompt_tokens=100, completion_tokens=10, latency=1.0, cost=0.5, currency="USD", finish_reason="stop"),
        used(prompt_tokens=200, completion_tokens=None, latency=3.0, finish_reason="length", kept=True),
        used(prompt_tokens=None, completion_tokens=0, latency=None, cost=0.25, currency="USD"),
        used(),
        used(attempts=4, failed_attempts=3),
        used(attempts=2, failed_attempts=2, error="HTTP 500"),
    ]
    found = usage_summary(record.conditions.usage for record in records)
    assert found is not None
    assert found["requests"] == 5 and found["kept"] == 1
    assert found["prompt_tokens"] == {"total": 300, "requests": 2}
    assert found["completion_tokens"] == {"total": 10, "requests": 2}
    assert found["cost"] == {"USD": {"total": 0.75, "requests": 2}}
    assert found["latency"] == {"median": 2.0, "p95": 2.9, "requests": 2}
    assert found["finish_reasons"] == {"length": 1, "stop": 1} and found["served"] == {}
    assert found["attempts"] == {"total": 6, "failed": 5, "requests": 2} and found["errors"] == {"HTTP 500": 1}
    assert usage_line(found, 0).endswith("; 5 of 6 attempts failed; 1 of 5 replies came from an earlier command")
    assert usage_summary([used().conditions.usage, None]) is None
    thirds = usage_summary({"cost": cost, "currency": "USD"} for cost in (0.1, 0.2))
    assert thirds is not None and thirds["cost"]["USD"]["total"] == 0.3  # and not 0.30000000000000004
    waits = usage_summary([{"timeout": 600.0, "tries": 6}, {"timeout": None, "tries": 5, "stored": False}])
    assert waits is not None and waits["not_stored"] == 1
    assert waits["waits"] == [{"timeout": 600.0, "tries": 6}, {"timeout": None, "tries": 5}]
    assert "at most 6 tries of 600 s; at most 5 tries of a time-out that is not known" in usage_line(waits, 0)
    anew = usage_summary([{**records[0]["usage"], "model": "m"}], Prices("EUR", "2026-11-01", {"m": (1, 2)}))
    assert anew is not None and anew["cost"] == {"EUR": {"total": 0.00012, "requests": 1}}


def test_prices_are_per_million_tokens() -> None:
    prices = Prices("EUR", "2026-11-01", {"m": (1, 2)})
    assert prices.cost({"model": "m", "prompt_tokens": 10**9, "completion_tokens": 10**6}) == 1002


def test_several_replies_to_one_request_are_paid_together() -> None:
    first = {"prompt_tokens": 5, "completion_tokens": 1, "cost": 0.1, "latency": 1.0, "finish_reason": "stop"}
    assert add_usage([first, {**first, "finish_reason": "length"}]) == {
        "prompt_tokens": 10, "completion_tokens": 2, "cost": 0.2, "latency": 2.0, "finish_reason": "stop",
        "attempts": None, "failed_attempts": None,
    }  # fmt: skip
    assert add_usage([first, {**first, "cost": None}])["cost"] is None


@pytest.mark.parametrize(
    ("reply", "ended", "status"),
    [
        ('{"score": 1} because the hands', "length", "ok"),  # cut after the answer
        ("First I look at the hands and", "length", "truncated"),
        ("First I look at the hands and", "stop", "unread"),
        ("", "length", "truncated"),  # all tokens went into thinking
        ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] x", "length", "request_failed"),
    ],
)
def test_a_reply_that_was_cut_at_the_limit(short_demo: Path, reply: str, ended: str, status: str) -> None:
    step = open_dataset(short_demo).rubric.steps[0]
    parsed = parse_reply(reply, [step], "score")
    record = record_json("clip_score", "v", step.id, parsed, usage={"finish_reason": ended})
    assert record["status"] == status and record["answers"] == parsed.answers
    assert "usage" not in record_json("clip_score", "v", step.id, parsed)


def test_score_tells_tokens_and_costs_by_a_table_of_today(
    short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (prices := tmp_path / "prices.yaml").write_text(TABLE)
    used = {"prompt_tokens": 1000, "completion_tokens": 100, "model": "gpt-x"}
    records = [
        record_json("full_score", video.video_id, None, Parsed("empty"), usage={**used, "kept": number == 0})
        for number, video in enumerate(open_dataset(short_demo).videos)
    ]
    log = logged(tmp_path / "20260101_samples_siming_full_score.jsonl", records)
    words = ["score", str(log), "--data", str(short_demo)]
    assert main([*words, "--json"]) == 0
    usage = json.loads(capsys.readouterr().out)["settings"]["full_score"]["usage"]
    assert usage["prompt_tokens"] == {"total": 4000, "requests": 4} and usage["kept"] == 1 and usage["cost"] == {}
    assert main([*words, "--prices", str(prices)]) == 0
    # 4 x (1000 x 2.5 + 100 x 10) / 1e6
    expected = (
        "full_score: 4,000 tokens in, 400 tokens out; 0.014 EUR, 0.0035 a video; 1 of 4 replies came from an earlier"
    )
    assert expected in capsys.readouterr().out
    log.write_text(log.read_text().replace('"prompt_tokens": 1000', '"prompt_tokens": -1'))
    assert main(words) == 1
    assert "prompt_tokens" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "reason", "again"),
    [
        ("request_failed", "length", True), ("truncated", "length", False), ("truncated", "stop", True),
        ("empty", None, True), ("partial", "content_filter", True), ("partial", "stop", False),
        ("refused", "content_filter", False), ("ok", "content_filter", False), ("unread", "stop", False),
    ],
)  # fmt: skip
def test_what_is_no_whole_answer_is_asked_again_unless_it_would_be_cut_again(
    status: str, reason: str | None, again: bool
) -> None:
    assert is_asked_again(status, {"finish_reason": reason}) is again


def test_more_of_an_answer_takes_the_place_of_less() -> None:
    order = ("request_failed", "empty", "truncated", "ok")
    assert {(a, b) for a, b in product(order, order) if answered_more(a, b)} == {
        (order[k], order[n]) for k in range(4) for n in range(k)
    }
    assert not answered_more("ok", "refused")
