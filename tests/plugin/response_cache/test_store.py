"""Stored replies are whole or absent, whatever happens to the file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from siming_tasks.plugin.response_cache.store import CachedReply, ReplyStore
from tests.lmms_eval_runs import files_end_at


def reply(number: int, text: str = "") -> CachedReply:
    return CachedReply(
        f"k{number}", f"clip_score/v/{number}", text or f'{{"score": {number}}} é \ud800 \n "', 1000.0 + number
    )


@pytest.fixture
def store(tmp_path: Path) -> ReplyStore:
    return ReplyStore(tmp_path / "kept", "conditions")


def again(store: ReplyStore) -> ReplyStore:
    return ReplyStore(store.folder, store.conditions)


def only_file(store: ReplyStore) -> Path:
    (path,) = store.folder.glob("*.jsonl")
    return path


KEYS = [f"k{number}" for number in range(100)]


def test_stored_replies_are_found_by_another_store(store: ReplyStore) -> None:
    assert store.find(KEYS) == {} and not store.folder.exists()
    assert all(store.add(reply(number)) for number in range(3))
    assert again(store).find(KEYS) == {f"k{number}": reply(number) for number in range(3)}  # while it is still open
    store.close()
    assert again(store).find(["k1", "other"]) == {"k1": reply(1)}
    assert oct(only_file(store).stat().st_mode)[-3:] == "600"


def test_of_two_replies_to_one_request_the_first_counts(store: ReplyStore) -> None:
    later, sooner = CachedReply("k", "r", "later", 2.0), CachedReply("k", "r", "sooner", 1.0)
    for kept in (later, sooner):
        (reopened := again(store)).add(kept)
        reopened.close()
    assert len(list(store.folder.glob("*.jsonl"))) == 2 and again(store).find(["k"]) == {"k": sooner}


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_file_that_was_cut_short_anywhere(store: ReplyStore, cut: int) -> None:
    for number in range(2):
        store.add(reply(number))
    store.close()
    path = only_file(store)
    path.write_bytes(path.read_bytes()[:-cut])
    reader = again(store)
    assert reader.find(KEYS) == {"k0": reply(0)}
    (warning,) = reader.warnings
    assert warning.startswith("1 lines in ") and "cut short or altered" in warning and "asked for again" in warning
    reader.add(reply(5))  # into a file of its own
    reader.close()
    assert again(store).find(KEYS) == {"k0": reply(0), "k5": reply(5)}


def test_no_altered_byte_of_a_line_is_read_as_a_reply(store: ReplyStore) -> None:
    store.add(reply(0))
    store.add(reply(1))
    store.close()
    path, whole = only_file(store), only_file(store).read_bytes()
    start = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for place in range(start, len(whole)):
        for byte in (whole[place] ^ 1, 0, 10):
            if byte == whole[place]:
                continue
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            assert again(store).find(KEYS) == {"k0": reply(0)}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", None),
        (b"\n", "not written by this version"),
        (b"\x00" * 500, "not written by this version"),
        (b'{"siming_replies": 1}\n', "not written by this version"),
        (b'{"sum": "0123456789abcdef", "kept": {"siming_replies": 1}}\n', "not written by this version"),
        (b"[" * 100_000, "not written by this version"),
    ],
)
def test_a_foreign_file_is_left_alone(store: ReplyStore, content: bytes, expected: str | None) -> None:
    store.add(reply(0))
    (path := store.folder / "0.jsonl").write_bytes(content)
    assert store.find(KEYS) == {"k0": reply(0)}
    assert [expected in warning for warning in store.warnings if expected] == [True] * bool(expected)
    assert path.read_bytes() == content


def test_a_file_of_another_model_or_version_is_left_alone(store: ReplyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    (other := ReplyStore(store.folder, "others")).add(reply(0))
    other.close()
    assert store.find(KEYS) == {} and "another model or other arguments" in store.warnings[0]
    monkeypatch.setattr("siming_tasks.plugin.response_cache.store.VERSION", 2)
    assert again(other).find(KEYS) == {}


def test_a_special_file_does_not_block_the_store(store: ReplyStore) -> None:
    store.add(reply(0))
    os.mkfifo(store.folder / "pipe.jsonl")
    (store.folder / "folder.jsonl").mkdir()
    assert store.find(KEYS) == {"k0": reply(0)}
    assert len(store.warnings) == 2 and all("cannot be read" in warning for warning in store.warnings)


def test_an_unwritable_folder_gives_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = ReplyStore(tmp_path / "file" / "kept", "conditions")
    assert store.find(KEYS) == {}
    assert [store.add(reply(number)) for number in range(3)] == [False] * 3
    (warning,) = store.warnings
    assert warning.startswith("REPLIES ARE NOT KEPT: ") and "Not a directory" in warning and "SIMING_REPLIES" in warning
    (tmp_path / "file").unlink()
    assert store.add(reply(3))  # the place is there again: nothing of what waited is lost
    assert again(store).find(KEYS) == {f"k{number}": reply(number) for number in range(4)}


def test_a_full_disk_leaves_whole_lines_and_loses_nothing_when_there_is_room_again(store: ReplyStore) -> None:
    with files_end_at(1500):
        kept = [store.add(reply(number)) for number in range(12)]
    assert kept[0] and not kept[-1] and sorted(kept, reverse=True) == kept
    assert len(store.warnings) == 1 and "File too large" in store.warnings[0]
    assert len(again(store).find(KEYS)) == sum(kept) and again(store).find(KEYS)
    reader = again(store)
    reader.find(KEYS)
    assert reader.warnings == []  # no half line was left
    assert store.add(reply(50))
    store.close()
    assert again(store).find(KEYS) == {f"k{number}": reply(number) for number in (*range(12), 50)}


def test_many_threads_write_whole_lines(store: ReplyStore) -> None:
    threads = [
        threading.Thread(target=lambda start=start: [store.add(reply(start + i, "x" * 5000)) for i in range(10)])
        for start in range(0, 100, 10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert again(store).find(KEYS).keys() == set(KEYS)


def test_closing_twice_and_without_a_reply(store: ReplyStore) -> None:
    store.close()
    store.close()
    assert not store.folder.exists()
