"""Real classes of services against a server on loopback: statuses, money and retries follow what the service said."""

import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import DataError, MediaError, SimingError
from siming_tasks.data import open_dataset
from siming_tasks.media import FrameStore
from tests.data.test_gate import real_folder
from tests.lmms_eval_runs import files_end_at
from tests.plugin.serving import Server, completion, generated, message

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]

GOOD = '{"score": 1}'
USED = {"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}
CLASSES = ("async_openai", "openai")


def said(content: Any, *, used: Any = USED, top: Any = None, message: Any = None, **choice: Any) -> tuple[int, Any]:
    status, body = completion(content, **choice)
    body["choices"][0]["message"] |= message or {}
    return status, {**body, **(top or {}), "usage": used}


class Service:
    """A server that answers the first questions by its ``faults``, whoever asks how often, and all others well."""

    def __init__(self, serve: Callable[..., Server], good: Any) -> None:
        self.good, self.faults, self.asked = good, [], dict[str, int]()  # type: ignore[var-annotated]
        self.server = serve(self.answer)

    def answer(self, _: tuple[str, ...], text: str, __: int) -> Any:
        number = self.asked.setdefault(text, len(self.asked))
        return self.faults[number] if number < len(self.faults) else self.good

    @property
    def sent(self) -> int:
        return len(self.server.received)

    def model(self, name: str, **more: Any) -> Any:
        from lmms_eval.models import get_model

        arguments = {"model_version": "m", "max_retries": 2, "retry_backoff_s": 0, "num_concurrent": 1}
        if name != "gemini" and name != "claude":
            arguments |= {"base_url": self.server.url, "api_key": "k"}
        if name == "async_openai":
            arguments |= {"num_cpus": arguments.pop("num_concurrent"), "prefix_aware_queue": False}
        return get_model(name)(**{**arguments, **more})


@pytest.fixture
def service(serve: Callable[..., Server]) -> Service:
    return Service(serve, said(GOOD))


AZURE = (400, {"error": {  # as Microsoft's page on content filtering shows it
    "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
    "type": None, "param": "prompt", "code": "content_filter", "status": 400,
    "innererror": {"code": "ResponsibleAIPolicyViolation"},
}})  # fmt: skip
PARTS = [{"type": "text", "text": '{"score"'}, {"type": "text", "text": ": 1}"}]
NOTHING = (200, {**completion("")[1], "choices": [], "usage": USED})
OPENAI = [
    # answer of the service; status; kept
    (said(None, finish_reason="length"), "truncated", True),
    (said("I would say", finish_reason="length"), "truncated", True),
    (said('{"score": 1} and so', finish_reason="length"), "ok", True),
    (said(None, message={"refusal": "I will not."}), "refused", True),
    (said("The hands are placed", finish_reason="content_filter"), "truncated", False),
    (said(None, finish_reason="content_filter"), "refused", True),
    (said(GOOD, finish_reason="content_filter"), "ok", True),
    (AZURE, "refused", True),
    (said(PARTS), "ok", True),
    (said("I cannot judge this."), "refused", True),  # the model's own word
    (said(None), "empty", False),
    (said("  "), "empty", False),
    (said('The trainee did well. {"score": '), "truncated", False),
    (said("[LMMS_EVAL_REQUEST_FAILED after 5 retries] x"), "unread", True),  # in a model's mouth: a reply
    (said("[LMMS_EVAL_BUDGET_EXCEEDED]"), "unread", True),
    (said(GOOD, finish_reason="abort"), "request_failed", False),
    (said(GOOD, error={"code": 502, "message": "gone"}), "request_failed", False),
    (said(GOOD, top={"error": {"code": "overloaded"}}), "request_failed", False),
    (NOTHING, "request_failed", False),
    ((200, {}), "request_failed", False),
    (None, "request_failed", False),  # the connection is dropped
    ((500, {"error": {"message": "broken", "type": "server_error"}}), "request_failed", False),
]


@pytest.mark.parametrize("name", CLASSES)
def test_the_service_decides_the_status_and_what_is_no_answer_is_asked_again(
    ask: Callable[..., Any], service: Service, kept: Callable[[], Any], name: str
) -> None:
    service.faults, limit = [answer for answer, _, _ in OPENAI], len(OPENAI) + 1
    first = ask(service.model(name, timeout=77), limit=limit)
    assert first.statuses == [status for _, status, _ in OPENAI] + ["ok"]
    for (answer, _, _), usage in zip(OPENAI, first.usages, strict=False):
        paid = usage["attempts"] * bool(answer and "usage" in answer[1])  # whatever the host made of the answer
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (7 * paid or None, 11 * paid or None), answer
        assert usage["tries"] == 6 and usage["timeout"] == 77
    failed = first.usages[len(OPENAI) - 1]
    assert failed["error"] == "HTTP 500 server_error" and failed["attempts"] == failed["failed_attempts"] >= 2
    ids = [record["id"] for record, (_, _, keep) in zip(first.records, [*OPENAI, (0, 0, True)], strict=True) if keep]
    assert sorted(entry["id"] for entry in kept()) == sorted(ids)
    "".join(first.replies).encode()  # UTF-8: the run can be saved
    service.faults, before = [], service.sent
    again = ask(service.model(name), limit=limit)
    assert service.sent - before == limit - len(ids) == again.new
    assert again.statuses == [status if keep else "ok" for _, status, keep in OPENAI] + ["ok"]
    third = ask(service.model(name), limit=limit)
    assert third.new == 0 and third.replies == again.replies
    assert [record["media"] for record in third.records] == [record["media"] for record in first.records]
    for usage, earlier, last in zip(again.usages, first.usages, third.usages, strict=True):
        paid = (earlier["prompt_tokens"] or 0) + (0 if usage.get("kept") else 7)
        assert usage["prompt_tokens"] == last["prompt_tokens"] == (paid or None)  # lost answers stay paid
        assert usage["attempts"] == last["attempts"] == earlier["attempts"] + (not usage.get("kept"))


def candidate(finish: str, *parts: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    _, body = generated("")
    return 200, {**body, "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}]}


THOUGHT = {"text": "I think", "thought": True}
GEMINI = [
    ((200, {"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}, "modelVersion": "m"}), "request_failed"),
    (candidate("OTHER"), "empty"),
    (candidate("SAFETY"), "refused"),
    (candidate("MAX_TOKENS"), "truncated"),
    (candidate("MAX_TOKENS", THOUGHT), "truncated"),
    (candidate("STOP", THOUGHT, {"text": GOOD}), "ok"),
    ((200, {**generated("")[1], "candidates": [], "promptFeedback": {"blockReason": "SAFETY"}}), "refused"),
    (candidate("SAFETY", {"text": "The hands"}), "truncated"),
]


TEXT, THINKING = {"type": "text", "text": GOOD}, {"type": "thinking", "thinking": "I see hands.", "signature": "s"}
CLAUDE = [
    (message(), "empty"),
    (message(THINKING, TEXT), "ok"),
    (message(stop="refusal"), "refused"),
    (message(THINKING, stop="max_tokens"), "truncated"),
    (message(THINKING), "empty"),
]


@pytest.mark.parametrize(
    ("name", "good", "faults", "replies"),
    [
        ("gemini", generated(GOOD), GEMINI, ""),
        ("claude", message(TEXT), CLAUDE, ""),
        ("claude", message(TEXT), CLAUDE, "off"),
    ],
)
def test_odd_answers_of_other_services(
    ask: Callable[..., Any], service: Service, monkeypatch: pytest.MonkeyPatch,
    name: str, good: Any, faults: Any, replies: str,
) -> None:  # fmt: skip
    """Gemini without a reply is no refusal, and Claude's forms end no run; what was heard is recorded, kept or not."""
    pytest.importorskip("google.genai" if name == "gemini" else "anthropic")
    service.server.stands_for(name, monkeypatch)
    service.faults, service.good = [answer for answer, _ in faults], good
    run = ask(service.model(name), limit=len(faults) + 1, **({"REPLIES": replies} if replies else {}))
    assert run.statuses == [status for _, status in faults] + ["ok"]
    assert all(usage.get("stored") == (False if replies else None) for usage in run.usages)
    if name == "claude":
        assert {(usage["prompt_tokens"], usage["completion_tokens"]) for usage in run.usages} == {(7, 11)}


@pytest.fixture
def prices(tmp_path: Path) -> str:
    """A table by which an answer costs 18 USD."""
    (table := tmp_path / "prices.yaml").write_text("date: 2026-11-01\nmodels: {m: {input: 1.0e6, output: 1.0e6}}\n")
    return str(table)


@pytest.mark.parametrize("name", CLASSES)
def test_a_limit_of_cost_stops_a_run_that_then_goes_on(
    ask: Callable[..., Any], service: Service, prices: str, name: str
) -> None:
    """Three requests are under way at once, so that at most two more than the limit allows are paid."""

    def run(limit: int = 12, cost: str = "60", table: str = prices) -> Any:
        model = service.model(name, **{"num_cpus" if name == "async_openai" else "num_concurrent": 3})
        return ask(model, limit=limit, PRICES=table, LIMIT_COST=cost)

    with pytest.raises(SimingError) as stopped:
        run()
    sent = service.sent
    assert 4 <= sent <= 4 + 2 and f"the {12 - sent} remaining requests" in str(stopped.value)
    assert f"SIMING_LIMIT_COST: {18 * sent} of 60 USD are spent" in str(stopped.value)
    with pytest.raises(SimingError):
        run()
    assert service.sent == sent  # what is kept counts
    whole = run(cost="1000")
    assert service.sent == 12 and {usage["cost"] for usage in whole.usages} == {18} and whole.new == 12 - sent
    with pytest.raises(SimingError, match="SIMING_PRICES names no price table"):
        run(13, "1", "")


@pytest.mark.parametrize("used", [None, {**USED, "completion_tokens": 0}, {**USED, "prompt_tokens": 10.5}])
def test_a_service_that_reports_no_tokens_stops_a_run_that_has_a_limit(
    ask: Callable[..., Any], service: Service, prices: str, used: Any
) -> None:
    service.good = said(GOOD, used=used)
    with pytest.raises(SimingError, match="does not report the tokens of every reply"):
        ask(service.model("openai"), limit=6, PRICES=prices, LIMIT_COST="50")
    assert service.sent == 1


def test_lost_answers_are_paid_and_count_in_the_limit_of_the_next_command(
    ask: Callable[..., Any], service: Service, prices: str
) -> None:
    service.good = NOTHING
    for _ in range(2):
        with pytest.raises(SimingError, match="54 of 50 USD are spent, including earlier commands"):
            ask(service.model("openai"), limit=6, PRICES=prices, LIMIT_COST="50")
        assert service.sent == 3


@pytest.mark.parametrize("name", CLASSES)
def test_a_line_that_cannot_be_written_ends_the_run_and_what_came_is_kept(
    ask: Callable[..., Any], service: Service, tmp_path: Path, name: str
) -> None:
    ask(service.model(name), limit=12, REPLIES=str(tmp_path / "other"))  # the frames are there now
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SimingError, match="Not a directory"):
        ask(service.model(name), limit=12, REPLIES=str(tmp_path / "file" / "kept"))
    assert service.sent == 12  # nothing is asked that could not be kept
    with files_end_at(2500), pytest.raises(SimingError, match="File too large"):
        ask(service.model(name), limit=12)
    assert 12 < (sent := service.sent) < 24
    run = ask(service.model(name), limit=12)
    assert run.statuses == ["ok"] * 12 and service.sent == 24 + 1 and run.new == 24 - sent + 1


@pytest.mark.parametrize("name", CLASSES)
def test_a_run_about_real_recordings_ends_where_its_service_redirects_it(
    ask: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path, name: str
) -> None:
    elsewhere = Service(serve, said(GOOD))
    address = f"http://elsewhere.example:{elsewhere.server.port}/v1/chat/completions"
    service = Service(serve, (307, {}, {"Location": address}))
    with pytest.raises(DataError, match=r"would go to elsewhere\.example \(127\.0\.0\.1 redirected the request there"):
        ask(service.model(name), DATA=str(real_folder(short_demo, tmp_path)))
    assert 1 <= service.sent <= 3 and elsewhere.sent == 0
    assert "DataError" not in "".join(path.read_text() for path in (tmp_path / "kept").rglob("*.jsonl"))


@pytest.mark.parametrize("name", CLASSES)
def test_counts_that_are_no_numbers_end_nothing_and_ask_nothing_twice(
    ask: Callable[..., Any], serve: Callable[..., Server], name: str
) -> None:
    service = Service(
        serve, said(GOOD, used={"prompt_tokens": "7", "completion_tokens": "eleven", "total_tokens": "x"})
    )
    answered = ask(service.model(name))
    assert answered.statuses == ["ok"] * 3 and service.sent == 3
    assert [usage["prompt_tokens"] for usage in answered.usages] == [None] * 3
    running = import_module("lmms_eval.models.model_utils.usage_metrics")
    assert all(isinstance(running.get_running_totals()[kind], int) for kind in ("input_tokens", "output_tokens"))


def test_videos_are_decoded_while_earlier_ones_are_asked_about(
    ask: Callable[..., Any], serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request is answered although no later video can be decoded before it is."""
    first, fill = threading.Event(), FrameStore.fill

    def answer(*_: Any) -> Any:
        first.set()
        return said(GOOD)

    def slow(store: FrameStore, indices: Any) -> int:
        filled.append(store.digest)
        if store.digest != filled[0]:
            assert first.wait(60), "a second video was decoded before the first request"
        return fill(store, indices)

    filled: list[str] = []
    monkeypatch.setattr(FrameStore, "fill", slow)
    service = Service(serve, None)
    service.server.answer = answer
    answered = ask(service.model("openai"), tasks=("siming_full_score",), limit=4)
    assert len(answered.replies) == 4 == len(set(filled)) and first.is_set()


@pytest.mark.parametrize("name", CLASSES)
def test_a_film_that_cannot_be_decoded_ends_the_run_and_what_came_is_kept(
    ask: Callable[..., Any], service: Service, short_demo: Path, kept: Callable[[], Any], monkeypatch: Any, name: str
) -> None:
    """A class that retries what it cannot build would end with a failed request, and an attempt that was never made."""
    videos, fill = open_dataset(short_demo).videos, FrameStore.fill

    def damaged(store: FrameStore, indices: Any) -> int:
        if store.source.name == Path(videos[2].media).name:
            raise MediaError(f"{store.source}: cut short or damaged.")
        return fill(store, indices)

    monkeypatch.setattr(FrameStore, "fill", damaged)
    with pytest.raises(MediaError, match="cut short or damaged"):
        ask(service.model(name), tasks=("siming_full_score",), limit=4)
    assert len(kept()) == service.sent <= 3
    monkeypatch.undo()
    again = ask(service.model(name), tasks=("siming_full_score",), limit=4)
    assert service.sent == 4 and [usage["attempts"] for usage in again.usages] == [1] * 4


@pytest.mark.parametrize("change", [{"FRAME_SIZE": "3000"}, {"SAMPLER": "uniform"}, {"RATER": "rater_a"}], ids=str)
def test_an_option_that_leaves_the_pictures_alone_may_change_in_the_middle_of_a_run(
    ask: Callable[..., Any], service: Service, change: dict[str, str]
) -> None:
    """Continued with it, all records state the options of the command that went on, and nothing is asked twice."""
    begun = ask(service.model("openai"), limit=2, FRAME_SIZE="2000")
    whole = ask(service.model("openai"), limit=4, **{"FRAME_SIZE": "2000", **change})
    assert (begun.new, whole.new, service.sent) == (2, 2, 4)
    stated = [{name: value for name, value in record["media"].items() if name in ("size", "sampler", "density")}
              for record in whole.records]  # fmt: skip
    assert stated == [stated[0]] * 4 and stated[0]["size"] == int(change.get("FRAME_SIZE", "2000"))
