"""Key of a request: a hash of everything that decides its reply. A request that differs in anything is asked anew.

Of the model that is its class, its arguments, the files that they name and the libraries that run it. Secrets are no
part of it. How requests travel (timeouts, retries, how many at once) is none either: a run that was cut short because a
server was overloaded goes on with fewer requests at once.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from abc import ABC
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Generic

from siming_tasks.common.files import sha256_json
from siming_tasks.common.redact import MASK, redact
from siming_tasks.options import lmms_eval_variables
from siming_tasks.plugin.hooks.run_context import RUN, Doc
from siming_tasks.plugin.response_cache.named_files import UnidentifiedModel, file_stamps
from siming_tasks.results.run_parts import TRANSPORT

_LIBRARIES = ("lmms_eval", "torch", "transformers", "vllm", "sglang")


def remember_arguments(_: Any, cls: type, *args: Any, **kwargs: Any) -> Any:
    """Replacement of ``lmms.__new__``, so that every model object remembers the arguments of its class."""
    model = super(sys.modules["lmms_eval.api.model"].lmms, cls).__new__(cls)
    model.__dict__["_siming_made"] = (args, kwargs)
    with suppress(UnidentifiedModel):  # it is said when the key is made
        # now, because the class reads them now: who edits a prompt while weights are loaded changes nothing any more
        model.__dict__["_siming_files"] = file_stamps(_named(args, kwargs), hub=False)
    return model


def arguments_of(model: object) -> Mapping[str, Any] | None:
    """Named arguments that a model object was made with; None if that is not known."""
    made: tuple[Any, Mapping[str, Any]] | None = vars(model).get("_siming_made")
    return made[1] if made else None


def fingerprint_of(model: object) -> dict[str, Any]:
    """Everything about a model that decides its replies, as plain JSON without secrets.

    Args:
        model: an object of one of lmms-eval's classes that remembers its arguments (:func:`remember_arguments`).

    Raises:
        UnidentifiedModel: an argument is an object or a folder of too many files, or the class has no source.
    """
    made = vars(model).get("_siming_made")
    if made is None:
        raise UnidentifiedModel("its class does not say how it was made")
    plain = {name: _plain(name, value) for name, value in sorted(_named(*made).items()) if name not in TRANSPORT}
    redacted: dict[str, Any] = redact(plain)
    arguments = {name: value for name, value in redacted.items() if value != MASK and plain[name] is not None}
    environment = lmms_eval_variables()
    files = file_stamps({name: plain[name] for name in arguments} | environment)
    at_first: Mapping[str, str] = vars(model).get("_siming_files", {})
    versions: dict[str, str] = {}
    for name in _LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions |= {name: metadata.version(name)} if name in sys.modules else {}
    return {
        "class": f"{type(model).__module__}.{type(model).__qualname__}",
        "source": _source_hash(type(model)),
        "arguments": arguments,
        "files": {name: at_first.get(name, stamp) for name, stamp in files.items()},
        "address": _address(model),
        "versions": versions,
        "environment": environment,
    }


def _named(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**{str(number): value for number, value in enumerate(args)}, **kwargs}


def _plain(name: str, value: Any) -> Any:
    """Argument as JSON holds it (UnidentifiedModel: it is an object)."""
    if name == "device" and isinstance(value, str):
        return value.partition(":")[0]  # which of several equal cards it is does not matter
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(name, entry) for entry in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(key, entry) for key, entry in value.items()}
    raise UnidentifiedModel(f"its argument {name!r} is an object ({type(value).__name__})")


def _source_hash(cls: type) -> str:
    """Hash of the files that define a class and those that it builds on: code that was edited answers otherwise."""
    digest = hashlib.sha256()
    for base in cls.__mro__:
        if base in (object, ABC, Generic):
            continue
        try:
            digest.update(Path(inspect.getfile(base)).read_bytes())
        except (OSError, TypeError):
            raise UnidentifiedModel(f"the source of its class {base.__qualname__} cannot be read") from None
    return digest.hexdigest()[:16]


def _address(model: object) -> str | None:
    """Address of requests without user, password and query: another server may have another model of that name."""
    for holder in (getattr(model, "client", None), model):
        for name in ("base_url", "api_url", "url"):
            value = getattr(holder, name, None)
            if value is not None and re.match(r"https?://", str(value)):
                return re.sub(r"(?<=://)[^/@]*@|\?.*", "", str(value)).rstrip("/")
    return None


@dataclass(frozen=True)
class Request:
    """One request of lmms-eval (``instance`` is its own object) about one of our documents.

    Attributes:
        arguments: how the reply is to be generated, before a model's class changed them.
        key: hash of everything that decides the reply.
        schema: JSON schema of the reply that the service is given; None for none.
    """

    instance: Any
    doc: Doc
    arguments: Mapping[str, Any]
    key: str
    schema: Mapping[str, Any] | None = None


def requests_with_keys(model: Any, instances: Sequence[Any], fingerprint: str) -> Iterator[Request]:
    """Requests behind lmms-eval's objects, in their order.

    The model object holds the documents; ``fingerprint`` is the hash of :func:`fingerprint_of` it.

    Raises:
        UnidentifiedModel: a generation argument names a folder of too many files.
    """
    times: Counter[tuple[str, int]] = Counter()
    docs: dict[tuple[str, str], Sequence[Doc]] = {}
    stamps: dict[str, dict[str, str]] = {}  # of the files that generation arguments name: one look-up for a task
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
        task_facts = {name: fact for name, fact in instance.metadata.items() if name.startswith(("siming_", "version"))}
        facts = {
            "model": fingerprint,
            "request": doc["id"],
            "task": task_facts,
            "text": instance.args[0],
            "media": RUN.media_mode(settings).name,
            "arguments": {name: str(value) for name, value in arguments.items()},
        }
        if (text := str(arguments)) not in stamps:
            stamps[text] = file_stamps(arguments)
        if stamps[text]:
            facts["files"] = stamps[text]
        if schema := RUN.reply_schema(doc):
            facts["schema"] = sha256_json(schema)
        key = sha256_json(facts)
        # lmms-eval repeats an object where a sample is to be drawn again (--repeats): each has a key of its own. Two
        # objects are one request: of a group and its member, or a copy that makes processes have equally many.
        times[key, id(instance)] += 1
        if (number := times[key, id(instance)]) > 1 and not instance.metadata.get("__padding_only__"):
            key = f"{key}#{number}"
        yield Request(instance, doc, arguments, key, schema)
