"""Replies that go through an object store: nothing is lost or paid twice, and what needs locks is refused."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.object_store import ObjectFolder
from siming_tasks.options import Options
from siming_tasks.plugin.response_cache.attempts import Attempt
from siming_tasks.plugin.response_cache.segments import exchange, exchanged
from siming_tasks.plugin.response_cache.store import CachedReply, ReplyStore
from tests.plugin.response_cache.test_cache import ARGUMENTS, REQUESTS, SMALL, numbers
from tests.plugin.serving import Server


@pytest.fixture(params=["memory", "file"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectFolder:
    kind = request.param
    return ObjectFolder(f"memory://{secrets.token_hex(4)}/m" if kind == "memory" else f"file://{tmp_path}/bucket/m")


def reply(number: int) -> CachedReply:
    return CachedReply(f"k{number}", "r", f"reply {number}", float(number))


def texts(folder: Path, count: int = 9) -> list[str]:
    store = ReplyStore(folder, "c")
    replies = store.find([f"k{number}" for number in range(count)])
    assert not store.warnings
    return [replies[key].reply for key in sorted(replies)]


def test_two_machines_share_what_each_got(objects: ObjectFolder, tmp_path: Path) -> None:
    """Each exchange hands over the whole lines that are new, once, and takes what others have."""
    here, there = tmp_path / "here", tmp_path / "there"
    mine, theirs = ReplyStore(here, "c"), ReplyStore(there, "c")
    mine.add(reply(0))
    exchange(here, objects)
    exchange(here, objects)
    assert len(objects.names()) == 1
    theirs.add(reply(1))
    exchange(there, objects)
    assert texts(there) == ["reply 0", "reply 1"] and texts(here) == ["reply 0"]
    mine.add(reply(2))
    mine.add(reply(3))
    exchange(here, objects)
    exchange(there, objects)
    assert texts(here) == texts(there) == [f"reply {number}" for number in range(4)]
    assert len(objects.names()) == 3 and mine.find_new()[0].reply == "reply 1"
    exchange(new := tmp_path / "new", objects)  # a machine that has nothing
    assert texts(new) == texts(here)


def test_half_a_line_waits_and_half_an_object_is_not_taken(objects: ObjectFolder, tmp_path: Path) -> None:
    (here := tmp_path / "here", ReplyStore(here, "c").add(reply(0)))
    (path,) = here.glob("*.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"sum": "half a line')
    exchange(here, objects)
    (name,) = objects.names()
    assert objects.get(name) == whole and name.endswith(f".{0:012d}-{len(whole):012d}.jsonl")
    objects.put(name.replace(f"{0:012d}", f"{1:012d}").replace(path.stem, "20260101T000000-x-1-ab"), whole[:30])
    exchange(there := tmp_path / "there", objects)
    assert texts(there) == ["reply 0"]


def test_money_of_a_lost_answer_is_counted_once_in_segments(objects: ObjectFolder, tmp_path: Path) -> None:
    """An attempt in one segment and its reply in the next belong together; one without a reply stays paid."""
    store = ReplyStore(here := tmp_path / "here", "c")
    paid = {"latency": 1.0, "http_status": 200, "prompt_tokens": 7, "completion_tokens": 1}
    store.add_attempt(Attempt("k0", 1.0, **paid))
    store.add_attempt(Attempt("k1", 1.0, error="no choice", **paid))
    exchange(here, objects)
    store.add(reply(0))
    exchange(here, objects)
    exchange(there := tmp_path / "there", objects)
    assert len(objects.names()) == 2
    other = ReplyStore(there, "c")
    assert set(other.find(["k0", "k1"])) == {"k0"}
    assert [attempt.key for attempt in other.unanswered(["k0", "k1"])] == ["k1"]


def test_a_store_that_fails_later_keeps_the_replies_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (url, warnings) = f"file://{tmp_path}/bucket", []
    with exchanged(here := tmp_path / "here", url, warnings.append):
        ReplyStore(here, "c").add(reply(0))
        monkeypatch.setattr(ObjectFolder, "put", lambda *_: (_ for _ in ()).throw(DataError("the bucket is full.")))
    assert len(warnings) == 1 and f"Replies stay in {here}; the next run" in warnings[0]
    monkeypatch.undo()
    with exchanged(here, url, warnings.append):  # before the block: what the last run could not hand over
        assert len(ObjectFolder(f"{url}/here").names()) == 1
    assert texts(here) == ["reply 0"]


def test_a_cache_of_frames_is_a_folder() -> None:
    with pytest.raises(OptionsError, match="which has no locks"):
        Options(cache="s3://bucket/cache")
    assert Options(replies="s3://bucket/replies", cache="/c").replies_dir == Path("/c/replies")


@pytest.mark.host
def test_a_run_on_a_new_machine_asks_only_what_is_missing(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path
) -> None:
    """Two machines, which share nothing but the store: caches of their own, the first stopped by a broken service."""
    from tests.plugin.response_cache.test_cache import points

    def breaking(images: tuple[str, ...], text: str, number: int) -> Any:
        return points(images, text) if number < 10 else (422, {"error": {"message": "broken"}})

    server, url = serve(lambda *request: answer(*request)), f"file://{tmp_path}/bucket"
    model = ("--model", "openai", "--model_args", ARGUMENTS["openai"] + server.url, "--tasks", "siming_clip_score")

    def run(name: str, **more: str) -> Any:
        env = {**SMALL, "SIMING_REPLIES": url, "SIMING_CACHE": str(tmp_path / f"cache-{name}"), **more}
        return host(*model, "--limit", str(REQUESTS), data=short_demo, name=name, **env)

    answer: Callable[..., Any] = breaking
    first = run("first")
    assert first.task("clip_score")["siming_stderr"]["statuses"]["ok"] == 10
    answer, before = points, len(server.received)
    second = run("second")
    assert len(server.received) - before == REQUESTS - 10 and "It has no locks" in second.output
    whole = run("whole", SIMING_REPLIES=str(tmp_path / "elsewhere"))
    first_numbers, second_numbers = numbers(whole, "clip_score"), numbers(second, "clip_score")
    attempts = [each["siming_stderr"]["usage"].pop("attempts") for each in (first_numbers, second_numbers)]
    assert attempts[0] == {"total": REQUESTS, "requests": REQUESTS, "failed": 0}
    assert attempts[1] == {
        "total": 2 * REQUESTS - 10,
        "requests": REQUESTS,
        "failed": REQUESTS - 10,
    }
    assert first_numbers == second_numbers
    outputs = [[sample["filtered_resps"] for sample in each.samples("clip_score")] for each in (whole, second)]
    assert outputs[0] == outputs[1]
