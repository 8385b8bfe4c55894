"""Everything that is said about one setting of one run, as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from siming_tasks.data import Dataset
from siming_tasks.metrics import Evaluation, ScoreMatrix, evaluate
from siming_tasks.options import Options
from siming_tasks.results.format_results import format_results
from siming_tasks.results.prices import load_prices
from siming_tasks.results.record import Record, joined
from siming_tasks.results.score_matrix import panel_of
from siming_tasks.results.threads import one_thread
from siming_tasks.results.usage import usage_summary
from siming_tasks.tasks import TASKS, TaskSpec
from siming_tasks.tasks.expected_requests import Requests
from siming_tasks.tasks.prompt import PROMPT_VERSION, template_hash
from siming_tasks.tasks.prompting import PromptOptions

__all__ = ["evaluate_panel", "evaluate_records"]


def evaluate_panel(panel: ScoreMatrix, options: Options) -> Evaluation:
    """The setting's metrics under a run's options."""
    how: dict[str, Any] = {"mapping": options.mapping, "positive": options.positive}
    with one_thread():
        return evaluate(panel, resamples=options.resamples, seed=options.seed, **how)


def _media_summary(records: Sequence[Record]) -> dict[str, Any]:
    """What the models saw over the run: modes, how images were sent and, where we chose them, frames and rates."""
    media = [record.get("media") or {} for record in records]
    ours = [item for item in media if item.get("mode") == "frames"]
    keys = ("n_frames", "fps", "bytes")
    numbers = {key: sorted({item[key] for item in ours if item.get(key) is not None}) for key in keys}
    return {
        "modes": dict(sorted(Counter(str(item.get("mode", "unknown")) for item in media).items())),
        **({"encodings": encodings} if (encodings := _counted(media, "encoding")) else {}),
        **{key: {"min": values[0], "max": values[-1]} for key, values in numbers.items() if values},
    }


def _counted(media: Sequence[Mapping[str, Any]], key: str) -> dict[str, int]:
    return dict(sorted(Counter(str(item[key]) for item in media if item.get(key)).items()))


def _prompt(setting: TaskSpec, dataset: Dataset, records: Sequence[Record]) -> dict[str, Any]:
    """Version and template of the prompts; how the questions were put, where it is not the benchmark's way."""
    put = sorted({record.get("asking") or "" for record in records}) or [""]
    styles = dict.fromkeys(PromptOptions.from_label(words).style for words in put)
    templates = [template_hash(setting, dataset.rubric, style) for style in styles]
    found = {"version": PROMPT_VERSION, "template": templates[0] if len(templates) == 1 else None}
    return found if put == [""] else {**found, "asking": ", ".join(words or "plain" for words in put)}


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
    """Everything that is known about one setting of one run, as plain JSON without NaN.

    The aggregators of lmms-eval and ``siming score`` both call this, hence the same records give the same numbers.

    Args:
        records: the run's; those of other settings are ignored.
        dataset: with labels.
        options: rater, mapping, positive class, resamples and seed.
        setting: name of the setting.
        asked: as in :func:`~siming_tasks.results.score_matrix.panel_of`.
        without: as there.
        evaluation: the metrics of these very records and options, if they were computed already.
    """
    mine, conflicts = joined(records, setting)
    if evaluation is None:
        panel = panel_of(mine, dataset, setting, options.rater, asked=asked, without=without)
        evaluation = evaluate_panel(panel, options)
    kind = TASKS[setting]
    expected = Requests(kind, dataset.videos).count
    statuses = Counter(record["status"] for record in mine)
    numbers = evaluation.to_json()
    missing = Counter(reason for record in mine for reason in record["missing"].values())
    return {
        "setting": setting,
        "synthetic": dataset.synthetic,
        "dataset": {"name": dataset.name, "version": dataset.version, "digest": dataset.digest},
        "rubric": {"id": dataset.rubric.rubric_id, "version": dataset.rubric.version},
        "prompt": _prompt(kind, dataset, mine),
        "requests": {"answered": len(mine), "expected": expected, "conflicts": conflicts},
        "statuses": {name: statuses.get(name, 0) for name in kind.answer_format.statuses},
        "missing": dict(sorted(missing.items())),
        "media": _media_summary(mine),
        "usage": usage_summary(mine, load_prices(options.prices) if options.prices else None),
        **numbers,
        **format_results(mine, dataset, setting, options, asked=asked, without=without),
        "options": {**numbers["options"], "rater": options.rater, "clip_density": options.clip_density},
    }
