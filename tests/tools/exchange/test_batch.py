"""Batch jobs: the file that OpenAI's API and ``vllm run-batch`` read, and the result files that they write."""

import base64
import io
import json
import stat
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from PIL import Image
from pydantic import TypeAdapter

from siming_tasks.cli import main
from siming_tasks.data import Dataset, open_dataset, withhold
from siming_tasks.data.consent import HERE
from siming_tasks.media import Backend
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.messages import heard_sound, stored_images_sent
from siming_tasks.plugin.run_context import current_run, running
from siming_tasks.study.results.read_predictions import load_predictions
from tests.plugin.hooks.conftest import build, docs
from tests.plugin.hooks.conftest import record as record_of
from tests.plugin.response_cache.test_cache import ARGUMENTS, SMALL, points
from tests.plugin.serving import Server, pixels
from tests.records import read_rows, write_rows

FEW = ("--setting", "clip_score", "--limit", "4")


def job(out: Path, *arguments: str) -> list[dict[str, Any]]:
    """Lines of a job, each checked: the envelope of OpenAI and vLLM, the body as OpenAI's client types it."""
    assert main(["run", "requests", str(out), "--model", "m", *arguments]) == 0
    for line in read_rows(out):
        assert line.keys() == {"custom_id", "method", "url", "body"}
        TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(line["body"])
        assert (line["method"], line["url"], line["body"]["model"]) == ("POST", "/v1/chat/completions", "m")
    return read_rows(out)


def run_batch(asked: list[dict[str, Any]], out: Path, answer: Callable[..., tuple[int, Any]]) -> None:
    """Answer the lines of a job as ``vllm run-batch`` writes its results: without a model, in the job's order."""
    results = []
    for line in asked:
        urls = [each["url"].partition(",")[2] for each in content(line, "image_url")]
        images = tuple(pixels(Image.open(io.BytesIO(base64.b64decode(url)))) for url in urls)
        status, body = answer(images, content(line, "text")[-1])
        response = {"status_code": status, "request_id": "vllm-batch-1", "body": body}
        results.append({"id": "vllm-1", "custom_id": line["custom_id"], "response": response, "error": None})
    write_rows(out, results)


def content(line: dict[str, Any], kind: str) -> list[Any]:
    return [part[kind] for part in line["body"]["messages"][0]["content"] if part["type"] == kind]


def result(name: str, text: str | None, *, status: int = 200, **more: Any) -> dict[str, Any]:
    """Line of a result file, as OpenAI and vLLM write it."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **more}, "finish_reason": "stop"}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m-1", "choices": [choice],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}}  # fmt: skip
    if status != 200:
        body = {"error": {"message": "too long", "code": status}}
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "b", "custom_id": name, "response": response, "error": None}


def imported(results: Path, code: int = 0, job_file: str = "job", out: str = "replies.jsonl") -> list[dict[str, Any]]:
    asked = results.with_name(f"{job_file}_asked.jsonl")
    path = results.with_name(out)
    assert main(["run", "import", str(results), str(path), "--requests", str(asked)]) == code
    return read_rows(path) if path.exists() else []


@pytest.mark.host
@pytest.mark.parametrize("name", ["ablation_shuffled_frames_clip_score", "ablation_no_video_full_error"])
def test_a_request_is_what_the_host_makes_of_the_hooks_messages(name: str, run: Dataset, tmp_path: Path) -> None:
    """Byte for byte, through the class that lmms-eval's API models word their requests with."""
    protocol = pytest.importorskip("lmms_eval.protocol")
    asked = job(tmp_path / "job.jsonl", "--setting", name, "--limit", "2")
    hooks.dataset_kwargs  # noqa: B018 - another run begins
    for line, facts, doc in zip(asked, read_rows(tmp_path / "job_asked.jsonl"), docs(name)[:2], strict=True):
        assert line["custom_id"] == f"{doc['id']}#{facts['asked']}"
        anybody = Backend("test", images="several", encodes=True, blind=True)
        with running(current_run().asking(anybody, HERE)), stored_images_sent():
            messages = protocol.ChatMessages(messages=build(hooks.doc_to_messages, doc)).to_openai_messages()
        assert line["body"]["messages"] == messages
        assert (line["body"]["max_completion_tokens"], line["body"]["temperature"]) == (4096, 0)
        made = record_of(doc)
        assert all(facts[key] == made[key] for key in ("setting", "video_id", "prompt", "dataset", "media"))


