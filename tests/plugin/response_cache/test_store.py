"""Stored replies are whole or absent, whatever happens to the file."""

import os
import threading
from pathlib import Path

import pytest

from siming_tasks.plugin.response_cache.attempt import Attempt
from siming_tasks.plugin.response_cache.store import KeptReply, ReplyStore
from tests.lmms_eval_runs import files_end_at

KEYS = [f"k{number}" for number in range(100)]


def reply(number: int, text: str = "") -> KeptReply:
    text = text or f'{{"score": {number}}} é \ud800 \n "'  # half of a surrogate pair, as services do send
    return KeptReply(f"k{number}", f"clip_score/v/{number}", text, 1000.0 + number)


@pytest.fixture
def store(tmp_path: Path) -> ReplyStore:
    store = ReplyStore(tmp_path / "kept")
    assert store.find(KEYS) == ({}, {}) and not store.folder.exists()
    assert store.open()
    return store


def found(store: ReplyStore, unreadable: int = 0) -> dict[str, KeptReply]:
    reader = ReplyStore(store.folder)
    replies, _ = reader.find(KEYS)
    assert reader.unreadable == unreadable
    return replies


def test_the_first_reply_counts_and_each_attempt_once(store: ReplyStore) -> None:
    """Two processes paid for the same reply (a shard beside the whole run), after one that got none, and its copy."""
    store.add(reply(0))
    assert found(store) == {"k0": reply(0)}  # while it is still open
    (file,) = store.folder.glob("*.jsonl")
    assert oct(file.stat().st_mode)[-3:] == "600"
    failed, first, second = (Attempt("k1", float(at), prompt_tokens=at) for at in (1, 2, 3))
    kept = [KeptReply("k1", "r", text, at) for text, at in (("a", 2.0), ("b", 3.0))]
    for lines in ([failed], [failed], [second, kept[1]], [first, kept[0]]):
        (one := ReplyStore(store.folder)).open()
        for line in lines:
            one.add(line)
        one.close()
    assert ReplyStore(store.folder).find(["k1"]) == ({"k1": kept[0]}, {"k1": [failed, second, first]})


BROKEN = (
    b"\n", b"\x00" * 500, b"[]", b"[" * 100_000, b'{"key": "k5", "reply": "x"}', b'{"key": "k5", "id": "',
    b'{"key": "k5", "id": "r", "reply": "x", "at": NaN}', b"\xff\xfe",
    b'{"attempt": {"key": "k5", "sent": 1, "prompt_tokens": -1}}',
)  # fmt: skip


def test_what_cannot_be_read_is_skipped_and_counted(store: ReplyStore) -> None:
    """Lines of any kind, a pipe on which reading would block, and a folder."""
    (file,) = store.folder.glob("*.jsonl")
    for number, line in enumerate(BROKEN):
        store.add(reply(number))
        with file.open("ab") as stream:
            stream.write(line.rstrip(b"\n") + b"\n")
    os.mkfifo(store.folder / "pipe.jsonl")
    (store.folder / "folder.jsonl").mkdir()
    assert found(store, len(BROKEN) + 2) == {f"k{number}": reply(number) for number in range(len(BROKEN))}


def test_a_file_that_was_cut_short_anywhere(store: ReplyStore) -> None:
    (file,) = store.folder.glob("*.jsonl")
    store.add(reply(0))
    size = file.stat().st_size
    store.add(reply(1))
    whole = file.read_bytes()
    for end in range(size, len(whole) - 1):
        file.write_bytes(whole[:end])
        assert found(store, int(end > size)) == {"k0": reply(0)}


def test_a_full_disk_leaves_what_came_and_nothing_is_written_after_it(store: ReplyStore) -> None:
    with files_end_at(600):
        for number in range(12):
            store.add(reply(number))
    assert "File too large" in store.error and "sends only the remaining requests" in store.error
    (file,) = store.folder.glob("*.jsonl")
    whole, size = found(store, 1), file.stat().st_size  # one line was cut
    store.add(reply(50))
    store.close()
    assert 0 < len(whole) < 12 and found(store, 1) == whole == {f"k{n}": reply(n) for n in range(len(whole))}
    assert file.stat().st_size == size


def test_many_threads_write_whole_lines(store: ReplyStore) -> None:
    def write(start: int) -> None:
        for number in range(start, start + 10):
            store.add(reply(number, "x" * 5000))

    threads = [threading.Thread(target=write, args=(start,)) for start in range(0, 100, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found(store).keys() == set(KEYS)


def test_one_waits_for_an_equal_one_and_shards_for_nobody(store: ReplyStore) -> None:
    order, waits = [], threading.Event()

    def second() -> None:
        with ReplyStore(store.folder).only_one("shard1of2", waits.set):
            order.append("second")

    with store.only_one("shard1of2", lambda: pytest.fail("nobody to wait for")):
        (thread := threading.Thread(target=second)).start()
        with ReplyStore(store.folder).only_one("shard2of2", lambda: pytest.fail("another shard")):
            assert waits.wait(60)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
