"""The key of a request: a hash of everything that decides its reply. What differs in anything never hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siming_tasks.common.files import sha256_json
from siming_tasks.common.version_0_1 import cache_key_facts
from siming_tasks.plugin.hooks.dataset_cache import Doc
from siming_tasks.plugin.hooks.run_context import RUN

__all__ = ["Request", "requests_of"]


@dataclass(frozen=True)
class Request:
    """One request of the host about one of our documents.

    Attributes:
        instance: lmms-eval's own object.
        doc: the document.
        arguments: how the reply is to be generated, as they were before a model's class changed them.
        key: hash of everything that decides the reply.
    """

    instance: Any
    doc: Doc
    arguments: Mapping[str, Any]
    key: str

    @property
    def id(self) -> str:
        """The id of its record."""
        return str(self.doc["id"])


def requests_of(model: Any, instances: Sequence[Any], made: str) -> Iterator[Request]:
    """The requests behind the host's objects, in their order.

    The host repeats an object where a sample is to be drawn again (``--repeats``): each of them has a key of its own.
    What it adds so that all processes have equally many has the key of what it was copied from: it is the same request.

    Args:
        model: the host's model object, which holds the documents.
        instances: requests of our tasks.
        made: hash of what the model is.
    """
    times: dict[str, int] = {}
    docs: dict[tuple[str, str], Sequence[Doc]] = {}
    for instance in instances:
        doc_id, task, split = instance.args[-3:]
        if (task, split) not in docs:
            docs[task, split] = _all(model.task_dict[task][split])
        doc = docs[task, split][doc_id]
        arguments = dict(next(one for one in instance.args if isinstance(one, dict)))
        ours = {name: value for name, value in instance.metadata.items() if name.startswith(("siming_", "version"))}
        facts = {
            "model": made,
            "request": doc["id"],
            "task": ours,
            "text": instance.args[0],
            "media": RUN.media_mode(_table(instance)),
            "arguments": {name: str(value) for name, value in arguments.items()},
        }
        key = sha256_json(cache_key_facts(facts))
        if not instance.metadata.get("__padding_only__"):
            times[key] = times.get(key, 0) + 1
            key = key if times[key] == 1 else f"{key}#{times[key]}"
        yield Request(instance, doc, arguments, key)


def _all(docs: Any) -> Sequence[Doc]:
    """Documents as a list: one by one, a table takes longer to give them than everything else here."""
    found: Sequence[Doc] = docs.to_list() if hasattr(docs, "to_list") else docs
    return found


def _table(instance: Any) -> Mapping[str, Any] | None:
    """What the task files say for this model; the host's task object has it."""
    build = next((one for one in instance.args if callable(one)), None)
    return getattr(getattr(build, "__self__", None), "lmms_eval_specific_kwargs", None)
