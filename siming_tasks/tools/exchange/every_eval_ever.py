"""A run in the schema of Every Eval Ever, version 0.3.0 (https://github.com/evaleval/every_eval_ever).

One aggregate file and, only where labels may leave, one line per request beside it: that schema wants the reference and
whether it was met.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from siming_tasks import __version__
from siming_tasks.common.files import atomic_write, canonical_json
from siming_tasks.common.output_folder import added_files
from siming_tasks.common.printed_value import state_of
from siming_tasks.common.value_kinds import is_number
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.exported_run import ExportedRun

SCHEMA = "0.3.0"
COLLECTION = "siming-bench"


def write_every_eval_ever(exported: ExportedRun, out: Path) -> list[Path]:
    """Write ``out/data/siming-bench/<developer>/<model>/<uuid>.json`` and perhaps ``<uuid>_samples.jsonl``.

    Raises:
        DataError: the labels are withheld, so that there is no number.
    """
    run = _aggregate(exported, str(int(time.time())))
    digest = hashlib.sha256(canonical_json(run).encode()).digest()
    name = uuid.UUID(bytes=digest[:16], version=4)
    folder = Path("data", COLLECTION, *run["model_info"]["id"].split("/"))
    files = [folder / f"{name}.json"]
    with added_files(out) as new:
        if exported.labels:
            lines = [json.dumps(line, ensure_ascii=False) + "\n" for line in _instances(exported, run)]
            samples = folder / f"{name}_samples.jsonl"
            with atomic_write(new / samples) as stream:
                stream.writelines(lines)
            files.append(samples)
            run["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": samples.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": hashlib.sha256("".join(lines).encode()).hexdigest(),
                "total_rows": len(lines),
            }
        with atomic_write(new / files[0]) as stream:
            json.dump(run, stream, indent=1, ensure_ascii=False, allow_nan=False)
    return [out / file for file in files]


def _aggregate(exported: ExportedRun, now: str) -> dict[str, Any]:
    """The aggregate record; ``now`` in seconds since 1970.

    A metric without a value has no entry: it is named, with its state and the reason, in ``source_metadata``.
    """
    facts, model = exported.run.source.public_facts, exported.run.name
    date = facts.get("date")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", model) or model.endswith("."):
        model = f"unspecified/{exported.run.source.slug}"
    results, without_value = [], {}
    for name, result in exported.results.items():
        for metric, estimate in result["metrics"].items():
            if (state := state_of(estimate)) in ("no data", "undefined"):
                ranked = (result["imputed"].get(metric) or {}).get("value")
                imputed = "" if ranked is None else f" Imputed: {ranked}."
                without_value[f"{state} {name}/{metric}"] = f"{estimate['reason']}{imputed}"
            else:
                results.append(_result(exported, name, metric, estimate))
    library = {"name": "siming-tasks", "version": __version__}
    if facts.get("lmms_eval_version"):
        library = {"name": "lmms_eval", "version": str(facts["lmms_eval_version"])}
    dated = is_number(date)
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{COLLECTION}/{model}/{now}",
        "retrieved_timestamp": now,
        **({"evaluation_timestamp": str(int(date))} if dated and date is not None else {}),
        "source_metadata": {
            "source_name": "siming-tasks",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {"synthetic": json.dumps(exported.dataset.synthetic), **without_value},
        },
        "eval_library": {**library, "additional_details": {"task_suite": f"siming-tasks {__version__}"}},
        "model_info": {
            "name": exported.run.name,
            "id": model,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "judge": exported.run.source.role,
                **({"model_args": str(facts["model_args"])} if facts.get("model_args") else {}),
            },
        },
        "evaluation_results": results,
    }


def _result(exported: ExportedRun, name: str, metric: str, estimate: Mapping[str, Any]) -> dict[str, Any]:
    row, result, dataset = CATALOGUE[metric], exported.results[name], exported.dataset
    unit = result["options"]["unit"]
    uncertainty: dict[str, Any] = {}
    if estimate["stderr"]:
        uncertainty["standard_error"] = {"value": estimate["stderr"], "method": f"by {unit}"}
    if estimate["low"] is not None:
        interval = {"lower": estimate["low"], "upper": estimate["high"], "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**interval, "method": f"resampling of {unit}s"}
    uncertainty["num_samples"] = estimate["n_videos"]
    uncertainty["num_bootstrap_samples"] = exported.options.resamples
    facts = {"version": dataset.version, "digest": dataset.digest, "synthetic": json.dumps(exported.dataset.synthetic)}
    return {
        "evaluation_result_id": f"{name}/{metric}",
        "evaluation_name": exported.title(name),
        "source_data": {"dataset_name": dataset.name, "source_type": "other", "additional_details": facts},
        "metric_config": {
            "evaluation_description": TASKS[name].description,
            "metric_id": f"siming.{metric}",
            "metric_name": row.title,
            "metric_kind": metric,
            "metric_unit": "proportion" if row.low == 0 else "coefficient",
            "metric_parameters": {key: result["options"][key] for key in ("mapping", "positive", "rater")},
            "lower_is_better": not row.higher_is_better,
            "score_type": "continuous",
            "min_score": row.low,
            "max_score": row.high,
        },
        "score_details": {
            "score": estimate["value"],
            "details": {
                "coverage": str(estimate["coverage"]),
                "steps_or_videos": str(estimate["n_items"]),
                "flags": " ".join(estimate["flags"]),
                "state": state_of(estimate),
                "imputed": str((result["imputed"].get(metric) or {}).get("value")),
                "notes": " ".join(FLAGS[flag] for flag in estimate["flags"]),
                "prompt": f"{result['prompt']['version']} {result['prompt']['template']}",
            },
            "uncertainty": uncertainty,
        },
    }


def _instances(exported: ExportedRun, run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One line per request: the score is the share of its steps on which the answer is the consensus."""
    for record in exported.records():
        answers, reference = exported.answers(record), exported.reference(record)
        met = [answers.get(step) == value for step, value in reference.items()]
        if not met:
            continue
        prompt, truth = exported.prompt(record), canonical_json(reference)
        extracted = {
            "turn_idx": 0,
            "source": "output.raw",
            "extracted_value": canonical_json(answers),
            "extraction_method": "siming-tasks parser",
            "is_terminal": True,
        }
        yield {
            "schema_version": SCHEMA,
            "evaluation_id": run["evaluation_id"],
            "model_id": run["model_info"]["id"],
            "evaluation_name": exported.title(record.setting),
            "evaluation_result_id": f"{record.setting}/{headline(TASKS[record.setting].answer)}",
            "sample_id": record.id,
            "sample_hash": hashlib.sha256((prompt + truth).encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": prompt, "reference": [truth]},
            "output": {"raw": [exported.replies[record.id]] if record.id in exported.replies else []},
            "messages": None,
            "answer_attribution": [extracted],
            "evaluation": {"score": sum(met) / len(met), "is_correct": all(met)},
            **({"error": record.status} if record.status != "ok" else {}),
            "metadata": {"synthetic": json.dumps(exported.dataset.synthetic), "prompt": str(record.conditions.prompt)},
        }
