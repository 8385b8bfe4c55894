"""Evaluation of one task of one run as plain JSON: its rows, and the facts about its questions and input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.benchmark.metrics import Rows, ScoreMatrix
from siming_tasks.benchmark.record import Record, distinct_records
from siming_tasks.benchmark.scoring import build_score_matrix, score
from siming_tasks.benchmark.tasks import TASKS
from siming_tasks.benchmark.tasks.expected_requests import expected_requests
from siming_tasks.benchmark.tasks.prompt import PROMPT_VERSION, template_hash
from siming_tasks.benchmark.tasks.prompting import PromptOptions
from siming_tasks.benchmark.types import UNKNOWN_MODE
from siming_tasks.common.files import sha256_json
from siming_tasks.common.printed_value import counted
from siming_tasks.data import Dataset
from siming_tasks.media import recorded_mode
from siming_tasks.options import Options
from siming_tasks.study.results.estimand import estimand_of
from siming_tasks.study.results.usage import load_prices, usage_summary


def count_questions(setting: str, dataset: Dataset, asked: Collection[str]) -> dict[str, int]:
    """Number of questions that a run was ``asked``, and the number ``expected`` of a complete run."""
    return {"asked": len(asked), "expected": len(expected_requests(TASKS[setting], dataset.videos))}


def partial_text(counts: Mapping[str, Any]) -> str:
    """``4 of 6 questions`` of a run that was asked fewer than a complete run, which it is not ranked with; or empty."""
    asked, expected = counts["asked"], counts["expected"]
    return f"{asked:,} of {counted(expected, 'question')}" if asked < expected else ""


def evaluate_records(
    records: Sequence[Record],
    dataset: Dataset,
    options: Options,
    setting: str,
    *,
    asked: Collection[str] | None = None,
    rows: Rows | None = None,
) -> dict[str, Any]:
    """Evaluate one setting of one run: everything that is known about it, as plain JSON without NaN.

    The aggregators of lmms-eval and ``siming score`` both call this, hence the same records give the same numbers.

    Args:
        records: the run's; those of other settings are ignored.
        dataset: with labels.
        options: rater and mapping.
        setting: name of the setting.
        asked: as in :func:`siming_tasks.benchmark.scoring.score`.
        rows: what that function returns of these very records and options, if it was called already.
    """
    distinct, conflicts = distinct_records(record for record in records if record.setting == setting)
    asked = {record.id for record in distinct} if asked is None else asked
    matrix = build_score_matrix(distinct, dataset, setting, options.rater, asked=asked)
    if rows is None:
        rows = score(distinct, dataset, setting, rater=options.rater, mapping=options.mapping, asked=asked)
    spec = TASKS[setting]
    statuses = Counter(record.status for record in distinct)
    missing = Counter(reason for record in distinct for reason in record.missing.values())
    askings = sorted({record.conditions.asking for record in distinct}) or [""]
    styles = dict.fromkeys(PromptOptions.from_label(words).style for words in askings)
    templates = [template_hash(spec, dataset.rubric, style) for style in styles]
    prompt: dict[str, Any] = {"version": PROMPT_VERSION, "template": templates[0] if len(templates) == 1 else None}
    if askings != [""]:  # put in another way than the benchmark's
        prompt["asking"] = ", ".join(words or "plain" for words in askings)
    if schemas := sorted({record.conditions.reply_schema for record in distinct} - {""}):
        prompt["schemas"] = {
            "sent": sum(bool(record.conditions.reply_schema) for record in distinct),
            "digest": sha256_json(schemas)[:12],
        }
    prices = load_prices(options.prices) if options.prices else None
    return {
        "setting": setting,
        "synthetic": dataset.synthetic,
        "estimand": estimand_of(matrix, dataset, setting, options.rater).to_json(),
        "dataset": dataset.facts,
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "prompt": prompt,
        "requests": {"answered": len(distinct), **count_questions(setting, dataset, asked), "conflicts": conflicts},
        "statuses": {name: statuses.get(name, 0) for name in spec.answer_format.statuses},
        "missing": dict(sorted(missing.items())),
        "media": _media_summary(distinct),
        "usage": usage_summary((record.conditions.usage for record in distinct), prices),
        "counts": _counts(matrix),
        "rows": rows.to_json(),
        "options": {
            "mapping": options.mapping,
            "rater": options.rater,
            "clip_density": options.clip_density,
            "unit": matrix.unit,
            "clusters": matrix.n_clusters,
            "fixed": list(matrix.fixed),
        },
    }


def _counts(matrix: ScoreMatrix) -> dict[str, Any]:
    """Videos and steps behind the numbers, and the shares of "wrong" steps among the answered ones by either side."""
    both = matrix.counted & matrix.answered
    answered = int(both.sum())
    wrong = {"prevalence": matrix.reference_wrong, "called_wrong": matrix.predicted_wrong}
    return {
        "videos": len(matrix.video_ids),
        "asked": int(matrix.asked.sum()),
        "answered": int(matrix.answered.sum()),
        "with_reference": int(matrix.counted.sum()),
        "scored": answered,
        **{name: float((side & both).sum()) / answered if answered else None for name, side in wrong.items()},
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
