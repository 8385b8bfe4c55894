"""Records of replies, and aggregators of the numbers that lmms-eval prints.

lmms-eval calls one aggregator per metric, each with that metric's items only. Items carry an id and the answers; the
whole record travels once, under :data:`RECORD`. Aggregators do not depend on the order or the process of the items.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from siming_tasks.benchmark.metrics import Rows
from siming_tasks.benchmark.metrics.catalogue import CATALOGUE, COVERAGE, select
from siming_tasks.benchmark.metrics.evaluate import ALL, ANSWERED, RANKED, TABLES
from siming_tasks.benchmark.record import REQUEST_FAILED, Conditions, Record, distinct_records
from siming_tasks.benchmark.tasks import ANSWER_FORMATS, TASKS, TaskSpec
from siming_tasks.common.files import sha256_json
from siming_tasks.plugin.reply import NOT_KNOWN, Reply
from siming_tasks.plugin.run_context import Doc, Item, current_run
from siming_tasks.study.results.evaluate_records import evaluate_records
from siming_tasks.study.results.read_predictions import write_predictions
from siming_tasks.study.results.unread_replies import UnreadNote, UnreadReplies, failed_sentence, unread_note

logger = logging.getLogger(__name__)

RECORD = "siming_stderr"
"""Key of the record in the samples and of the whole evaluation in the results; the printed table hides ``*_stderr``."""

_RECORDS: dict[str, Sequence[Record]] = {}  # of each setting that this process has evaluated
_UNREAD: dict[str, UnreadReplies] = {}  # by the digest of their data set


def process_results(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    """Parse and record a reply. Never raises on a reply: lmms-eval would retry five times and then exit 0."""
    run, setting = current_run(), TASKS[doc["setting"]]
    text = results[0] if results else None
    reply = text if isinstance(text, Reply) else Reply.of(str(text or ""), NOT_KNOWN, None, run.parse(doc, text))
    conditions = Conditions(
        prompt=run.prompt(doc)[1],
        dataset=run.dataset.digest,
        media={**reply.media, **({} if run.verified else {"verified": False})},
        usage=reply.usage,
        asking=run.prompting_of(setting).label,
        reply_schema=sha256_json(schema)[:12] if (schema := run.reply_schema(doc)) else "",
        part=doc.get("part", ""),
    )
    record = Record.from_reply(setting.name, doc["video_id"], doc["step_id"] or None, reply.parsed, conditions)
    _UNREAD.setdefault(run.dataset.digest, UnreadReplies(run.dataset)).put(record, reply)
    return {**dict.fromkeys(_metrics_of(setting), _item(record)), RECORD: record.to_json()}


def note_of_replies() -> UnreadNote:
    """The replies of this process's last data set that a person should know of, with some of them as examples."""
    return unread_note(list(_UNREAD.values())[-1], _RECORDS) if _UNREAD else UnreadNote({})


def failed_requests() -> str:
    """Sentences on the requests of this process that failed, their errors and the way out; "" for none."""
    records = [record for several in _RECORDS.values() for record in several]
    if not (said := failed_sentence(records)):
        return ""
    again = "run the same command again"
    if all(record.status == REQUEST_FAILED for record in records):
        log = "Correct what the log names (of a service: its address, key and model in --model_args)"
        return f"{said} {log}, and {again}."
    if any((record.conditions.usage or {}).get("stored") is False for record in records):
        return f"{said} To ask them, {again}; SIMING_REPLIES=off sends all requests again."
    return f"{said} To ask them, {again}: it sends only the requests without a stored reply."


def _metrics_of(setting: TaskSpec) -> dict[str, bool]:
    """Metrics of a task that lmms-eval prints, with their standard errors: whether higher is better, by name."""
    metrics = {}
    for metric in select(setting.answer):
        metrics[metric] = True
        if CATALOGUE[metric].compared:
            metrics[f"{metric}_stderr"] = False
    return metrics | {name: metric.higher_is_better for name, metric in setting.answer_format.metrics.items()}


