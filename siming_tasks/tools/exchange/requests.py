"""The exact requests of a run, so that anybody can answer them by other means than lmms-eval."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.common.files import atomic_write, sha256_json
from siming_tasks.data import Dataset, gate
from siming_tasks.data.consent import UNSTATED
from siming_tasks.media import Backend, StoredImage
from siming_tasks.options import Options
from siming_tasks.plugin.hooks.docs import documents, generation_kwargs
from siming_tasks.plugin.hooks.messages import doc_to_messages
from siming_tasks.plugin.reply import AskedRequest
from siming_tasks.plugin.run_context import Doc, RunContext, run_of

ANYBODY = Backend("requests", video=True, blind=True, encodes=True, hears="path")
"""Backend of an unknown model: it takes frames unless an option says otherwise, encoded as the run says."""


@dataclass(frozen=True)
class BatchRequest:
    """One request.

    Attributes:
        id: of its document: ``full_score/v001``, ``clip_score/v001/cpr_01``, with the part of an exam asked in parts.
        steps: that it asks about, in the form of the rubric: with them its reply can be read.
        facts: what belongs into the record of its reply: what it is about, and what is asked and shown.
        messages: turns in the form of OpenAI's API.
        generation: arguments with which lmms-eval has a reply generated.
        schema: JSON schema that a service has to enforce; None: no schema.
        asked: hash of data set, generation arguments, schema, and every text and byte that is sent, 12 hex digits.
    """

    id: str
    steps: Sequence[Mapping[str, Any]]
    facts: Mapping[str, Any]
    messages: Sequence[Mapping[str, Any]]
    generation: Mapping[str, Any]
    schema: Mapping[str, Any] | None
    asked: str


@dataclass
class MediaAddresses:
    """Addresses of frames and files: ``data:`` URLs, or files in a folder.

    Attributes:
        folder: takes the files, each once, under the digest of its content; None: addresses are ``data:`` URLs.
        name: of the folder in the addresses.
        sent: SHA-256 of all that was given an address since it was last emptied.
    """

    folder: Path | None = None
    name: str = ""
    sent: list[str] = field(default_factory=list)

    def part(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Part of a message in the form of OpenAI's API, of one of the hooks' messages."""
        kind, url = content["type"], content.get("url")
        if kind == "text":
            self.sent.append(content["text"])
            return dict(content)
        if isinstance(url, StoredImage):
            data, suffix, mime = url.as_jpeg(), "jpg", "image/jpeg"
        else:
            data, suffix, mime = Path(str(url)).read_bytes(), Path(str(url)).suffix[1:], "video/mp4"
        digest = hashlib.sha256(data).hexdigest()
        self.sent.append(digest)
        if kind == "audio":  # the API has no addresses of sounds
            sound = {"data": base64.b64encode(data).decode("ascii"), "format": suffix}
            return {"type": "input_audio", "input_audio": sound}
        if self.folder is None:
            address = f"data:{mime};base64,{base64.b64encode(data).decode('ascii')}"
        else:
            file = self.folder / f"{digest[:32]}.{suffix}"
            address = f"{self.name}/{file.name}"
            if not file.is_file():
                with atomic_write(file, "wb", private=True) as stream:
                    stream.write(data)
        return {"type": f"{kind}_url", f"{kind}_url": {"url": address}}


@dataclass(frozen=True)
class Asked:
    """The requests that a run makes.

    Attributes:
        run: that makes them.
        documents: one for each, in the order in which they are asked.
    """

    run: RunContext
    documents: Sequence[Doc]

    @classmethod
    def by(
        cls, options: Options, settings: Iterable[str], limit: int | None = None, answered: Collection[str] = ()
    ) -> Asked:
        """The requests of a run with these options.

        Args:
            options: data set, frames, sizes, encoding, cache.
            settings: names, in the order in which their requests are made.
            limit: only the first so many of each setting, as lmms-eval's ``--limit`` has it.
            answered: ids of requests to leave out.

        Raises:
            DataError: no usable data set, or a setting has nothing to ask.
        """
        run = run_of(options).asking(ANYBODY, UNSTATED)
        docs = [doc for name in settings for doc in documents(TASKS[name], run)[:limit]]
        return cls(run, [doc for doc in docs if doc["id"] not in answered])

    @property
    def dataset(self) -> Dataset:
        """Data set that the requests are about."""
        return self.run.dataset

    def requests(
        self, recipient: str, media: MediaAddresses, watched: Callable[[Sequence[Doc]], Iterable[Doc]] = iter
    ) -> Iterator[BatchRequest]:
        """Each request, with its media decoded.

        Args:
            recipient: who is sent them (:mod:`siming_tasks.data.consent`).
            media: where they are addressed.
            watched: is given the list of documents and gives them back one by one, such as a progress bar.

        Raises:
            DataError: the recipient may not have them.
            MediaError: a video cannot be shown.
            OptionsError: the media cannot be had in the wanted form.
        """
        run, generation = self.run, generation_kwargs(self.run)
        with gate.requests(recipient):
            for doc in watched(self.documents):
                media.sent.clear()
                asked = AskedRequest(run, doc["id"], [])
                with asked.building():
                    messages = doc_to_messages(doc)
                turns = [{**turn, "content": list(map(media.part, turn["content"]))} for turn in messages]
                schema = run.reply_schema(doc)
                about = [self.dataset.digest, dict(generation), schema, media.sent]
                steps = [step.model_dump(mode="json", by_alias=True, exclude_defaults=True) for step in run.steps(doc)]
                facts = _facts(run, doc, asked.media())
                yield BatchRequest(doc["id"], steps, facts, turns, generation, schema, sha256_json(about)[:12])


def _facts(run: RunContext, doc: Doc, media: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a request that the record of its reply states; without what is empty."""
    schema = run.reply_schema(doc)
    facts = {
        **{name: doc.get(name) for name in ("setting", "video_id", "step_id", "part")},
        "dataset": run.dataset.digest,
        "prompt": run.prompt(doc)[1],
        "asking": run.prompting_of(TASKS[doc["setting"]]).label,
        "media": media,
        "reply_schema": schema and sha256_json(schema)[:12],
    }
    return {name: fact for name, fact in facts.items() if fact}
