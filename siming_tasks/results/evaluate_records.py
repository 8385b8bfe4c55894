"""Evaluation of one setting of one run, as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.data import Dataset
from siming_tasks.media import UNKNOWN_MODE, recorded_mode
from siming_tasks.metrics import Evaluation, ScoreMatrix, evaluate
from siming_tasks.metrics.resample import one_thread
from siming_tasks.options import Options
from siming_tasks.results.format_results import format_results
from siming_tasks.results.record import Record, distinct_records
from siming_tasks.results.run_usage import load_prices, usage_summary
from siming_tasks.results.score_matrix import build_score_matrix
from siming_tasks.tasks import TASKS
from siming_tasks.tasks.expected_requests import Requests
from siming_tasks.tasks.prompt import PROMPT_VERSION, template_hash
from siming_tasks.tasks.prompting import PromptOptions

__all__ = ["evaluate_matrix", "evaluate_records"]


def evaluate_matrix(matrix: ScoreMatrix, options: Options) -> Evaluation:
    """The setting's metrics under a run's options."""
    with one_thread():
        return evaluate(
            matrix,
            mapping=options.mapping,
            positive=options.positive,
            resamples=options.resamples,
            seed=options.seed,
        )


def evaluate_records(
    records: Sequence[Record],
    dataset: Dataset,
    options: Options,
    setting: str,
    *,
    asked: Collection[str] | None = None,
    without: Mapping[str, Collection[str]] | None = None,
    evaluation: Evaluation | None = None,
) -> dict[str, Any]:
    """Evaluate one setting of one run: everything that is known about it, as plain JSON without NaN.

    The aggregators of lmms-eval and ``siming score`` both call this, hence the same records give the same numbers.

    Args:
        records: the run's; those of other settings are ignored.
        dataset: with labels.
        options: rater, mapping, positive class, resamples and seed.
        setting: name of the setting.
        asked: as in :func:`~siming_tasks.results.score_matrix.build_score_matrix`.
        without: as there.
        evaluation: the metrics of these very records and options, if they were computed already.
    """
    distinct, conflicts = distinct_records(record for record in records if record.setting == setting)
    if evaluation is None:
        matrix = build_score_matrix(distinct, dataset, setting, options.rater, asked=asked, without=without)
        evaluation = evaluate_matrix(matrix, options)
    spec = TASKS[setting]
    statuses = Counter(record.status for record in distinct)
    missing = Counter(reason for record in distinct for reason in record.missing.values())
    askings = sorted({record.conditions.asking for record in distinct}) or [""]
    styles = dict.fromkeys(PromptOptions.from_label(words).style for words in askings)
    templates = [template_hash(spec, dataset.rubric, style) for style in styles]
    prompt: dict[str, Any] = {"version": PROMPT_VERSION, "template": templates[0] if len(templates) == 1 else None}
    if askings != [""]:  # put in another way than the benchmark's
        prompt["asking"] = ", ".join(words or "plain" for words in askings)
    numbers = evaluation.to_json()
    return {
        "setting": setting,
        "synthetic": dataset.synthetic,
        "dataset": {"name": dataset.name, "version": dataset.version, "digest": dataset.digest},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "prompt": prompt,
        "requests": {
            "answered": len(distinct),
            "expected": Requests(spec, dataset.videos).count,
            "conflicts": conflicts,
        },
        "statuses": {name: statuses.get(name, 0) for name in spec.answer_format.statuses},
        "missing": dict(sorted(missing.items())),
        "media": _media_summary(distinct),
        "usage": usage_summary(distinct, load_prices(options.prices) if options.prices else None),
        **numbers,
        **format_results(distinct, dataset, setting, options, asked=asked, without=without),
        "options": {**numbers["options"], "rater": options.rater, "clip_density": options.clip_density},
    }


def _media_summary(records: Sequence[Record]) -> dict[str, Any]:
    """Summary of what was shown: modes, how images were sent and, where the suite chose them, frames and rates."""
    modes = Counter(str(record.media.get("mode", UNKNOWN_MODE)) for record in records)
    encodings = Counter(str(record.media["encoding"]) for record in records if record.media.get("encoding"))
    summary: dict[str, Any] = {"modes": dict(sorted(modes.items()))}
    if encodings:
        summary["encodings"] = dict(sorted(encodings.items()))
    frames = [record.media for record in records if recorded_mode(record.media).images]
    for key in ("n_frames", "fps", "bytes"):
        if values := {media[key] for media in frames if media.get(key) is not None}:
            summary[key] = {"min": min(values), "max": max(values)}
    return summary
