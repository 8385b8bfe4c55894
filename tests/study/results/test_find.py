import json
from collections.abc import Callable
from pathlib import Path

import pytest

from siming_tasks.benchmark.record import SUPERVISED
from siming_tasks.cli.main import main
from siming_tasks.common.errors import DataError
from siming_tasks.data import Dataset
from siming_tasks.study.results.discovery import dataset_folder, find_runs, slug_of


def test_names_come_from_what_was_run(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    one = ("full_error",)
    make_run(exams, tmp_path / "a", "rater_b", settings=one)
    make_run(exams, tmp_path / "b", model="org/Model-7B", settings=one)
    make_run(exams, tmp_path / "c", model="/models/local-3B", settings=one)
    sources = find_runs([str(tmp_path / name) for name in "abc"] + [f"mine={tmp_path / 'b'}", str(tmp_path / "b")])
    assert [s.name for s in sources] == ["rater_b", "org/Model-7B (b)", "local-3B", "mine", "org/Model-7B (b) (2)"]
    assert [s.slug for s in sources] == ["rater-b", "org-model-7b-b", "local-3b", "mine", "org-model-7b-b-2"]
    assert [s.role for s in sources] == ["reference", *["model"] * 4]
    (tmp_path / "b").rename(tmp_path / "x=b")
    assert find_runs([str(tmp_path / "x=b")])[0].name == "org/Model-7B"  # a path that is there gives no name
    (tmp_path / "x=b").rename(tmp_path / "b")
    assert dataset_folder(sources) == exams.root
    assert sources[1].facts["model_args"] == "pretrained=org/Model-7B,***"  # secrets do not travel
    assert "sk-private" not in json.dumps(sources[1].facts)


def test_a_folder_of_several_models_is_split(exams: Dataset, make_run: Callable[..., Path], tmp_path: Path) -> None:
    for name in ("x", "y"):
        make_run(exams, tmp_path / "logs" / name, model=f"org/{name}", settings=("full_error",))
    assert [s.name for s in find_runs([str(tmp_path / "logs")])] == ["org/x", "org/y"]


def test_a_limited_run_knows_it_and_its_scores_say_so(
    exams: Dataset, make_run: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(exams, tmp_path / "a", model="m", settings=("full_error",), config={"limit": 2})
    (log,) = run.glob("*samples*")
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:2]))
    words = ["score", str(run), "--data", str(exams.root)]
    assert main(words) == 0
    assert "full_error: only 2 of 4 questions asked; the run is not ranked" in capsys.readouterr().out
    assert main([*words[:1], "--show", "missing", *words[1:]]) == 0
    assert "2 of 2 requests with a reply" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["settings"].values()
    assert found["requests"] == {"answered": 2, "asked": 2, "expected": 4, "conflicts": []}


def test_slugs_are_plain_file_names() -> None:
    slugs = {"../../etc/passwd": "etc-passwd", "": "run", "A" * 300: "a" * 60, "汉字": "run", "a/b:c": "a-b-c"}
    assert {name: slug_of(name) for name in slugs} == slugs


def test_missing_and_broken_runs_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: no such file or folder\. Give a prediction file"):
        find_runs([str(tmp_path / "nowhere")])
    with pytest.raises(DataError, match="No run was given"):
        find_runs([])
    (tmp_path / "1_samples_siming_full_score.jsonl").write_text("{}\n")
    limit = '{"config": {"limit": "many"}, "configs": {"siming_full_score": {}}}'
    for text in ("{", limit):
        (tmp_path / "1_results.json").write_text(text)
        with pytest.raises(DataError, match=r"1_results\.json: not a results file of lmms-eval"):
            find_runs([str(tmp_path)])


def test_a_judge_that_was_trained_on_these_data_says_so(tmp_path: Path) -> None:
    judge = {"kind": SUPERVISED, "backbone": "/home/me/siglip", "folds": "5", "mood": "good"}
    (tmp_path / "p.jsonl").write_text(json.dumps({"judge": judge}) + "\n")
    (source,) = find_runs([str(tmp_path / "p.jsonl")])
    assert (source.name, source.role) == ("p", "supervised")
    assert source.facts == {"judge": SUPERVISED, "trained": "backbone=siglip, folds=5"}
