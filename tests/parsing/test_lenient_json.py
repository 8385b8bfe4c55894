"""The tolerant reader: equal to the standard library on JSON, and honest about everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.parsing.lenient_json import MAX_DEPTH, Broken, Group, Scalar, Value, read

BAD, CUT = Broken.BAD, Broken.CUT


def plain(value: Value) -> Any:
    """A bracket as a list of entries: ``(key, value)`` with a key, the value alone without."""
    if isinstance(value, Group):
        return [plain(item) if key is None else (key, plain(item)) for key, item in value.entries]
    return value.text if isinstance(value, Scalar) else value


def one(text: str) -> Any:
    (root,) = read(text)
    return plain(root)


def as_written(value: Any) -> Any:
    """Expected result of ``plain`` for a parsed JSON value (objects as lists of pairs)."""
    if isinstance(value, list):
        return [as_written(item) for item in value]
    if isinstance(value, tuple):
        return [(key, as_written(item)) for key, item in value]
    if isinstance(value, str):
        return value
    return {True: "true", False: "false", None: "null"}[value] if value is None or isinstance(value, bool) else value


words = st.text(st.characters(exclude_characters="\"'\\`“”‘’＂", exclude_categories=["Cs"]), max_size=12)
trees = st.recursive(
    words | st.booleans() | st.none() | st.integers(0, 99).map(str),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(trees, min_size=1, max_size=4) | st.dictionaries(words, trees, min_size=1, max_size=4), st.booleans())
def test_reads_json_as_the_standard_library_does(tree: Any, pretty: bool) -> None:
    text = json.dumps(tree, ensure_ascii=pretty, indent=2 if pretty else None)
    expected = as_written(json.loads(text, object_pairs_hook=tuple))
    (root,) = read(text)
    assert plain(root) == expected
    assert (root.start, root.end, root.closed, root.odd) == (0, len(text), True, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'a': 1, 'b': 'x'}", [("a", "1"), ("b", "x")]),
        ("{a: 1, b_2: two words}", [("a", "1"), ("b_2", "two words")]),
        ('{"a": 1, "b": 2,}', [("a", "1"), ("b", "2")]),
        ('{"a": 1 // why, "c": 3\n, "b": 2 # so\n}', [("a", "1"), ("b", "2")]),
        ('{"a": /* 7 */ 1, "b": 2}', [("a", "1"), ("b", "2")]),
        ('{"a": 1 "b": 2\n"c": 3}', [("a", "1"), ("b", "2"), ("c", "3")]),
        ('{"a": "x"\n"b": 2}', [("a", "x"), ("b", "2")]),
        ("{“a”：１，“b”：“他说“好”了”}", [("a", "１"), ("b", "他说“好”了")]),
        ('｛"a"：1；"b"：2｝', [("a", "1"), ("b", "2")]),
        ('{"a": "says "stop", then goes", "b": 2}', [("a", 'says "stop", then goes'), ("b", "2")]),
        ('{"a": "wrote "b": 3, ok", "b": 2}', [("a", 'wrote "b": 3, ok'), ("b", "2")]),
        ("{'a': 'the patient's hand', 'b': 2}", [("a", "the patient's hand"), ("b", "2")]),
        (r'{"a": "\u6b63\u786e", "b": "\"q\""}', [("a", "正确"), ("b", '"q"')]),
        ('{"a": 1, "a": 2}', [("a", "1"), ("a", "2")]),
        ('{"a": 3/5, "b": -1.5e3}', [("a", "3/5"), ("b", "-1.5e3")]),
        ('{"a": 1}}}', [("a", "1")]),
        ('{"a": [1, 2}', [("a", ["1", "2"])]),
        ('{"a": }', [("a", BAD)]),
        ('{"a": , "b": 2}', [("a", BAD), ("b", "2")]),
        ('{"a": 10 20}', [("a", "10 20")]),
        ('{"a": "1"2}', [("a", CUT)]),
        ('{"a": 1 "x", "b": 2}', [("a", BAD), ("b", "2")]),
        ('{"a": 1,5, "b": 2}', [("a", BAD), "5", ("b", "2")]),
        ('{"a": "correct, "b": "incorrect"}', [("a", 'correct, "b": "incorrect')]),
    ],
)
def test_forms_that_models_write(text: str, expected: Any) -> None:
    assert one(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": 1', [("a", "1"), ("b", CUT)]),
        ('{"a": 1, "b": 10 ', [("a", "1"), ("b", CUT)]),
        ('{"a": 1, "b": "1', [("a", "1"), ("b", CUT)]),
        ('{"a": 1, "b": "10"', [("a", "1"), ("b", "10")]),
        ('{"a": 1, "b": ', [("a", "1"), ("b", CUT)]),
        ('{"a": 1, "b', [("a", "1"), CUT]),
        ('{"a": 1, ', [("a", "1")]),
        ('{"a": 1, "b": {"c": 2, "d": 3', [("a", "1"), ("b", [("c", "2"), ("d", CUT)])]),
        ('{"a": [1, 2', [("a", ["1", CUT])]),
    ],
)
def test_end_of_text(text: str, expected: Any) -> None:
    (root,) = read(text)
    assert plain(root) == expected
    assert not root.closed


def test_brackets_in_order_with_their_spans() -> None:
    text = 'see [1]: {"a": 1} then [2, {"b": 3}] {}'
    assert [(text[g.start : g.end], g.bracket) for g in read(text)] == [
        ("[1]", "["),
        ('{"a": 1}', "{"),
        ('[2, {"b": 3}]', "["),
        ("{}", "{"),
    ]


def test_json_inside_an_unclosed_brace_is_still_found() -> None:
    (root,) = read('Format {scores: as below\n{"a": 1}')
    assert [plain(group) for group in root.groups] == [[("a", "1")]]


def test_depth_is_bounded() -> None:
    deep = "[" * 100_000 + "7" + "]" * 100_000
    value: Value = read('{"a": ' + deep + ', "b": 2}')[0]
    assert isinstance(value, Group)
    assert plain(value)[1] == ("b", "2")
    depth = 0
    while isinstance(value, Group) and value.entries:
        value, depth = value.entries[0][1], depth + 1
    assert depth == MAX_DEPTH - 1


@given(st.text() | st.text("[]{}\"':,/*#\\ \n1a"))
def test_takes_any_text(text: str) -> None:
    """Whatever the text leaves open, a bracket at its end is read or is part of one that is open until there."""
    for written in (text, text + "{"):
        groups = read(written)
        assert all(0 <= group.start < group.end <= len(written) for group in groups)
        assert groups or written == text
    assert groups[-1].end == len(text) + 1
