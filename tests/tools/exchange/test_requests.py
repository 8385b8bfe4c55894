"""``siming run requests``: the bytes that the hooks send, and numbers that do not depend on the road."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from siming_tasks.cli import main
from siming_tasks.data import Dataset, withhold
from siming_tasks.media import Backend
from siming_tasks.metrics import Rows
from siming_tasks.plugin import hooks
from siming_tasks.plugin.hooks.messages import stored_images_sent
from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.results.read_predictions import load_predictions
from siming_tasks.tasks import BENCHMARK_TASKS
from tests.plugin.hooks.conftest import aggregated, docs, reply

SENT = Backend("test", images="several", encodes=True, blind=True)


def written(out: Path, *arguments: str) -> list[dict[str, Any]]:
    assert main(["run", "requests", str(out), *arguments]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


def file_of(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.host
@pytest.mark.parametrize(
    "name", ["full_score", "clip_error", "ablation_shuffled_frames_clip_score", "ablation_no_video_full_error"]
)
def test_a_request_is_what_the_host_makes_of_the_hooks_messages(name: str, run: Dataset, tmp_path: Path) -> None:
    """Byte for byte, through the class that lmms-eval's API models word their requests with."""
    protocol = pytest.importorskip("lmms_eval.protocol")
    lines = written(tmp_path / "requests.jsonl", "--setting", name, "--limit", "2")
    hooks.dataset_kwargs  # noqa: B018 - another run begins
    asked = docs(name)[:2]
    assert len(asked) == 2
    assert [line["id"] for line in lines] == [doc["id"] for doc in asked]
    for line, doc in zip(lines, asked, strict=True):
        with RUN.evaluating(SENT), stored_images_sent():
            messages = protocol.ChatMessages(messages=hooks.doc_to_messages(doc)).to_openai_messages()
        assert line["messages"] == messages
        record = hooks.process_results(doc, [""])["siming_stderr"]
        assert {key: line[key] for key in ("prompt", "dataset", "media")} == {
            key: record[key] for key in ("prompt", "dataset", "media")
        }
        assert line["synthetic"] is True
        assert line["generation"] == {"max_new_tokens": 4096, "temperature": 0, "do_sample": False, "until": []}


def test_all_request_formats_hold_the_same_requests(run: Dataset, tmp_path: Path) -> None:
    """Media as data URLs or files, each frame after its time or all before the text: the stored JPEG, always."""
    common = ("--setting", "clip_score", "--limit", "3")
    chat = written(tmp_path / "a.jsonl", *common)
    qwen = written(tmp_path / "b.jsonl", *common, "--messages", "qwen", "--files")
    plain = written(tmp_path / "c.jsonl", *common, "--messages", "plain", "--files")
    hooks.dataset_kwargs  # noqa: B018
    assert len(chat) == 3
    for one, two, three, doc in zip(chat, qwen, plain, docs("clip_score")[:3], strict=True):
        (turn,), (other,) = one["messages"], two["messages"]
        inline = [part["image_url"]["url"] for part in turn["content"] if part["type"] == "image_url"]
        files = [part["image"] for part in other["content"] if part["type"] == "image"]
        data = [base64.b64decode(url.removeprefix("data:image/jpeg;base64,")) for url in inline]
        assert len(data) == 3
        assert data == [(tmp_path / name).read_bytes() for name in files]
        assert data == [(tmp_path / name).read_bytes() for name in three["images"]]
        assert [part for part in turn["content"] if part["type"] == "text"] == [
            part for part in other["content"] if part["type"] == "text"
        ]
        assert three["text"] == hooks.doc_to_text(doc)
        for name, image in zip(three["images"], hooks.doc_to_visual(doc), strict=True):
            assert np.array_equal(np.asarray(Image.open(tmp_path / name)), np.asarray(image))


def test_videos_travel_too(run: Dataset, tmp_path: Path) -> None:
    (line, *_) = written(tmp_path / "v.jsonl", "--setting", "clip_score", "--limit", "1", "--media", "video", "--files")
    (part,) = [part for part in line["messages"][0]["content"] if part["type"] == "video_url"]
    assert line["media"]["mode"] == "video"
    hooks.dataset_kwargs  # noqa: B018
    (path,) = hooks.doc_to_visual(docs("clip_score")[0], {"media": "video"})
    assert (tmp_path / part["video_url"]["url"]).read_bytes() == Path(path).read_bytes()


