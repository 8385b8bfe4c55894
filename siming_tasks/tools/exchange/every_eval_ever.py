"""A run's numbers in the schema of Every Eval Ever, version 0.3.0 (https://github.com/evaleval/every_eval_ever).

The aggregate alone: the schema's lines per request want the reference of each, and labels do not leave.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from siming_tasks import __version__
from siming_tasks.common.files import atomic_write, canonical_json
from siming_tasks.common.output_folder import added_files
from siming_tasks.common.printed_value import state_of
from siming_tasks.common.value_kinds import is_number
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.options import Options
from siming_tasks.results.run import Run, score_run
from siming_tasks.tasks import TASKS

SCHEMA = "0.3.0"
COLLECTION = "siming-bench"


def write_every_eval_ever(run: Run, options: Options, out: Path) -> Path:
    """Write ``out/data/siming-bench/<developer>/<model>/<uuid>.json``; the result is that file.

    Raises:
        DataError: the labels are withheld, so that there is no number.
    """
    content = _aggregate(run, options, str(int(time.time())))
    digest = hashlib.sha256(canonical_json(content).encode()).digest()
    name = uuid.UUID(bytes=digest[:16], version=4)
    file = Path("data", COLLECTION, *content["model_info"]["id"].split("/"), f"{name}.json")
    with added_files(out) as new, atomic_write(new / file) as stream:
        json.dump(content, stream, indent=1, ensure_ascii=False, allow_nan=False)
    return out / file


def _aggregate(run: Run, options: Options, now: str) -> dict[str, Any]:
    """The aggregate record; ``now`` in seconds since 1970.

    A metric without a value has no entry: it is named, with its state and the reason, in ``source_metadata``.
    """
    facts, model = run.source.public_facts, run.name
    date = facts.get("date")
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", model) or model.endswith("."):
        model = f"unspecified/{run.source.slug}"
    results, without_value = [], {}
    for name, result in score_run(run, options).settings.items():
        for metric, estimate in result["metrics"].items():
            if (state := state_of(estimate)) in ("no data", "undefined"):
                ranked = (result["imputed"].get(metric) or {}).get("value")
                imputed = "" if ranked is None else f" Imputed: {ranked}."
                without_value[f"{state} {name}/{metric}"] = f"{estimate['reason']}{imputed}"
            else:
                results.append(_result(run, name, result, metric, estimate, options.resamples))
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
            "additional_details": {"synthetic": json.dumps(run.dataset.synthetic), **without_value},
        },
        "eval_library": {**library, "additional_details": {"task_suite": f"siming-tasks {__version__}"}},
        "model_info": {
            "name": run.name,
            "id": model,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "judge": run.source.role,
                **({"model_args": str(facts["model_args"])} if facts.get("model_args") else {}),
            },
        },
        "evaluation_results": results,
    }


def _result(
    run: Run, name: str, result: Mapping[str, Any], metric: str, estimate: Mapping[str, Any], resamples: int
) -> dict[str, Any]:
    """One metric of a setting, with its interval, and what is to be known of it."""
    row, dataset = CATALOGUE[metric], run.dataset
    unit = result["options"]["unit"]
    uncertainty: dict[str, Any] = {}
    if estimate["stderr"]:
        uncertainty["standard_error"] = {"value": estimate["stderr"], "method": f"by {unit}"}
    if estimate["low"] is not None:
        interval = {"lower": estimate["low"], "upper": estimate["high"], "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**interval, "method": f"resampling of {unit}s"}
    uncertainty["num_samples"] = estimate["n_videos"]
    uncertainty["num_bootstrap_samples"] = resamples
    facts = {"version": dataset.version, "digest": dataset.digest, "synthetic": json.dumps(dataset.synthetic)}
    return {
        "evaluation_result_id": f"{name}/{metric}",
        "evaluation_name": f"siming_{name}" + (f" [SYNTHETIC {dataset.name}]" if dataset.synthetic else ""),
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