def _item(record: Record) -> Item:
    digest = record.conditions.dataset or ""
    item: dict[str, Any] = {"id": record.id, "answers": record.answers, "dataset": digest[:12]}
    if record.conditions.part:
        item["part"] = record.conditions.part
    return item | TASKS[record.setting].answer_format.aggregator_fields(record.to_json())


def aggregator(name: str) -> Callable[..., float | None] | None:
    """Aggregator of ``<metric>`` or ``<metric>_stderr``, or of a metric of an answer format; None if it is neither."""
    metric, is_error = name.removesuffix("_stderr"), name.endswith("_stderr")

    def aggregate(items: Sequence[Item]) -> float | None:
        estimate = current_run().evaluate(items).one(ANSWERED, ALL, metric)
        return estimate.stderr if is_error else estimate.value

    def aggregate_format_metric(items: Sequence[Item]) -> float | None:
        answer_format = TASKS[items[0]["id"].partition("/")[0]].answer_format
        rows = current_run().evaluate(items).of(metric=answer_format.metrics[name].key)
        return next((row.value for row in rows if row.table not in TABLES), None)

    if any(name in answer_format.metrics for answer_format in ANSWER_FORMATS.values()):
        function: Callable[..., float | None] = aggregate_format_metric
    elif metric in CATALOGUE:
        function = aggregate
    else:
        return None
    function.__name__ = function.__qualname__ = name
    return function


def metric_list(setting: TaskSpec) -> list[dict[str, Any]]:
    """Metrics of a task as a task file lists them."""
    metrics = [
        {"metric": name, "aggregation": aggregator(name), "higher_is_better": up}
        for name, up in _metrics_of(setting).items()
    ]
    return [*metrics, {"metric": RECORD, "aggregation": evaluation, "higher_is_better": False}]


def evaluation(items: Sequence[Mapping[str, Any]], args: Any = None) -> dict[str, Any]:
    """Whole evaluation for the results file; if labels are withheld, also writes the prediction file in its place."""
    run, setting = current_run(), items[0]["setting"]
    dataset, records = run.dataset, list(map(Record.from_json, items))
    rows = run.evaluate(list(map(_item, records)))
    result = evaluate_records(records, dataset, run.options, setting, rows=rows)
    _RECORDS[setting] = records
    if dataset.withheld:
        folder = Path(getattr(args, "output_path", None) or ".")
        path = folder / f"siming_predictions_{setting}.jsonl"
        try:
            write_predictions(distinct_records(records)[0], path)
        except OSError as error:  # the run goes on: the sample logs may still be saved, and hold the same answers
            logger.error("Predictions could not be written to %s: %s", path, error)
            result["predictions"] = None
        else:
            logger.warning("The labels of %s are withheld: no metrics. Predictions are in %s", dataset.name, path)
            result["predictions"] = path.name
    if not run.verified:
        result["media"]["verified"] = False
        logger.warning(
            "%s: NOT VERIFIED: no test of siming-tasks runs this class of lmms-eval. Check it once with "
            "`siming run plan --canary --model ...`; if it passes, its runs are no longer marked.", setting
        )  # fmt: skip
    _warn_of_missing(setting, rows)
    return result


def _warn_of_missing(setting: str, rows: Rows) -> None:
    """Say below the table of lmms-eval, which prints what was answered, by which values runs are ranked."""
    coverage = rows.one(ANSWERED, ALL, COVERAGE).value
    ranked = {row.metric: row.value for row in rows.of(RANKED, ALL) if row.value is not None}
    if coverage is None or coverage == 1 or not ranked:
        return
    kind = "full points" if TASKS[setting].answer == "score" else '"correct"'
    values = ", ".join(f"{name} {value:.4f}" for name, value in ranked.items())
    logger.warning(
        "%s: the table covers the %.1f %% of steps that were answered. Ranks "
        "count a missing answer as %s: %s.", TASKS[setting].task_name, 100 * coverage, kind, values,
    )  # fmt: skip
