"""A secret planted in what a run or a submission says of itself occurs in nothing that is written or printed."""

import json
import secrets
import zipfile
from pathlib import Path

from siming_tasks.cli import main
from tests.study.report.conftest import text_of
from tests.study.report.secret_forms import FORMS, given_to, traces


def test_no_secret_of_a_run_gets_out(lab, make_run, tmp_path: Path, capsys) -> None:
    """Every form in the arguments of a run, as text and as a mapping, in all else that its files say, and in its path.

    lmms-eval calls folders after the model's arguments; people call files after what they did.
    """
    data, out = ["--data", str(lab.dataset.root)], tmp_path / "out"
    planted = {form: f"q{secrets.token_hex(12)}" for form in FORMS}
    pairs = [given_to(form, secret) for form, secret in planted.items()]
    as_text = ",".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in pairs)
    by_number = {f"{name}{number}" if name in ("headers", "base_url", "client", "env", "proxy", "blob") else name: value
                 for number, (name, value) in enumerate(pairs)}  # fmt: skip
    marks = [mark for form, secret in planted.items() for mark in traces(form, secret)]
    secret, placed = planted["key"], f"q{secrets.token_hex(12)}"
    runs = []
    for name, arguments in (("text", as_text), ("mapping", by_number)):
        failed = {0: f"[LMMS_EVAL_REQUEST_FAILED] GET https://host.example/v1?key={secret}: 401"}
        place = tmp_path / f"home,{placed}" / f"{name},api_key={placed}"
        run = make_run(lab.dataset, place, model="example/m", settings=("full_score",), replies=failed)
        results = run / "20260102_030405_results.json"
        found = json.loads(results.read_text())
        found["config"] |= {"model_args": arguments, "gen_kwargs": arguments, "batch_size": f"auto:{secret}#"}
        found["configs"]["siming_full_score"]["generation_kwargs"] = by_number
        options = json.dumps({"frames": 8, "prices": f"/home/{secret}/p.yaml", "media": f"https://{secret}@host"})
        known = {"version": f"https://me:{secret}@host.example", "siming_options": options, "note": secret}
        found["configs"]["siming_full_score"]["metadata"] = known
        found["model_name"] = f"https://me:{secret}@host.example/v1" if name == "text" else None
        results.write_text(json.dumps(found))
        log = run / "20260102_030405_samples_siming_full_score.jsonl"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            line["siming_stderr"]["media"] |= {"reader": f"https://me:{secret}@host.example", "file": f"/home/{secret}"}
            line["siming_stderr"]["usage"] = {"error": f"no key {secret}!", "served": f"https://{secret}@host/m"}
        log.write_text("".join(json.dumps(line) + "\n" for line in lines))
        runs.append(str(run))
        assert main(["board", "submit", str(run), *data, "--name", f"m-{name}", "--out", str(out / f"{name}.zip")]) == 0
        assert main(["board", "submit", "--check", str(out / f"{name}.zip"), *data]) == 0
        with zipfile.ZipFile(out / f"{name}.zip") as packed:
            packed.extractall(out / "unpacked" / name)
        for flags in ("", "--json", "--show missing", "--show missing --json", "--show diagnosis", "--show card"):
            assert main(["score", str(run), *data, *flags.split()]) in (0, 1), flags
    assert main(["compare", *runs, *data]) in (0, 1)
    named = tmp_path / f"password={placed}.jsonl"
    answers = [{"setting": "full_score", "video_id": video.video_id, "response": ""} for video in lab.dataset.videos]
    named.write_text("".join(json.dumps(line) + "\n" for line in answers[1:]))
    printed = "".join(capsys.readouterr())
    assert main(["report", *runs, str(named), *data, "--out", str(out / "report")]) == 0
    (out / "inbox").mkdir()
    for path in out.glob("*.zip"):
        path.rename(out / "inbox" / path.name)
    out.with_name(f"{out.name}.senders.txt").write_text("inbox")
    assert main(["board", "build", str(out), *data, "--out", str(out / "board"), "--new-ledger"]) == 0
    assert len(planted) > 47
    _nowhere([*marks, placed, str(tmp_path), str(lab.dataset.root)], out, "")
    _nowhere(marks, out, printed)


def test_no_secret_of_a_submission_gets_out(lab, make_run, tmp_path: Path, capsys) -> None:
    """The sender's own suite may be another one: what comes in goes through the list again."""
    run = make_run(lab.dataset, tmp_path / "run", model="example/m", settings=("full_score",))
    data, planted = ["--data", str(lab.dataset.root)], {form: f"q{secrets.token_hex(12)}" for form in FORMS}
    (tmp_path / "inbox" / "lab").mkdir(parents=True)
    (tmp_path / "inbox.senders.txt").write_text("lab")
    assert main(["board", "submit", str(run), *data, "--out", str(tmp_path / "a.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "a.zip") as old, zipfile.ZipFile(tmp_path / "inbox" / "lab" / "a.zip", "w") as new:
        about = json.loads(old.read("submission.json"))
        for form, secret in planted.items():
            name, value = given_to(form, secret)
            about["run"] |= {f"x {form}": value, "model_args": f"{about['run']['model_args']},{name}={value}"}
        new.writestr("submission.json", json.dumps(about))
        new.writestr("predictions.jsonl", old.read("predictions.jsonl"))
    build = ["board", "build", str(tmp_path / "inbox"), *data, "--out", str(tmp_path / "out" / "board")]
    assert main([*build, "--new-ledger"]) == 0
    marks = [mark for form, secret in planted.items() for mark in traces(form, secret)]
    _nowhere(marks, tmp_path / "out", "".join(capsys.readouterr()))


def _nowhere(marks: list[str], folder: Path, printed: str) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    texts = {path: f"{path.relative_to(folder)} {text_of(path)}" for path in files}
    assert [(path, mark) for path, text in texts.items() for mark in marks if mark in text] == []
    assert [printed[max(0, printed.find(mark) - 200) :][:400] for mark in marks if mark in printed] == []
