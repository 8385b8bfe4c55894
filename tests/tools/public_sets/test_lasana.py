"""LASANA's reader on a MADE-UP example in the form that the set's Readme describes: its files are not here."""

from __future__ import annotations

from pathlib import Path

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import open_dataset
from siming_tasks.tools.public_sets.fetch import download
from siming_tasks.tools.public_sets.lasana import ASPECTS, ERRORS, PUBLISHED, read


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    """Two recordings of each task, the second marked as failed; raters 0, 1 and 2 rate them, 3 rates others."""
    folder = tmp_path / "Annotation"
    folder.mkdir()
    aspects = ";".join(ASPECTS)
    for task, (_, errors) in ERRORS.items():
        names = [f"{task.lower()[:4]}ou", f"{task.lower()[:4]}im"]
        flags = ";".join("True" if number == 0 else "False" for number in range(len(errors)))
        rows = [
            f"{names[0]};0:02:30;3000;0.3;0.1;0.2;0.3;0.4;{flags}",
            f"{names[1]};0:01:00.5;1210;-2.5;;;;;{flags}",
        ]
        header = f"id;duration;frame_count;GRS;{aspects};{';'.join(errors)}"
        (folder / f"{task}.csv").write_text("\n".join([header, *rows, ""]))
        (folder / f"{task}_split.csv").write_text(f"id;split\n{names[0]};train\n{names[1]};test\n")
        for rater, ratings in enumerate(("1;2;3;5", "2;2;4;5", "4;5;5;5", None)):
            rated = [f"{names[0]};{ratings};11", f"{names[1]};;;;;"] if ratings else []
            (folder / f"{task}_rater{rater}.csv").write_text("\n".join([f"id;{aspects};GRS", *rated, ""]))
    return folder


def test_ratings_errors_and_splits_of_the_readmes_form(annotations: Path) -> None:
    public = read(annotations)
    assert len(public.recordings) == 8 and len({one.video_id for one in public.recordings}) == 8
    first, failed = public.recordings[:2]
    assert (first.video_id, first.skill, first.duration) == ("pegtou", "pegtransfer", 150)
    assert first.points["pegtransfer_depth_perception"] == {"rater0": 0, "rater1": 1, "rater2": 3, "consensus": 1}
    assert first.points["pegtransfer_tissue_handling"]["consensus"] == 4
    assert first.points["pegtransfer_object_dropped_within_fov"] == {"consensus": 0}
    assert first.points["pegtransfer_object_dropped_outside_of_fov"] == {"consensus": 1}
    assert failed.not_asked == {f"pegtransfer_{aspect}" for aspect in ASPECTS} and failed.duration == 60.5
    assert [one.splits["default"] for one in (first, failed)] == ["train", "test"]


def test_a_folder_of_it_can_be_opened_and_has_three_human_raters(
    annotations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["data", "fetch", "lasana", str(out), "--annotations", str(annotations)]) == 0
    assert "the published files were not at hand" in capsys.readouterr().err
    dataset = open_dataset(out, media=False)
    assert tuple(dataset.physicians) == ("rater0", "rater1", "rater2")  # the fourth rated nothing here
    assert len(dataset.videos) == 8 and sum(len(video.applicable) for video in dataset.videos) == 4 * 4 + 2 * 15


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("PegTransfer.csv", "True", "yes", "object_dropped_within_fov is 'yes', neither True nor False"),
        ("PegTransfer.csv", "0:02:30", "150 s", "duration '150 s' is not 0:mm:ss"),
        ("PegTransfer.csv", ";efficiency", ";speed", "has no column 'efficiency'"),
        ("PegTransfer_rater1.csv", "2;2;4;5", "2;2;4;7", "tissue_handling is '7', no rating from 1 to 5"),
        ("PegTransfer_split.csv", "train", "dev", "is in none of train, val and test"),
        ("CircleCutting_split.csv", "circou;train", "circou;train\ncircou;test", "is there twice"),
    ],
)
def test_another_form_than_the_readmes_is_refused(
    annotations: Path, file: str, before: str, after: str, words: str
) -> None:
    path = annotations / file
    path.write_text(path.read_text().replace(before, after, 1))
    with pytest.raises(DataError, match=words):
        read(annotations)


def test_it_is_not_downloaded(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="give their folder as --annotations"):
        download(PUBLISHED, tmp_path)
