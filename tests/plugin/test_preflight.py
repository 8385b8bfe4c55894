"""Refusals in one sentence, before a model is loaded, of runs that cannot work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import FRAMES, VIDEO, Backend, Policy, backends
from siming_tasks.options import Options
from siming_tasks.plugin.preflight import RunArguments, backend_with_arguments, check_run_arguments
from tests.records import number_of

POLICY = Policy.of(Options())
run_of, mode = RunArguments, check_run_arguments


def refusal(run: RunArguments, policy: Policy = POLICY) -> str:
    with pytest.raises(OptionsError) as caught:
        mode(run, policy)
    return str(caught.value)


CANNOT_JUDGE = [row for row in backends().values() if row.media is None and not row.listens]


SEVERAL = {"name": "x", "images": "several"}
READER = {**SEVERAL, "video": True, "video_needs": ("no-such-package",)}
OLD = {**SEVERAL, "needs": ("numpy<1",), "note": "it is old"}


def test_a_class_that_cannot_judge_is_refused_by_name() -> None:
    assert len(CANNOT_JUDGE) > 20
    for row in CANNOT_JUDGE:
        message = refusal(run_of("it", row))
        assert message.startswith("--model it cannot judge here: ") and "\n" not in message, row.name
        assert "`siming docs models`" in message


@pytest.mark.parametrize(
    ("row", "arguments", "options", "words"),
    [
        (SEVERAL, {"system_instruction": "Be kind."}, {}, "^--system_instruction is never sent"),
        (SEVERAL, {"apply_chat_template": True}, {}, "^--apply_chat_template does not work"),
        (SEVERAL, {"num_fewshot": 2}, {}, "^--num_fewshot: these tasks have no examples"),
        (SEVERAL, {"use_cache": "folder"}, {}, "^--use_cache takes error messages and cut replies for answers"),
        (SEVERAL, dict.fromkeys(("system_instruction", "apply_chat_template", "num_fewshot")), {}, ""),
        (SEVERAL | {"batch": "one"}, {"batch_size": 2}, {}, "^--batch_size 2: "),
        (SEVERAL | {"batch": "one"}, {}, {}, ""),
        (SEVERAL, {"batch_size": 2}, {}, ""),
        (READER, {}, {"media": "video"}, "^--model it needs no-such-package, and it is not installed: pip i"),
        (READER, {}, {}, ""),
        (OLD, {}, {}, r"needs numpy<1, and numpy 2.*\(it is old\.\)$"),
        (SEVERAL | {"needs": ("numpy>1",)}, {}, {}, ""),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(row: Any, arguments: Any, options: Any, words: str) -> None:
    run, policy = run_of("it", Backend(**row), **arguments), Policy.of(Options(**options))
    if words:
        with pytest.raises(OptionsError, match=words):
            mode(run, policy)
    else:
        assert mode(run, policy) is FRAMES


@pytest.mark.parametrize(
    ("kind", "folder", "words"),
    [
        ("qwen3_vl_moe", "Qwen3-VL-30B-A3B", None),
        ("qwen3_vl_moe", "MediX-R1-30B", "is a mixture of experts"),
        ("qwen3_vl", "MediX-R1-8B", None),
        ("qwen3_vl", "my-A3B-distilled", "is dense"),
        ("glm4v_moe", "GLM-4.6V", None),
        ("glm4v", "GLM-4.6V-Flash", None),
        ("glm4v", "GLM-4.1V-9B", "is dense"),
        ("glm4v_moe", "GLM-4.6V-Flash-big", "is a mixture of experts"),
    ],
)
def test_a_path_that_contradicts_the_configuration_is_refused(
    tmp_path: Path, kind: str, folder: str, words: str | None
) -> None:
    row = backends()["simple.glm4v" if kind.startswith("glm") else "chat.qwen3_vl"]
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "config.json").write_text(json.dumps({"model_type": kind}))
    run = run_of("it", row, {"pretrained": str(tmp_path / folder)})
    if words is None:
        assert mode(run, POLICY) is FRAMES
    else:
        message = refusal(run)
        assert words in message and "random" in message and "pretrained=" in message


def test_a_model_on_the_hub_is_looked_up_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the hub's cache keeps it after a download."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    commit = "0123456789012345678901234567890123456789"
    folder = tmp_path / "models--lab--MediX-R1-30B"
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    (folder / "snapshots" / commit / "config.json").write_text(json.dumps({"model_type": "qwen3_vl_moe"}))
    row = backends()["chat.qwen3_vl"]
    assert "is a mixture of experts" in refusal(run_of("it", row, {"pretrained": "lab/MediX-R1-30B"}))
    for other in ({"pretrained": "lab/unknown"}, {"pretrained": "/no/such/folder"}, {}):
        assert mode(run_of("it", row, other), POLICY) is FRAMES


@pytest.mark.parametrize("stated", ["True", "true", True, 1])
def test_a_video_file_is_allowed_where_it_is_handed_on_unconverted(stated: Any) -> None:
    row, video = backends()["chat.openai"], Policy.of(Options(media="video"))
    assert mode(run_of("openai", backend_with_arguments(row, {"pass_video_url": stated})), video) is VIDEO
    for other in ({}, {"pass_video_url": False}, {"pass_video_url": "False"}):
        with pytest.raises(OptionsError, match="older ones"):
            mode(run_of("openai", backend_with_arguments(row, other)), video)


@pytest.mark.host
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "fuyu"), "--model fuyu cannot judge here: it looks at one picture a question"),
        (("--model", "whisper"), "--model whisper cannot judge here: it writes down what is said and answers no"),
        (("--model", "huggingface", "--model_args", "pretrained=x"), "--model huggingface needs transformers<5"),
        (("--model", "siming_reference", "--system_instruction", "Hi"), "--system_instruction is never sent"),
        (("--model", "internvl_hf", "--batch_size", "2"), "--batch_size 2: --model internvl_hf answers only"),
    ],
    ids=["single image", "sound", "old", "system", "batch"],
)
def test_the_command_refuses_with_one_message_and_exit_code_1(
    host: Callable[..., Any], short_demo: Path, arguments: tuple[str, ...], words: str
) -> None:
    run = host(*arguments, "--tasks", "siming_clip_score", "--limit", "1", data=short_demo)
    assert run.code == 1
    assert f"siming-tasks: {words}" in run.output and "Traceback" not in run.output
    assert not list(run.folder.rglob("*.json"))


@pytest.mark.host
def test_replies_of_predict_only_can_be_scored(
    host: Callable[..., Any], short_demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (
        "--model",
        "siming_reference",
        "--model_args",
        "kind=oracle,media=False",
        "--tasks",
        "siming_clip_score",
    )
    run = host(*arguments, "--predict_only", data=short_demo)
    assert main(["score", str(run.folder), "--data", str(short_demo), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["settings"]["clip_score"]
    assert number_of(said, "coverage").value == number_of(said, "qwk").value == 1.0
