"""Keys of requests: they hold everything that decides a reply, and no more."""

import json
import os
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from _pytest.pathlib import import_path

from siming_tasks.media import request_media, store
from siming_tasks.plugin.hooks import docs
from siming_tasks.plugin.response_cache import key
from siming_tasks.plugin.response_cache.key import UnidentifiedModel, identity_of
from tests.plugin.hooks.conftest import relabelled
from tests.plugin.serving import Server, completion
from tests.study.report.secret_forms import FORMS, given_to, traces

pytestmark = [pytest.mark.host, pytest.mark.filterwarnings("ignore")]  # warnings of the host's own imports

lmms = pytest.importorskip("lmms_eval.models") and pytest.importorskip("lmms_eval.api.model").lmms


class Echo(lmms):  # type: ignore[misc,valid-type]
    """A local model that answers each request by the number of requests that any object of the class was asked."""

    is_simple = False
    asked: list[str] = []  # noqa: RUF012 - shared on purpose
    calls: list[list[str]] = []  # noqa: RUF012

    def __init__(self, pretrained: str = "a", batch_size: int = 1, **more: Any) -> None:
        super().__init__()
        self.batch_size = batch_size

    def generate_until(self, requests: list[Any]) -> list[str]:
        self.calls.append([request.task_name for request in requests])
        self.asked.extend(f"{request.task_name} {request.doc_id}" for request in requests)
        return [json.dumps({"score": len(self.asked) % 2, "verdict": "correct"}) for _ in requests]

    def loglikelihood(self, requests: list[Any]) -> Any: ...

    def generate_until_multi_round(self, requests: list[Any]) -> Any: ...


class Watching(Echo):
    """One that asks for its media."""

    def generate_until(self, requests: list[Any]) -> list[str]:
        for request in requests:
            request.args[1](self.task_dict[request.task_name]["test"][request.doc_id])
        return super().generate_until(requests)


