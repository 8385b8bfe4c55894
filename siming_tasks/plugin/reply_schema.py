"""JSON schemas of replies on their way to a service or an engine that enforces them (``SIMING_SCHEMA``).

lmms-eval 0.7.3 has no argument for one, and its classes build requests out of the generation arguments that they know.
So the schema of a request is added where the class hands the request on: to the call of its service's client, or to the
sampling parameters that it makes for vLLM. ``schema`` in ``media/backends.yaml`` says which class takes one, and in
which form.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from siming_tasks.common.errors import OptionsError, SimingError
from siming_tasks.media import Backend, backends
from siming_tasks.plugin import host
from siming_tasks.plugin.reply import ASKED

Schema = Mapping[str, Any]

SCHEMA_ARGUMENT = "siming_reply_schema"
"""Generation argument that carries the schema of a request to vLLM's classes, which hand it to their own
``_build_sampling_params_dict``; nothing of this name reaches vLLM."""


def check_takes_schema(model: str, backend: Backend) -> None:
    """Refuse a class that can give its service no JSON schema (OptionsError: names it and those that can)."""
    if backend.schema is None:
        able = ", ".join(sorted({name.partition(".")[2] for name, row in backends().items() if row.schema}))
        raise OptionsError(
            f"SIMING_SCHEMA=json: --model {model} cannot give its model a JSON schema; these can: {able}. "
            "Unset SIMING_SCHEMA, or serve the model behind an OpenAI-compatible address."
        )


@contextmanager
def schemas_sent(model: Any, backend: Backend, schemas: Mapping[str, Schema]) -> Iterator[None]:
    """While the block runs, each request of a model is sent with its schema, by its key.

    Raises:
        SimingError: the class or its client is another than in lmms-eval 0.7.3, and takes none.
    """
    if not schemas:
        yield
        return
    owner, name = model, "model:_build_sampling_params_dict"
    if backend.schema == "openai":  # LiteLLM's client has the same form
        owner, name = (
            getattr(getattr(model.client, "chat", None), "completions", None),
            "client:chat.completions.create",
        )
    elif backend.schema == "gemini":
        owner, name = getattr(model.client, "models", None), "client:models.generate_content"
        fields = importlib.import_module("google.genai.types").GenerateContentConfig.model_fields
        if "response_json_schema" not in fields:
            raise SimingError("SIMING_SCHEMA=json needs a newer google-genai: pip install -U google-genai")
    if not callable(call := getattr(owner, re.split("[.:]", name)[-1], None)):
        raise SimingError(f"SIMING_SCHEMA=json: {type(model).__name__} differs from the class of lmms-eval 0.7.3.")

    @functools.wraps(call)
    def call_with_schema(*args: Any, **kwargs: Any) -> Any:
        if backend.schema == "vllm":
            schema = args[0].get(SCHEMA_ARGUMENT)
            return {**call(*args, **kwargs), **(vllm_structured_output(schema) if schema else {})}
        schema = schemas.get(asked.key) if (asked := ASKED.get()) else None
        amend = _gemini_arguments if backend.schema == "gemini" else _openai_arguments
        return call(*args, **(amend(kwargs, schema) if schema else kwargs))

    with host.swapped(name, owner, call_with_schema):
        yield


def _openai_arguments(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Arguments of ``chat.completions.create`` (https://platform.openai.com/docs/guides/structured-outputs)."""
    named = {"name": "answer", "strict": True, "schema": dict(schema)}
    return {**arguments, "response_format": {"type": "json_schema", "json_schema": named}}


def _gemini_arguments(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Arguments of ``generate_content`` (https://ai.google.dev/gemini-api/docs/structured-output)."""
    added = {"response_mime_type": "application/json", "response_json_schema": dict(schema)}
    return {**arguments, "config": arguments["config"].model_copy(update=added)}


def vllm_structured_output(schema: Schema) -> dict[str, Any]:
    """Argument of vLLM's ``SamplingParams`` that makes a model follow a schema.

    That is ``structured_outputs`` since version 0.11, ``guided_decoding`` before
    (https://docs.vllm.ai/en/stable/features/structured_outputs.html).
    """
    sampling_params = importlib.import_module("vllm.sampling_params")
    if hasattr(sampling_params, "StructuredOutputsParams"):
        return {"structured_outputs": sampling_params.StructuredOutputsParams(json=dict(schema))}
    return {"guided_decoding": sampling_params.GuidedDecodingParams(json=dict(schema))}
