"""``siming study raters`` on the first exams of a station and on other small or degenerate ratings."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from siming_tasks.cli import main
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
    assert "### Totals" in out and "Traceback" not in out + err
    assert main([*COMMAND, data, "--json"]) == 0
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)  # no NaN


def test_raters_without_a_common_exam_are_refused(
    rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    data = rated(lambda v, s: {"a": full(v, s)} if v < 3 else {"b": full(v, s)})
    assert main([*COMMAND, str(data)]) == 1
    said = "siming study raters: No step was scored by both a and b; their agreement cannot be computed.\n"
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
    first, second, *_ = json.loads(capsys.readouterr().out)["per_step"].values()
    assert (first["imperfect"], second["imperfect"]) == (4, 12)
    assert first["qwk"]["value"] is not None and first["qwk"]["low"] is None and "thin-step" in first["qwk"]["flags"]
    assert second["qwk"]["low"] is not None


def test_the_words_name_what_was_resampled(rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    data = rated(lambda v, s: {"a": full(v, s), "b": full(v, s + v)}, 12)
    rows = [json.loads(line) for line in (data / "videos.jsonl").read_text().splitlines()]
    rows = [{**row, "student": f"s{number // 2}"} for number, row in enumerate(rows)]
    (data / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main([*COMMAND, str(data)]) == 0
    out = capsys.readouterr().out
    assert "95 % intervals over 6 students." in out and "t of the jackknife over students." in out
    assert "over videos" not in out


def test_steps_of_three_exams_have_counts_and_no_kappa(
    rated: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Three exams: of a step in which b differs once, one of three; a kappa of three pairs would be read."""
    data = rated(lambda v, s: {"a": full(v, s), "b": 1.0 if (v, s) == (0, 1) else full(v, s)}, 3)
    assert main([*COMMAND, str(data)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if re.search(r"\d of 3 differ", line)]
    assert len(lines) == 33
    assert ["1 of 3 differ" in line for line in lines] == [s == 1 for s in range(33)]
