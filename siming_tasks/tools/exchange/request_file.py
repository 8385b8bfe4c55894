"""The exact requests of a run as a file, so that anybody can answer them by other means than lmms-eval.

They have the forms of other harnesses, and their media as data URLs or as files beside them.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write, sha256_file, sha256_json
from siming_tasks.common.output_folder import added_files
from siming_tasks.data import Dataset
from siming_tasks.media import Backend, StoredImage
from siming_tasks.options import Options
from siming_tasks.plugin.hooks.docs import documents, generation_kwargs
from siming_tasks.plugin.hooks.messages import doc_to_messages, doc_to_text, doc_to_visual
from siming_tasks.plugin.hooks.run_context import RUN, Doc
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.batch_file import batch_line, write_parts

ANYBODY = Backend("requests", images="several", video="as it likes", blind=True, encodes=True)
"""Backend of an unknown model: it takes frames unless an option says otherwise, encoded as the run says."""


def media_folder(out: Path) -> Path:
    """The folder for the frames of a file of requests, if they are not inside it."""
    return out.with_name(f"{out.stem}_media")


def write_requests(
    options: Options,
    settings: Sequence[str],
    out: Path,
    *,
    form: str = "openai",
    files: bool = False,
    limit: int | None = None,
    batch: str = "",
    most_bytes: int = sys.maxsize,
    watched: Callable[[Sequence[Doc]], Iterable[Doc]] = iter,
) -> tuple[Dataset, int, list[Path]]:
    """Write one line per request: its id, what it is about, and what a model is to be sent.

    Args:
        options: of the run: data set, frames, sizes, encoding, cache.
        settings: names, in the order in which their requests are written.
        out: the file; ``<stem>_media/`` beside it takes the media if ``files``.
        form: ``openai`` (as the OpenAI API takes it), ``qwen`` (as Qwen's processors do) or ``plain`` (media, a text).
        files: media as files beside ``out`` instead of ``data:`` URLs.
        limit: only the first so many requests of each setting, as lmms-eval's ``--limit`` has it.
        batch: name of the model of a batch job, as whose lines the requests are written
            (:mod:`~siming_tasks.tools.exchange.batch_file`); empty: none.
        most_bytes: of a file of a batch job; what does not fit into ``out`` goes into further files beside it.
        watched: is given the list of documents and gives them back one by one, such as a progress bar.

    Returns:
        The data set, how many requests there are, and the files.

    Raises:
        DataError: no usable data set, or nothing to ask.
        MediaError: a video cannot be shown.
        OptionsError: the media cannot be had in the wanted form.
    """
    RUN.begin(options)
    dataset = RUN.current_dataset()
    docs = [doc for name in settings for doc in documents(TASKS[name], dataset)[:limit]]
    generation = generation_kwargs()
    folder = media_folder(out)
    with RUN.evaluating(ANYBODY), added_files(folder) if files else nullcontext(None) as new:
        # vLLM takes addresses of files as a whole; others' programs find the folder beside the requests
        media = _Media(new, folder.absolute().as_uri() if batch else folder.name)

        lines = (_line(doc, dataset, media, form, generation) for doc in watched(docs))
        if batch:
            job = ((_json_line(batch_line(line, batch)), {**_asked(line), "model": batch}) for line in lines)
            return dataset, len(docs), write_parts(job, out, most_bytes)
        with atomic_write(out) as stream:
            stream.writelines(map(_json_line, lines))
    return dataset, len(docs), [out]


def _json_line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"


def _asked(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line without what a model is sent: what its request is about, and under which conditions it is asked."""
    sent = ("messages", "images", "video", "text", "generation", "schema")
    return {name: fact for name, fact in line.items() if name not in sent}


def _line(doc: Doc, dataset: Dataset, media: _Media, form: str, generation: Mapping[str, Any]) -> dict[str, Any]:
    """Request about a document, as a line of the file."""
    sent = _plain(doc, media) if form == "plain" else _chat(doc, media, form)
    schema = RUN.reply_schema(doc)
    asking, part = RUN.prompting_of(TASKS[doc["setting"]]).label, doc.get("part", "")
    return {
        **{key: doc[key] for key in ("id", "setting", "video_id")},
        "step_id": doc["step_id"] or None,
        "synthetic": dataset.synthetic,
        "dataset": dataset.digest,
        "prompt": RUN.dataset_of(doc).prompt(doc, RUN.options.prompt)[1],
        # The way in which the question is put, where that is not the benchmark's own.
        **({"asking": asking} if asking else {}),
        **({"part": part} if part else {}),
        "media": RUN.media_of(doc),
        "generation": generation,
        **({"schema": schema, "reply_schema": sha256_json(schema)[:12]} if schema else {}),
        **sent,
    }


@dataclass(frozen=True)
class _Media:
    """Addresses of frames and videos: ``data:`` URLs, or files in a folder beside the requests.

    A file is there once, under the digest of its content; it is named relative to the requests, or in whole, where
    ``folder``, which takes the files until all are there, is going to have the name or address ``name``.
    """

    folder: Path | None
    name: str

    def image(self, image: StoredImage) -> str:
        """One frame, in the run's encoding."""
        if self.folder is None:
            return image.data_url()
        encoding, data = image.encoded()
        suffix = "jpg" if encoding.format == "jpeg" else encoding.format
        target = self.folder / f"{hashlib.sha256(data).hexdigest()[:32]}.{suffix}"
        if not target.is_file():
            target.write_bytes(data)
        return f"{self.name}/{target.name}"

    def video(self, path: str) -> str:
        """A video file."""
        if self.folder is None:
            return f"data:video/mp4;base64,{base64.b64encode(Path(path).read_bytes()).decode('ascii')}"
        target = self.folder / f"{sha256_file(Path(path))[:32]}{Path(path).suffix}"
        if not target.is_file():
            shutil.copyfile(path, target)
        return f"{self.name}/{target.name}"


def _chat(doc: Doc, media: _Media, form: str) -> dict[str, Any]:
    """The turns of chat models: each frame after its time, the prompt last."""

    def part(content: Mapping[str, Any]) -> dict[str, Any]:
        kind = "image" if content["type"] == "image" else "video"
        if content["type"] == "text":
            return dict(content)
        url = media.image(content["url"]) if kind == "image" else media.video(content["url"])
        if form == "qwen":
            return {"type": kind, kind: url}
        return {"type": f"{kind}_url", f"{kind}_url": {"url": url}}

    turns = doc_to_messages(doc)
    return {"messages": [{"role": turn["role"], "content": list(map(part, turn["content"]))} for turn in turns]}


def _plain(doc: Doc, media: _Media) -> dict[str, Any]:
    """The request of simple models: all media, then one text that tells the frames' times."""
    shown = doc_to_visual(doc)
    if shown and isinstance(shown[0], str):
        return {"video": media.video(shown[0]), "text": doc_to_text(doc)}
    return {"images": [media.image(item) for item in shown], "text": doc_to_text(doc)}
