"""Cache keys of lmms-eval's task and request objects: they hold everything that decides a reply, and no more."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.plugin.hooks.run_context import RUN
from siming_tasks.plugin.preflight import tasks_path
from siming_tasks.plugin.response_cache import named_files
from siming_tasks.plugin.response_cache.cache import replies_kept
from siming_tasks.plugin.response_cache.key import fingerprint_of
from siming_tasks.plugin.response_cache.named_files import UnidentifiedModel

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

lmms = pytest.importorskip("lmms_eval.models") and pytest.importorskip("lmms_eval.api.model").lmms


class Echo(lmms):  # type: ignore[misc,valid-type]
    """Answers each request with the number of requests that any object of the class was asked before."""

    is_simple = False
    asked: list[str] = []  # noqa: RUF012 - shared on purpose
    calls: list[list[str]] = []  # noqa: RUF012

    def __init__(
        self, pretrained: str = "a", api_key: str = "", timeout: int = 1, batch_size: int = 1, **files: Any
    ) -> None:
        super().__init__()
        self.batch_size = batch_size

    def generate_until(self, requests: list[Any]) -> list[str]:
        self.calls.append([request.task_name for request in requests])
        self.asked.extend(f"{request.task_name} {request.doc_id}" for request in requests)
        return [json.dumps({"score": len(self.asked) % 2, "verdict": "correct"}) for _ in requests]

    def loglikelihood(self, requests: list[Any]) -> Any: ...

    def generate_until_multi_round(self, requests: list[Any]) -> Any: ...


@pytest.fixture
def ask(
    short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[list[str], int]]]:
    """``ask(model, tasks=..., limit=..., gen={...}, repeats=1, NAME=value)``: the replies, and how many were asked."""
    from lmms_eval.tasks import TaskManager, get_task_dict

    defaults = {
        "DATA": str(short_demo),
        "CACHE": str(tmp_path / "cache"),
        "REPLIES": str(tmp_path / "kept"),
        "FRAMES": "2",
        "CLIP_FRAMES": "2",
        "FRAME_SIZE": "32",
        "MEDIA": "frames",
    }

    def call(
        model: Any, *, tasks: tuple[str, ...] = ("siming_clip_score",), limit: int = 3, repeats: int = 1,
        gen: dict[str, Any] | None = None, pad: bool = False, **env: str,
    ) -> tuple[list[str], int]:  # fmt: skip
        for name, value in {**defaults, **env}.items():
            monkeypatch.setenv(name if name.startswith("LMMS") else f"SIMING_{name}", value)
        RUN.begin()
        manager = TaskManager(include_path=tasks_path(), include_defaults=False, model_name="async_openai")
        task_objects = get_task_dict(list(tasks), manager, "chat")
        requests = []
        for name, task in task_objects.items():
            model.task_dict[name] = task.dataset
            if gen:
                task.set_config(key="generation_kwargs", value=gen, update=True)
            task.set_config(key="repeats", value=repeats)
            task.build_all_requests(limit=limit, rank=0, world_size=1)
            requests += [request for request in task.instances for _ in range(repeats)]
        if pad:
            from lmms_eval.evaluator import _clone_padding_request

            requests.append(_clone_padding_request(requests[-1]))
        before = len(Echo.asked)
        with replies_kept(model):
            replies = model.generate_until(requests)
        assert len(replies) == len(requests)
        return replies, len(Echo.asked) - before

    yield call
    RUN.__init__()  # type: ignore[misc]  # the next test's environment is another


def test_the_same_request_hits_and_any_other_does_not(
    ask: Callable[..., Any], tmp_path: Path, other_exams: Path, short_demo: Path
) -> None:
    first, asked = ask(Echo())
    assert asked == 3
    assert ask(Echo()) == (first, 0)
    assert ask(Echo(api_key="sk-private", timeout=600)) == (first, 0)  # who asks and how long one waits
    assert ask(Echo(), limit=5)[1] == 2  # a longer slice of the same task
    for model, change in (
        (Echo(pretrained="b"), {}),
        (Echo(batch_size=2), {}),
        (Echo(), {"gen": {"temperature": 0.5}}),
        (Echo(), {"gen": {"max_new_tokens": 5}}),
        (Echo(), {"gen": {"until": ["\n\n"]}}),
        (Echo(), {"CLIP_FRAMES": "3"}),
        (Echo(), {"FRAME_SIZE": "64"}),
        (Echo(), {"MEDIA": "auto", "FRAME_SIZE": "48"}),
        (Echo(), {"PROMPT": "reasoned"}),
        (Echo(), {"LMMS_IMAGE_JPEG_QUALITY": "11"}),
        (Echo(), {"tasks": ("siming_clip_error",)}),
        (Echo(), {"DATA": str(other_exams)}),
        (Echo(), {"REPLIES": str(tmp_path / "elsewhere")}),
    ):
        assert ask(model, **change)[1] == 3, change
    assert ask(Echo())[1] == 0 and ask(Echo(), DATA=str(short_demo))[1] == 0


def test_parts_of_an_exam_are_kept_one_by_one(ask: Callable[..., Any]) -> None:
    full = {"tasks": ("siming_full_score",)}
    parts, asked = ask(Echo(), **full, limit=34, ASK="step")
    assert asked == 34  # all steps of the first exam and one of the second
    assert ask(Echo(), **full, limit=34, ASK="step") == (parts, 0)
    assert ask(Echo(), **full, limit=35, ASK="step")[1] == 1
    assert ask(Echo(), **full, limit=3, ASK="skill")[1] == 3
    assert ask(Echo(), **full, limit=1, ASK="all")[1] == 1
    assert (
        ask(Echo(), limit=2, ASK="step")[1] == 2 and ask(Echo(), limit=2, ASK="all")[1] == 0
    )  # a clip is a step already


@pytest.fixture(scope="module")
def other_exams(short_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same exams with one label changed: another digest."""
    import shutil

    root = tmp_path_factory.mktemp("relabelled") / "exams"
    shutil.copytree(short_demo, root)
    rows = [json.loads(line) for line in (root / "videos.jsonl").read_text().splitlines()]
    score = rows[0]["steps"][0]["score"]
    score.update({name: 0 if value else 1 for name, value in score.items()})
    (root / "videos.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    info = [line for line in (root / "dataset.yaml").read_text().splitlines() if not line.startswith("digest:")]
    (root / "dataset.yaml").write_text("\n".join(info) + "\n")
    return root


def test_replies_off_keeps_nothing(ask: Callable[..., Any], tmp_path: Path) -> None:
    assert [ask(Echo(), REPLIES="OFF")[1] for _ in range(2)] == [3, 3]
    assert not (tmp_path / "kept").exists()


def test_repeats_are_samples_of_their_own_and_padding_is_none(ask: Callable[..., Any]) -> None:
    replies, asked = ask(Echo(), repeats=2, limit=2)
    assert asked == 4
    assert ask(Echo(), repeats=2, limit=2) == (replies, 0)
    more, asked = ask(Echo(), repeats=3, limit=2, pad=True)
    assert asked == 2 and [more[0], more[1], more[3], more[4]] == replies and more[6] == more[3]


def test_batches_hold_one_task_and_order_is_kept(ask: Callable[..., Any]) -> None:
    replies, asked = ask(Echo(batch_size=4), tasks=("siming_clip_score", "siming_clip_error"), limit=6)
    assert asked == 12 and Echo.asked[-12:] == [
        f"siming_clip_{kind} {number}" for kind in ("error", "score") for number in range(6)
    ]
    assert [len(call) for call in Echo.calls[-4:]] == [4, 2, 4, 2] and all(len(set(call)) == 1 for call in Echo.calls)
    start = len(Echo.asked) - 12
    assert [json.loads(reply)["score"] for reply in replies] == [
        (start + last) % 2 for last in (4, 4, 4, 4, 6, 6, 10, 10, 10, 10, 12, 12)
    ]


def test_requests_of_other_tasks_are_left_alone(ask: Callable[..., Any], tmp_path: Path) -> None:
    from lmms_eval.api.instance import Instance

    class Seen(Echo):
        def generate_until(self, requests: list[Any]) -> list[str]:
            return [f"{len(requests)} {request.doc_id}" for request in requests]

    facts = {"task": "mme", "doc_id": 7, "repeats": 1}
    foreign = [Instance("generate_until", ("text", {}, 7, "mme", "test"), 0, facts) for _ in range(3)]
    with replies_kept(seen := Seen()):
        assert seen.generate_until(foreign) == ["3 7"] * 3
    assert "generate_until" not in vars(seen)
    assert not (tmp_path / "kept").exists()


def test_other_weights_under_the_same_name_are_asked_anew(tmp_path: Path, ask: Callable[..., Any]) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"one")
    assert ask(Echo(pretrained=str(folder)))[1] == 3 and ask(Echo(pretrained=str(folder)))[1] == 0
    time.sleep(0.01)
    (folder / "model.safetensors").write_bytes(b"two")
    assert ask(Echo(pretrained=str(folder)))[1] == 3


