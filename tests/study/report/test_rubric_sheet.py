"""A rubric's sheet on paper; its text is a stranger's."""

import base64
import copy
import re
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.rubrics import default_rubric, rubric_from
from siming_tasks.cli import main
from siming_tasks.study.report.rubric_sheet import render_rubric_html
from tests.conftest import NEEDS_BROWSER
from tests.data.conftest import RUBRIC
from tests.study.report.conftest import Page

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> {{ 7*7 }} \u202e{% for %} & \"'\x1b[31m"


def test_the_whole_default_rubric_is_on_the_sheet() -> None:
    rubric = default_rubric()
    page = Page(render_rubric_html(rubric))
    tags, printed = [tag for tag, _ in page.elements], " ".join(page.text.split())
    assert tags.count("section") == 3 and tags.count("tr") == 3 + 33 and tags.count("script") == 0
    for step in rubric.steps:
        for said in (step.id, step.name, step.name_zh, step.requirement, *step.criteria.model_dump().values()):
            assert " ".join(str(said).split()) in printed, said
    assert "19 steps, 60 points" in printed
    assert tags.count("b") == sum(int(step.max_score) + 1 for step in rubric.steps) + 33  # and N/A each
    assert "Needs bmv_02; otherwise at most 1 point." in printed and "−2: only taps or only calls" in printed


def test_half_points_a_long_scale_and_hostile_text_on_a_chosen_skill(tmp_path: Path, capsys: Any) -> None:
    data = copy.deepcopy(RUBRIC)
    data |= {"title": HOSTILE, "version": HOSTILE, "setting": HOSTILE}
    data["skills"][0] |= {"name": HOSTILE, "name_zh": HOSTILE}
    first, second = data["skills"][0]["steps"][:2]
    criteria = dict.fromkeys(first["criteria"], HOSTILE)
    first |= {"name": HOSTILE, "name_zh": HOSTILE, "requirement": HOSTILE, "criteria": criteria}
    first |= {"score_increment": 0.5, "max_score": 2.5}
    first["errors"] = [{"id": "cpr_01.x", "observable": HOSTILE, "deduct": 1}]
    second["max_score"] = 60
    text = render_rubric_html(rubric_from(data), ["cpr"])
    assert re.findall(r"<b>([\d.]+)</b>", text)[:6] == ["0", "0.5", "1", "1.5", "2", "2.5"]
    assert "____ of 60" in text and "aed_01" not in text
    page = Page(text)
    assert not {"script", "img"} & {tag for tag, _ in page.elements}
    places = 1 + 3 + 2 + 7  # the title; title, version, setting of a sheet; a skill's names; a step's texts
    assert page.text.count("<script>alert(1)</script>") == page.text.count("{{ 7*7 }}") == places
    assert "\u202e" not in page.text and "\x1b" not in page.text and "⟦U+202E⟧" in page.text
    assert main(["data", "template", str(tmp_path / "sheet.html"), "--skill", "aed"]) == 0
    assert (tmp_path / "sheet.html").read_text(encoding="utf-8").count("<section>") == 1
    assert main(["data", "template", str(tmp_path / "sheet.html"), "--skill", "x"]) == 1
    assert "Skill 'x' is not in the rubric; it has cpr, aed, bmv." in capsys.readouterr().err


@NEEDS_BROWSER
@pytest.mark.weekly
def test_it_prints_one_sheet_a_skill(tmp_path: Path, shared_browser: Any) -> None:
    """A printer's page count: each skill begins a new page."""
    (tmp_path / "r.html").write_text(render_rubric_html(rubric_from(copy.deepcopy(RUBRIC))), encoding="utf-8")
    shared_browser.get((tmp_path / "r.html").as_uri())
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(shared_browser.print_page()))) == 2
