"""The exact requests of a run as a file, so that anybody can answer them by other means than lmms-eval."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_write
from siming_tasks.data import Dataset
from siming_tasks.media import Backend
from siming_tasks.options import Options
from siming_tasks.plugin.hooks.docs import documents, generation_kwargs
from siming_tasks.plugin.hooks.run_context import RUN, Doc
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.request_formats import REQUEST_FORMATS, InlineMedia, MediaFolder

__all__ = ["RequestFile", "media_folder", "write_requests"]

ANYBODY = Backend("requests", images="several", video="as it likes", blind=True, encodes=True)
"""Backend of an unknown model: it takes frames unless an option says otherwise, encoded as the run says."""


@dataclass(frozen=True)
class RequestFile:
    """A written file of requests, and how many it holds."""

    path: Path
    requests: int
    dataset: Dataset


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
    watched: Any = None,
) -> RequestFile:
    """Write one line per request: its id, what it is about, and what a model is to be sent.

    Args:
        options: of the run: data set, frames, sizes, encoding, cache.
        settings: names, in the order in which their requests are written.
        out: the file; ``<stem>_media/`` beside it takes the media if ``files``.
        form: a key of :data:`siming_tasks.tools.exchange.request_formats.REQUEST_FORMATS`.
        files: media as files beside ``out`` instead of ``data:`` URLs.
        limit: only the first so many requests of each setting, as lmms-eval's ``--limit`` has it.
        watched: is given the list of documents and gives them back one by one, such as a progress bar.

    Raises:
        DataError: no usable data set, or nothing to ask.
        MediaError: a video cannot be shown.
        OptionsError: the media cannot be had in the wanted form.
    """
    RUN.begin(options)
    dataset = RUN.current_dataset()
    docs = [doc for name in settings for doc in documents(TASKS[name], dataset)[:limit]]
    place = MediaFolder(media_folder(out)) if files else InlineMedia()
    asked = generation_kwargs()
    with RUN.evaluating(ANYBODY), atomic_write(out) as stream:
        for doc in _watched_documents(docs, watched):
            sent = REQUEST_FORMATS[form](doc, place)
            about = {
                **{key: doc[key] for key in ("id", "setting", "video_id")},
                "step_id": doc["step_id"] or None,
                "synthetic": dataset.synthetic,
                "dataset": dataset.digest,
                "prompt": RUN.dataset_of(doc).prompt(doc, options.prompt)[1],
                **_question_variant(doc),
                "media": RUN.media_of(doc),
                "generation": asked,
            }
            stream.write(json.dumps({**about, **sent}, ensure_ascii=False) + "\n")
    return RequestFile(out, len(docs), dataset)


def _question_variant(doc: Doc) -> dict[str, str]:
    """The way in which the question is put, where that is not the benchmark's own."""
    words, part = RUN.prompting_of(TASKS[doc["setting"]]).label, doc.get("part", "")
    return {**({"asking": words} if words else {}), **({"part": part} if part else {})}


def _watched_documents(docs: list[dict[str, str]], watched: Any) -> Iterator[Doc]:
    watched_docs: Iterable[Doc] = watched(docs) if watched else docs
    yield from watched_docs
