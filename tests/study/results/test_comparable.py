"""Conditions under which two runs are comparable, and the number of records that are read for it."""

from dataclasses import replace
from hashlib import sha256
from itertools import permutations
from typing import Any, cast

import numpy as np
import pytest

from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.record import Conditions, Record
from siming_tasks.common.errors import DataError
from siming_tasks.options import CONDITIONS
from siming_tasks.study.results.comparable import (
    TaskRun,
    _conditions,
    _facts,
    comparable,
    comparison_entries,
    largest_group,
)
from siming_tasks.study.results.discovery import role_of
from siming_tasks.study.results.unread_replies import UnreadReplies, failed_sentence, unread_note


def entrant(name: str, prompts: list[object]) -> TaskRun:
    """A run of as many videos as there are prompts; all else is the same or not stated."""
    ids = [f"v{number}" for number in range(len(prompts))]
    points = np.ones((len(ids), 1))
    panel = ScoreMatrix(ids, ["s"], ["cpr"], [1.0], points, points, points > 0, "score")
    conditions = {
        f"full_score/{i}": (None, p, None, "frames", 8, None, None, None, None, None)
        for i, p in zip(ids, prompts, strict=True)
    }
    return TaskRun(name, panel, conditions, {})


def test_the_first_difference_is_named_and_all_are_counted():
    runs = entrant("a", ["x", "x", "x", "y"]), entrant("b", ["x", None, "y", "z"])
    assert comparable(*runs) == [
        "Runs 'a' and 'b' differ in prompt: x against y (full_score/v2; 2 of 4 requests). "
        "Compare runs with the same prompt, or accept the difference (--allow prompt)."
    ]
    assert comparable(*runs, allow=["prompt"]) == []


def names(runs):
    return [run.name for run in runs]


def test_the_largest_group_within_which_all_can_be_compared():
    a, b, c, d = (entrant(name, prompts) for name, prompts in zip("abcd", ("x", "y", "y", "yy"), strict=True))
    found, why = largest_group([a, c, b, d])
    assert names(found) == ["c", "b"]  # as they were given
    assert {*why} == {"a", "d"} and "differ in prompt" in why["a"] and "different videos" in why["d"]
    assert [entry.name for entry in comparison_entries([b, c])] == ["b", "c"]
    with pytest.raises(DataError, match=r"differ in prompt: x against y .*; every request"):
        comparison_entries([a, b])


@pytest.mark.parametrize("prompts", [("x", "y"), ("x", "x", "y", "y"), ("x", None, "y"), ("x", "y", "z", "x")])
def test_the_group_does_not_depend_on_the_order_of_the_runs(prompts):
    """Of two groups of one size neither is chosen; what a run does not state differs from nothing."""
    runs = [entrant(f"m{place}", [prompt]) for place, prompt in enumerate(prompts)]
    (first, why), *others = (largest_group(order) for order in permutations(runs))
    assert all(({*names(found)}, apart) == ({*names(first)}, why) for found, apart in others)
    assert {*names(first), *why} == {*names(runs)} and all("differ in prompt" in reason for reason in why.values())
    assert names(first) == {2: [], 3: ["m0", "m1"], 4: ["m0", "m3"] if "z" in prompts else []}[len(prompts)]


def test_the_facts_of_a_run_are_what_is_known_of_it() -> None:
    about = Conditions(prompt="abc", dataset="0123456789abcdef")
    record = Record("full_score", "v1", None, Parsed("ok"), about)
    assert _facts([record]) == {"dataset": "0123456789ab", "prompt": sha256(b'["abc"]').hexdigest()[:12]}
    assert _conditions(record)[:2] == ("0123456789ab", "abc")
    trained = replace(record, conditions=replace(about, judge={"kind": "supervised, cross-fitted"}))
    assert [role_of({}, {"full_score": [each]}) for each in (record, trained)] == ["model", "supervised"]


def test_failed_and_cut_replies_are_named_by_what_is_known_of_them() -> None:
    failed, cut = Parsed("request_failed"), Parsed("truncated")
    records = [Record("full_score", "v1", None, failed, Conditions(usage={"error": "HTTP 500"})),
               Record("full_score", "v2", None, failed), Record("full_score", "v3", None, cut)]  # fmt: skip
    assert failed_sentence(records) == "2 of 3 requests failed (1 HTTP 500, 1 no reply)."
    assert (
        unread_note(UnreadReplies(cast(Any, None)), {"full_score": records}) is not None
    )  # nothing is known of the cut one


def test_a_mode_that_is_not_known_is_not_stated() -> None:
    found = [_conditions(record(mode=mode))[CONDITIONS.index("media")] for mode in ("frames", "video", "unknown")]
    assert found == ["frames", "video", None]
    schemas = [record(), record(prompt="a"), record(prompt="a", reply_schema="b")]
    assert [_conditions(one)[CONDITIONS.index("schema")] for one in schemas] == [None, "none", "b"]


def test_pixels_of_two_numbers_are_not_compared_without_a_word() -> None:
    place = CONDITIONS.index("pixels")
    for one, other, differ in ((4, 5, True), (4, "4-libavcodec63", True), (4, 4, False), (4, None, False)):
        runs = [
            TaskRun(name, entrant(name, ["x"]).panel, {"full_score/v0": _conditions(record(pixels=number))}, {})
            for name, number in (("a", one), ("b", other))
        ]
        reasons = comparable(*runs)
        assert bool(reasons) == differ and comparable(*runs, allow=["pixels"]) == []
        assert not differ or f"differ in pixels: {one} against {other} " in reasons[0]
    versions = [_conditions(record(pixels=4, decoder={"av": av})) for av in ("15.1.0", "17.1.0")]
    assert versions[0] == versions[1] and versions[0][place] == 4


def record(prompt: str | None = None, reply_schema: str | None = None, **media: object) -> Record:
    shown = {"mode": "frames", "n_frames": 8, "quality": 90, **media}
    asked = {"prompt": prompt, "reply_schema": reply_schema}
    return Record.from_json({"id": "full_score/v0", "answers": {}, "media": shown, **asked})


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ({"encoding": "jpeg90"}, {"encoding": "png"}, False),  # the same pixels in another wrapping
        ({"encoding": "jpeg60"}, {"encoding": "jpeg90"}, True),
        ({"encoding": "jpeg90 (3 of 8 images)"}, {"encoding": "jpeg90"}, True),
        ({"encoding": "jpeg60"}, {"mode": "video"}, False),  # the mode differs, which is said instead
        ({"encoding": "jpeg60"}, {"quality": None}, False),  # not stated
    ],
)
def test_the_loss_by_encoding_is_a_condition(one: dict[str, object], other: dict[str, object], differ: bool) -> None:
    place = CONDITIONS.index("encoding")
    found = [_conditions(record(**media))[place] for media in (one, other)]
    assert (found[0] != found[1] and None not in found) == differ