def test_the_same_request_hits_and_any_other_does_not(
    ask: Callable[..., Any], short_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def corrected(label: dict[str, Any], _: Any) -> None:
        label["score"] = {name: 0 if value else 1 for name, value in label["score"].items()}

    first = ask(Echo())
    assert first.new == 3
    for model, same in (
        (Echo(api_key="sk-private", timeout=600, batch_size=2, device="cuda:1"), {}),  # who asks, and how it travels
        (Echo(), {"DATA": str(relabelled(short_demo, tmp_path / "relabelled", corrected))}),  # the same questions
    ):
        again = ask(model, **same)
        assert again.new == 0 and again.replies == first.replies, same
    assert ask(Echo(), limit=5).new == 2  # a longer slice of the same task
    for model, change in (
        (Echo(pretrained="b"), {}),
        (Echo(fps=2), {}),
        (Echo(), {"gen": {"temperature": 0.5}}),
        (Echo(), {"gen": {"until": ["\n\n"]}}),
        (Echo(), {"CLIP_FRAMES": "3"}),
        (Echo(), {"FRAME_SIZE": "64"}),
        (Echo(), {"MEDIA": "video"}),
        (Echo(), {"PROMPT": "reasoned"}),
        (Echo(), {"LMMS_VIDEO_DECODE_BACKEND": "decord"}),
        (Echo(), {"tasks": ("siming_clip_error",)}),
        (Echo(), {"REPLIES": str(tmp_path / "elsewhere")}),
    ):
        assert ask(model, **change).new == 3, change
        monkeypatch.delenv("LMMS_VIDEO_DECODE_BACKEND", raising=False)
    assert ask(Echo()).new == 0
    full = {"tasks": ("siming_full_score",)}
    assert ask(Echo(), **full, limit=34, ASK="step").new == 34  # all steps of the first exam and one of the second
    assert ask(Echo(), **full, limit=35, ASK="step").new == 1 and ask(Echo(), **full, limit=1, ASK="all").new == 1


def test_kept_replies_are_found_without_decoding_until_frames_are_decoded_otherwise(
    ask: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is the recipe: it needs no frame, and has the number that is raised when decoded frames change."""
    assert ask(Echo(), limit=1).new == 1
    shutil.rmtree(tmp_path / "cache" / "media")
    with monkeypatch.context() as without:
        without.setattr(store, "decode", lambda *_: pytest.fail("a video was decoded"))
        assert ask(Echo(), limit=1).new == 0
    for module in (store, request_media):
        monkeypatch.setattr(module, "pixels", lambda: 99)
    assert ask(Echo(), limit=1).new == 1 and ask(Echo(), limit=1).new == 0


def test_equal_numbers_are_equal_arguments_and_pictures_that_fit_are_not_made_smaller(ask: Callable[..., Any]) -> None:
    assert ask(Echo(), gen={"temperature": 0}).new == 3
    assert ask(Echo(), gen={"temperature": 0.0}).new == ask(Echo(), gen={"temperature": "0"}).new == 0
    assert ask(Echo(), gen={"temperature": 0.5}).new == 3
    assert ask(Watching(), FRAME_SIZE="2000").new == 3  # the demo's pictures are smaller
    larger = ask(Watching(), FRAME_SIZE="3000")
    assert larger.new == 0 and {record["media"]["size"] for record in larger.records} == {3000}


def test_of_a_service_only_its_models_name_and_arguments_count(
    ask: Callable[..., Any], serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not our table of classes, another torch, a folder of results spelled like the model, nor a rotated API key."""
    from lmms_eval.models.chat.async_openai import AsyncOpenAIChat

    monkeypatch.chdir(tmp_path)
    server = serve(lambda *_: completion('{"score": 1}'))

    def model(**more: Any) -> Any:
        return AsyncOpenAIChat(**{"model_version": "m", "api_key": "old", "base_url": server.url, **more})

    assert ask(model()).new == 3
    rows = docs.backends()
    changed = {**rows, "chat.vllm": rows["simple.claude"]}
    monkeypatch.setattr(docs, "backends", lambda: changed)
    monkeypatch.setattr(metadata, "version", lambda name: "99")
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.json").write_text("{}")
    assert ask(model(api_key="new", base_url="http://127.0.0.1:9/v1", timeout=9, max_retries=1)).new == 0
    assert len(server.received) == 3
    assert ask(model(model_version="n")).new == 3
    (tmp_path / "prompt.txt").write_text("Be strict.")
    assert [ask(model(system_prompt="prompt.txt")).new for _ in range(2)] == [3, 0]
    (tmp_path / "prompt.txt").write_text("Be gentle.")
    assert ask(model(system_prompt="prompt.txt")).new == 3


def test_weights_are_known_by_their_files_and_the_libraries_that_compute(
    ask: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key, "CONTENT_BYTES", 4)
    (folder := tmp_path / "weights").mkdir()
    (large := folder / "model.safetensors").write_bytes(b"12345")
    (folder / "config.json").write_text("{}")
    (folder / "runs").mkdir()

    def new() -> int:
        return ask(Echo(pretrained=str(folder), output_dir="weights"), limit=1).new

    assert new() == 1 and new() == 0
    (folder / "runs" / "20260101_results.json").write_text("{}")  # --output_path spelled like the model
    os.utime(folder / "config.json", (1, 1))  # small: by what it holds
    assert new() == 0
    (folder / "config.json").write_text("[]")
    assert new() == 1
    os.utime(large, (1, 1))
    assert new() == 1
    monkeypatch.setattr(metadata, "version", lambda name: "99")
    assert new() == 1 and new() == 0
    known = {name: metadata.version(name) for name in ("lmms_eval", "torch")}  # those that are loaded
    assert known.items() <= identity_of(Echo())["versions"].items()
    assert identity_of(Echo(pretrained="a--b/c"))["files"] == {}  # no name that the hub's library would take
    cached = tmp_path / "hub" / "models--org--small"  # as the hub's library keeps what it has fetched
    for commit in ("1" * 40, "2" * 40):
        (cached / "snapshots" / commit).mkdir(parents=True)
        (cached / "snapshots" / commit / "config.json").write_text("{}")
        (cached / "refs").mkdir(exist_ok=True)
        (cached / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert identity_of(Echo(pretrained="org/small"))["files"] == {"pretrained": "2" * 40}
    assert identity_of(Echo(pretrained="org/small", revision="1" * 40))["files"] == {"pretrained": "1" * 40}
    assert identity_of(Echo(pretrained="~nobody-of-this-name/x"))["files"] == {}


def test_a_class_is_known_by_the_source_of_all_that_it_builds_on(tmp_path: Path) -> None:
    (file := tmp_path / "edited.py").write_text(
        f"from {__name__} import Echo\n\nclass Base(Echo):\n    pass\n\nclass Edited(Base):\n    pass\n"
    )
    found = import_path(file, root=tmp_path, mode="importlib", consider_namespace_packages=False)
    before = identity_of(found.Edited())["versions"]["source"]
    assert before == identity_of(found.Edited())["versions"]["source"] != identity_of(Echo())["versions"]["source"]
    file.write_text(file.read_text().replace("pass", "temperature = 1"))
    assert identity_of(found.Edited())["versions"]["source"] != before


def test_repeats_are_samples_of_their_own_and_padding_is_none(ask: Callable[..., Any]) -> None:
    first = ask(Echo(), repeats=2, limit=2)
    assert first.new == 4
    more = ask(Echo(), repeats=3, limit=2, pad=True).replies
    assert [more[0], more[1], more[3], more[4]] == first.replies and more[6] == more[3]
    assert len(Echo.asked[-2:]) == 2 and ask(Echo(), repeats=3, limit=2).new == 0


def test_replies_of_a_model_that_was_given_as_an_object_are_not_kept(ask: Callable[..., Any]) -> None:
    """Its attributes may be others than those that it was made with."""
    assert ask(Echo(), named=False).new == ask(Echo(), named=False).new == 3
    assert ask(Echo()).new == 3 and ask(Echo()).new == 0


def test_what_cannot_be_identified_is_not_kept(ask: Callable[..., Any], tmp_path: Path) -> None:
    for model in (Echo(pretrained=object()), Echo(adapters={"a": object()})):  # type: ignore[arg-type]
        assert [ask(model).new for _ in range(2)] == [3, 3]
    scope: dict[str, Any] = {"Echo": Echo}
    exec("class Typed(Echo):\n    pass", scope)
    with pytest.raises(UnidentifiedModel, match="source"):
        identity_of(scope["Typed"]())
    assert [ask(Echo(), REPLIES="OFF").usages[0]["stored"] for _ in range(2)] == [False, False]
    assert not (tmp_path / "kept").exists()


def test_no_secret_and_no_password_is_written(ask: Callable[..., Any], tmp_path: Path) -> None:
    planted = {form: f"q{number}private7" for number, form in enumerate(FORMS)}
    given = dict(given_to(form, secret) for form, secret in planted.items())
    model = Echo(**{f"{name}_{number}": value for number, (name, value) in enumerate(given.items())}, **given)
    model.base_url = "https://me:hunter2@host.example/v1?sig=private"
    ask(model)
    (folder,) = (tmp_path / "kept").iterdir()
    text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    assert '"https://host.example"' in text and "hunter2" not in text and "private" not in text and "me:" not in text
    assert not [mark for form, secret in planted.items() for mark in traces(form, secret) if mark in text]