@pytest.mark.parametrize(
    "name", ["full_score", "full_error", "clip_score", "full_score_abstain", "clip_error_evidence"]
)
def test_replies_score_as_the_run_does(
    name: str, run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same replies through the hooks and through a file of (id, reply): every number, to the last digit."""
    asked = docs(name)
    answers = {doc["id"]: reply(doc, "rater_b") for doc in asked}
    answers |= {asked[0]["id"]: "I cannot help with that.", asked[1]["id"]: None}
    rows = [hooks.process_results(doc, [answers[doc["id"]]]) for doc in asked]
    expected = aggregated(rows)["siming_stderr"]
    file = file_of(tmp_path / "replies.jsonl", [{"id": key, "reply": text} for key, text in answers.items()])
    capsys.readouterr()
    assert main(["score", str(run.root), str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["settings"][name]
    shown = {"media", "options"}  # a bare reply does not say what was shown, nor under which density
    assert {key: value for key, value in found.items() if key not in shown} == {
        key: value for key, value in expected.items() if key not in shown
    }
    assert found["statuses"]["refused"] == found["statuses"]["empty"] == 1


def test_what_else_a_line_hands_on_is_kept(run: Dataset, tmp_path: Path) -> None:
    lines = written(tmp_path / "requests.jsonl", "--setting", "clip_error")
    for line in lines:
        del line["messages"]
        line["reply"] = '{"verdict": "correct"}'
    lines[0] |= {"reply": '{"verdict": "cor', "usage": {"finish_reason": "length", "completion_tokens": 4096}}
    lines[1] |= {"reply": None, "error": "timeout after 600 s"}
    found = load_predictions(file_of(tmp_path / "replies.jsonl", lines), run)
    assert not [problem for problem in found.problems if problem.severity == "error"]
    records = {record["id"]: record for record in found.records["clip_error"]}
    first, second, third = (records[line["id"]] for line in lines[:3])
    assert (first["status"], second["status"], third["status"]) == ("truncated", "request_failed", "ok")
    assert first["usage"]["completion_tokens"] == 4096 and third["media"] == lines[2]["media"]
    assert third["prompt"] == lines[2]["prompt"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ({"id": "full_score/nobody", "reply": "{}"}, "video-unknown"),
        ({"id": "half_score/{v}", "reply": "{}"}, "setting-unknown"),
        ({"id": "clip_score/{v}/cpr_99", "reply": "{}"}, "step-unknown"),
        ({"id": "clip_score/{v}/cpr_01", "step_id": "cpr_02", "reply": "{}"}, "prediction-invalid"),
        ({"id": "", "reply": "{}"}, "setting-unknown"),
        ({"id": 7, "reply": "{}"}, "prediction-invalid"),
    ],
)
def test_an_id_that_is_no_request_is_said(line: dict[str, Any], code: str, run: Dataset, tmp_path: Path) -> None:
    line = {**line, "id": line["id"].format(v=run.videos[0].video_id) if isinstance(line["id"], str) else line["id"]}
    found = load_predictions(file_of(tmp_path / "replies.jsonl", [line]), run)
    unknown = ["no-predictions"] * code.startswith(("video", "step"))  # which are left out, and nothing else is there
    assert [problem.code for problem in found.problems] == [code, *unknown] and not found.records


def test_no_label_is_written(short_demo: Path, begin: Callable[..., None], tmp_path: Path, run: Dataset) -> None:
    """The requests about a public folder are those about the whole one but for the digest of what was asked about."""
    withhold(short_demo, tmp_path / "public", tmp_path / "key.json")
    names = [word for name in ("full_score", "clip_error") for word in ("--setting", name)]
    ours = written(tmp_path / "a.jsonl", *names, "--limit", "3")
    public = written(tmp_path / "b.jsonl", *names, "--limit", "3", "--data", str(tmp_path / "public"))
    assert [{**line, "dataset": ""} for line in ours] == [{**line, "dataset": ""} for line in public]


def test_no_framework_is_needed(run: Dataset, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('lmms_eval', 'torch', 'transformers')))\n"
        "from siming_tasks.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    words = ["run", "requests", str(run.root), str(tmp_path / "out.jsonl"), "--setting", "full_score", "--limit", "1"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "1 requests about SYNTHETIC siming-demo" in done.stdout


def test_a_wrong_name_is_refused_before_anything_is_decoded(
    run: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "requests", str(tmp_path / "x.jsonl"), "--setting", "full"]) == 2
    assert capsys.readouterr().err.startswith("siming run requests: --setting 'full' is not a setting; those of the ")
    assert not list(tmp_path.glob("x*"))


@pytest.mark.host
def test_the_round_trip_equals_the_run(
    host: Callable[..., Any], short_demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real command's replies, taken out of its logs by id: the same results, to the last digit."""
    few = {"SIMING_FRAMES": "4", "SIMING_CLIP_FRAMES": "2"}
    words = ["--model", "siming_reference", "--model_args", "kind=rater_b", "--tasks", "siming_full,siming_clip"]
    done = host(*words, data=short_demo, **few)
    names = BENCHMARK_TASKS
    replies = [
        {"id": sample["siming_stderr"]["id"], "reply": sample["filtered_resps"]}
        for name in names
        for sample in done.samples(name)
    ]
    file = file_of(tmp_path / "replies.jsonl", replies)
    assert main(["score", str(short_demo), str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["settings"]
    for name in names:
        table = done.task(name)
        assert found[name]["rows"] == table["siming_stderr"]["rows"]
        shown = Rows.from_json(found[name]["rows"]).of("answered", "all steps")
        assert len(shown) >= 4 and {row.metric: row.value for row in shown} == {
            row.metric: table[row.metric] for row in shown
        }


def test_an_exam_asked_about_in_parts_goes_round(
    short_demo: Path, begin: Callable[..., None], run: Dataset, tmp_path: Path
) -> None:
    """``--ask skill``: three requests an exam, whose ids name the part; an unanswered part is missing, no more."""
    lines = written(tmp_path / "requests.jsonl", "--setting", "full_error", "--ask", "skill", "--prompt", "reasoned")
    begin(short_demo, ASK="skill", PROMPT="reasoned")
    asked = docs("full_error")
    assert [line["id"] for line in lines] == [doc["id"] for doc in asked] and len(asked) == 3 * len(run.videos)
    assert {line["asking"] for line in lines} == {"reasoned skill"}
    assert lines[0]["messages"][0]["content"][-1]["text"] == hooks.doc_to_text(asked[0], {"media": "video"})
    answers = {"verdicts": {step.id: "correct" for step in run.rubric.steps}}
    rows = [{"id": line["id"], "asking": line["asking"], "reply": json.dumps(answers)} for line in lines[1:]]
    found = load_predictions(file_of(tmp_path / "replies.jsonl", rows), run).records["full_error"]
    assert [len(record["answers"]) for record in found] == [33 - len(run.rubric.skills[0].steps), 33, 33, 33]
    assert found[1]["asking"] == "reasoned skill"
