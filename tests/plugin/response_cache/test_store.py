"""Stored replies are whole or absent, whatever happens to the file."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

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


def found(store: ReplyStore) -> dict[str, KeptReply]:
    return ReplyStore(store.folder).find(KEYS)[0]


def only_file(store: ReplyStore) -> Path:
    (path,) = store.folder.glob("*.jsonl")
    return path


def test_stored_replies_are_found_by_another_store_and_the_first_counts(store: ReplyStore) -> None:
    for number in range(3):
        store.add(reply(number))
    assert found(store) == {f"k{number}": reply(number) for number in range(3)}  # while it is still open
    assert oct(only_file(store).stat().st_mode)[-3:] == "600"
    store.close()
    store.close()
    for at in (2.0, 1.0, 3.0):
        (other := ReplyStore(store.folder)).open()
        other.add(KeptReply("k50", "r", str(at), at))
        other.close()
    assert found(store)["k50"].reply == "1.0"


def test_attempts_belong_to_the_reply_of_their_process_or_are_lost_ones(store: ReplyStore) -> None:
    """Two processes got the same reply (a copied folder, another shard): each token is counted once."""
    failed, first, second = (Attempt("k1", float(at), prompt_tokens=at) for at in (1, 2, 3))
    for lines in (
        [failed],
        [failed],
        [first, KeptReply("k1", "r", "a", 2.0)],
        [second, KeptReply("k1", "r", "b", 3.0)],
    ):
        (one := ReplyStore(store.folder)).open()
        for line in lines:
            one.add(line)
        one.close()
    replies, attempts = ReplyStore(store.folder).find(["k1"])
    assert replies["k1"].reply == "a" and attempts == {"k1": [failed, first]}


@pytest.mark.parametrize(
    "line",
    [
        b"\n", b"\x00" * 500, b"[]", b'"key"', b"[" * 100_000, b'{"key": "k5", "reply": "x"}', b'{"key": "k5", "id": "',
        b'{"key": "k5", "id": "r", "reply": "x", "at": NaN}', b'{"attempt": {"key": "k5", "sent": "soon"}}',
        b'{"attempt": {"key": "k5", "sent": 1, "prompt_tokens": -1}}', b'{"siming_replies": 1}', b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_skipped_and_counted(store: ReplyStore, line: bytes) -> None:
    store.add(reply(0))
    with only_file(store).open("ab") as file:
        file.write(line.rstrip(b"\n") + b"\n")
    store.add(reply(1))
    reader = ReplyStore(store.folder)
    assert reader.find(KEYS)[0] == {"k0": reply(0), "k1": reply(1)} and reader.unreadable == 1


def test_a_file_that_was_cut_short_anywhere(store: ReplyStore) -> None:
    store.add(reply(0))
    size = only_file(store).stat().st_size
    store.add(reply(1))
    whole = only_file(store).read_bytes()
    for end in range(size, len(whole) - 1):
        only_file(store).write_bytes(whole[:end])
        reader = ReplyStore(store.folder)
        assert reader.find(KEYS)[0] == {"k0": reply(0)} and reader.unreadable == (end > size)


def test_a_special_file_does_not_block_the_store(store: ReplyStore) -> None:
    store.add(reply(0))
    os.mkfifo(store.folder / "pipe.jsonl")
    (store.folder / "folder.jsonl").mkdir()
    reader = ReplyStore(store.folder)
    assert reader.find(KEYS)[0] == {"k0": reply(0)} and reader.unreadable == 2


def test_a_full_disk_leaves_what_came_and_nothing_is_written_after_it(store: ReplyStore) -> None:
    with files_end_at(600):
        for number in range(12):
            store.add(reply(number))
    assert "File too large" in store.error and "asks for the rest alone" in store.error
    whole = found(store)
    store.add(reply(50))
    store.close()
    assert 0 < len(whole) < 12 and found(store) == whole == {
        f"k{number}": reply(number) for number in range(len(whole))
    }


def test_a_folder_that_cannot_be_written_is_known_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ReplyStore(tmp_path / "file" / "kept")
    with store.only_one("shard", lambda: pytest.fail("nobody to wait for")):
        assert store.find(KEYS) == ({}, {})
        assert not store.open() and "Not a directory" in store.error and "SIMING_REPLIES" in store.error


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
    order: list[Any] = []

    def second() -> None:
        with ReplyStore(store.folder).only_one("shard1of2-rank0of1", lambda: order.append("waits")):
            order.append("second")

    with store.only_one("shard1of2-rank0of1", lambda: pytest.fail("nobody to wait for")):
        (thread := threading.Thread(target=second)).start()
        with ReplyStore(store.folder).only_one("shard2of2-rank0of1", lambda: pytest.fail("another shard")):
            pass
        while not order:
            pass
        order.append("first")
    thread.join()
    assert order == ["waits", "first", "second"]
