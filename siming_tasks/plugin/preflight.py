"""What a run of lmms-eval is told, judged before a model is loaded: what cannot work is refused in one sentence.

lmms-eval 0.7.3 accepts all of it. Some of it then ends in a traceback and exit code 0, some in a table of numbers that
mean something else.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError
from siming_tasks.media import UNKNOWN, Backend, Mode, Policy
from siming_tasks.tasks import TaskSpec

__all__ = ["Told", "as_told", "is_ours", "refuse"]


@dataclass(frozen=True)
class Told:
    """What ``simple_evaluate`` was called with, as far as it matters here.

    Attributes:
        name: what the user called the model.
        backend: the row of its class.
        arguments: of the class.
        batch_size: requests at a time.
        rest: the other arguments of ``simple_evaluate``, by their names.
        command_line: called by the command, where an ordinary exception ends with exit code 0.
    """

    name: str
    backend: Backend = UNKNOWN
    arguments: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    rest: Mapping[str, Any] = field(default_factory=dict)
    command_line: bool = False


def is_ours(task: Any) -> bool:
    """Whether a task (or group), as ``simple_evaluate`` takes them, is one of ours."""
    config = getattr(task, "config", task)
    name = config.get("task") if isinstance(config, Mapping) else getattr(config, "task", config)
    return str(name).startswith("siming")


def as_told(backend: Backend, arguments: Mapping[str, Any]) -> Backend:
    """The row of a class with these arguments: with ``pass_video_url`` a file is handed on, not converted wrongly."""
    handed_on = str(arguments.get("pass_video_url", "")).lower() in ("true", "1")
    return replace(backend, file=None) if handed_on and backend.file == "faulty" else backend


def refuse(told: Told, policy: Policy, settings: Iterable[TaskSpec] = ()) -> Mode:
    """How the model will be shown its media, if the run can work.

    Args:
        told: what lmms-eval was called with.
        policy: what the run shows.
        settings: what it asks, as far as that is known.

    Raises:
        OptionsError: it cannot; says why, and what to do.
    """
    backend = told.backend
    if backend.media is None:
        raise OptionsError(
            f"--model {told.name} cannot judge here: {backend.verdict.removeprefix('refused: ')}. "
            f"{see('models')} lists the models that can."
        )
    modality = told.arguments.get("modality")
    mode = policy.mode_for(backend, modality)
    for setting in settings:
        policy.mode_for(backend, modality, ablation=setting.ablation)
    _refuse_packages(told, [*backend.needs, *(backend.video_needs if mode != "frames" else ())])
    if (backend.batch == "one" or (backend.batch == "file" and mode != "frames")) and told.batch_size > 1:
        raise OptionsError(
            f"--batch_size {told.batch_size}: --model {told.name} answers only the first request of a batch, or takes "
            "the others for it. Leave --batch_size out."
        )
    if backend.experts:
        _refuse_guessed_experts(told)
    if told.rest.get("system_instruction"):
        raise OptionsError(
            "--system_instruction is never sent by lmms-eval 0.7.3. Leave it out; some models take system_prompt= in "
            "--model_args."
        )
    if told.rest.get("apply_chat_template"):
        raise OptionsError("--apply_chat_template does not work with tasks of pictures or videos. Leave it out.")
    if told.rest.get("num_fewshot"):
        raise OptionsError("--num_fewshot: these tasks have no examples to show. Leave it out.")
    return mode


def _refuse_packages(told: Told, needs: Iterable[str]) -> None:
    for need in map(Requirement, needs):
        try:
            version = importlib.metadata.version(need.name)
        except importlib.metadata.PackageNotFoundError:
            found = importlib.util.find_spec(need.name) is not None and not need.specifier
            version = ""
        else:
            found = need.specifier.contains(version, prereleases=True)
        if not found:
            has = f"{need.name} {version} is installed" if version else "it is not installed"
            raise OptionsError(
                f'--model {told.name} needs {need}, and {has}: pip install "{need}". '
                + (f"({told.backend.note}.)" if told.backend.note and need.specifier else "")
            )


def _config(path: str, revision: Any) -> Path:
    """The configuration of a model in a folder or on the hub (OSError, ValueError)."""
    from huggingface_hub import hf_hub_download

    if Path(path).is_dir() and path:
        return Path(path, "config.json")
    return Path(hf_hub_download(path, "config.json", revision=str(revision) if revision else None))


def _refuse_guessed_experts(told: Told) -> None:
    """Nothing, if the path of a model says of its experts what its configuration says (OptionsError)."""
    path = str(told.arguments.get("pretrained") or "")
    try:
        config = json.loads(_config(path, told.arguments.get("revision")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # there is no such model, or no network: the host will say so
    mixture = "moe" in str(config.get("model_type", ""))
    if mixture != (re.search(told.backend.experts, path) is not None):
        says, other = ("is a mixture of experts", "dense") if mixture else ("is dense", "a mixture of experts")
        raise OptionsError(
            f"{path} {says}, and lmms-eval 0.7.3 goes by the path and takes it for {other}: part of the weights would "
            "stay random, without an error. Give a link to it as pretrained=, named like the originals (it takes paths "
            f"with {told.backend.experts!r} for a mixture)."
        )
