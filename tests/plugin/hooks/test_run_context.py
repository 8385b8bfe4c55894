"""State of a process: it belongs to one run, one data set and one request, and ends with them."""

import copy
import pickle
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset, open_dataset, restate
from siming_tasks.media import UNKNOWN
from siming_tasks.options import Options
from siming_tasks.plugin import hooks, run_context
from siming_tasks.plugin.hooks.docs import documents
from siming_tasks.plugin.reply import Reply
from siming_tasks.plugin.run_context import RunContext, current_run, run_of, running, threads_inherit
from tests.plugin.hooks.conftest import build, docs, record, reply
from tests.records import read_rows, write_rows

FRAMES = {"media": "frames"}
Begin = Callable[..., None]


def test_loading_a_task_again_reads_the_environment_again(
    run: Dataset, other_demo: Path, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Path(hooks.dataset_kwargs["data_files"]["test"]).parent == run.root
    begin(other_demo, FRAMES="9")
    assert hooks.metadata_full_score["siming_digest"] == open_dataset(other_demo).digest != run.digest
    assert '"frames": 9' in hooks.metadata_full_score["siming_options"]
    begin(run.root)
    assert hooks.metadata_full_score["siming_digest"] == run.digest
    with running(current_run()):
        monkeypatch.setenv("SIMING_FRAMES", "2")  # a run keeps the options that it began with
        assert len(hooks.doc_to_visual(docs("full_score")[0], FRAMES)) == 6


def test_a_run_asks_about_the_part_of_a_split_that_it_is_told(run: Dataset, begin: Begin, tmp_path: Path) -> None:
    root = Path(shutil.copytree(run.root, tmp_path / "copy"))
    rows = read_rows(root / "videos.jsonl")
    for number, row in enumerate(rows):
        row |= {"split": "test" if number % 2 else "train", "splits": {"person": "dev" if number == 3 else "test"}}
    write_rows(root / "videos.jsonl", rows)
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


def test_a_rater_whom_the_data_do_not_have_is_refused_before_anything_is_asked(run: Dataset) -> None:
    with pytest.raises(DataError, match="no rater 'rater_x'; there are consensus, rater_a, rater_b"):
        run_of(Options(data=str(run.root), rater="rater_x"))
    assert run_of(Options(data=str(run.root), rater="rater_a")).options.rater == "rater_a"


def test_data_that_changed_on_disk_are_read_again(run: Dataset, begin: Begin, tmp_path: Path) -> None:
    root = Path(shutil.copytree(run.root, tmp_path / "copy"))
    begin(root)
    assert len(docs("full_score")) == 4
    lines = (root / "videos.jsonl").read_text().splitlines()
    (root / "videos.jsonl").write_text("\n".join(lines[:3]) + "\n")
    with pytest.raises(DataError, match="the digest does not match the rubric, labels"):
        begin(root)
    restate(root)
    begin(root)
    assert len(docs("full_score")) == 3
    (root / "videos.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match=r"videos\.jsonl:1"):
        begin(root)


def test_two_runs_with_the_same_ids_do_not_mix(run: Dataset, other_demo: Path, begin: Begin) -> None:
    """Asked by turns in one process: what is shown, the labels and the metrics are those of the run that asks."""
    mine = current_run()
    begin(other_demo, MEDIA="video")
    theirs = current_run()
    assert [doc["id"] for doc in docs("full_error")] == [doc["id"] for doc in documents(TASKS["full_error"], mine)]
    rows: dict[RunContext, list[Any]] = {mine: [], theirs: []}
    for doc in docs("full_error"):
        for one in (mine, theirs):
            with running(one):
                build(hooks.doc_to_messages, doc)
                rows[one].append(record(doc, reply(doc, "oracle")))
    assert [{row["media"]["mode"] for row in rows[one]} for one in (mine, theirs)] == [{"frames"}, {"video"}]
    for one, root, wrong in ((mine, run.root, True), (theirs, other_demo, False)):
        with running(one):
            metrics = hooks.evaluation(rows[one])
        assert metrics["dataset"]["digest"] == open_dataset(root).digest == rows[one][0]["dataset"]
        assert (metrics["counts"]["prevalence"] > 0) is wrong  # the other data set has full points everywhere
    with pytest.raises(DataError, match="several data sets"):
        hooks.evaluation([rows[mine][0], rows[theirs][1]])


def test_what_is_known_of_a_reply_comes_with_it_and_plain_text_is_not_recorded(run: Dataset) -> None:
    """Of lmms-eval's own cache comes text, also where media were built before; so does what a filter has written."""
    chat = docs("clip_score")[0]
    build(hooks.doc_to_messages, chat, FRAMES)
    shown = record(chat, "{}")["media"]
    assert (shown["mode"], shown["n_frames"], shown["density"]) == ("frames", 3, "native")
    known = Reply.of('{"score": 1}', shown, {"attempts": 1}, current_run().parse(chat, '{"score": 1}'))
    for same in (known, copy.deepcopy(known), take_first([[known]]).strip()):
        made = hooks.process_results(chat, [same])["siming_stderr"]
        assert (made["media"], made["usage"], made["status"]) == (shown, {"attempts": 1}, "ok")
    for text in (pickle.loads(pickle.dumps(known)), known.strip("x"), str(known)):
        assert type(text) is str and text == known
        made = hooks.process_results(chat, [text])["siming_stderr"]
        assert made["media"] == {"mode": "unknown"} and "usage" not in made and made["status"] == "ok"


def take_first(replies: Any) -> Any:
    """What lmms-eval's filter hands on of the replies to one document."""
    (kept,) = import_module("lmms_eval.filters.selection").TakeFirstFilter().apply(replies, [{}])
    return kept


def test_an_evaluation_is_not_taken_for_another(run: Dataset, begin: Begin) -> None:
    """Equal items share one evaluation; other answers or other options do not."""
    asked = docs("full_error")
    good, bad = (
        [hooks.process_results(doc, [reply(doc, kind)])["mcc"] for doc in asked] for kind in ("oracle", "random")
    )
    assert hooks.mcc(good) == 1.0
    assert current_run().evaluate(good) is current_run().evaluate(list(good))
    assert hooks.mcc(bad) != 1.0
    assert hooks.mcc(good) == 1.0
    begin(run.root, RATER="rater_a")
    assert hooks.mcc(good) != 1.0
    gone = {"id": "full_error/sim001", "answers": {}, "dataset": "0123456789ab"}
    with pytest.raises(DataError, match=f"dataset 0123456789ab cannot be scored with .*{run.digest[:12]}"):
        hooks.mcc([gone])


def test_thirty_two_threads_open_a_data_set_once(run: Dataset, begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(
        "siming_tasks.plugin.run_context.open_dataset", lambda root: opened.append(root) or open_dataset(root)
    )
    begin(run.root, CACHE_GB="7")
    opened.clear()
    options = replace(current_run().options, cache_gb=8.0)
    run_context._dataset.cache_clear()
    with ThreadPoolExecutor(32) as pool:
        runs = set(pool.map(lambda _: run_of(options), range(64)))
    assert len(runs) == len(opened) == 1


def test_threads_of_a_run_look_up_the_run(run: Dataset) -> None:
    """lmms-eval scores replies in threads; a thread has no context of its own unless it is given one."""
    mine = current_run().asking(UNKNOWN, "http://127.0.0.1:1/v1")
    with running(mine), ThreadPoolExecutor(1) as pool:
        assert pool.submit(current_run).result() is not mine
        with threads_inherit():
            assert pool.submit(current_run).result() is mine
