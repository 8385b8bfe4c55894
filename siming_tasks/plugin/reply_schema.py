"""JSON schemas of replies on their way to a service or an engine that holds its model to them (``SIMING_SCHEMA``).

lmms-eval 0.7.3 has no argument for one, and its classes build requests out of the generation arguments that they know.
So the schema of a request is added where the class hands the request on: to the call of its service's client, or to the
sampling parameters that it makes for vLLM. ``schema`` in ``media/backends.yaml`` says which class takes one, and in
which form.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from siming_tasks.common.errors import OptionsError, SimingError
from siming_tasks.media import Backend, backends
from siming_tasks.plugin.response_cache.ledger import REQUEST

Schema = Mapping[str, Any]
Call = Callable[..., Any]

PATHS = (("chat", "completions", "create"), ("models", "generate_content"))
"""Methods that send a request with the clients of OpenAI (and LiteLLM) and Google."""

SCHEMA_ARGUMENT = "siming_reply_schema"
"""Generation argument that holds the schema of a request to vLLM's classes, which hand it to their own
``_build_sampling_params_dict``; nothing of this name reaches vLLM."""


def check_takes_schema(model: str, backend: Backend) -> None:
    """Refuse a class that can give its service no JSON schema (OptionsError: names it and those that can)."""
    if backend.schema is None:
        able = ", ".join(sorted({name.partition(".")[2] for name, row in backends().items() if row.schema}))
        raise OptionsError(
            f"SIMING_SCHEMA=json: --model {model} cannot give its model a JSON schema; these can: {able}. "
            "Unset SIMING_SCHEMA, or serve the model behind an OpenAI-compatible address."
        )


class WrappedClient:
    """Client (or a part of one) whose method at the end of ``path`` is wrapped; all else is the client's own."""

    def __init__(self, inner: Any, path: tuple[str, ...], wrap: Callable[[Call], Call]) -> None:
        self._inner, self._path, self._wrap = inner, path, wrap

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._inner, name)
        if name != self._path[0]:
            return part
        return WrappedClient(part, self._path[1:], self._wrap) if len(self._path) > 1 else self._wrap(part)


@contextmanager
def schemas_sent(model: Any, backend: Backend, schemas: Mapping[str, Schema]) -> Iterator[None]:
    """While the block runs, each request of a model is sent with its schema, by its key.

    Raises:
        SimingError: the class or its client takes none.
    """
    if not schemas:
        yield
    elif backend.schema == "vllm":
        with schemas_in_sampling_params(model):
            yield
    else:
        client = model.client
        model.client = client_with_schema(client, backend, lambda: schemas.get(REQUEST.get("")))
        try:
            yield
        finally:
            model.client = client


def client_with_schema(client: Any, backend: Backend, schema: Callable[[], Schema | None]) -> Any:
    """Client of a service whose every request is sent with the schema that ``schema`` returns at that moment.

    Raises:
        SimingError: it is no such client, or too old to take a schema.
    """
    if backend.schema == "gemini":
        fields = importlib.import_module("google.genai.types").GenerateContentConfig.model_fields
        if "response_json_schema" not in fields:
            raise SimingError("SIMING_SCHEMA=json needs a newer google-genai: pip install -U google-genai")
    amend = _gemini_arguments if backend.schema == "gemini" else _openai_arguments

    def with_schema(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def call_with_schema(*args: Any, **kwargs: Any) -> Any:
            current = schema()
            return call(*args, **(amend(kwargs, current) if current else kwargs))

        return call_with_schema

    for path in PATHS:
        part = client
        for name in path:
            part = getattr(part, name, None)
        if callable(part):
            return WrappedClient(client, path, with_schema)
    raise SimingError(f"SIMING_SCHEMA=json: {type(client).__name__} is no client that takes a JSON schema.")


def _openai_arguments(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Arguments of ``chat.completions.create`` (https://platform.openai.com/docs/guides/structured-outputs)."""
    named = {"name": "answer", "strict": True, "schema": dict(schema)}
    return {**arguments, "response_format": {"type": "json_schema", "json_schema": named}}


def _gemini_arguments(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Arguments of ``generate_content`` (https://ai.google.dev/gemini-api/docs/structured-output)."""
    added = {"response_mime_type": "application/json", "response_json_schema": dict(schema)}
    return {**arguments, "config": arguments["config"].model_copy(update=added)}


@contextmanager
def schemas_in_sampling_params(model: Any) -> Iterator[None]:
    """While the block runs, a class of vLLM's makes sampling parameters that hold the schema of their request.

    Raises:
        SimingError: the class makes them in another way than that of lmms-eval 0.7.3.
    """
    build = getattr(model, "_build_sampling_params_dict", None)
    if build is None:
        raise SimingError(f"SIMING_SCHEMA=json: {type(model).__name__} differs from the class of lmms-eval 0.7.3.")

    def build_with_schema(generation: dict[str, Any]) -> dict[str, Any]:
        schema = generation.get(SCHEMA_ARGUMENT)
        return {**build(generation), **(vllm_structured_output(schema) if schema else {})}

    model._build_sampling_params_dict = build_with_schema
    try:
        yield
    finally:
        del model._build_sampling_params_dict


def vllm_structured_output(schema: Schema) -> dict[str, Any]:
    """Argument of vLLM's ``SamplingParams`` that holds a model to a schema.

    That is ``structured_outputs`` since version 0.11, ``guided_decoding`` before
    (https://docs.vllm.ai/en/stable/features/structured_outputs.html).
    """
    sampling_params = importlib.import_module("vllm.sampling_params")
    if hasattr(sampling_params, "StructuredOutputsParams"):
        return {"structured_outputs": sampling_params.StructuredOutputsParams(json=dict(schema))}
    return {"guided_decoding": sampling_params.GuidedDecodingParams(json=dict(schema))}
