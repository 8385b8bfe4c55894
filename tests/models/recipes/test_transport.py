"""Time-outs and retries that are printed are those that a server which never answers sees."""

from __future__ import annotations

import functools
import importlib.util
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import backend_of
from siming_tasks.models.recipes import recipes
from siming_tasks.models.recipes.transport import Transport, transport_of, transport_of_class, transports
from siming_tasks.plugin.response_cache.attempt import Attempt
from siming_tasks.plugin.response_cache.dispatch import one_reply_per_request
from siming_tasks.plugin.response_cache.ledger import Ledger
from tests.plugin.serving import Server

TIMEOUT = 0.3
MEASURED = ("chat.async_openai", "chat.gemini", "chat.openai", "simple.gemini", "simple.openai")
ARGUMENTS: dict[str, Any] = {"timeout": TIMEOUT, "max_retries": 2, "retry_backoff_s": 0.1}


@pytest.fixture
def silent(serve: Callable[..., Server]) -> Iterator[Server]:
    """A server that takes every request and answers none."""
    released = threading.Event()

    def never(*_: Any) -> None:
        released.wait(60)

    yield serve(never)
    released.set()


def test_worst_cases_by_hand() -> None:
    """3 x 5 tries of 600 s; five times 0.5 + 1 s within the client; four times 1 s between the class's."""
    openai = transport_of("openai")
    assert openai is not None and openai.most_tries == 15 and openai.worst_seconds == 9000 + 7.5 + 4
    assert openai.with_arguments({"timeout": "20", "max_retries": 1}).worst_seconds == 61.5
    gemini = transport_of("gemini")  # 1 + 2 + 3 + 4 s between five tries
    assert gemini is not None and gemini.worst_seconds == 3010
    reka = transport_of("reka")
    assert reka is not None and reka.worst_seconds == 5 * 600 + 4 * 30


@pytest.mark.parametrize("value", ["soon", "nan", "inf", 0, -1, [1]])
def test_a_time_out_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(OptionsError, match="timeout"):
        transports()["chat.openai"].with_arguments({"timeout": value})


def test_every_row_is_a_class_of_lmms_eval() -> None:
    models = Path(importlib.util.find_spec("lmms_eval.models").origin).parent  # type: ignore[union-attr, arg-type]
    assert [name for name in transports() if not (models / f"{name.replace('.', '/')}.py").is_file()] == []
    for recipe in recipes().values():
        assert "timeout" not in recipe.model_args or transport_of(recipe.model), recipe.name


def measure(ask: Callable[[], Any], server: Server, row: Transport) -> Any:
    """Reply of a class that asks the silent server, once tries and seconds were found to be those of its row."""
    began = time.monotonic()
    reply = ask()
    seconds = time.monotonic() - began
    assert len(server.received) == row.most_tries
    # the client draws its pauses: they are up to a quarter shorter; and each try costs a little to send
    least = row.worst_seconds - 0.25 * row.tries * sum(row.client_pauses)
    assert least <= seconds <= row.worst_seconds + 0.15 * row.most_tries + 0.5
    return reply


def request(*, simple: bool = False) -> Any:
    """A request of text alone, as chat classes get it or simple ones."""
    from lmms_eval.api.instance import Instance

    facts = {"task": "t", "doc_id": 0, "repeats": 1}
    message = [{"role": "user", "content": [{"type": "text", "text": "well?"}]}]
    arguments: tuple[Any, ...] = ("well?", {}, lambda _: []) if simple else ("well?", lambda _: message, {})
    return Instance("generate_until", (*arguments, 0, "t", "test"), 0, facts)


def asking(model: Any, row: Transport, *, simple: bool) -> Callable[[], Any]:
    """The class asks as in a run: its tries end after the row's time-out."""
    assert transport_of_class(type(model)) is transports()[row.name]
    model.task_dict["t"] = {"test": [{}]}
    attempts: list[Attempt] = []
    ledger = Ledger(attempts.append, lambda: False, row.timeout)

    def ask() -> Any:
        with ledger.listening():
            (reply,) = one_reply_per_request(
                model, backend_of([type(model).__module__]), [request(simple=simple)], ["k"], ledger
            )
        assert [attempt.error for attempt in attempts] == ["ReadTimeout"] * row.most_tries
        return str(getattr(reply, "text", reply))

    return ask


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row_name", MEASURED)
def test_a_class_asks_as_often_and_as_long_as_its_row_says(
    silent: Server, monkeypatch: pytest.MonkeyPatch, row_name: str
) -> None:
    """Without this package's help ``openai`` waits 600 s a try whatever it is told, and ``gemini`` for ever."""
    pytest.importorskip("lmms_eval.models")
    registry, _, name = row_name.partition(".")
    simple = registry == "simple"
    if name == "gemini":
        pytest.importorskip("google.genai")
    from lmms_eval.models import get_model

    for variable in ("OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "k")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", silent.url.removesuffix("/v1"))
    address = {} if name == "gemini" else {"base_url": silent.url}
    model = get_model(name, force_simple=simple)(model_version="m", **ARGUMENTS, **address)
    row = transports()[row_name].with_arguments(ARGUMENTS)
    reply = measure(asking(model, row, simple=simple), silent, row)
    assert reply.startswith("[LMMS_EVAL_REQUEST_FAILED after 2 retries]")


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")
def test_claude_asks_fifteen_times(silent: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class has no argument for a time-out, and ends with an error after a first request that failed."""
    anthropic = pytest.importorskip("anthropic")
    module = pytest.importorskip("lmms_eval.models.simple.claude")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    address = silent.url.removesuffix("/v1")
    monkeypatch.setattr(anthropic, "Anthropic", functools.partial(anthropic.Anthropic, base_url=address))
    monkeypatch.setattr(module, "NUM_SECONDS_TO_SLEEP", 0.1)
    row = replace(transports()["simple.claude"].with_arguments(ARGUMENTS), pause=0.1)
    assert measure(asking(module.Claude(model_version="m"), row, simple=True), silent, row)
    assert len(silent.received) == 15


@pytest.mark.host
def test_the_time_out_of_a_command_reaches_the_client(
    host: Callable[..., Any], silent: Server, short_demo: Path
) -> None:
    run = host(
        "--model", "openai", "--tasks", "siming_clip_score", "--limit", "1", "--model_args",
        f"model_version=m,api_key=k,timeout={TIMEOUT},max_retries=2,retry_backoff_s=0.1,base_url={silent.url}",
        data=short_demo, SIMING_CLIP_FRAMES="2", SIMING_FRAME_SIZE="32",
    )  # fmt: skip
    assert run.task("clip_score")["siming_stderr"]["statuses"]["request_failed"] == 1
    assert len(silent.received) == 6
    (wait,) = run.task("clip_score")["siming_stderr"]["usage"]["waits"]
    assert wait == {"timeout": TIMEOUT, "tries": 6}
