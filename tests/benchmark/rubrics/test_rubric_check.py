"""`siming data check` lists all faults with their lines, then doubtful entries; and its page of the docs."""

import json
import re
from pathlib import Path

import pytest
import yaml

from siming_tasks.benchmark.rubrics import Rubric, default_rubric, load_rubric, rubric_from
from siming_tasks.benchmark.rubrics.lint import lint_rubric, reachable
from siming_tasks.benchmark.rubrics.load import MODELS
from siming_tasks.cli import main
from siming_tasks.common.errors import RubricError

PAGE = (Path(__file__).parents[3] / "docs/howto/rubric.md").read_text(encoding="utf-8")
(SMALL,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def check(path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str]]:
    path.write_text(text, encoding="utf-8")
    code = main(["data", "check", str(path)])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, [line.replace(f"{path}:", "") for line in captured.out.splitlines()]


def test_the_example_of_the_docs_is_whole_and_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = check(tmp_path / "r.yaml", SMALL, capsys)
    assert code == 0 and lines[-1].startswith("0 errors, 0 warnings.") and lines[0].endswith("2 steps, 3 points.")
    rubric = load_rubric(tmp_path / "r.yaml")
    assert [(step.id, step.max_score, step.critical) for step in rubric.steps] == [
        ("su_01", 2, False),
        ("su_02", 1, True),
    ]
    assert rubric.steps[1].requires[0].effect == "void" and rubric.setting == "on a suture pad"


def test_the_docs_name_every_field_and_every_warning() -> None:
    assert lint_rubric(default_rubric(), "default") == []
    fields = {field.alias or name for model in (Rubric, *MODELS.values()) for name, field in model.model_fields.items()}
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert fields - named == set() and len(fields) > 30
    source = Path(lint_rubric.__code__.co_filename).read_text()
    codes = set(re.findall(r'"([a-z]+-[a-z]+)"', source)) | {"criteria-same", "errors-same", "name-same"}
    assert codes <= set(re.findall(r"`([a-z]+-[a-z]+)`", PAGE)) and len(codes) >= 4


ERRORS = [
    ("max_score: 2", "maxscore: 2", 15, "0.maxscore: unknown field `maxscore`. Write `max_score`"),
    ("max_score: 2", "maxscore: 2", 12, "0.max_score: missing field `max_score`. Add it; `siming docs rubric` lists"),
    ("max_score: 2", "max_score: yes", 15, "max_score: `yes` is not a number; write points such as 2 or 2.5."),
    ("max_score: 2", "max_score: 3.3", 15, "3.3 is neither whole nor half points; write the scale in larger points"),
    ("max_score: 2", "max_score: 0", 15, "max_score: Input should be greater than 0"),
    ("max_score: 2", "max_score: 1.5", 12, "score_increment is 1, but step 'su_01' has 1.5 points. State `score_"),
    ("max_score: 2", "{m}score_increment: 0.25", 16, "0.25 is not a score_increment; 1 (whole points) and 0.5 (half"),
    ("schema_version: 1", "schema_version: 2", 1, "schema_version: Input should be 1"),
    ("su_02\n", "su_01\n", 23, "skills.0.steps.1.id: step id 'su_01' appears twice. Rename one."),
    ("id: su_02\n", "id: SU-01\n", 23, "step ids ['su_01', 'SU-01'] differ only in case or dashes"),
    ("su_02.slip", "su_01.near", 32, "skills.0.steps.1.errors.0.id: error id 'su_01.near' appears twice."),
    ("5 mm of the edge, deduct: 1", "5 mm, deduct: 3", 21, "error 'su_01.near' deducts 3 of 2 points. Deduct at"),
    ("{id: su_01, effect", "{id: su_02, effect", 34, "requires 'su_02', which is a later step or itself. Name an"),
    ("{id: su_01, effect", "{id: su_09, effect", 34, "requires 'su_09', which is no step of this rubric. Name"),
    ("effect: void", "effect: cap", 34, "requires.0: give `cap` with `effect: cap`, and only there."),
    ("effect: void", "effect: avoid", 34, "effect: Input should be 'void', 'cap' or 'context', found 'avoid'."),
    ("critical: true", "facts: [{value: 1, source: AHA}]", 36, "cites source 'AHA', which `sources` lacks. Add it"),
    ("name: Bite\n", "name: Bite\n        name: Bite\n", 14, "not valid YAML: key 'name' appears twice."),
]  # fmt: skip


def test_a_file_without_fields_is_refused_in_plain_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = check(tmp_path / "r.yaml", "video_id,rater\n", capsys)
    assert code == 1 and "should be a mapping, with a line `field: value` for each field, found 'video_id," in lines[0]


@pytest.mark.parametrize(("old", "new", "line", "message"), ERRORS)
def test_an_error_has_its_line_and_its_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, line: int, message: str
) -> None:
    assert SMALL.count(old) >= 1
    new = new.replace("{m}", f"{old}\n        ")
    code, lines = check(tmp_path / "r.yaml", SMALL.replace(old, new, 1), capsys)
    assert code == 1 and [each for each in lines if message in each and f"] {line}: " in each], lines
    with pytest.raises(RubricError):
        load_rubric(tmp_path / "r.yaml")


WARNINGS = [
    ("A slip knot, or fewer than three throws.", "Three alternating throws; FLAT", 30, "two criteria say the same"),
    ("one edge is left out", "Needle enters within 5 mm of the edge!", 22, "two errors say the same"),
    ("of the edge, deduct: 1}", "of the edge, deduct: 2}", 20, "no combination of its errors leaves 1 of 2"),
    ("Square knot", "BITE.", 24, "[name-same] 24: skills.0.steps.1.name: two step names say the same: 'Bite' and"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), WARNINGS)
def test_an_unlikely_entry_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, line: int, message: str
) -> None:
    assert old in SMALL
    code, lines = check(tmp_path / "r.yaml", SMALL.replace(old, new, 1), capsys)
    assert code == 0 and len(lines) == 3 and message in lines[0] and f"] {line}: " in lines[0], lines


def test_half_points_can_be_reached_or_not() -> None:
    data = yaml.safe_load(SMALL)
    step = data["skills"][0]["steps"][0]
    step["score_increment"] = 0.5
    (finding,) = lint_rubric(rubric_from(data), "r")
    assert "leaves 0.5, 1.5 of 2 points" in finding.what
    step["errors"].append({"id": "su_01.late", "observable": "late", "deduct": 0.5})
    assert reachable(rubric_from(data).steps[0]) == {0, 0.5, 1, 1.5, 2}
    assert lint_rubric(rubric_from(data), "r") == []


def test_json_and_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(SMALL.replace("version: '1'", "version: ''"))
    assert main(["data", "check", str(path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(each["line"], each["field"], each["file"]) for each in report["errors"]] == [(3, "version", str(path))]
    assert report["warnings"] == [] and report["summary"] == {}
    assert main(["data", "check", str(tmp_path / "absent.yaml")]) == 1
    assert f"error [rubric-unreadable] {tmp_path}/absent.yaml: no such file." in capsys.readouterr().out
