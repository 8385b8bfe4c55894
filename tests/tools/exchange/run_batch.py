"""Stand-in of ``vllm run-batch``: it reads a job and writes results as vLLM does, without a model.

Written after ``vllm/entrypoints/openai/run_batch.py`` (``BatchRequestInput``, ``BatchResponseData``,
``BatchRequestOutput``): blank lines are passed over, a line is checked by its types, other addresses than chat
completions are answered with an error, results keep the order of the job.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from PIL import Image
from pydantic import BaseModel, ConfigDict, TypeAdapter

from tests.plugin.serving import pixels


class BatchRequestInput(BaseModel):
    """Line of a job. vLLM lets other fields pass; OpenAI's page has none, so none is let pass here."""

    model_config = ConfigDict(extra="forbid")
    custom_id: str
    method: str
    url: str
    body: dict[str, Any]


class BatchResponseData(BaseModel):
    status_code: int = 200
    request_id: str
    body: dict[str, Any] | None = None


class BatchRequestOutput(BaseModel):
    id: str
    custom_id: str
    response: BatchResponseData | None
    error: Any | None


def run_batch(job: Path, out: Path, answer: Callable[..., tuple[int, Any]]) -> None:
    """Answer each line of a job with ``answer(images, text)``, as the servers of other tests do."""
    results = []
    for line in filter(None, map(str.strip, job.read_text(encoding="utf-8").splitlines())):
        request = BatchRequestInput.model_validate_json(line)
        response = BatchResponseData(request_id=f"vllm-batch-{uuid.uuid4().hex}")
        error = None
        if request.url != "/v1/chat/completions":
            response.status_code, error = 400, "Only /v1/chat/completions is supported in the batch endpoint."
        else:
            TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(request.body)
            parts = [part for message in request.body["messages"] for part in message["content"]]
            images = tuple(_pixels(part["image_url"]["url"]) for part in parts if part["type"] == "image_url")
            texts = [part["text"] for part in parts if part["type"] == "text"]
            response.status_code, body = answer(images, texts[-1])
            if response.status_code == 200:
                response.body = body
            else:
                error = body
        results.append(BatchRequestOutput(id=f"vllm-{uuid.uuid4().hex}", custom_id=request.custom_id,
                                          response=response, error=error))  # fmt: skip
    out.write_text("".join(result.model_dump_json() + "\n" for result in results), encoding="utf-8")


def _pixels(url: str) -> str:
    assert urlsplit(url).scheme in ("data", "file")
    with urlopen(url) as stream:
        return pixels(Image.open(io.BytesIO(stream.read())))