@pytest.mark.host
def test_a_batch_job_scores_as_a_live_run_does(
    host: Callable[..., Any], serve: Callable[..., Server], short_demo: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Requests in two parts, results in any order, import, score: records and numbers are those of lmms-eval."""
    server = serve(points)
    live = host(
        "--model", "async_openai", "--model_args", ARGUMENTS["async_openai"] + server.url, "--tasks",
        "siming_clip_score", "--limit", "24", data=short_demo, name="live", **SMALL,
    )  # fmt: skip
    what = ("--setting", "clip_score", "--limit", "24", "--clip-frames", "2", "--frame-size", "96")
    asked = job(tmp_path / "job.jsonl", "--data", str(short_demo), *what)
    results = [tmp_path / "results-1.jsonl", tmp_path / "results-2.jsonl"]
    for part, file in zip((asked[10:], asked[:10]), results, strict=True):
        run_batch(part, file, points)
    words = [str(tmp_path / "replies.jsonl"), "--requests", str(tmp_path / "job_asked.jsonl")]
    assert main(["run", "import", *map(str, results), *words]) == 0
    dataset = open_dataset(short_demo)
    batch, run = (
        load_predictions(path, dataset).records["clip_score"] for path in (tmp_path / "replies.jsonl", live.folder)
    )
    for first, other in zip(batch, run, strict=True):
        mine, theirs = first.to_json(), other.to_json()
        used, usage = mine.pop("usage"), theirs.pop("usage")
        assert mine == theirs
        assert used["model"] == "m" and used["completion_tokens"] == 1
        assert all(usage[name] == value for name, value in used.items() if value is not None)
    printed = []
    for path in (tmp_path / "replies.jsonl", live.folder):
        capsys.readouterr()
        assert main(["score", str(path), "--data", str(short_demo), "--partial", "--json"]) == 0
        scored = json.loads(capsys.readouterr().out)["settings"]["clip_score"]
        printed.append({name: value for name, value in scored.items() if name != "usage"})
    assert len(batch) == 24 and printed[0] == printed[1]


def test_what_failed_is_no_reply_and_is_counted(
    run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every way in which a service gives no answer; the exit code says that answers are missing."""
    names = [line["custom_id"] for line in job(tmp_path / "job.jsonl", "--setting", "clip_score", "--limit", "17")]
    good = '{"score": 1}'
    by_vllm = {"error": {"message": "too many images", "type": "BadRequestError", "param": None, "code": 400}}
    rows: list[tuple[dict[str, Any], str, str]] = [  # of line, status, text
        (result(names[0], None, status=400), "request_failed", "HTTP 400"),
        ({"custom_id": names[1], "response": None, "error": {"code": "expired"}}, "request_failed", "error expired"),
        ({"custom_id": names[2], "response": {"status_code": 400, "body": None}, "error": by_vllm}, "request_failed",
         "HTTP 400 BadRequestError"),
        (result(names[3], None), "empty", ""),
        (result(names[4], None, refusal="I cannot judge this."), "refused", "I cannot judge this."),
        (result(names[5], None, status=400), "refused", "finish_reason=content_filter] content_filter"),
        (result(names[6], good + " \ud83d"), "ok", "\ufffd"),
        (result(names[7], good), "ok", good),
        (result(names[8], None), "request_failed", "no choice"),
        ({"custom_id": names[9], "reply": good, "error": "broke off"}, "request_failed", ""),
        (result(names[10], good), "request_failed", ""),
        (result(names[11], good), "request_failed", ""),
        (result(names[12], good), "request_failed", ""),
        (result(names[13], '{"score": '), "truncated", '{"score": '),
        (result(names[14], '{"score": '), "truncated", '{"score": '),
        (result(names[15], "Can not infer the answer."), "unread", "Can not infer"),  # in a model's mouth: a reply
    ]  # fmt: skip
    lines_of = [row for row, _, _ in rows]
    lines_of[5]["response"]["body"]["error"] |= {"code": "content_filter", "message": "filtered"}
    lines_of[8]["response"]["body"]["choices"] = []
    lines_of[10]["error"] = {"message": "of the line"}
    lines_of[11]["response"]["error"] = {"message": "of the response"}
    lines_of[12]["response"]["body"]["choices"][0]["error"] = {"message": "of the choice"}
    lines_of[14]["response"]["body"]["choices"][0]["finish_reason"] = "length"  # would be cut there again
    text = "".join(json.dumps(row) + "\n" for row in lines_of)
    (results := tmp_path / "results.jsonl").write_text(text.replace('"prompt_tokens": 7', '"prompt_tokens": NaN', 1))
    capsys.readouterr()
    replies = imported(results, 1)
    said = capsys.readouterr().out
    assert "clip_score: 6 of 17 requests with a reply" in said and "10 failed: clip_score/" in said
    assert "job.jsonl: 1 request without a result" in said and "run requests --missing" in said
    records = load_predictions(tmp_path / "replies.jsonl", run).records["clip_score"]
    for (_, status, part), reply_row, record in zip(rows, replies, records, strict=False):
        assert (record.status, part in reply_row["response"]) == (status, True), reply_row
        failed = reply_row["response"].startswith("[LMMS_EVAL_REQUEST_FAILED]")
        assert failed == (status == "request_failed")
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "finish_reason": "stop", "served": "m-1", "http_status": 200}
    assert replies[7]["usage"] == {"model": "m", **usage} and "prompt_tokens" not in replies[3]["usage"]
    words = ("--setting", "clip_score", "--limit", "17", "--missing", str(tmp_path / "replies.jsonl"))
    again = job(tmp_path / "again.jsonl", *words)
    assert [line["custom_id"] for line in again] == [names[k] for k in (*range(4), *range(8, 14), 16)]


