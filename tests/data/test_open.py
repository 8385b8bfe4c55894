"""What an opened dataset says about itself, and how a run finds its dataset."""

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from siming_tasks.common.errors import DataError
from siming_tasks.data import check_dataset, open_dataset, resolve_dataset
from siming_tasks.options import Options
from siming_tasks.study.results.read_predictions import load_predictions
from siming_tasks.tools.simulator import demo
from tests.data.conftest import Edit, unstate


def test_a_data_set_is_opened_with_its_rows_as_written_and_steps_in_rubric_order(folder: Path, edit: Edit) -> None:
    edit(lambda rows: [rows[0].update(split="test", camera=2), rows[0]["steps"].reverse()])
    dataset = open_dataset(str(folder))
    assert (dataset.name, dataset.version, dataset.synthetic, dataset.withheld) == ("tiny", "1", True, False)
    assert dataset.lines == {"v001": 1, "v002": 2, "v003": 3}
    first, video = dataset.videos[0], dataset.video("v002")
    assert [step.step_id for step in first.steps] == ["cpr_01", "cpr_02", "cpr_03", "aed_01"]
    assert first.extra["camera"] == 2
    assert dataset.media_path(video) == folder / "media/v002.mp4" and video.step("cpr_02").span == (0.5, 0.9)
    with pytest.raises(DataError, match="no video 'v9'; there is v001"):
        dataset.video("v9")
    edit(lambda rows: [step.update(score={"consensus": None}) for row in rows for step in row["steps"]])
    assert open_dataset(folder).withheld
    edit(lambda rows: rows[0]["steps"][0].update(score={"consensus": 1}))
    assert not open_dataset(folder).withheld, "one consensus is enough"


def test_the_computed_digest_follows_the_content_and_nothing_else(folder: Path, edit: Edit) -> None:
    stated = open_dataset(folder).digest
    unstate(folder)
    rubric = yaml.safe_load((folder / "rubric.yaml").read_text())
    (folder / "rubric.yaml").write_text("# a remark\n" + json.dumps(rubric))
    assert open_dataset(folder).digest == stated
    (folder / "dataset.yaml").write_text("name: tiny")  # no SHA-256: both ends and the size stand for a file
    seen = [stated, open_dataset(folder).digest]
    edit(lambda rows: rows[0]["steps"][0]["score"].update(consensus=0))
    seen.append(open_dataset(folder).digest)
    data = bytearray((folder / "media/v003.mp4").read_bytes() + bytes(200_000))
    for change in (0, -1):
        data[change] ^= 1
        (folder / "media/v003.mp4").write_bytes(data)
        seen.append(open_dataset(folder, media=False).digest)
    assert len(set(seen)) == len(seen)


def test_a_line_of_two_gigabytes_is_not_read(folder: Path) -> None:
    with (folder / "videos.jsonl").open("r+b") as stream:
        stream.truncate(2 << 30)
    with pytest.raises(DataError, match=r"videos.jsonl:4: this line has more than 4,000,000 bytes"):
        open_dataset(folder)


def test_the_prediction_lines_of_the_docs_are_read(folder: Path, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/data.md").read_text(encoding="utf-8")
    lines = re.findall(r'^\{"setting".*$', page, re.MULTILINE)
    assert len(lines) == 4
    path = tmp_path / "p.jsonl"
    path.write_text("\n".join(lines).replace('"cpr_02": 3', '"cpr_02": 1'))
    found = load_predictions(path, open_dataset(folder))
    assert set(found.records) == {json.loads(line)["setting"] for line in lines}
    assert all(record["answers"] for records in found.records.values() for record in records)


def test_the_demo_is_made_once_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The real simulator, with its short form in place of three minutes a video."""
    real, made = demo.make_demo, []

    def short(out: Path, **options: Any) -> Path:
        made.append(out)
        return real(out, **{**options, "short": True, "jobs": 1, "progress": False})

    monkeypatch.setattr(demo, "make_demo", short)
    monkeypatch.setattr("siming_tasks.tools.simulator.demo.DEMO_VIDEOS", 1)
    settings = Options(cache=str(tmp_path))
    with caplog.at_level(logging.WARNING):
        home = resolve_dataset(settings, draw_demo=True)
    assert "SYNTHETIC" in caplog.text and open_dataset(home).synthetic
    assert resolve_dataset(settings, draw_demo=True) == home and made == [home]
    whole = (home / "videos.jsonl").read_text()
    (home / "videos.jsonl").write_text(whole.replace('"consensus": 2', '"consensus": 1', 1))
    assert resolve_dataset(settings, draw_demo=True) == home and made == [home] * 2
    assert (home / "videos.jsonl").read_text() == whole


def test_media_without_permission_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The account may not read one file: a finding with file, row and way out."""
    real = os.open
    unstate(folder)

    def refuse(path: Any, *arguments: Any, **named: Any) -> Any:
        if not isinstance(path, int) and Path(path) == folder / "media/v002.mp4":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuse)
    (problem,) = check_dataset(folder).errors
    assert (problem.code, problem.line) == ("media-unreadable", 2)
    assert "'v002'" in problem.what and "media/v002.mp4 cannot be opened (Permission denied)." in problem.what
