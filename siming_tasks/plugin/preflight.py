"""Checks of a run of lmms-eval before the first request: what cannot work is refused in one sentence.

lmms-eval 0.7.3 accepts all of it. Some of it then ends in a traceback and exit code 0, some in a table of numbers that
mean something else.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from siming_tasks.benchmark.tasks import TaskSpec
from siming_tasks.benchmark.tasks.expected_requests import check_shards
from siming_tasks.common.doc_pages import see
from siming_tasks.common.errors import OptionsError
from siming_tasks.common.hosts import is_here, read_by
from siming_tasks.data.consent import HERE, UNSTATED, refuse_without_consent
from siming_tasks.data.makers import set_of_group, tasks_named
from siming_tasks.media import UNKNOWN, Backend, MediaMode, Policy
from siming_tasks.models.recipes.transport import transports
from siming_tasks.options import Options, shard_of
from siming_tasks.plugin import host
from siming_tasks.plugin.hooks.docs import refuse_empty
from siming_tasks.plugin.reply_schema import check_takes_schema
from siming_tasks.plugin.run_context import RunContext, run_of
from siming_tasks.study.results.usage import load_prices


def tasks_path() -> str:
    """Path of the folder of our task files."""
    return str(resources.files("siming_tasks.yaml_tasks"))


def check_names(asked: Iterable[Any], matched: Iterable[Any], known: Iterable[str]) -> None:
    """Refuse the name of a task that begins like ours and that nobody has (OptionsError: names the nearest one).

    Args:
        asked: names as the command line has them; one with ``*`` and one of a file are lmms-eval's to judge.
        matched: those that lmms-eval has found.
        known: names of all tasks and groups.
    """
    there = set(matched)
    for name in asked:
        if str(name).startswith("siming") and not there & {name} and "*" not in name and not Path(name).is_file():
            near = difflib.get_close_matches(name, [task for task in known if task.startswith("siming")], 1)
            meant = f"Did you mean {near[0]}? " if near else ""
            raise OptionsError(f"there is no task {name!r}. {meant}The groups are siming, siming_full and siming_clip.")


def is_siming_task(task: Any) -> bool:
    """Test whether a task (or group) belongs to this package, or is a user's variant of one.

    Names that only begin like ours are somebody else's; a variant has the facts of our metadata.

    Args:
        task: name, configuration or object of a task, as ``simple_evaluate`` takes them; or metadata of a request.
    """
    config = getattr(task, "config", task)
    if isinstance(config, str):
        return bool(tasks_named(config))
    facts = getattr(config, "__dict__", None) or config  # lmms-eval's configuration is a dictionary without entries
    facts = facts if isinstance(facts, Mapping) else {}
    metadata = facts.get("metadata", facts)
    ours = isinstance(metadata, Mapping) and any(str(name).startswith("siming_") for name in metadata)
    return ours or bool(tasks_named(str(facts.get("task"))))


@dataclass(frozen=True)
class RunArguments:
    """Arguments of a run that decide whether it can work.

    Attributes:
        model: its name as given, or its class.
        backend: row of its class.
        model_arguments: of the class, as far as they are known.
        recipient: address that it sends requests to; None as long as there is no model object.
    """

    model: str
    backend: Backend = UNKNOWN
    model_arguments: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = 1
    system_instruction: str | None = None
    apply_chat_template: bool = False
    num_fewshot: int | None = None
    use_cache: object = None
    limit: float | None = None
    output_path: str | None = None
    recipient: str | None = None


@dataclass(frozen=True)
class Plan:
    """A run that passed every check that can be made before its first request.

    Attributes:
        run: what is asked, shown and scored.
        added: arguments that ``backends.yaml`` gives the class in this mode and the user does not.
    """

    run: RunContext
    added: Mapping[str, Any] = field(default_factory=dict)


def plan(options: Options, names: Iterable[Any], arguments: RunArguments | None = None) -> Plan:
    """Check a run: of the command line before a model is loaded, and with the model object when it is asked.

    Wrong data should cost seconds, not the start of a model. Tasks that would have no document, or none in some shard,
    are refused as well: lmms-eval ends with a traceback there and loses the results of the other tasks.

    Args:
        options: of the run.
        names: of tasks and groups; other tasks, and values that are not names, are ignored.
        arguments: of the run; None while they are not known.

    Raises:
        SimingError: the data are wrong, there is nothing to ask, this lmms-eval was not tested, the model cannot be
            asked so, or it may not have the recordings.
    """
    chosen = [name for name in names if isinstance(name, str)]
    sets = sorted({found for name in chosen if (found := set_of_group(name))})
    if len(sets) > 1:
        found = ", ".join(sets)
        raise OptionsError(f"--tasks of several sets ({found}): a run covers one set. Run them one by one.")
    if sets and not options.data:
        options = replace(options, data=sets[0])
    run = run_of(options)
    host.refuse_untested(options.lmms_eval)
    if options.prices:
        load_prices(options.prices)
    specs = tuple(dict.fromkeys(spec for name in chosen for spec in tasks_named(name)))
    if sets and sets[0] != run.dataset.name:
        raise OptionsError(
            f"siming_{sets[0]} asks about the set {sets[0]}, and SIMING_DATA={options.data!r} is "
            f"{run.dataset.name!r}. Unset SIMING_DATA, or run --tasks siming."
        )
    refuse_empty(specs, run.dataset)
    if options.shard:
        check_shards(run.dataset.videos, specs, shard_of(options.shard)[1])
    if arguments is None:
        return Plan(run)
    wanted = arguments.backend.arguments_in(check_run_arguments(arguments, options, specs))
    if arguments.recipient is not None:
        known = len(specs) == len(chosen)  # a user's variant may ask about anything
        if not known or any(spec.gives_recordings for spec in specs):  # each request is asked once more (gate.py)
            refuse_without_consent(run.dataset, arguments.recipient)
    return Plan(run, {
        name: options.frames if value == "frames" else value
        for name, value in wanted.items() if name not in arguments.model_arguments
    })  # fmt: skip


def backend_with_arguments(backend: Backend, arguments: Mapping[str, Any]) -> Backend:
    """Row of a class with these arguments: a file that is handed on is not converted wrongly; some switch sound off."""
    handed_on = str(arguments.get("pass_video_url", "")).lower() in ("true", "1")
    if str(arguments.get("init_audio", "")).lower() in ("false", "0"):
        backend = replace(backend, hears=None, deaf="has its sound turned off (init_audio)")
    return replace(backend, file=None) if handed_on and backend.file == "faulty" else backend


def check_run_arguments(arguments: RunArguments, options: Options, specs: Iterable[TaskSpec] = ()) -> MediaMode:
    """Mode in which the model will be shown its media, if a run of tasks (as far as they are known) can work.

    Raises:
        OptionsError: it cannot work; says why, and what to do.
    """
    backend, name, policy = arguments.backend, arguments.model, Policy.of(options)
    if backend.why_refused:
        raise OptionsError(
            f"--model {name} cannot judge here: {backend.why_refused}. {see('models')} lists the models that can."
        )
    modality = arguments.model_arguments.get("modality")
    mode = policy.mode_for(backend, modality)
    for spec in specs:
        policy.mode_for(backend, modality, task=spec)
    for need in map(Requirement, backend.packages_in(mode)):
        _check_package(name, backend, need)
    if backend.needs_single_batches(mode) and arguments.batch_size > 1:
        raise OptionsError(
            f"--batch_size {arguments.batch_size}: --model {name} answers only the first request of a batch, "
            "confuses the others with it, or stops there. Leave --batch_size out."
        )
    if options.schema != "off":
        check_takes_schema(name, backend)
    if backend.experts:
        _check_expert_detection(backend, arguments.model_arguments)
    if arguments.system_instruction:
        raise OptionsError(
            "--system_instruction is never sent by lmms-eval 0.7.3. Leave it out; some models "
            "accept system_prompt= in --model_args."
        )
    if arguments.apply_chat_template:
        raise OptionsError("--apply_chat_template does not work with tasks of pictures or videos. Leave it out.")
    if arguments.num_fewshot:
        raise OptionsError("--num_fewshot: these tasks have no examples to show. Leave it out.")
    if arguments.use_cache and options.replies.lower() != "off":
        raise OptionsError(
            "--use_cache stores error messages and cut replies as answers; these tasks save replies "
            "without it. Leave it out, or set SIMING_REPLIES=off."
        )
    if arguments.limit == 0:
        raise OptionsError("--limit 0 asks nothing. Give a number of requests for each task, or leave it out.")
    if arguments.output_path:
        _check_writable(Path(arguments.output_path).absolute())
    return mode


def _check_writable(folder: Path) -> None:
    """Refuse a folder of results that cannot be made: lmms-eval notices after the last request (OptionsError)."""
    above = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        raise OptionsError(f"--output_path {folder}: {above} is not a writable folder. Give another one.")


def _check_package(model: str, backend: Backend, need: Requirement) -> None:
    try:
        version = importlib.metadata.version(need.name)
        satisfied = need.specifier.contains(version, prereleases=True)
    except importlib.metadata.PackageNotFoundError:
        version, satisfied = "", importlib.util.find_spec(need.name) is not None and not need.specifier
    if not satisfied:
        has = f"{need.name} {version} is installed" if version else "it is not installed"
        raise OptionsError(
            f'--model {model} needs {need}, and {has}: pip install "{need}". '
            + (f"({backend.note}.)" if backend.note and need.specifier else "")
        )


def _check_expert_detection(backend: Backend, arguments: Mapping[str, Any]) -> None:
    """Compare a model's path with its configuration: lmms-eval goes by the path (OptionsError)."""
    from huggingface_hub import hf_hub_download

    path, revision = str(arguments.get("pretrained") or ""), arguments.get("revision")
    try:
        if path and Path(path).is_dir():
            file = Path(path, "config.json")
        else:
            file = Path(hf_hub_download(path, "config.json", revision=str(revision) if revision else None))
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # there is no such model, or no network: lmms-eval will say so
    mixture = "moe" in str(config.get("model_type", ""))
    if mixture != (re.search(backend.experts, path) is not None):
        actual, assumed = ("is a mixture of experts", "dense") if mixture else ("is dense", "a mixture of experts")
        raise OptionsError(
            f"{path} {actual}, but lmms-eval 0.7.3 decides by the path and loads it as {assumed}: part of "
            "the weights would stay random, without an error. Give a link to it as pretrained=, named like the "
            "originals (it takes "
            f"paths with {backend.experts!r} for a mixture)."
        )


_ADDRESS = re.compile(r"(https?://)(?:[^/?#]*@)?(\[[\w.:%]+\](?::\d+)?|[\w.:-]+)")


def address_of(model: object) -> str:
    """Host of a service; "" for none."""
    for holder in (getattr(model, "client", None), model):
        for name in ("base_url", "api_url", "url"):
            if known := _ADDRESS.match(str(getattr(holder, name, None))):
                return known[1] + known[2]
    return ""


def recipient_of(lm: Any, backend: Backend, arguments: Mapping[str, Any]) -> str:
    """Address that a model object sends its requests to; ``HERE`` for a model on this machine, or ``UNSTATED``.

    Args:
        lm: the model object.
        backend: row of its class.
        arguments: with which it was made, as far as they are known.
    """
    service = transports().get(backend.name)
    base_url = str(arguments.get("base_url") or "") if backend.name.endswith(".litellm") or not service else ""
    if address := address_of(lm) or base_url:  # the argument alone is no proof: some classes take it and ask elsewhere
        return HERE if is_here(read_by(address)) else address
    return (service.host or UNSTATED) if service else HERE
