"""Replies are stored while the run goes on, failed ones are never replayed, and a backend may add to its arguments."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lmms_eval.api.instance import GenerationResult, Instance
from lmms_eval.caching.response_cache import ResponseCache


class Backend:
    """A model that notes whom it was asked for and may be killed before one of its requests."""

    def __init__(self, reply: Callable[[int], str], dies_at: int = -1) -> None:
        self.reply, self.dies_at = reply, dies_at
        self.asked: list[int] = []

    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        for request in requests:
            if request.doc_id == self.dies_at:
                raise KeyboardInterrupt
            self.asked.append(request.doc_id)
        return [GenerationResult(text=self.reply(request.doc_id)) for request in requests]


class Mutating(Backend):
    def generate_until(self, requests: list[Instance]) -> list[GenerationResult]:
        for request in requests:
            request.args[1]["top_p"] = None  # as several API backends do
        return super().generate_until(requests)


def _run(folder: Path, lm: Backend, n: int = 6) -> list:
    cache = ResponseCache.create(str(folder), model="m", model_args="")
    requests = [Instance(request_type="generate_until", arguments=("q", {"max_new_tokens": 8}, None, i, "task", "test"), idx=0, metadata={"task": "task", "doc_id": i, "repeats": 1}) for i in range(n)]
    success = False
    try:
        replies = cache.execute(lm, "generate_until", requests)
        success = True
    finally:
        cache.finalize(success=success)
    return [getattr(reply, "text", reply) for reply in replies]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_CACHE_CHECKPOINT_INTERVAL", "2")
    for name in ("LMMS_CACHE_RUN_ID", "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)


def test_a_run_that_was_killed_keeps_what_it_had(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, Backend(str, dies_at=5))
    again = Backend(str)
    assert _run(tmp_path, again) == ["0", "1", "2", "3", "4", "5"]
    assert again.asked == [4, 5], "replies of the run that was killed were lost"


@pytest.mark.parametrize("failure", ["", "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error.", "[LMMS_EVAL_BUDGET_EXCEEDED]"])
def test_a_failed_request_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    monkeypatch.setenv("LMMS_CACHE_RUN_ID", "one")  # the same files, read again at the next start
    _run(tmp_path, Backend(lambda doc: failure if doc == 1 else str(doc)))
    again = Backend(str)
    assert _run(tmp_path, again)[1] == "1", "a failed request was replayed as a reply"
    assert again.asked == [1]


def test_a_backend_that_adds_to_its_arguments_hits(tmp_path: Path) -> None:
    _run(tmp_path, Mutating(str))
    again = Mutating(str)
    _run(tmp_path, again)
    assert again.asked == [], "stored under another key than it is looked up"
