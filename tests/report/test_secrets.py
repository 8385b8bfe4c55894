"""A secret planted in what a run or a submission says of itself occurs in nothing that is written or printed."""

from __future__ import annotations

import json
import secrets
import shutil
import zipfile
from pathlib import Path
from typing import Any

from siming_tasks.cli import main
from tests.report.conftest import text_of

PLACES: dict[str, Any] = {
    "key": lambda s: f"pretrained=m,api_key={s}",
    "url": lambda s: f"pretrained=m,base_url=https://me:{s}@host.example/v1",
    "name": lambda s: f"pretrained=https://me:{s}@host.example/model",
    "query": lambda s: f"model_version=m,base_url=https://host.example/v1?v=1&token={s}",
    "sas": lambda s: f"pretrained=https://host.example/model?sig={s}",
    "header": lambda s: f"pretrained=m,headers={{'Authorization': 'Bearer {s}'}}",
    "nested": lambda s: {"pretrained": "m", "client": {"auth": {"password": s}, "tokens": [s]}},
    "shape": lambda s: f"pretrained=m,extra=sk-{s}",
}


def test_no_secret_of_a_run_gets_out(lab, make_run, tmp_path: Path, capsys) -> None:
    """One run for each place, all in one report and on one board."""
    data, out = ["--data", str(lab.dataset.root)], tmp_path / "out"
    planted = {place: f"q{secrets.token_hex(12)}" for place in PLACES}
    for place, secret in planted.items():
        hide = PLACES[place]
        failed = {0: f"[LMMS_EVAL_REQUEST_FAILED] GET https://host.example/v1?key={secret}: 401"}
        run = make_run(lab.dataset, tmp_path / place, model="example/m", settings=("full_score",), replies=failed)
        results = run / "20260102_030405_results.json"
        found = json.loads(results.read_text())
        found["config"] |= {"model_args": hide(secret), "gen_kwargs": {"extra": hide(secret)}}
        found["configs"]["siming_full_score"]["generation_kwargs"] = {"headers": {"x-api-key": secret}}
        found["configs"]["siming_full_score"]["metadata"] = {"version": f"https://me:{secret}@host.example"}
        found["model_name"] = hide(secret) if isinstance(hide(secret), str) else None
        results.write_text(json.dumps(found))
        log = run / "20260102_030405_samples_siming_full_score.jsonl"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            line["siming_stderr"]["media"]["reader"] = f"https://me:{secret}@host.example"
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        card = ["--description", f"https://me:{secret}@host.example", "--url", f"https://me:{secret}@host.example/x"]
        assert main(["board", "submit", str(run), *data, "--out", str(out / f"{place}.zip"), *card]) == 0
        with zipfile.ZipFile(out / f"{place}.zip") as packed:
            packed.extractall(out / "unpacked" / place)
        assert main(["score", str(lab.dataset.root), str(run)]) == 0
    runs = [str(tmp_path / place) for place in planted]
    assert main(["report", *runs, *data, "--out", str(out / "report")]) == 0
    assert main(["board", "build", str(out), *data, "--most", "99", "--out", str(out / "board")]) == 0
    texts = "".join(capsys.readouterr())
    assert len(planted) == 8
    for secret in planted.values():
        _nowhere(secret, out, texts)


def test_no_secret_of_a_path_gets_out(lab, make_run, tmp_path: Path, capsys, caplog) -> None:
    """lmms-eval calls folders after the model's arguments; people call files after what they did."""
    secret = f"q{secrets.token_hex(12)}"
    home = tmp_path / f"base_url=https:me:{secret}@host"
    runs = [home / f"m,api_key={secret}", home / f"n,token={secret}"]
    for run in runs:
        make_run(lab.dataset, run, model="example/m", settings=("full_score",), replies={0: "nothing"})
    file = home / f"password={secret}.jsonl"
    answers = [{"setting": "full_score", "video_id": video.video_id, "response": ""} for video in lab.dataset.videos]
    file.write_text("".join(json.dumps(line) + "\n" for line in answers[1:]))
    data = ["--data", str(lab.dataset.root)]
    out = tmp_path / "out"
    assert main(["report", *map(str, (*runs, file)), *data, "--out", str(out / "report")]) == 0
    (tmp_path / "inbox").mkdir()
    archive = tmp_path / "inbox" / f"secret={secret}.zip"
    assert main(["board", "submit", str(runs[0]), *data, "--out", str(archive)]) == 0
    assert main(["board", "submit", "--check", str(archive), *data]) == 0
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(out / "unpacked")
    assert main(["board", "build", str(archive.parent), *data, "--out", str(out / "board")]) == 0
    for run in (*runs, file):
        for words in ([], ["--json"]):
            assert main(["score", *data, str(run), *words]) in (0, 1)
            assert main(["run", "missing", *data, str(run), *words]) in (0, 1)
    assert main(["compare", *map(str, runs), *data]) == 0
    assert main(["compare", *map(str, runs), *data, "--json"]) == 0
    assert main(["study", "diagnose", str(runs[0]), *data]) == 0
    assert main(["study", "diagnose", str(file), *data]) in (0, 1)
    for bad in (home / f"api_key={secret}.gone", tmp_path / "inbox"):
        assert main(["score", str(lab.dataset.root), str(bad)]) == 1
    folder = home / f"data,api_key={secret}"
    shutil.copytree(lab.dataset.root, folder)
    (folder / "extra.key.json").touch()
    for line in ("data check --quick", "data check --quick --json", "data check --restate", "study raters", "run plan"):
        assert main([*line.split(), "--data", str(folder)]) in (0, 1)
    assert secret not in caplog.text
    _nowhere(secret, out, "".join(capsys.readouterr()))


def test_no_secret_of_a_submission_gets_out(lab, make_run, tmp_path: Path, capsys) -> None:
    """The sender's own suite may be an old one: what comes in goes through the routine again."""
    secret = f"q{secrets.token_hex(12)}"
    run = make_run(lab.dataset, tmp_path / "run", model="example/m", settings=("full_score",))
    data = ["--data", str(lab.dataset.root)]
    (tmp_path / "inbox").mkdir()
    assert main(["board", "submit", str(run), *data, "--out", str(tmp_path / "a.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(tmp_path / "inbox" / "a.zip", "w") as new:
        about = json.loads(old.read("submission.json"))
        about["run"] |= {place: hide(secret) for place, hide in PLACES.items()} | {"api_key": secret}
        about["model"] |= {"name": f"https://me:{secret}@host", "url": f"https://me:{secret}@host",
                           "license": f"token={secret}"}  # fmt: skip
        about["created_with"] = f"Authorization: Bearer {secret}"
        new.writestr("submission.json", json.dumps(about))
        new.writestr("predictions.jsonl", old.read("predictions.jsonl"))
    assert main(["board", "build", str(tmp_path / "inbox"), *data, "--out", str(tmp_path / "out" / "board")]) == 0
    _nowhere(secret, tmp_path / "out", "".join(capsys.readouterr()))


def _nowhere(secret: str, folder: Path, printed: str) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if secret in text_of(path) or secret in str(path)] == []
    assert secret not in printed