@pytest.mark.parametrize("named", ["prompt.txt", "./prompt.txt", {"a": ["prompt.txt"]}, '{"chat": "prompt.txt"}'])
def test_a_file_belongs_to_the_key_wherever_its_name_stands(
    tmp_path: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, named: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prompt.txt").write_text("Judge strictly.")
    assert ask(Echo(system_prompt=named))[1] == 3
    os.utime("prompt.txt", (1, 1))  # the same words, as in a copy of the folder
    assert ask(Echo(system_prompt=named))[1] == 0
    Path("prompt.txt").write_text("Judge gently...")  # as long
    os.utime("prompt.txt", (1, 1))
    assert ask(Echo(system_prompt=named))[1] == 3
    Path("prompt.txt").write_text("Judge strictly.")
    assert ask(Echo(system_prompt=named))[1] == 0


def test_a_file_counts_as_it_was_when_the_model_was_made(
    tmp_path: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("prompt.txt").write_text("one")
    model = Echo(system_prompt="prompt.txt")
    Path("prompt.txt").write_text("two")  # while the weights are loaded
    assert ask(model)[1] == 3
    assert ask(Echo(system_prompt="prompt.txt"))[1] == 3
    Path("prompt.txt").write_text("one")
    assert ask(Echo(system_prompt="prompt.txt"))[1] == 0


def test_files_of_generation_arguments_and_of_the_environment_count(
    tmp_path: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("grammar.gbnf").write_text("root ::= a")
    assert [ask(Echo(), gen={"grammar": "grammar.gbnf"})[1] for _ in range(2)] == [3, 0]
    Path("grammar.gbnf").write_text("root ::= b")
    assert [ask(Echo(), gen={"grammar": "grammar.gbnf"})[1] for _ in range(2)] == [3, 0]
    assert [ask(Echo(), LMMS_VIDEO_DECODE_MAP="grammar.gbnf")[1] for _ in range(2)] == [3, 0]
    Path("grammar.gbnf").write_text("root ::= c")
    assert ask(Echo(), LMMS_VIDEO_DECODE_MAP="grammar.gbnf")[1] == 3


def test_an_adapter_or_tokenizer_folder_counts_and_a_folder_of_results_does_not(
    tmp_path: Path, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("adapter", "tok"):
        Path(name).mkdir()
    Path("adapter/adapter_model.safetensors").write_bytes(b"1")
    Path("tok/tokenizer.json").write_text("{}")
    arguments = {"peft_path": "adapter", "tokenizer": "tok", "output_dir": "out", "model_version": "gpt-4o"}
    assert [ask(Echo(**arguments))[1] for _ in range(2)] == [3, 0]
    for name in ("out", "gpt-4o"):  # where a run writes
        Path(name).mkdir()
        Path(name, "20260101_results.json").write_text("{}")
    assert ask(Echo(**arguments))[1] == 0
    for file in ("adapter/adapter_model.safetensors", "tok/tokenizer.json"):
        Path(file).write_text("[]")
        assert ask(Echo(**arguments))[1] == 3, file


def test_what_is_large_is_told_apart_by_its_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_files, "CONTENT_BYTES", 2)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_text("123")
    digest = hashlib.sha256()
    for file in (tmp_path / "config.json", tmp_path / "model.safetensors"):
        digest.update(f"{file.name}\0{file.stat().st_size}\0{file.stat().st_mtime_ns}\n".encode())
    found = fingerprint_of(Echo(pretrained=str(tmp_path)))["files"]
    assert found == {"pretrained": digest.hexdigest()[:16]} and named_files.known_by_date(found) == ["pretrained"]


def test_a_model_without_files_keeps_its_fingerprint() -> None:
    """Nothing is added where no file is named: the hash of the fingerprint is the beginning of every key."""
    found = fingerprint_of(Echo(pretrained="gpt-4o", system_prompt="You judge.", nothing=None))
    assert found["files"] == {} and found["arguments"] == {"pretrained": "gpt-4o", "system_prompt": "You judge."}
    assert list(found) == [
        "class",
        "source",
        "arguments",
        "files",
        "address",
        "versions",
        "environment",
    ]


def test_an_argument_that_cannot_be_a_name_of_the_hub_has_no_files(ask: Callable[..., Any]) -> None:
    """The hub's library refuses some names that look like its own; the run ended there, with exit code 0."""
    assert fingerprint_of(Echo(pretrained="a--b/c"))["files"] == {}
    assert fingerprint_of(Echo(pretrained="~nobody-of-this-name/x"))["files"] == {}


def test_replies_of_an_unidentified_model_are_not_kept(ask: Callable[..., Any], tmp_path: Path) -> None:
    assert [ask(Echo(pretrained=object()))[1] for _ in range(2)] == [3, 3]  # type: ignore[arg-type]
    assert not (tmp_path / "kept").exists()
    scope: dict[str, Any] = {"Echo": Echo}
    exec("class Typed(Echo):\n    pass", scope)
    with pytest.raises(UnidentifiedModel, match="source"):
        fingerprint_of(scope["Typed"]())


def test_no_secret_and_no_password_is_written(ask: Callable[..., Any], tmp_path: Path) -> None:
    model = Echo(api_key="sk-private-1234567890")
    model.base_url = "https://me:hunter2@host.example/v1?sig=private"
    ask(model)
    (folder,) = (tmp_path / "kept").iterdir()
    text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert "hunter2" not in text and "private" not in text and "me:" not in text
    assert json.loads((folder / "model.json").read_text())["address"] == "https://host.example/v1"
    model = Echo()
    model.base_url = "https://other.example/v1"
    assert ask(model)[1] == 3  # another server may know another model by the same name
