"""State of a process: it belongs to one run, one data set and one request, and ends with them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, restate
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.run_context import RUN, RunContext
from tests.plugin.hooks.conftest import aggregated, docs, reply

FRAMES = {"media": "frames"}
Begin = Callable[..., None]


def test_loading_a_task_again_reads_the_environment_again(
    run: Dataset, other_demo: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Path(hooks.dataset_kwargs["data_files"]["test"]).parent == run.root
    begin(other_demo, FRAMES="9")
    assert hooks.metadata_full_score["siming_digest"] == open_dataset(other_demo).digest != run.digest
    assert '"frames": 9' in hooks.metadata_full_score["siming_options"]
    assert {doc["root"] for doc in docs("full_score")} == {str(other_demo)}
    begin(run.root)
    assert hooks.metadata_full_score["siming_digest"] == run.digest
    monkeypatch.setenv("SIMING_FRAMES", "2")  # a run keeps the options that it began with
    assert len(hooks.doc_to_visual(docs("full_score")[0], FRAMES)) == 6


def test_a_run_asks_about_the_part_of_a_split_that_it_is_told(run: Dataset, begin: Begin, tmp_path: Path) -> None:
    root = Path(shutil.copytree(run.root, tmp_path / "copy"))
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    for number, row in enumerate(rows):
        row |= {"split": "test" if number % 2 else "train", "splits": {"person": "dev" if number == 3 else "test"}}
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    restate(root)
    names = [row["video_id"] for row in rows]
    begin(root, SPLIT="test")
    assert [doc["video_id"] for doc in docs("full_score")] == [names[1], names[3]]
    assert hooks.metadata_full_score["split"] == "test" and hooks.alias_full_score.startswith("siming_full_score, test")
    begin(root, SPLIT="person:dev")
    assert [doc["video_id"] for doc in docs("full_score")] == [names[3]]
    begin(root, SPLIT="")
    assert len(docs("full_score")) == 4
    assert "split" not in hooks.metadata_full_score
    with pytest.raises(DataError, match=r"no video is in the split 'dev'. Its videos state person:dev \(1\)"):
        begin(root, SPLIT="dev")


def test_data_that_changed_on_disk_are_read_again(run: Dataset, begin: Begin, tmp_path: Path) -> None:
    root = Path(shutil.copytree(run.root, tmp_path / "copy"))
    begin(root)
    assert len(docs("full_score")) == 4
    lines = (root / "videos.jsonl").read_text().splitlines()
    (root / "videos.jsonl").write_text("\n".join(lines[:3]) + "\n")
    with pytest.raises(DataError, match="the digest is not that of this rubric, these labels"):
        begin(root)
    restate(root)
    begin(root)
    assert len(docs("full_score")) == 3
    (root / "videos.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"videos\.jsonl:1"):
        begin(root)


def test_two_data_sets_with_the_same_ids_do_not_mix(run: Dataset, other_demo: Path, begin: Begin) -> None:
    """Asked by turns in one process: what was shown, the labels and the metrics stay with their own data set."""
    mine = docs("full_error")
    begin(other_demo)
    theirs = docs("full_error")
    assert [doc["id"] for doc in mine] == [doc["id"] for doc in theirs]
    for doc in mine[:2]:
        hooks.doc_to_messages(doc, FRAMES)
    hooks.doc_to_messages(theirs[0], {"media": "video"})
    records = {doc["root"]: [] for doc in (mine[0], theirs[0])}  # type: ignore[var-annotated]
    for pair in zip(mine, theirs, strict=True):
        for doc in pair:
            records[doc["root"]].append(hooks.process_results(doc, [reply(pair[1], "oracle")]))  # "all is correct"
    a, b = records[str(run.root)], records[str(other_demo)]
    modes = [[row["siming_stderr"]["media"]["mode"] for row in rows] for rows in (a, b)]
    assert modes == [["frames", "frames", "unknown", "unknown"], ["video", "unknown", "unknown", "unknown"]]
    assert a[0]["siming_stderr"]["dataset"] == run.digest
    assert b[0]["siming_stderr"]["dataset"] == open_dataset(other_demo).digest
    for rows, root, wrong in ((a, run.root, True), (b, other_demo, False)):
        metrics = aggregated(rows)["siming_stderr"]
        assert metrics["dataset"]["digest"] == open_dataset(root).digest
        assert (metrics["counts"]["prevalence"] > 0) is wrong  # the other data set has full points everywhere
    with pytest.raises(DataError, match="several data sets"):
        hooks.mcc([row["mcc"] for row in (a[0], b[0])])


def test_replies_from_lmms_evals_cache_have_unknown_media(run: Dataset, begin: Begin) -> None:
    chat, simple = docs("clip_score")[:2]
    hooks.doc_to_messages(chat, FRAMES)
    hooks.doc_to_text(simple, {"media": "video"})  # a simple model's text is built even where its media are not
    media = [hooks.process_results(doc, ["{}"])["siming_stderr"]["media"] for doc in (chat, simple)]
    assert (media[0]["mode"], media[0]["n_frames"], media[0]["density"]) == ("frames", 3, "native")
    assert media[1] == {"mode": "video"}
    begin(run.root)  # the next run in this process gets both replies from a cache
    assert hooks.process_results(chat, ["{}"])["siming_stderr"]["media"] == {"mode": "unknown"}


def test_an_evaluation_is_not_taken_for_another(run: Dataset, begin: Begin) -> None:
    """Equal items share one evaluation; other answers or other options do not."""
    asked = docs("full_error")
    good, bad = (
        [hooks.process_results(doc, [reply(doc, kind)])["mcc"] for doc in asked] for kind in ("oracle", "random")
    )
    assert hooks.mcc(good) == 1.0
    assert RUN.evaluate_items(good) is RUN.evaluate_items(list(good))
    assert hooks.mcc(bad) != 1.0
    assert hooks.mcc(good) == 1.0
    begin(run.root, RATER="rater_a")
    assert hooks.mcc(good) != 1.0
    gone = {"id": "full_error/sim001", "answers": {}, "dataset": "0123456789ab"}
    with pytest.raises(DataError, match=f"dataset 0123456789ab cannot be scored with .*{run.digest[:12]}"):
        hooks.mcc([gone])


def test_thirty_two_threads_open_a_data_set_once(run: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    monkeypatch.setattr(
        "siming_tasks.plugin.hooks.run_context.open_dataset", lambda root: opened.append(root) or open_dataset(root)
    )
    session = RunContext()
    with ThreadPoolExecutor(32) as pool:
        identities = set(pool.map(lambda _: id(session.open_dataset(str(run.root))), range(64)))
    assert len(identities) == len(opened) == 1
