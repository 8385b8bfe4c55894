"""Logs of Inspect (``.eval`` or ``.json``), written and read by Inspect itself."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import canonical_json
from siming_tasks.common.output_folder import added_files
from siming_tasks.common.printed_value import state_of
from siming_tasks.common.redact import public_name, redact
from siming_tasks.results.record import Record
from siming_tasks.tasks.prompt import PROMPT_VERSION
from siming_tasks.tools.exchange.exported_run import ExportedRun

NO_REPLY = "siming_reply_unknown"
"""Mark of a sample that was exported from a file of answers without the replies they were read from."""


def _inspect_log() -> Any:
    try:
        return importlib.import_module("inspect_ai.log")
    except ImportError:
        raise OptionsError("Inspect is not installed: pip install 'siming-tasks[inspect]'.") from None


def write_inspect(exported: ExportedRun, out: Path) -> list[Path]:
    """Write ``out/siming_<setting>.eval``, which ``inspect view`` opens.

    A sample's input is the prompt; which frames were shown stands in its metadata. Its score ``read`` is the status of
    the reply; ``exact``, the share of steps answered as the consensus has them, is there only where labels may leave.
    Numbers are left out where the labels are withheld.

    Raises:
        OptionsError: Inspect is not installed.
        DataError: the folder holds a log of that name, which is perhaps another run's.
    """
    names = [f"siming_{name}.eval" for name in exported.run.settings]
    if old := next((out / name for name in names if (out / name).exists()), None):
        raise DataError(f"{old}: is there already, perhaps of another run. Name a folder for each run, or delete it.")
    log = _inspect_log()
    with added_files(out) as folder:
        for setting, name in zip(exported.run.settings, names, strict=True):
            log.write_eval_log(_log(log, exported, setting), folder / name, format="eval")
    return [out / name for name in names]


def _log(log: Any, exported: ExportedRun, name: str) -> Any:
    records, dataset = exported.run.records[name], exported.dataset
    note = "SYNTHETIC: simulated exams; no finding about any model." if dataset.synthetic else ""
    about = {**exported.about, "settings": name, "note": note}
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    scores = []
    if not dataset.withheld:
        estimates, imputed = exported.results[name]["metrics"], exported.results[name]["imputed"]
        states = {metric: state_of(estimate) for metric, estimate in estimates.items()}
        metrics = {
            metric: log.EvalMetric(
                name=metric,
                value=estimate["value"],
                metadata={**estimate, "state": states[metric], "imputed": imputed.get(metric)},
            )
            for metric, estimate in estimates.items()
            if states[metric] in ("value", "not comparable")
        }
        beside = {
            state.replace(" ", "_"): {
                metric: {"reason": estimates[metric]["reason"], "imputed": imputed.get(metric)}
                for metric, its_state in states.items()
                if its_state == state
            }
            for state in ("undefined", "no data")
        }
        score = log.EvalScore(name="siming", scorer="siming", metrics=metrics, metadata=beside)
        scores.append(score)
    spec = log.EvalSpec(
        created=now,
        task=f"siming_{name}",
        task_display_name=exported.title(name),
        task_version=PROMPT_VERSION,
        dataset=log.EvalDataset(name=dataset.name, samples=len(records), sample_ids=[record.id for record in records]),
        model=exported.run.name,
        config=log.EvalConfig(),
        tags=["SYNTHETIC"] if dataset.synthetic else None,
        metadata=about,
    )
    done = sum(record.status != "request_failed" for record in records)
    return log.EvalLog(
        status="success",
        eval=spec,
        results=log.EvalResults(total_samples=len(records), completed_samples=done, scores=scores, metadata=about),
        stats=log.EvalStats(started_at=now, completed_at=now),
        samples=[_sample(log, exported, record) for record in records],
    )


def _sample(log: Any, exported: ExportedRun, record: Record) -> Any:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

    reply, answers, reference = exported.replies.get(record.id), exported.answers(record), exported.reference(record)
    read = canonical_json(answers)
    scores = {"read": Score(value=record.status, answer=read)}
    if reference:
        share = sum(answers.get(step) == value for step, value in reference.items()) / len(reference)
        scores["exact"] = Score(value=share, answer=read)
    cut = exported.usage(record).get("finish_reason") == "length"
    failed = record.status == "request_failed"
    error = log.EvalError(message=reply or record.status, traceback="", traceback_ansi="") if failed else None
    about = {"media": record.media, "missing": record.missing, "prompt": record.conditions.prompt}
    return log.EvalSample(
        id=record.id,
        epoch=1,
        input=exported.prompt(record),
        target=canonical_json(reference) if reference else "",
        output=ModelOutput.from_content(exported.run.name, reply or "", stop_reason="max_tokens" if cut else "stop"),
        scores=scores,
        metadata=about if reply is not None or failed else {**about, NO_REPLY: True},
        error=error,
    )


def inspect_replies(file: Path, epoch: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place and reply of every sample of a log, one in memory at a time.

    The sample's id is the request's; what ended in an error is a request that failed.

    Raises:
        OptionsError: Inspect is not installed.
        DataError: not a log, or no sample of that epoch.
    """
    log = _inspect_log()
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
            yield (
                f"{file}, sample {str(sample.id)[:200]!r}, epoch {sample.epoch}",
                reply_line(str(sample.id), sample.error, sample.output),
            )


def reply_line(request: str, error: Any, output: Any) -> dict[str, Any]:
    """Line ``{id, reply, usage}`` of a sample's output, or ``{id, reply, error}`` of one that failed."""
    if error:
        return {"id": request, "reply": None, "error": str(redact(error.message))[:500]}
    if output is None or not output.choices:
        return {"id": request, "reply": None, "error": "no output in the log"}
    ended = output.choices[0].stop_reason
    usage = {
        "prompt_tokens": output.usage and output.usage.input_tokens,
        "completion_tokens": output.usage and output.usage.output_tokens,
        "finish_reason": "length" if ended in ("max_tokens", "model_length") else ended,
        "model": public_name(output.model)[:200] or None,
    }
    return {"id": request, "reply": output.completion, "usage": usage}
