"""The pages of codes, records and architecture name what the code makes and has, no more and no less."""

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.metrics.estimate import Estimate
from siming_tasks.benchmark.metrics.reasons import Flag, Reason
from siming_tasks.benchmark.parsing import parse_reply
from siming_tasks.benchmark.parsing.parsed_reply import MISSING
from siming_tasks.benchmark.record import SUPERVISED, Record
from siming_tasks.benchmark.scoring import build_reference_matrix
from siming_tasks.benchmark.tasks import RECORD_FIELDS
from siming_tasks.common.doc_pages import pages
from siming_tasks.data import open_dataset
from siming_tasks.media.request_media import view
from siming_tasks.options import Options
from siming_tasks.study.analysis.comparison import compare_judges
from siming_tasks.study.analysis.tables import table_texts
from siming_tasks.study.results.evaluate_records import evaluate_records
from tests.records import record_json
from tests.test_architecture import LAYERS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "siming_tasks"
PAGE = pages()["architecture"].read_text(encoding="utf-8")
PATH = re.compile(r"`((?:siming_tasks|yaml_tasks|utils|tests)/[\w./-]*)`")
ROWS = re.findall(r"^\| [^|]+ \| `([^`]+)` \| (?:`(\w+)`)? ?\|$", PAGE, re.MULTILINE)
MOST_FILES = 15
CODE = re.compile(r"[a-z]+(?:-[a-z]+)+")
TELLERS = {"Problem", "_add", "add", "problem", "_problem", "error", "warning"} | {
    *("_warn", "_about", "_note", "problems_of"),
}


def codes(path: Path) -> Iterator[str]:
    """The codes of the findings that a module makes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            words = [*node.args, *(item.value for item in node.keywords if item.arg == "code")]
            values = [str(word.value) for word in words if isinstance(word, ast.Constant)]
            yield from (value for value in values if name in TELLERS and CODE.fullmatch(value))


def cells(name: str, heading: str = "") -> list[str]:
    """What stands as code in the first column of a page's tables (of those below a heading)."""
    text = pages()[name].read_text(encoding="utf-8")
    if heading:
        text = re.split(r"^## |^`media`:", text.split(f"{heading}\n", 1)[1], flags=re.MULTILINE)[0]
    rows = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


def test_every_code_of_a_finding_is_explained() -> None:
    told = {code for path in PACKAGE.rglob("*.py") for code in codes(path)}
    page = cells("codes")
    assert len(told) > 100 and told <= set(page)
    assert len(page) == len(set(page))
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    made = {f"split-{unit}" for unit in ("performance", "student", "site")}  # of f-strings
    made |= {"performance-student", "performance-site"}
    assert [code for code in page if f'"{code}"' not in source and code not in made] == []
    assert 'f"split-{key}"' in source


def test_the_fields_of_a_record_are_explained(short_demo: Path, tmp_path: Path) -> None:
    dataset = open_dataset(short_demo)
    video = dataset.videos[0]
    parsed = parse_reply('{"scores": {}}', dataset.rubric.steps, "score")
    shown: set[str] = {"density"}
    for mode in ("frames", "video", "proxy"):
        for span in (None, (0.0, 1.0)):
            path = dataset.root / video.media
            shown |= view(path, span=span, frames=4, mode=mode, cache=tmp_path).info().keys()  # type: ignore[arg-type]
    more: dict[str, Any] = {"media": {"mode": "frames"}, "usage": {"kept": False}, "asking": "skill",
                            "part": "skill:cpr", "reply_schema": "0123456789ab",
                            "judge": {"kind": SUPERVISED}}  # fmt: skip
    record = record_json("full_score", video.video_id, None, parsed, **more)
    explained = cells("records", "## The record of one request")
    assert set(record) | RECORD_FIELDS.keys() == set(explained)
    assert shown == set(cells("records", "`media`:"))
    text = pages()["records"].read_text(encoding="utf-8")
    assert all(f"`{reason}`" in text for reason in MISSING)


def test_the_fields_of_results_rows_tables_and_comparisons_are_explained(short_demo: Path) -> None:
    dataset = open_dataset(short_demo)
    points = json.dumps({"scores": {step.id: step.max_score for step in dataset.rubric.steps}})
    parsed = parse_reply(points, dataset.rubric.steps, "score")
    records = [Record.from_reply("full_score", video.video_id, None, parsed) for video in dataset.videos]
    found = evaluate_records(records, dataset, Options(), "full_score").keys()
    assert found == set(cells("records", "## The results of one setting"))
    assert {field.name for field in fields(Estimate)} == set(cells("records", "## A row"))
    matrix = build_reference_matrix(dataset, "full_score")
    made = compare_judges({"full": matrix.predicting(matrix.max_score + 0 * matrix.reference)}, setting="full_score")
    assert made.to_json().keys() - {"setting"} == set(cells("records", "## A comparison"))
    text = pages()["records"].read_text(encoding="utf-8")
    named = [*(f"`{flag}`" for flag in (*Flag, *Reason)), *(f"*{name}*" for name in table_texts())]
    assert [word for word in named if word not in text] == []


def test_every_file_and_name_that_contributors_are_told_of_exists() -> None:
    drawn = re.findall(r"^  ([a-z/, ]+)$", PAGE.split("who may import whom", 1)[1].split("```", 1)[0], re.MULTILINE)
    assert [{*row.split(", ")} for row in drawn] == [row - {"__init__", "benchmark", "study"} for row in LAYERS[::-1]]
    for page in ("SKILL.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = {*PATH.findall(text), *re.findall(r"\b((?:utils|tests|docs)/[\w/.-]+\.(?:py|md))", text)}
        assert len(named) > 10 and [path for path in named if not (ROOT / path).exists()] == []
    paths, files = PATH.findall(PAGE), [path for path, _ in ROWS]
    assert len(paths) > 15 and [path for path in paths if not (ROOT / path).exists()] == []
    assert 10 < len(files) <= MOST_FILES and len(set(files)) == len(files)
    for path, name in ROWS:  # defined or imported there
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^(?:def |class |from .* import .*\b)?{name}\b", text, re.MULTILINE), (path, name)