def test_results_of_other_requests_are_refused(
    run: Dataset, other_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All ids agree; what was asked does not."""
    mine = job(tmp_path / "job.jsonl", *FEW)
    for name, other in {"data": ["--data", str(other_demo)], "prompt": ["--prompt", "reasoned"],
                        "frames": ["--clip-frames", "2"], "schema": ["--schema", "json"],
                        "model": ["--model", "m2"]}.items():  # fmt: skip
        assert main(["run", "requests", str(tmp_path / f"{name}.jsonl"), *FEW, "--model", "m", *other]) == 0
        theirs = read_rows(tmp_path / f"{name}.jsonl")
        ids = [[line["custom_id"].partition("#")[0] for line in asked] for asked in (mine, theirs)]
        assert ids[0] == ids[1]
        rows = [{"custom_id": line["custom_id"], "reply": '{"score": 1}'} for line in theirs]
        results = write_rows(tmp_path / f"results {name}.jsonl", rows)
        capsys.readouterr()
        assert imported(results, 1) == [] and "was not asked as" in capsys.readouterr().err
        assert len(imported(results, 0, name, f"replies {name}.jsonl")) == 4


def test_a_job_and_replies_that_are_there_are_never_written_over(
    run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forgotten OUT makes the file of errors the last word."""
    asked = job(tmp_path / "job.jsonl", *FEW)
    rows = [result(line["custom_id"], '{"score": 1}') for line in asked]
    results, errors = write_rows(tmp_path / "results.jsonl", rows), write_rows(tmp_path / "errors.jsonl", rows[:1])
    before = {path: path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    how = ["--requests", str(tmp_path / "job_asked.jsonl")]
    capsys.readouterr()
    for last in (errors, tmp_path / "job_asked.jsonl"):
        assert main(["run", "import", str(results), str(last), *how]) == 1
        assert f"{last}: already exists. OUT, the last argument, must be a new file." in capsys.readouterr().err
    assert main(["run", "requests", str(tmp_path / "job.jsonl"), "--model", "m", *FEW]) == 1
    assert "may belong to a job that was sent. Choose another OUT" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.glob("*.jsonl")} == before


def test_what_is_missing_is_asked_as_before_and_joined(
    run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two jobs are one run; the second has what failed, was empty or has no result, with the same hashes."""
    asked = job(tmp_path / "job.jsonl", *FEW)
    names = [line["custom_id"] for line in asked]
    rows = [result(names[0], '{"score": 1}'), result(names[1], None, status=500), result(names[2], None)]
    imported(write_rows(tmp_path / "results.jsonl", rows), 1)
    first = str(tmp_path / "replies.jsonl")
    capsys.readouterr()
    other = ["run", "requests", str(tmp_path / "x.jsonl"), "--model", "m", *FEW, "--missing", first]
    assert main([*other, "--clip-frames", "2"]) == 1
    said = capsys.readouterr().err
    assert "has another media than in the run that answers it: n_frames 2 against 3" in said and "{" not in said
    assert main([*other, "--model", "m2"]) == 1
    assert "is answered by 'm' in the run, not by 'm2'" in capsys.readouterr().err
    again = job(tmp_path / "again.jsonl", *FEW, "--missing", first)
    assert again == asked[1:]
    rows = [result(line["custom_id"], '{"score": 2}') for line in again]
    imported(write_rows(tmp_path / "results-2.jsonl", rows), 0, "again", "replies-2.jsonl")
    second = str(tmp_path / "replies-2.jsonl")
    records = load_predictions([Path(first), Path(second)], run).records["clip_score"]
    assert [list(record.answers.values()) for record in records] == [[1], [2], [2], [2]]
    capsys.readouterr()
    assert main([*other, "--missing", second]) == 0
    assert "Every request has an answer" in capsys.readouterr().out and not (tmp_path / "x.jsonl").exists()


def test_one_answer_to_each_request(run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of errors and a file of results in any order; two answers, strangers and other files are refused."""
    names = [line["custom_id"] for line in job(tmp_path / "job.jsonl", *FEW)]
    files = {
        "failed": [result(names[0], None, status=500), result(names[1], "2")],
        "again": [result(name, "1") for name in (names[0], *names[2:])],
        "twice": [result(names[1], "3")],
        "stranger": [result("clip_score/v/9#000000000000", "1")],
        "other": [{"id": "clip_score/v/1", "reply": "1"}],
        "none": [],
    }
    for name, rows in files.items():
        write_rows(tmp_path / name, rows)

    def importing(out: str, *names: str, asked: str = "job_asked.jsonl") -> int:
        paths = [str(tmp_path / name) for name in (*names, out)]
        return main(["run", "import", *paths, "--requests", str(tmp_path / asked)])

    assert importing("a.jsonl", "failed", "again") == importing("b.jsonl", "again", "failed") == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    capsys.readouterr()
    for wrong, said, asked in (
        (("failed", "twice"), "is already answered in", "job_asked.jsonl"),
        (("failed", "stranger"), "is not an id of", "job_asked.jsonl"),
        (("failed", "other"), "other:1: needs `custom_id` and `response`", "job_asked.jsonl"),
        (("none",), "contains no result of a job", "job_asked.jsonl"),
        (("again",), "wrote next to the job", "job.jsonl"),
    ):
        assert importing("c.jsonl", *wrong, asked=asked) == 1
        assert said in capsys.readouterr().err and not (tmp_path / "c.jsonl").exists()


def test_replies_of_another_model_are_told(run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [result(line["custom_id"], '{"score": 1}') for line in job(tmp_path / "job.jsonl", *FEW)]
    for served, code in {"m": 0, "m-2024-08-06": 0, "m-mini": 1, "m2": 1}.items():
        rows[0]["response"]["body"]["model"] = served
        assert len(imported(write_rows(tmp_path / "results.jsonl", rows), code, out=f"{served}.jsonl")) == 4
        assert (f"1 reply came from the model {served}, which was not" in capsys.readouterr().out) == bool(code)


def test_sound_is_sent_as_sound(run: Dataset, tmp_path: Path) -> None:
    """As OpenAI's API and vLLM take it: a WAV of the samples that the hooks give, beside the frames."""
    (line,) = job(tmp_path / "job.jsonl", "--setting", "sound_video_audio_full_score", "--limit", "1")
    (asked,) = read_rows(tmp_path / "job_asked.jsonl")
    hooks.dataset_kwargs  # noqa: B018
    expected = heard_sound(current_run(), docs("sound_video_audio_full_score")[0])
    (sent,) = content(line, "input_audio")
    with wave.open(io.BytesIO(base64.b64decode(sent["data"]))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert sent["format"] == "wav" and asked["media"]["sound"] and expected is not None
    assert len(samples) and np.array_equal(samples, expected.samples)
    assert not content(line, "video_url") and len(content(line, "image_url")) == 6


def test_media_as_files_are_those_of_the_data_urls(run: Dataset, tmp_path: Path) -> None:
    def sent(name: str, *more: str) -> list[str]:
        (line,) = job(tmp_path / name, "--setting", "clip_score", "--limit", "1", *more)
        return [part["url"] for kind in ("image_url", "video_url") for part in content(line, kind)]

    for what in ((), ("--media", "video")):
        inline, files = sent(f"a{len(what)}.jsonl", *what), sent(f"b{len(what)}.jsonl", "--files", *what)
        folder = tmp_path / f"b{len(what)}_media"
        assert files and all(url.startswith(f"file://{folder.name}/") for url in files)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in (*folder.iterdir(), *tmp_path.glob("*.jsonl"))} == {0o600}
        assert str(tmp_path) not in (tmp_path / f"b{len(what)}.jsonl").read_text()
        assert [(tmp_path / url.removeprefix("file://")).read_bytes() for url in files] == [
            base64.b64decode(url.partition(",")[2]) for url in inline
        ]
        hashes = {row["asked"] for name in "ab" for row in read_rows(tmp_path / f"{name}{len(what)}_asked.jsonl")}
        assert len(hashes) == 1, "it is the same question"


def test_large_jobs_are_divided(run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file is larger than it may be, and nothing is lost."""
    how = ("--setting", "full_score", "--frame-size", "448", "--frames", "32")
    whole = job(tmp_path / "whole.jsonl", *how)
    job(tmp_path / "job.jsonl", *how, "--batch-mb", "1")
    parts = [tmp_path / f"job{number}.jsonl" for number in ("", "-2", "-3", "-4")]
    assert [line for part in parts for line in read_rows(part)] == whole
    assert all(part.stat().st_size <= 1_000_000 for part in parts)
    assert {row["file"] for row in read_rows(tmp_path / "job_asked.jsonl")} == {part.name for part in parts}
    capsys.readouterr()
    words = ["run", "requests", str(tmp_path / "x.jsonl"), "--model", "m", "--batch-mb", "1", "--frames", "64"]
    assert main(words) == 1
    assert "one request has" in capsys.readouterr().err and not list(tmp_path.glob("x*"))


def test_no_label_is_written(short_demo: Path, run: Dataset, tmp_path: Path) -> None:
    """The requests about a public folder are those about the whole one."""
    withhold(short_demo, tmp_path / "public", tmp_path / "key.json")
    bodies = [
        [line["body"] for line in job(tmp_path / f"{name}.jsonl", *FEW, "--data", str(data))]
        for name, data in (("a", short_demo), ("b", tmp_path / "public"))
    ]
    assert bodies[0] == bodies[1]


def test_an_exam_asked_about_in_parts_goes_round(begin: Callable[..., None], run: Dataset, tmp_path: Path) -> None:
    """``--ask skill``: three requests an exam, whose ids name the part; the unanswered part alone is missing."""
    how = ("--setting", "full_error", "--ask", "skill", "--prompt", "reasoned")
    asked = job(tmp_path / "job.jsonl", *how)
    begin(run.root, ASK="skill", PROMPT="reasoned")
    assert [line["custom_id"].partition("#")[0] for line in asked] == [doc["id"] for doc in docs("full_error")]
    assert len(asked) == 3 * len(run.videos)
    said = json.dumps({"verdicts": {step.id: "correct" for step in run.rubric.steps}})
    rows = [{"custom_id": line["custom_id"], "reply": said} for line in asked[1:]]
    imported(write_rows(tmp_path / "results.jsonl", rows), 1)
    found = load_predictions(tmp_path / "replies.jsonl", run).records["full_error"]
    assert [len(record["answers"]) for record in found] == [33 - len(run.rubric.skills[0].steps), 33, 33, 33]
    assert found[1]["asking"] == "reasoned skill"
    assert job(tmp_path / "again.jsonl", *how, "--missing", str(tmp_path / "replies.jsonl")) == asked[:1]
