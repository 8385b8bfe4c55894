"""A run as logs of Inspect, one for each setting, written by Inspect itself."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from siming_tasks.common.files import atomic_path, canonical_json
from siming_tasks.results.record import Record
from siming_tasks.tasks.prompt import PROMPT_VERSION
from siming_tasks.tools.exchange.exported_run import ExportedRun
from siming_tasks.tools.exchange.inspect_import import NO_REPLY, inspect_log

__all__ = ["write_inspect"]


def write_inspect(exported: ExportedRun, out: Path) -> list[Path]:
    """Write ``out/siming_<setting>.eval``, which ``inspect view`` opens.

    A sample's input is the prompt; which frames were shown stands in its metadata. Its score ``read`` is the status of
    the reply; ``exact``, the share of steps answered as the consensus has them, is there only where labels may leave.
    Numbers are left out where the labels are withheld.

    Raises:
        OptionsError: Inspect is not installed.
    """
    log = inspect_log()
    files = []
    for name in exported.run.settings:
        path = out / f"siming_{name}.eval"
        with atomic_path(path) as part:
            log.write_eval_log(_log(log, exported, name), part, format="eval")
        files.append(path)
    return files


def _log(log: Any, exported: ExportedRun, name: str) -> Any:
    records = exported.run.records[name]
    about = {**exported.about, "settings": name, "note": _note(exported)}
    label = f" [SYNTHETIC {exported.dataset.name}]" if exported.dataset.synthetic else ""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    spec = log.EvalSpec(
        created=now,
        task=f"siming_{name}",
        task_display_name=f"siming_{name}{label}",
        task_version=PROMPT_VERSION,
        dataset=log.EvalDataset(
            name=exported.dataset.name, samples=len(records), sample_ids=[record.id for record in records]
        ),
        model=exported.run.name,
        config=log.EvalConfig(),
        tags=["SYNTHETIC"] if exported.dataset.synthetic else None,
        metadata=about,
    )
    done = sum(record.status != "request_failed" for record in records)
    return log.EvalLog(
        status="success",
        eval=spec,
        results=log.EvalResults(
            total_samples=len(records), completed_samples=done, scores=_numbers(log, exported, name), metadata=about
        ),
        stats=log.EvalStats(started_at=now, completed_at=now),
        samples=[_sample(log, exported, record) for record in records],
    )


def _note(exported: ExportedRun) -> str:
    return "SYNTHETIC: simulated exams; no finding about any model." if exported.dataset.synthetic else ""


def _numbers(log: Any, exported: ExportedRun, name: str) -> list[Any]:
    if exported.dataset.withheld:
        return []
    estimates = exported.results[name]["metrics"]
    metrics = {
        metric: log.EvalMetric(name=metric, value=estimate["value"], metadata=estimate)
        for metric, estimate in estimates.items()
        if estimate["value"] is not None and not estimate["undefined"]
    }
    undefined = {metric: estimate["reason"] for metric, estimate in estimates.items() if metric not in metrics}
    return [log.EvalScore(name="siming", scorer="siming", metrics=metrics, metadata={"undefined": undefined})]


def _sample(log: Any, exported: ExportedRun, record: Record) -> Any:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Score

    reply, answers, reference = exported.replies.get(record.id), exported.answers(record), exported.reference(record)
    read = canonical_json(answers)
    scores = {"read": Score(value=record.status, answer=read)}
    if reference:
        share = sum(answers.get(step) == value for step, value in reference.items()) / len(reference)
        scores["exact"] = Score(value=share, answer=read)
    cut = (record.conditions.usage or {}).get("finish_reason") == "length"
    failed = record.status == "request_failed"
    error = log.EvalError(message=reply or record.status, traceback="", traceback_ansi="") if failed else None
    return log.EvalSample(
        id=record.id,
        epoch=1,
        input=exported.prompt(record),
        target=canonical_json(reference) if reference else "",
        output=ModelOutput.from_content(exported.run.name, reply or "", stop_reason="max_tokens" if cut else "stop"),
        scores=scores,
        metadata={
            "media": record.media,
            "missing": record.missing,
            "prompt": record.conditions.prompt,
            **({} if reply is not None or failed else {NO_REPLY: True}),
        },
        error=error,
    )
