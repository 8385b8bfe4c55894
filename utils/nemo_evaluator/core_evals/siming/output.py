"""The numbers of ``siming score --json`` as results of NeMo Evaluator; one that is undefined is absent."""

import json
from pathlib import Path

from nemo_evaluator.api.api_dataclasses import EvaluationResult, MetricResult, Score, ScoreStats, TaskResult


def parse_output(output_dir: str) -> EvaluationResult:
    """Results by task: each metric's value on what was answered, with its standard error and number of steps.

    Beside it, where answers are missing, the value by which runs are ranked (``..._imputed``).
    """
    content = json.loads(Path(output_dir, "siming_scores.json").read_text(encoding="utf-8"))
    label = " [SYNTHETIC]" if content["synthetic"] else ""
    tasks = {}
    for setting, result in content["settings"].items():
        found = dict(result["metrics"])
        found |= {f"{name}_imputed": estimate for name, estimate in result["imputed"].items()}
        metrics = {
            name: MetricResult(
                scores={
                    name: Score(
                        value=estimate["value"],
                        stats=ScoreStats(stderr=estimate["stderr"], count=estimate["n_items"]),
                    )
                }
            )
            for name, estimate in found.items()
            if estimate["value"] is not None and not estimate["undefined"]
        }
        tasks[f"siming_{setting}{label}"] = TaskResult(metrics=metrics)
    return EvaluationResult(tasks=tasks)
