"""Key of a request: a hash of everything that decides its reply. A request that differs in anything is sent again.

That is its prompt, the recipe of what is shown, its generation arguments by value and the identity of the model: of a
service the name and arguments of its model, of weights their files too and the libraries that compute with them. The
recipe is known without decoding: the digest of the video, its frames, their stored size and the number of the frame
store (:func:`siming_tasks.media.pixels`); where a file or sound is sent, the digest of its bytes. The user, places and
the way in which requests are sent (keys, addresses, devices, time-outs, how many at once) do not belong to it.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import sys
from abc import ABC
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Generic

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.errors import SimingError
from siming_tasks.common.files import digest_of, sha256_json
from siming_tasks.media.sampler import SAMPLERS, UNIFORM
from siming_tasks.models.recipes.transport import transport_of_class
from siming_tasks.options import lmms_eval_variables
from siming_tasks.plugin.hooks.messages import Table, facts_by_rule, heard_sound, shown_view
from siming_tasks.plugin.reply import AskedRequest
from siming_tasks.plugin.run_context import Doc, RunContext
from siming_tasks.study.results.run_parts import PLACE

CONTENT_BYTES = 2**20
"""A file of a model up to this size is identified by its content; a larger one by its name, size and date."""

_LIBRARIES = ("lmms_eval", "torch", "transformers", "vllm", "sglang")
_MODEL_FILE = re.compile(r".*\.(safetensors|bin|pt|pth|gguf|model|jinja|json|txt|py)")
_RESULT_FILE = re.compile(r".*_(results|samples_.*)\.jsonl?")
_WRITTEN = re.compile(r"(^|_)(cache|logs?|offload|output|save|te?mp|work)(_|$)")
"""Part of the name of an argument that says where a run writes, which decides no reply."""


class UnidentifiedModel(Exception):
    """Reason why a model's replies may depend on something that cannot be read: another model could look the same."""


def remember_arguments(_: Any, cls: type, *args: Any, **kwargs: Any) -> Any:
    """Replacement of ``lmms.__new__``, so that every model object remembers the arguments of its class."""
    model = super(sys.modules["lmms_eval.api.model"].lmms, cls).__new__(cls)
    model.__dict__["_siming_made"] = {**{str(number): value for number, value in enumerate(args)}, **kwargs}
    return model


def arguments_of(model: object) -> Mapping[str, Any] | None:
    """Arguments that a model object was made with, by name or number; None if that is not known."""
    made: Mapping[str, Any] | None = vars(model).get("_siming_made")
    return made


def identity_of(model: object) -> dict[str, Any]:
    """Everything about a model that decides its replies, as plain JSON, to be hashed and not to be written.

    A class names what else decides them in its attribute ``replies_depend_on``.

    Raises:
        UnidentifiedModel: an argument is an object, or the class says neither how it was made nor where its source is.
    """
    made = arguments_of(model)
    if made is None:
        raise UnidentifiedModel("its class does not say how it was made")
    plain = {name: value for name, value in sorted(made.items()) if name not in PLACE}
    plain = json.loads(json.dumps(plain, default=_text_of))
    arguments = {name: value for name, value in plain.items() if value is not None}
    if isinstance(system := getattr(model, "system_prompt", None), str):  # some classes read it from a file
        arguments["system_prompt"] = system
    identity = {"class": f"{type(model).__module__}.{type(model).__qualname__}", "arguments": arguments}
    if transport_of_class(type(model)):
        return identity
    versions = {"source": _source_hash(type(model)), **getattr(model, "replies_depend_on", {})}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions |= {name: metadata.version(name)} if name in sys.modules else {}
    return {**identity, "files": _weights(plain), "versions": versions, "environment": lmms_eval_variables()}


def _text_of(value: object) -> str:
    """Path as text, for the JSON encoder (UnidentifiedModel: it is another object)."""
    if isinstance(value, Path):
        return str(value)
    raise UnidentifiedModel(f"an argument is an object ({type(value).__name__})")


def _source_hash(cls: type) -> str:
    """Hash of the files that define a class and those that it builds on: code that was edited answers otherwise."""
    digest = hashlib.sha256()
    for base in cls.__mro__:
        if base not in (object, ABC, Generic):
            try:
                digest.update(Path(inspect.getfile(base)).read_bytes())
            except (OSError, TypeError):
                raise UnidentifiedModel(f"the source of its class {base.__qualname__} cannot be read") from None
    return digest.hexdigest()[:16]


