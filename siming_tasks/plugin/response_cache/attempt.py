"""One attempt at a request: what the JSON of a service's answer says, and the reply that it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pydantic

from siming_tasks.benchmark.parsing import Parsed
from siming_tasks.benchmark.parsing.parsed_reply import BLOCKED_MARKER, FAILURE_MARKER
from siming_tasks.benchmark.record import REQUEST_FAILED
from siming_tasks.common.public_facts import asked_name, public_code
from siming_tasks.study.results.usage import Number, Tokens

FAILED = f"{FAILURE_MARKER} by the model's class] "
"""Beginning of the reply of a request that failed, as lmms-eval's own classes write it: status ``request_failed``."""

BROKEN = ("error", "abort", "aborted", "cancelled")
"""Finish reasons with which a service or an engine reports that it broke off: the text, if any, is not a reply."""

FINISH_REASONS = {
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("safety", "prohibited_content", "blocklist", "spii", "image_safety", "refusal"), "content_filter"),
}
"""Finish reasons of other services under OpenAI's names."""

FILTERED = re.compile(r"content_?(filter|policy)|responsible_?ai|data_?inspection|sensitive_?content", re.IGNORECASE)
"""Code or type of the error with which a service says that a filter of contents stopped a request: Azure's and OpenAI's
``content_filter`` and ``content_policy_violation``, DashScope's ``data_inspection_failed``, Ark's
``InputImageSensitiveContentDetected``."""


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Attempt:
    """One sending of a request and its answer; what is unknown is None.

    Attributes:
        key: of the request.
        sent: when, in seconds since 1970.
        latency: seconds until the answer, or until the client gave up.
        http_status: of the answer; None: no answer came, or there is no service.
        error: why there is no reply: type of the exception, code or type of the service's error; "": there is one.
        text: the reply as the service gave it, without thinking; None where the answer has no known form.
        refusal: the words with which the service says that the model refused.
        finish_reason: by OpenAI's names (:data:`FINISH_REASONS`).
        prompt_tokens: read.
        completion_tokens: written, thinking included.
        served: model that answered.
    """

    key: str
    sent: Number
    latency: Number | None = None
    http_status: int | None = None
    error: str = ""
    text: str | None = None
    refusal: str = ""
    finish_reason: str | None = None
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    served: str | None = None

    @property
    def unread(self) -> bool:
        """True where no answer of a known form was heard, and no failure either."""
        return self.text is None and not self.error

    @property
    def billed(self) -> bool:
        """True where the service answered with tokens, or with a reply: also if the reply was lost afterwards.

        A request that a filter stopped has no tokens and no reply.
        """
        replied = not self.error and (self.http_status or 200) < 300
        return replied or self.prompt_tokens is not None or self.completion_tokens is not None

    def to_json(self) -> dict[str, Any]:
        """One JSON object without what is unknown and without texts: the reply is stored with its request."""
        facts = {name: value for name, value in vars(self).items() if name in _STORED}
        return {name: value for name, value in facts.items() if value not in (None, "")}


_STORED = frozenset(Attempt.__dataclass_fields__) - {"text", "refusal"}


