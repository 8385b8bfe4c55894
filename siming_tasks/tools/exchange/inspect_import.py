"""Logs of Inspect (``.eval`` or ``.json``), through its own reader."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.redact import redact

__all__ = ["NO_REPLY", "inspect_log", "inspect_replies"]

NO_REPLY = "siming_reply_unknown"
"""Mark of a sample that was exported from a file of answers without the replies they were read from."""

_ENDS = {"max_tokens": "length", "model_length": "length"}
"""Reasons for the end of a reply: the word of Inspect and the word of a record, where they differ."""


def inspect_log() -> Any:
    """The module ``inspect_ai.log``.

    Raises:
        OptionsError: Inspect is not installed.
    """
    try:
        return importlib.import_module("inspect_ai.log")
    except ImportError:
        raise OptionsError("Inspect is not installed: pip install 'siming-tasks[inspect]'.") from None


def inspect_replies(file: Path, epoch: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and reply of every sample of a log, one in memory at a time.

    The sample's id is the request's; what ended in an error is a request that failed.

    Raises:
        OptionsError: Inspect is not installed.
        DataError: not a log, or no sample of that epoch.
    """
    log = inspect_log()
    if not file.is_file():
        raise DataError(f"{file}: no such file. Give the log (.eval) of the run.")
    samples = iter(log.read_eval_log_samples(file, all_samples_required=False))
    while True:
        try:
            sample = next(samples, None)
        except Exception as error:  # noqa: BLE001 - a file of strangers, and a reader that raises whatever it likes
            raise DataError(f"{file}: Inspect cannot read it ({type(error).__name__}). Is it a log?") from None
        if sample is None:
            return
        if (sample.metadata or {}).get(NO_REPLY):
            raise DataError(f"{file}: was exported from answers without replies. Score the file that it was made of.")
        if epoch in (None, sample.epoch):
            yield f"{file}, sample {str(sample.id)[:200]!r}, epoch {sample.epoch}", _reply(sample)


def _reply(sample: Any) -> dict[str, Any]:
    if sample.error:
        return {"id": str(sample.id), "reply": None, "error": str(redact(sample.error.message))[:500]}
    output = sample.output
    if output is None or not output.choices:
        return {"id": str(sample.id), "reply": None, "error": "no output in the log"}
    ended = output.choices[0].stop_reason
    usage = {
        "prompt_tokens": output.usage and output.usage.input_tokens,
        "completion_tokens": output.usage and output.usage.output_tokens,
        "finish_reason": _ENDS.get(ended, ended),
        "model": str(redact(output.model))[:200] or None,
    }
    return {"id": str(sample.id), "reply": output.completion, "usage": usage}
