"""What sound adds, in a judge that is right about the steps that need sound only where it is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from siming_tasks.common.printed_value import fixed
from siming_tasks.data import Dataset
from siming_tasks.metrics import Rows
from siming_tasks.report.build import write_report
from tests.report.conftest import write_run


@pytest.fixture(scope="module")
def run_with_sound(exams: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rater a judges pictures; with sound the same, and the consensus' points for the steps that need it."""
    root = tmp_path_factory.mktemp("sound")
    plain = write_run(exams, root / "plain", "rater_a", model="org/Listener", settings=("full_score",))
    other = write_run(
        exams, root / "other", "rater_a", model="org/Listener", settings=("sound_video_audio_full_score",)
    )
    heard = {step.id for step in exams.rubric.steps if step.evidence.is_heard}
    (log,) = other.glob("*_samples_*")
    lines = []
    for line in log.read_text().splitlines():
        row = json.loads(line)
        record = row["siming_stderr"]
        video = exams.video(record["video_id"])
        record["answers"] = {
            step: video.step(step).consensus if step in heard else points for step, points in record["answers"].items()
        }
        lines.append(json.dumps({**row, "filtered_resps": json.dumps({"scores": record["answers"]})}))
    (plain / log.name).write_text("\n".join(lines) + "\n")
    return plain


def test_the_judges_page_says_what_sound_added(exams: Dataset, run_with_sound: Path, tmp_path: Path) -> None:
    out = write_report([run_with_sound], exams, tmp_path / "out", media="none", progress=False)
    (run,) = json.loads((out / "report.json").read_text())["runs"]
    sound = Rows.from_json(run["tables"]["full_score"]).of("sound")
    changes = [row for row in sound if row.row.endswith("change") and row.metric == "qwk"]
    assert changes and max(row.value or 0.0 for row in changes) > 0
    page = (out / "models" / "org-listener.html").read_text()
    assert page.count("<h3>Sound</h3>") == 1
    assert all(fixed(abs(row.value or 0.0)) in page for row in sound if row.value is not None)
