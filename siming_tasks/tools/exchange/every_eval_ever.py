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
from siming_tasks.common.value_kinds import is_number
from siming_tasks.metrics.catalogue import CATALOGUE
from siming_tasks.metrics.estimate import Estimate, Rows
from siming_tasks.metrics.evaluate import ALL
from siming_tasks.metrics.thresholds import LEVEL
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
        for found in Rows.from_json(result["rows"]).of(row=ALL):
            if found.value is None:
                without_value[f"{name}/{found.metric} {found.table}"] = found.why
            else:
                results.append(_result(run, name, result, found))
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


def _result(run: Run, name: str, result: Mapping[str, Any], found: Estimate) -> dict[str, Any]:
    """One metric of a setting, with its interval, and what is to be known of it."""
    row, dataset = CATALOGUE[found.metric], run.dataset
    uncertainty: dict[str, Any] = {"num_samples": found.n}
    if found.stderr:
        uncertainty["standard_error"] = {"value": found.stderr, "method": f"jackknife by {found.unit}"}
    if found.low is not None:
        interval = {"lower": found.low, "upper": found.high, "confidence_level": LEVEL}
        uncertainty["confidence_interval"] = {**interval, "method": f"Student's t of the jackknife by {found.unit}"}
    facts = {"version": dataset.version, "digest": dataset.digest, "synthetic": json.dumps(dataset.synthetic)}
    return {
        "evaluation_result_id": f"{name}/{found.metric}/{found.table}",
        "evaluation_name": f"siming_{name}" + (f" [SYNTHETIC {dataset.name}]" if dataset.synthetic else ""),
        "source_data": {"dataset_name": dataset.name, "source_type": "other", "additional_details": facts},
        "metric_config": {
            "evaluation_description": TASKS[name].description,
            "metric_id": f"siming.{found.metric}.{found.table}",
            "metric_name": f"{row.title}, {found.table}",
            "metric_kind": found.metric,
            "metric_unit": "proportion" if row.low == 0 else "coefficient",
            "metric_parameters": {key: result["options"][key] for key in ("mapping", "positive", "rater")},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": row.low,
            "max_score": 1.0,
        },
        "score_details": {
            "score": found.value,
            "details": {
                "videos": str(found.n),
                "flags": " ".join(found.flags),
                "notes": " ".join(found.notes),
                "prompt": f"{result['prompt']['version']} {result['prompt']['template']}",
            },
            "uncertainty": uncertainty,
        },
    }