def facts_of_answer(status: int, body: Any) -> dict[str, Any]:
    """Facts of an :class:`Attempt` that the JSON of an answer states, in the form of OpenAI, Anthropic or Google.

    Example:
        >>> facts_of_answer(200, {"content": [{"type": "text", "text": "2"}], "stop_reason": "end_turn"})["text"]
        '2'
        >>> facts_of_answer(500, {"error": {"type": "server_error"}})["error"]
        'HTTP 500 server_error'
        >>> facts_of_answer(400, {"error": {"code": "content_filter", "message": "filtered"}})["finish_reason"]
        'content_filter'
    """
    if isinstance(body, str) and 200 <= status < 300:
        return {"error": "no JSON"}
    body = body if isinstance(body, Mapping) else {}
    used = _mapping(body, "usage", "usageMetadata")
    prompt = _number(used, "prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens")
    completion = _number(used, "completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens")
    if used.get("thoughtsTokenCount") is not None:  # Google counts it apart, and leaves out a 0
        parts = [count_of(used.get(name) or 0) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
        completion = None if None in parts else count_of(sum(filter(None, parts)))
    served = body.get("model") or body.get("modelVersion")
    facts: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "served": asked_name(served[:200]) if isinstance(served, str) else None,
    }
    error = _mapping(body, "error")
    if not 200 <= status < 300:
        word = next((word for name in ("code", "status", "type") if isinstance(word := error.get(name), str)), "")
        if 400 <= status < 500 and FILTERED.search(word):
            return {**facts, "text": "", "refusal": public_code(word) or "filtered", "finish_reason": "content_filter"}
        return {**facts, "error": f"HTTP {status} {public_code(word)}".strip()}
    if body.get("error"):
        return {**facts, "error": f"error {public_code(error.get('code') or error.get('type')) or 'in the answer'}"}
    choices = next((body[name] for name in ("choices", "candidates") if isinstance(body.get(name), list)), None)
    if blocked := _mapping(body, "promptFeedback").get("blockReason"):
        return {**facts, "text": "", "finish_reason": _finish_reason(blocked)}
    if choices is None and "usageMetadata" in body:
        choices = []  # Google leaves an empty list out
    if choices is not None and not (choices and isinstance(choices[0], Mapping)):
        return {**facts, "error": "no choice"}
    choice = choices[0] if choices else body
    reason = next((choice[name] for name in ("finish_reason", "finishReason", "stop_reason") if choice.get(name)), None)
    if choice.get("error") or _finish_reason(reason) in BROKEN:
        code = public_code(_mapping(choice, "error").get("code") or reason)
        return {**facts, "error": f"error {code or 'in the answer'}"}
    message = _mapping(choice, "message")
    content = message.get("content") if choices and message else choice.get("content")
    if isinstance(content, Mapping):
        content = content.get("parts")
    unsaid = choices and "choices" in body and not isinstance(choice.get("message"), Mapping) and content is None
    if unsaid and (reason is None or _finish_reason(reason) == "stop"):  # a filter or a limit leave it out too
        return {**facts, "error": "no message"}
    known = choices or reason is not None
    text, refusal = _text(content) if known else None, message.get("refusal")
    if not prompt or (text and not facts["completion_tokens"]):  # no request is read without a token, no text written
        facts |= {"prompt_tokens": prompt or None, "completion_tokens": facts["completion_tokens"] or None}
    return {
        **facts,
        "text": text,
        "refusal": refusal if isinstance(refusal, str) else "",
        "finish_reason": _finish_reason(reason) if reason is not None else None,
    }


def _text(content: Any) -> str:
    """Text of a message that may be a list of parts, without those of thinking."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if not part.get("thought") and part.get("type", "text") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _finish_reason(reason: Any) -> str:
    word = public_code(str(reason).lower()) or "other"
    return FINISH_REASONS.get(word, word)


def _mapping(source: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """First of these entries that is an object."""
    return next((value for name in names if isinstance(value := source.get(name), Mapping)), {})


def _number(source: Mapping[str, Any], *names: str) -> int | None:
    """First of these entries that is a count."""
    return next((count for name in names if (count := count_of(source.get(name))) is not None), None)


def count_of(stated: Any) -> int | None:
    """Token count that a service or a class states; None for all but whole numbers from 0 to 1e12 (``1000.0`` is one).

    Example:
        >>> count_of(1000.0), count_of(10.5), count_of(float("nan")), count_of(-1)
        (1000, None, None, None)
    """
    is_number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return int(stated) if is_number and 0 <= stated <= 10**12 and stated == int(stated) else None


def reply_of(said: Any, attempts: Sequence[Attempt], read: Callable[[str], Parsed]) -> str:
    """Reply to a request as its service gave it, where a class of lmms-eval says something else.

    Args:
        said: what the class returned.
        attempts: of the request in this call.
        read: parses a text as a reply to the request; its status tells the text of a failed request.
    """
    last = attempts[-1] if attempts else None
    text: str = said if isinstance(said, str) else ""
    if last is None or last.unread:  # a local model, or a service of unknown form
        return text if isinstance(said, str) else f"{FAILED}{type(said).__name__} in place of a text"
    if last.error:
        return f"{FAILED}{last.error}"
    if last.refusal or (last.finish_reason == "content_filter" and not last.text):
        return f"{BLOCKED_MARKER}:finish_reason={last.finish_reason}] {last.refusal}".rstrip()
    in_turns = any(attempt.finish_reason == "tool_calls" for attempt in attempts)
    by_class = (last.text or in_turns) and isinstance(said, str) and not text.startswith(BLOCKED_MARKER)
    reply = text if by_class and read(text).status != REQUEST_FAILED else last.text or ""
    # the model's own words, whatever they say: no failure
    return f"“{reply}" if read(reply).status == REQUEST_FAILED else reply
