"""Time-outs and retries of the table are those that a server which never answers sees."""

import functools
import importlib.util
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import OptionsError
from siming_tasks.media import backend_of
from siming_tasks.models.recipes.transport import transport_of_class, transports
from siming_tasks.plugin.response_cache.attempt import Attempt
from siming_tasks.plugin.response_cache.dispatch import one_reply_per_request
from siming_tasks.plugin.response_cache.ledger import Ledger
from tests.plugin.response_cache.keyed import keyed
from tests.plugin.serving import Server

TIMEOUT = 0.3
ARGUMENTS: dict[str, Any] = {"timeout": TIMEOUT, "max_retries": 2, "retry_backoff_s": 0.1}


@pytest.fixture
def silent(serve: Callable[..., Server]) -> Iterator[Server]:
    """A server that takes every request and answers none."""
    released = threading.Event()

    def never(*_: Any) -> None:
        released.wait(60)

    yield serve(never)
    released.set()


def test_every_row_is_a_class_of_lmms_eval_and_a_time_out_that_is_none_is_refused() -> None:
    models = Path(importlib.util.find_spec("lmms_eval.models").origin).parent  # type: ignore[union-attr, arg-type]
    assert [name for name in transports() if not (models / f"{name.replace('.', '/')}.py").is_file()] == []
    for value in ("soon", "nan", "inf", 0, -1, [1]):
        with pytest.raises(OptionsError, match="timeout"):
            transports()["chat.openai"].with_arguments({"timeout": value})


@pytest.mark.host
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("row", "tries"),
    [("chat.async_openai", 6), ("chat.gemini", 2), ("chat.openai", 6), ("simple.claude", 15), ("simple.openai", 6)],
)
def test_a_class_asks_as_often_as_its_row_says(
    silent: Server, monkeypatch: pytest.MonkeyPatch, row: str, tries: int
) -> None:
    """By itself ``openai`` waits 600 s a try whatever it is told, ``gemini`` for ever, and ``claude`` takes no time."""
    from lmms_eval.api.instance import Instance
    from lmms_eval.models import get_model

    registry, _, name = row.partition(".")
    if package := {"gemini": "google.genai", "claude": "anthropic"}.get(name):
        client = pytest.importorskip(package)
        silent.stands_for(name, monkeypatch)
    address = {} if package else {"base_url": silent.url, "api_key": "k"}
    if name == "claude":
        monkeypatch.setattr(client, "Anthropic", functools.partial(client.Anthropic, base_url=silent.url[:-3]))
        module = importlib.import_module("lmms_eval.models.simple.claude")
        monkeypatch.setattr(module, "NUM_SECONDS_TO_SLEEP", 0.1)
    for library in ("openai", "anthropic"):  # how long a client waits before it asks again changes nothing here
        monkeypatch.setattr(importlib.import_module(f"{library}._base_client"), "INITIAL_RETRY_DELAY", 0.01)
    arguments = ARGUMENTS if name != "claude" else {}
    model = get_model(name, force_simple=registry == "simple")(model_version="m", **arguments, **address)
    service = transports()[row].with_arguments(ARGUMENTS)
    assert transport_of_class(type(model)) is transports()[row] and service.most_tries == tries
    model.task_dict["t"] = {"test": [{}]}
    attempts: list[Attempt] = []
    ledger = Ledger(attempts.append, lambda: False, service.timeout)
    message = [{"role": "user", "content": [{"type": "text", "text": "well?"}]}]
    asked = ("well?", {}, lambda _: []) if registry == "simple" else ("well?", lambda _: message, {})
    facts = {"task": "t", "doc_id": 0, "repeats": 1}
    request = Instance("generate_until", (*asked, 0, "t", "test"), 0, facts)
    with ledger.listening():
        (reply,) = one_reply_per_request(model, backend_of([type(model).__module__]), [keyed(request, "k")], ledger)
    assert str(getattr(reply, "text", reply)).startswith("[LMMS_EVAL_REQUEST_FAILED")
    assert [attempt.error for attempt in attempts] == ["ReadTimeout"] * tries and len(silent.received) == tries
