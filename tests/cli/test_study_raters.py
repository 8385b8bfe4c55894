"""``siming study raters`` on the first exams of a station and on other small or degenerate ratings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, matthews_corrcoef

from siming_tasks.cli import main
from siming_tasks.metrics import Rows
from siming_tasks.rubrics import default_rubric

COMMAND = ("study", "raters")
Points = Callable[[int, int], Mapping[str, float]]
"""Points by rater, of the number of a video and of a step."""


@pytest.fixture
def rated(tmp_path: Path) -> Callable[..., Path]:
    """``rated(points, videos=6)``: a data set without films, of the default rubric's steps."""

    def make(points: Points, videos: int = 6) -> Path:
        shutil.copy(Path(main.__code__.co_filename).parents[1] / "rubrics" / "default.yaml", tmp_path / "rubric.yaml")
        (tmp_path / "dataset.yaml").write_text('name: small\nversion: "1"\nsynthetic: true\nlicense: CC0-1.0\n')
        with (tmp_path / "videos.jsonl").open("w") as lines:
            for v in range(videos):
                steps = []
                for s, step in enumerate(default_rubric().steps):
                    score = {name: min(step.max_score, value) for name, value in points(v, s).items()}
                    steps.append({"step_id": step.id, "start": 0.1, "end": 0.9, "score": score})
                row = {"video_id": f"v{v:02d}", "media": f"media/v{v:02d}.mp4", "duration": 1.0, "steps": steps}
                lines.write(json.dumps(row) + "\n")
        return tmp_path

    return make


def full(v: int, s: int) -> float:
    return 9.0 if (v + s) % 5 else 1.0


SMALL: dict[str, tuple[Points, int]] = {
    "one exam": (lambda v, s: {"a": full(v, s), "b": full(v, s + 1)}, 1),
    "equal points": (lambda v, s: {"a": full(v, s), "b": full(v, s)}, 4),
    "equal totals": (lambda v, s: {"a": float(s % 2), "b": float((s + 1) % 2 if s < 32 else 0)}, 4),
    "full points everywhere": (lambda _v, _s: {"a": 9.0, "b": 9.0}, 4),
    "one constant": (lambda v, s: {"a": full(v, s), "b": 1.0}, 6),
    "opposed": (lambda v, s: {"a": float(v % 2) if s == 0 else 1.0, "b": 1.0 - v % 2 if s == 0 else 1.0}, 6),
    "one exam in common": (lambda v, s: ({"a": full(v, s)} if v < 4 else {}) | ({"b": 1.0} if v > 2 else {}), 6),
    "three raters": (lambda v, s: {"a": full(v, s), "b": full(v, s + 1), "c": full(v + s, s)}, 6),
    "three, two of them apart": (
        lambda v, s: {"a": full(v, s)} | ({"b": full(v, s + 1)} if v < 6 else {"c": full(v, s + 2)}),
        12,
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_ratings_give_a_report(name: str, rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    data = str(rated(*SMALL[name]))
    assert main([*COMMAND, data]) == 0
    out, err = capsys.readouterr()
    assert "### Raters by step" in out and "Traceback" not in out + err
    assert main([*COMMAND, data, "--json"]) == 0
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)  # no NaN


def test_raters_without_a_common_exam_are_refused(
    rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    data = rated(lambda v, s: {"a": full(v, s)} if v < 3 else {"b": full(v, s)})
    assert main([*COMMAND, str(data)]) == 1
    said = "siming study raters: No step was scored by two of a, b; their agreement cannot be computed.\n"
    assert capsys.readouterr().err == said


def test_a_thin_step_has_no_interval(rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Of 20 exams, the first step is imperfect in 4 by either rater, the second in 12."""
    data = rated(
        lambda v, s: {
            "a": 1.0 if (s == 0 and v < 4) or (s == 1 and v < 12) else 9.0,
            "b": 1.0 if s < 2 and v < 3 else 9.0,
        },
        20,
    )
    assert main([*COMMAND, str(data), "--json"]) == 0
    rows = Rows.from_json(json.loads(capsys.readouterr().out)["rows"]).of("raters by step", metric="kappa")
    first, second = rows[0], rows[1]
    assert first.value is not None and first.low is None and "Fewer than 10 videos" in first.why
    assert second.low is not None and second.n == 20


def test_tables_equal_another_library(rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Kappa of a pair and of one step, the share that differs, and the unit that is left out."""
    points = lambda v, s: {"a": full(v, s), "b": full(v, s + v % 3)}  # noqa: E731
    data = rated(points, 12)
    lines = [json.loads(line) for line in (data / "videos.jsonl").read_text().splitlines()]
    lines = [{**line, "student": f"s{number // 2}"} for number, line in enumerate(lines)]
    (data / "videos.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main([*COMMAND, str(data), "--json"]) == 0
    rows = Rows.from_json(json.loads(capsys.readouterr().out)["rows"])
    top = [step.max_score for step in default_rubric().steps]
    a, b = (np.array([[min(most, points(v, s)[who]) for s, most in enumerate(top)] for v in range(12)]) for who in "ab")
    labels = [np.select([each == 0, each >= top, top - each <= 1], [0, 3, 2], 1) for each in (a, b)]
    table = "physicians with each other"
    pair = rows.one(table, "a and b", "qwk")
    assert pair.value == pytest.approx(cohen_kappa_score(*(each.ravel() for each in labels), weights="quadratic"))
    assert rows.one(table, "a and b", "differ").value == pytest.approx((a != b).mean())
    assert (pair.clusters, pair.unit, pair.n) == (6, "student", 12)
    step = default_rubric().steps[4].id
    kappa = cohen_kappa_score(*(each[:, 4] for each in labels), weights="quadratic")
    assert rows.one("raters by step", step, "kappa").value == pytest.approx(kappa)
    wrong = matthews_corrcoef((a < top).ravel(), (b < top).ravel())
    assert rows.one(table, "verdicts: a and b", "mcc").value == pytest.approx(wrong)
    assert not rows.of("raters and consensus"), "there is none"


def test_each_step_says_how_often_raters_differ(rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Three exams, b differs in one step of one: one of three, and no interval."""
    data = rated(lambda v, s: {"a": full(v, s), "b": 1.0 if (v, s) == (0, 1) else full(v, s)}, 3)
    assert main([*COMMAND, str(data), "--json"]) == 0
    rows = Rows.from_json(json.loads(capsys.readouterr().out)["rows"]).of("raters by step", metric="differ")
    assert [row.value for row in rows] == pytest.approx([0, 1 / 3] + [0] * 31) and not any(row.low for row in rows)
