"""Refusals in one sentence, before a model is loaded, of runs that cannot work."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siming_tasks.cli import main
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import FRAMES, VIDEO, Backend, backends
from siming_tasks.options import Options
from siming_tasks.plugin.preflight import RunArguments, backend_with_arguments, check_run_arguments
from siming_tasks.plugin.register import arguments_of_command
from tests.records import number_of

SEVERAL = {"name": "x", "images": "several"}
READER = {**SEVERAL, "video": True, "video_needs": ("no-such-package",)}
OLD = {**SEVERAL, "needs": ("numpy<1",), "note": "it is old"}


def mode_of(row: Backend, media: str = "auto", **arguments: Any) -> Any:
    return check_run_arguments(RunArguments("it", row, **arguments), Options(media=media))


def test_a_class_that_cannot_judge_is_refused_by_name() -> None:
    cannot_judge = [row for row in backends().values() if row.media is None and not row.listens]
    assert len(cannot_judge) > 20
    for row in cannot_judge:
        with pytest.raises(OptionsError, match=r"^--model it cannot judge here: [^\n]*`siming docs models`[^\n]*$"):
            mode_of(row)


@pytest.mark.parametrize(
    ("row", "arguments", "words"),
    [
        (SEVERAL, {"system_instruction": "Be kind."}, "^--system_instruction is never sent"),
        (SEVERAL, {"apply_chat_template": True}, "^--apply_chat_template does not work"),
        (SEVERAL, {"num_fewshot": 2}, "^--num_fewshot: these tasks have no examples"),
        (SEVERAL, {"use_cache": "folder"}, "^--use_cache stores error messages and cut replies as answers"),
        (SEVERAL, {"limit": 0.0}, "^--limit 0 asks nothing"),
        (SEVERAL, {"output_path": f"{__file__}/out"}, rf"^--output_path .*/out: {__file__} is not a writable folder"),
        (SEVERAL | {"batch": "one"}, {"batch_size": 2}, "^--batch_size 2: "),
        (SEVERAL, {"batch_size": 2}, ""),
        (READER, {"media": "video"}, "^--model it needs no-such-package, and it is not installed: pip i"),
        (READER, {}, ""),
        (OLD, {}, r"needs numpy<1, and numpy 2.*\(it is old\.\)$"),
        (SEVERAL | {"needs": ("numpy>1",)}, {}, ""),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused(row: Any, arguments: Any, words: str) -> None:
    if words:
        with pytest.raises(OptionsError, match=words):
            mode_of(Backend(**row), **arguments)
    else:
        assert mode_of(Backend(**row), **arguments) is FRAMES


@pytest.mark.host
def test_a_model_that_lmms_eval_lacks_is_refused_with_the_nearest_name() -> None:
    words = "--model qwen_2_5_vl: lmms-eval has no such model. Did you mean qwen2_5_vl? `lmms-eval models` lists all."
    with pytest.raises(OptionsError, match=f"^{re.escape(words)}$"):
        arguments_of_command("qwen_2_5_vl", {})


def test_a_path_that_contradicts_the_configuration_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of the weights would stay random; a folder, and a model as the hub's cache keeps it after a download."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    commit, hub = "0123456789012345678901234567890123456789", tmp_path / "models--lab--MediX-R1-30B"
    (hub / "refs").mkdir(parents=True)
    (hub / "refs" / "main").write_text(commit)
    folder = f"models--lab--MediX-R1-30B/snapshots/{commit}"
    for row, kind, place, path, words in (
        ("chat.qwen3_vl", "qwen3_vl_moe", "Qwen3-VL-30B-A3B", "", ""),
        ("chat.qwen3_vl", "qwen3_vl", "my-A3B-distilled", "", "is dense, .* would stay random"),
        ("chat.qwen3_vl", "qwen3_vl_moe", folder, "lab/MediX-R1-30B", "is a mixture of experts"),
        ("simple.glm4v", "glm4v", "GLM-4.6V-Flash", "", ""),
        ("simple.glm4v", "glm4v", "GLM-4.1V-9B", "", "is dense"),
        ("chat.qwen3_vl", "", "elsewhere", "lab/unknown", ""),
    ):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "config.json").write_text(json.dumps({"model_type": kind}))
        model = {"model_arguments": {"pretrained": path or str(tmp_path / place)}}
        if words:
            with pytest.raises(OptionsError, match=words):
                mode_of(backends()[row], **model)
        else:
            assert mode_of(backends()[row], **model) is FRAMES


def test_a_video_file_is_allowed_where_it_is_handed_on_unconverted() -> None:
    row = backends()["chat.openai"]
    for stated in ("True", True, 1):
        assert mode_of(backend_with_arguments(row, {"pass_video_url": stated}), "video") is VIDEO
    for other in ({}, {"pass_video_url": "False"}):
        with pytest.raises(OptionsError, match="older ones"):
            mode_of(backend_with_arguments(row, other), "video")


@pytest.mark.host
def test_replies_of_predict_only_can_be_scored(
    host: Callable[..., Any], short_demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle = ("--model", "siming_reference", "--model_args", "kind=oracle,media=False")
    run = host(*oracle, "--tasks", "siming_clip_score", "--predict_only", data=short_demo)
    assert main(["score", str(run.folder), "--data", str(short_demo), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)["settings"]["clip_score"]
    assert number_of(said, "coverage").value == number_of(said, "qwk").value == 1.0
