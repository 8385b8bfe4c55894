"""JSON as models write it: what is forgiven, what is broken, what is no JSON."""

import json
from typing import Any

import json_repair
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siming_tasks.benchmark.parsing.json_values import BROKEN, Group, Value, read_json


def plain(value: Value) -> Any:
    """A value as Python objects; a key that is missing is None."""
    if not isinstance(value, Group):
        return value
    return [plain(item) for _, item in value.entries] if value.bracket == "[" else {
        key: plain(item) for key, item in value.entries}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'a': 'it''s'}", {"a": "it''s"}),
        ("{'a': \"x's\", 'b': None}", {"a": "x's", "b": "None"}),
        ("{a: correct, b: 2 points,}", {"a": "correct", "b": "2 points"}),
        ('{"a": 1 // one\n, "b": 2 # two\n/* three */}', {"a": "1", "b": "2"}),
        ('{"a": 1\n "b": 2}', {"a": "1", "b": "2"}),
        ('{"a": "says "safe" aloud", "b": 2}', {"a": 'says "safe" aloud', "b": "2"}),
        ('{"a": "x\\"y\\u0031"}', {"a": 'x"y1'}),
        ('{"a": "C:\\path"}', {"a": "C:path"}), ('{"a": "x\\u0031\n"}', {"a": "x1\n"}),
        ("{“a”: “b”}", {"a": "b"}),
        ('```json\n{"a": 1}\n```', {"a": "1"}),
        ("\\boxed{\\{\"a\": 1\\}}", {None: {"a": "1"}}),
        ('{"a": {"b": 1], "c": 2}', {"a": {"b": "1"}, "c": "2"}),
        ('{"a": 1,5, "b": 2}', {"a": BROKEN, None: "5", "b": "2"}),
        ('{"a": "x" or "y", "b": 2}', {"a": 'x" or "y', "b": "2"}),
        ('{"a": 0:02}', {"a": BROKEN, "0": "02"}),
        ('[{"a": 1}, {"a": 2}]', [{"a": "1"}, {"a": "2"}]),
    ],
)  # fmt: skip
def test_what_is_read(text: str, expected: Any) -> None:
    (group,) = read_json(text)
    assert plain(group) == expected and group.closed


@pytest.mark.parametrize(
    "text", ["", "plain", "[1, 2]", "[cpr_01] Scene safety", "{ is a brace", "\\boxed{4}", "{the trainee}", "{{}"]
)
def test_what_is_no_json(text: str) -> None:
    assert all(not group.entries or not group.closed for group in read_json(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [('{"a": 1', {"a": BROKEN}), ('{"a": "x"', {"a": "x"}), ('{"a": 1, "b": "x', {"a": "1", "b": BROKEN}),
     ('{"a": {"b": 1}', {"a": {"b": "1"}}), ("{", {}), ('{"a', {None: BROKEN})],
)  # fmt: skip
def test_what_is_cut_off_is_broken(text: str, expected: Any) -> None:
    (group,) = read_json(text)
    assert plain(group) == expected and not group.closed


texts = st.text(max_size=12)
values = st.recursive(texts | st.integers(-99, 99), lambda inner: st.lists(inner, max_size=3)
                      | st.dictionaries(texts, inner, max_size=4), max_leaves=12)  # fmt: skip


@given(st.dictionaries(texts, values, min_size=1, max_size=4))
def test_valid_json_is_read_as_it_is(value: dict[str, Any]) -> None:
    def strings(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: strings(inner) for key, inner in item.items()}
        return [strings(inner) for inner in item] if isinstance(item, list) else str(item)

    for written in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        (group,) = read_json(written)
        assert plain(group) == strings(value)


@pytest.mark.parametrize(
    "harm",
    [lambda text: text.replace('"', "'"), lambda text: text.replace('"', ""), lambda text: text.replace("}", ",}"),
     lambda text: text.replace(", ", "\n"), lambda text: text.replace(", ", ", // a remark\n"),
     lambda text: f"Here you are:\n```json\n{text}\n```\nBye."],
)  # fmt: skip
def test_a_second_reader_agrees_where_nothing_must_be_guessed(harm: Any) -> None:
    truth = {f"cpr_{number:02d}": number for number in range(1, 20)}
    text = harm(json.dumps(truth))
    (group,) = read_json(text)
    assert {key: int(value) for key, value in plain(group).items()} == json_repair.loads(text) == truth