def _weights(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Hash of each file or folder that an argument is the path of, or the commit of a model of the Hugging Face hub."""
    stamps = {}
    for name, value in arguments.items():
        if isinstance(value, str) and not _WRITTEN.search(name):
            path = Path(os.path.expanduser(value))  # Path.expanduser raises where there is no such user
            with suppress(OSError, ValueError):  # what cannot be read, or be a path, is no file of a model
                files = sorted(file for file in path.rglob("*") if _MODEL_FILE.fullmatch(file.name) and file.is_file())
                files = [path] if path.is_file() else [file for file in files if not _RESULT_FILE.fullmatch(file.name)]
                stamp = sha256_json([[file.name, *_stamp(file)] for file in files])[:16] if files else None
                if stamp := stamp or _commit_in_hub_cache(value, arguments.get("revision")):
                    stamps[name] = stamp
    return stamps


def _stamp(file: Path) -> tuple[int, int | str]:
    """Size of a file, with the hash of what it holds or, of a large one, its date."""
    stat = file.stat()
    is_large = stat.st_size > CONTENT_BYTES
    return stat.st_size, stat.st_mtime_ns if is_large else hashlib.sha256(file.read_bytes()).hexdigest()


def _commit_in_hub_cache(name: str, revision: Any) -> str | None:
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        return None
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "adapter_config.json", "tokenizer_config.json"):
        if isinstance(path := try_to_load_from_cache(name, file, revision=revision), str):
            return Path(path).parent.name
    return None


@dataclass(frozen=True)
class KeyedRequest:
    """One request of lmms-eval (``instance`` is its own object) about one of our documents.

    Attributes:
        asked: what its hooks note; ``asked.key`` is the hash of everything that decides the reply.
        table: settings that the task file has for the model.
        arguments: how the reply is to be generated, before a model's class changed them.
        schema: JSON schema of the reply that the service is given; None for none.
    """

    instance: Any
    doc: Doc
    asked: AskedRequest
    table: Table = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """Hash of everything that decides the reply."""
        return self.asked.key

    def media(self) -> dict[str, Any]:
        """Facts about the input."""
        built = self.asked if self.asked.facts else self.asked.batch.get(str(self.doc["id"]), self.asked)
        return built.media() if built.facts else facts_by_rule(self.asked.run, self.doc, self.table)


def requests_with_keys(
    run: RunContext, model: Any, instances: Sequence[Any], identity: Mapping[str, Any] | None
) -> Iterator[KeyedRequest]:
    """Requests behind lmms-eval's objects, in their order.

    The model object has the documents. Without an ``identity`` of the model (:func:`identity_of`), nothing is kept
    under the keys: they only tell the requests of this run apart.

    Raises:
        MediaError: a video cannot be shown.
    """
    times: Counter[tuple[str, int]] = Counter()
    docs: dict[tuple[str, str], Sequence[Doc]] = {}
    errors: list[SimingError] = []
    for instance in instances:
        doc_id, task, split = instance.args[-3:]
        if (task, split) not in docs:
            table = model.task_dict[task][split]
            # row by row, a table takes longer to give the documents than everything else here
            docs[task, split] = table.to_list() if hasattr(table, "to_list") else table
        doc = docs[task, split][doc_id]
        arguments = dict(next(argument for argument in instance.args if isinstance(argument, dict)))
        # lmms-eval's task object has the settings that the task files have for this model
        build = next((argument for argument in instance.args if callable(argument)), None)
        settings = getattr(getattr(build, "__self__", None), "lmms_eval_specific_kwargs", None)
        schema = run.reply_schema(doc)
        key = sha256_json({
            "request": doc["id"],
            "prompt": [instance.metadata.get("version"), instance.args[0]],  # times of frames stand in the text
            "shown": _recipe(run, doc, settings) if identity else task,
            "generation": _by_value(arguments),
            "schema": schema,
            "model": identity,
        })  # fmt: skip
        # lmms-eval repeats an object where a sample is to be drawn again (--repeats): each has a key of its own. Two
        # objects are one request: of a group and its member, or a copy that makes processes have equally many.
        times[key, id(instance)] += 1
        if (number := times[key, id(instance)]) > 1 and not instance.metadata.get("__padding_only__"):
            key = f"{key}#{number}"
        yield KeyedRequest(instance, doc, AskedRequest(run, key, errors, doc["id"]), settings, arguments, schema)


def _by_value(argument: Any) -> Any:
    """Generation argument as plain JSON in which equal numbers are equal: 0, 0.0 and "0" of a command line."""
    if isinstance(argument, Mapping):
        return {str(name): _by_value(value) for name, value in argument.items()}
    if isinstance(argument, list | tuple):
        return [_by_value(value) for value in argument]
    with suppress(TypeError, ValueError):
        if not isinstance(argument, bool):
            return float(argument)
    return argument if isinstance(argument, bool | None) else str(argument)


def _recipe(run: RunContext, doc: Doc, table: Table) -> list[Any]:
    """Everything that decides what a request shows: its sound, the recipe of its images or the bytes of its file."""
    sound, setting = heard_sound(run, doc), TASKS[doc["setting"]]
    parts: list[Any] = [sound.sha256()] if sound else []
    if not setting.shows_media:
        return parts
    if not run.media_mode(table, setting).images:
        media = shown_view(run, doc, table)
        return [*parts, digest_of(media.path)] if media and media.path else parts
    if run.policy.sampler != UNIFORM and not setting.ablation:  # its frames are known to who has decoded the video
        parts.append(SAMPLERS[run.policy.sampler])
        run = replace(run, options=replace(run.options, sampler="uniform"))
    media = shown_view(run, doc, table, made=False)
    return [*parts, *(media.recipe() if media else ())]
