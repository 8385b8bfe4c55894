"""The default rubrics, and what a wrong rubric file is told."""

import copy
import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from siming_tasks.benchmark.rubrics import default_rubric, in_chinese, rubric_from
from siming_tasks.common.errors import RubricError
from siming_tasks.common.files import sha256_json

CRITERIA = {"full": "All.", "partial": "Some.", "fail": "None."}
SMALL: dict[str, Any] = {
    "schema_version": 1, "rubric_id": "small", "version": "1",
    "skills": [{"id": "s", "name": "Skill", "steps": [
        {"id": name, "name": "Step", "requirement": "Does it.", "max_score": 2, "criteria": dict(CRITERIA),
         "errors": [{"id": f"{name}.omitted", "observable": "not done", "deduct": 2}]}
        for name in ("s_01", "s_02")
    ]}],
}  # fmt: skip


def test_default_has_the_papers_shape() -> None:
    rubric = default_rubric()
    assert [(skill.id, len(skill.steps), sum(s.max_score for s in skill.steps)) for skill in rubric.skills] == [
        ("cpr", 19, 60),
        ("aed", 9, 25),
        ("bmv", 5, 15),
    ]
    assert sum(len(step.errors) for step in rubric.steps) == 148
    assert sum(step.scope == "history" for step in rubric.steps) == 5
    assert all(step.error("omitted").deduct == step.max_score for step in rubric.steps)
    assert "not the physicians' rubric of the paper" in (rubric.status or "")
    steps = rubric.by_id
    assert {(r.id, r.effect, r.cap) for r in steps["bmv_04"].requires} == {
        ("bmv_01", "cap", 3),
        ("bmv_02", "cap", 1),
        ("bmv_03", "cap", 1),
    }
    assert [r.id for r in steps["aed_08"].requires if r.effect == "void"] == ["aed_03", "aed_04", "aed_06", "aed_07"]
    assert steps["aed_08"].critical and steps["cpr_12"].evidence.min_fps == 5


def test_a_source_names_its_publisher_or_says_that_none_was_found() -> None:
    rubric = default_rubric()
    assert {fact["source"] for step in rubric.steps for fact in step.facts} == set(rubric.sources)
    for key, source in rubric.sources.items():
        assert ("not traced to a primary document" in source.get("note", "")) == ("publisher" not in source), key
        assert "publisher" in source or source.keys().isdisjoint({"doi", "url", "published_in"}), key
        assert source["verification"] in ("excerpt", "secondary", "background", "own"), key
    hosts = {urlsplit(source["url"]).hostname for source in rubric.sources.values() if "url" in source}
    assert hosts == {"openaccess.thecvf.com", "exam.ipmph.com"}


def broken(**changes: Any) -> dict[str, Any]:
    data = copy.deepcopy(SMALL)
    data["skills"][0]["steps"][1].update(changes)
    return data


@pytest.mark.parametrize(
    ("changes", "score_increment"),
    [
        ({}, 1),
        ({"max_score": 2.5}, 0.5),
        ({"errors": [{"id": "s_02.late", "observable": "late", "deduct": 0.5}]}, 0.5),
        ({"requires": [{"id": "s_01", "effect": "cap", "cap": 1.5}]}, 0.5),
        ({"score_increment": 0.5}, 0.5),
        ({"score_increment": 1}, 1),
        ({"criteria": {"full": "All.", "partial": "-0.5 each.", "fail": "None."}}, 1),
    ],
)
def test_the_score_increment_is_stated_or_seen(changes: dict[str, Any], score_increment: float) -> None:
    first, second = rubric_from(broken(**changes)).steps
    assert (first.score_increment, second.score_increment) == (1, score_increment)
    assert [second.on_scale(points) for points in (0, 0.25, 0.5, 1, 1.5, 2, -0.5, 3, float("nan"))] == [
        *(True, False, score_increment == 0.5, True, score_increment == 0.5, True, False, False, False)
    ]


def test_the_rubrics_score_increment_holds_where_a_step_states_none() -> None:
    assert [
        step.score_increment for step in rubric_from({**broken(score_increment=1), "score_increment": 0.5}).steps
    ] == [0.5, 1]
    with pytest.raises(RubricError, match=r"steps\.1: score_increment is 1, but step 's_02' has 2\.5 points"):
        rubric_from({**broken(max_score=2.5), "score_increment": 1})


def test_unused_fields_do_not_change_the_digest() -> None:
    """Stated digests are taken of the rubric's dump; this one is of the release before these fields."""
    dump = default_rubric().model_dump(mode="json")
    assert sha256_json(dump) == "a4dee87bf40e969b0670bf5222209b1c61538226c21b2f6fb19c569f6827e151"
    assert not {"score_increment", "setting"} & (dump.keys() | dump["skills"][0]["steps"][0].keys())
    assert sha256_json(rubric_from(broken(max_score=2.5)).model_dump(mode="json")).startswith("b9c7b1c921d980b5")
    used = rubric_from({**broken(), "score_increment": 0.5, "setting": "on a pad"})
    assert rubric_from(used.model_dump(mode="json")) == used and used.steps[1].score_increment == 0.5


def test_the_chinese_texts_say_every_number_of_the_english_ones() -> None:
    """Of every step and no other; a step whose words were changed has none."""
    rubric = default_rubric()
    for step in rubric.steps:
        chinese = in_chinese(step)
        assert chinese is not None and set(chinese) == {"requirement", "full", "partial", "fail"}, step.id
        for key, english in {"requirement": step.requirement, **step.criteria.model_dump()}.items():
            numbers, said = (set(re.findall(r"\d+", text)) for text in (english, chinese[key]))
            assert numbers <= said and re.search(r"[\u4e00-\u9fff]", chinese[key]), (step.id, key, numbers - said)
    assert in_chinese(rubric.steps[0].model_copy(update={"requirement": "Looks."})) is None
    assert in_chinese(rubric.steps[0].model_copy(update={"id": "other"})) is None
