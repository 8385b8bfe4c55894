"""Results as files ``.eval_results/*.yaml`` of a model's repository on the Hugging Face Hub, which shows them.

The format is https://github.com/huggingface/hub-docs/blob/main/eval_results.yaml, written by ``huggingface_hub``. A
result points at a task of the data set's ``eval.yaml`` (:func:`siming_tasks.data.staging.stage`).
"""

from __future__ import annotations

import datetime
from pathlib import Path

import yaml
from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import atomic_write
from siming_tasks.common.printed_value import state_of
from siming_tasks.common.value_kinds import is_number
from siming_tasks.metrics.catalogue import CATALOGUE, headline
from siming_tasks.metrics.estimate import FLAGS
from siming_tasks.tasks import TASKS
from siming_tasks.tools.exchange.exported_run import ExportedRun


def write_hub_results(exported: ExportedRun, out: Path) -> list[Path]:
    """Write ``out/.eval_results/<data set>.yaml``: by setting the value by which runs are ranked, its interval a note.

    Raises:
        DataError: the labels are withheld, or the data set is not of the hub, so that a result cannot name it.
    """
    repo, revision = hub_name(exported.dataset.root)
    date = exported.run.source.public_facts.get("date")
    stated = (
        datetime.datetime.fromtimestamp(date, datetime.timezone.utc).date().isoformat() if is_number(date) else None
    )
    entries = []
    for name, result in exported.results.items():
        metric = headline(TASKS[name].answer)
        answered, imputed = result["metrics"][metric], result["imputed"].get(metric) or {}
        value, state = imputed.get("value", answered["value"]), state_of(answered)
        if value is None or state == "no data":
            continue  # no number is better than a wrong one: `siming score` says why there is none
        low, high = (imputed.get(end, answered[end]) for end in ("low", "high"))
        interval = f" (95 % interval {low:.3f} to {high:.3f})" if low is not None else " (no interval)"
        covered = result["metrics"]["coverage"]["value"]
        notes = [f"{CATALOGUE[metric].title}{interval}, {answered['n_videos']} videos, {covered:.1%} of steps answered"]
        notes += [state] if state != "value" else []
        notes += [FLAGS[flag] for flag in answered["flags"]]
        notes += ["missing answers count as full points or correct", f"prompt {result['prompt']['version']}"]
        notes += ["SYNTHETIC exams: no finding about any model"] if exported.dataset.synthetic else []
        entries.append(
            EvalResultEntry(
                dataset_id=repo,
                dataset_revision=revision,
                task_id=name,
                value=value,
                date=stated,
                notes="; ".join(note.rstrip(".") for note in notes),
            )
        )
    file = out / ".eval_results" / f"{repo.partition('/')[2]}.yaml"
    with atomic_write(file) as stream:
        yaml.safe_dump(eval_result_entries_to_yaml(entries), stream, sort_keys=False, allow_unicode=True, width=1000)
    return [file]


def hub_name(root: Path) -> tuple[str, str]:
    """Repository and revision of a data set that was fetched from the hub, as its cache names them.

    Raises:
        DataError: the folder is not of that cache.
    """
    for folder in root.resolve().parents:
        kind, _, rest = folder.parent.name.partition("--")
        if folder.name == "snapshots" and kind == "datasets":
            revision = root.resolve().relative_to(folder).parts[0]
            return rest.replace("--", "/", 1), revision
    raise DataError(
        f"{root}: a result on the hub names the benchmark's repository there, and this is a folder. "
        "Push it (`siming data push`) and give --data ORG/NAME@REVISION."
    )
