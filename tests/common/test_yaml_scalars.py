"""YAML scalars that people write and YAML misreads, and the values that are read instead."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from siming_tasks.common.errors import RubricError
from siming_tasks.common.files import read_yaml, sha256_json
from siming_tasks.data.row_schema import DatasetInfo
from siming_tasks.rubrics import default_rubric, load_rubric
from tests.rubrics.test_rubrics import SMALL

TEXT = yaml.safe_dump(SMALL, sort_keys=False)


def written(tmp_path: Path, old: str, new: str) -> Path:
    assert TEXT.count(old) >= 1
    path = tmp_path / "rubric.yaml"
    path.write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "word",
    ["1", "1.10", "010", "1:30", "1:30:00", "2024-01-01", "2024-01-01 10:00:00", "no", "Yes", "on", "true", "1_000",
     "1e3", "0x1F", ".5", "-.inf", ".nan", "12345678901234567890123", "= 3", "正确"],
)  # fmt: skip
def test_unquoted_text_is_read_as_written(tmp_path: Path, word: str) -> None:
    assert load_rubric(written(tmp_path, "version: '1'", f"version: {word}")).version == word
    step = load_rubric(written(tmp_path, "partial: Some.", f"partial: {word}")).steps[0]
    assert step.criteria.partial == word
    assert load_rubric(written(tmp_path, "version: '1'", f"version: '1'\ntitle: {word}")).title == word


@pytest.mark.parametrize("word", ["", "~", "null"])
def test_empty_values_stay_none(tmp_path: Path, word: str) -> None:
    assert load_rubric(written(tmp_path, "version: '1'", f"version: '1'\ntitle: {word}")).title is None
    with pytest.raises(RubricError, match=r"rubric\.yaml:3: version: Input should be a valid string"):
        load_rubric(written(tmp_path, "version: '1'", f"version: {word}"))


@pytest.mark.parametrize(
    ("word", "points"),
    [("2", 2), ("02", 2), ("010", 10), ("2.0", 2), ("+2", 2), ("2.", 2), ("2e0", 2), ("'2'", 2), ("2.50", 2.5)],
)
def test_digits_are_read_as_people_read_them(tmp_path: Path, word: str, points: float) -> None:
    assert load_rubric(written(tmp_path, "max_score: 2", f"max_score: {word}")).steps[0].max_score == points


@pytest.mark.parametrize(
    "word", ["yes", "no", "On", "true", "1:30", "1:30.5", "2024-01-01", "0x2", "2,5", "two", "2 points", "'yes'", "1_0",
             ".inf", ".nan", "½", "[2]", "2/3"]
)  # fmt: skip
def test_words_are_refused_as_points(tmp_path: Path, word: str) -> None:
    with pytest.raises(RubricError) as caught:
        load_rubric(written(tmp_path, "max_score: 2", f"max_score: {word}"))
    message = str(caught.value)
    line = next(number for number, text in enumerate(TEXT.splitlines(), 1) if "max_score: 2" in text)
    assert f"rubric.yaml:{line}: skills.0.steps.0.max_score: " in message
    if word != "[2]":
        bare = word.strip("'")
        assert f"`{bare}` is not a number; write points such as 2 or 2.5." in message


def test_fields_of_any_type_keep_the_reading_of_yaml(tmp_path: Path) -> None:
    """Sources and facts go into stated digests as they were read."""
    path = written(tmp_path, "version: '1'", "version: '1'\nsources: {A: {year: 2015, old: no, at: 1:30}}")
    assert load_rubric(path).sources == {"A": {"year": 2015, "old": False, "at": 90}}
    assert load_rubric(written(tmp_path, "max_score: 2", "max_score: 2\n    critical: yes")).steps[0].critical is True
    assert sha256_json(default_rubric().model_dump(mode="json")).startswith("a4dee87bf40e969b")


def test_a_dataset_card_keeps_text_as_written(tmp_path: Path) -> None:
    path = tmp_path / "dataset.yaml"
    path.write_text(
        "name: 2024\nversion: 1.10\nlanguages: [no, zh]\nsynthetic: yes\nlicense: off\ncreated: 2024-01-01\n"
    )
    info = DatasetInfo.model_validate(read_yaml(path, DatasetInfo))
    assert (info.name, info.version, info.languages, info.synthetic) == ("2024", "1.10", ("no", "zh"), True)
    assert info.license == "off"
