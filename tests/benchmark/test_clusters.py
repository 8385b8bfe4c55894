"""What a data set states of performances, students and sites, and the clusters that follow."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.clusters import Clusters, clusters_of
from siming_tasks.benchmark.exams import StepLabel, Video
from siming_tasks.benchmark.rubrics import default_rubric
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset


def data(tmp_path: Path, *videos: dict[str, Any], pairs: Any = ()) -> Dataset:
    """A data set of videos v0, v1 ... that state these things."""
    rows = []
    for number, stated in enumerate(videos):
        name, site = f"v{number}", stated.get("site")
        media = stated.get("media", f"{name}.mp4")
        extra = {key: value for key, value in stated.items() if key not in ("site", "media")}
        rows.append(Video(name, media, 10.0, (StepLabel("cpr_01", scores={"consensus": 1.0}),), site, extra))
    if pairs:
        unchanged = {"kind": "local", "step_id": "cpr_01", "direction": 1, "unchanged_steps": []}
        lines = [{"pair_id": f"p{a}{b}", "video_a": a, "video_b": b, **unchanged} for a, b in pairs]
        (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return Dataset(default_rubric(), tuple(rows), "tiny", root=tmp_path, version="1", digest="0" * 64)


def groups(found: Clusters) -> list[list[str]]:
    """The ids of each cluster, in order."""
    by_name: dict[str, list[str]] = {}
    for video, name in found.names.items():
        by_name.setdefault(name, []).append(video)
    return list(by_name.values())


def test_students_are_above_videos_and_one_who_is_not_named_is_another(tmp_path: Path) -> None:
    stated: list[dict[str, Any]] = [{"student": name} for name in ("7", None, "\uff17\u180b", "", "8")]
    assert clusters_of(data(tmp_path, {}, {})) == Clusters("video", {"v0": "v0", "v1": "v1"}, ())
    found = clusters_of(data(tmp_path, *stated, {"student": "9"}))
    assert (found.unit, groups(found)) == ("student", [["v0", "v2"], ["v1"], ["v3"], ["v4"], ["v5"]])
    assert list(found.names.values())[:4] == ["student 7", "video v1", "student 7", "video v3"]
    four = clusters_of(data(tmp_path, *stated))
    assert (four.unit, four.fixed) == ("video", ("student",)), "too few to be left out"


@pytest.mark.parametrize("key", ["student", "performance"])
@pytest.mark.parametrize(
    ("first", "second"), [("Dr. Li", "Li"), ("T07", "T7"), ("Mueller", "M\u00fcller"), ("T07", "t 07")]
)
def test_two_spellings_of_a_name_are_one_unless_they_are_known_to_be_two(
    tmp_path: Path, key: str, first: str, second: str
) -> None:
    dataset = data(tmp_path, *({key: name} for name in (first, second, *"ABCD")))
    found = clusters_of(dataset)
    assert (found.unit, groups(found)) == (key, [["v0", "v1"], ["v2"], ["v3"], ["v4"], ["v5"]])
    assert found.names["v1"] == f"{key} {first}"
    two = clusters_of(replace(dataset, meta={"different": [[second, first]]}))
    assert [*two.names.values()][:2] == [f"{key} {first}", f"{key} {second}"]


def test_a_spelling_between_two_ties_both(tmp_path: Path) -> None:
    names = ["Mueller", "Muller", *"ABCD", "M\u00fcller"]
    assert len(groups(clusters_of(data(tmp_path, *({"student": name} for name in names[:-1]))))) == 6
    assert groups(clusters_of(data(tmp_path, *({"student": name} for name in names))))[0] == ["v0", "v1", "v6"]


def test_one_file_one_performance_and_a_pair_are_one_cluster(tmp_path: Path) -> None:
    one, act = {"media": "one.mp4"}, {"performance": "p"}
    stated: list[dict[str, Any]] = [one, one, act, act, {}, {}, {}, {}, {}]
    found = clusters_of(data(tmp_path, *stated, pairs=[("v4", "v5"), ("v5", "v2")]))
    assert (found.unit, groups(found)) == (
        "performance",
        [["v0", "v1"], ["v2", "v3", "v4", "v5"], ["v6"], ["v7"], ["v8"]],
    )


def test_five_sites_are_the_unit_and_four_are_fixed(tmp_path: Path) -> None:
    """Videos that state no site are one site."""
    none = clusters_of(data(tmp_path, *({"site": site} for site in [*"ABCD", None, None])))
    assert (none.unit, len(groups(none)), none.names["v5"]) == ("site", 5, "no site")
    stated = [{"site": "ABCDE"[k % 5], "student": str(k // 2)} for k in (0, 1, 5, 6, 2, 7, 8, 3, 4, 9)]
    five = clusters_of(data(tmp_path, *({"site": row["site"]} for row in stated)))
    assert (five.unit, len(groups(five)), five.fixed) == ("site", 5, ())
    four = clusters_of(data(tmp_path, *({**row, "site": row["site"].replace("E", "A")} for row in stated)))
    assert (four.unit, four.fixed) == ("student", ("site",))
    one = clusters_of(data(tmp_path, *({**row, "site": "A"} for row in stated)))
    assert (one.unit, one.fixed) == ("student", ())


def test_the_sites_of_a_student_who_was_seen_at_both_are_one(tmp_path: Path) -> None:
    stated = [{"site": site, "student": f"s{k}"} for k, site in enumerate("ABCDEF")]
    apart, tied = data(tmp_path, *stated), data(tmp_path, *stated, {"site": "B", "student": "s0"})
    assert len(groups(clusters_of(apart))) == 6
    assert groups(clusters_of(tied)) == [["v0", "v1", "v6"], ["v2"], ["v3"], ["v4"], ["v5"]]
    assert clusters_of(tied).names["v6"] == "site A + site B"


def test_a_smaller_unit_can_be_asked_for_and_what_is_above_is_named(tmp_path: Path) -> None:
    dataset = data(tmp_path, *({"site": "ABCDEF"[k % 6], "student": str(k % 12)} for k in range(24)))
    assert clusters_of(dataset).unit == "site"
    assert clusters_of(dataset, "student").fixed == ("site",)
    video = clusters_of(dataset, "video")
    assert (video.unit, video.fixed, len(groups(video))) == ("video", ("student", "site"), 24)
    alone = replace(dataset, videos=dataset.videos[:12])  # every student once: as good as videos
    assert clusters_of(alone, "video").fixed == ("site",)


def test_a_unit_that_is_not_stated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refused:
        clusters_of(data(tmp_path, {"student": "a"}, {"student": "a"}), "site")
    assert str(refused.value) == (
        "tiny: no video states a site, so that none can be left out. It states video, student; "
        "`cluster=auto` takes the largest."
    )
