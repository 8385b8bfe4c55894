"""Comparability of two runs: one rule, for every command that puts runs side by side.

They must have been asked about the same data, in the same words, with the same JSON schema or none, and been shown the
same: mode of the media, number of the pixels, and where our frames were sent, their number, size, density, the rule
that took them and what encoding cost them, request by request. They must count the same requests as asked (a run with
``--limit`` is not compared with a complete one). The reference (rater, mapping) is the command's, the same for all.
What a run does not state differs from nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from siming_tasks.benchmark.metrics import ScoreMatrix
from siming_tasks.benchmark.metrics.alignment import ComparisonEntry, align
from siming_tasks.benchmark.record import Record
from siming_tasks.benchmark.types import CONSENSUS, UNKNOWN_MODE, UnitChoice
from siming_tasks.common.errors import DataError, OptionsError
from siming_tasks.common.files import sha256_json
from siming_tasks.common.printed_value import counted
from siming_tasks.media import recorded_mode
from siming_tasks.options import CONDITIONS, DIFFERENCES
from siming_tasks.study.results.discovery import results_at
from siming_tasks.study.results.run import Run
from siming_tasks.study.results.run_parts import check_alike


@dataclass(frozen=True, eq=False)
class TaskRun:
    """One setting of a run, as far as comparisons need it (it travels between processes).

    Attributes:
        name: of the run.
        panel: its answers and their reference.
        conditions: by request id, its :data:`CONDITIONS`; None for what is not stated.
        facts: the conditions of the whole run in a few words each.
    """

    name: str
    panel: ScoreMatrix
    conditions: Mapping[str, tuple[Any, ...]]
    facts: Mapping[str, str]

    @classmethod
    def of(cls, run: Run, setting: str, rater: str = CONSENSUS, cluster: UnitChoice = "auto") -> TaskRun:
        """A run in a setting."""
        records = run.records.get(setting, ())
        known: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        conditions = {}
        for record in records:
            own_conditions = _conditions(record)
            conditions[record.id] = known.setdefault(own_conditions, own_conditions)
        return cls(run.name, run.score_matrix(setting, rater, cluster), conditions, _facts(records))


def check_allowed(allow: Collection[str]) -> None:
    """Refuse names that are not differences (OptionsError)."""
    if unknown := sorted(({allow} if isinstance(allow, str) else {*allow}) - {*DIFFERENCES}):
        raise OptionsError(f"--allow {unknown[0]!r} is not one of {', '.join(DIFFERENCES)}.")


def comparable(a: TaskRun, b: TaskRun, allow: Collection[str] = ()) -> list[str]:
    """Reasons why two runs cannot be compared, as sentences; empty if they can.

    Args:
        a: one run in a setting.
        b: another in the same setting.
        allow: members of :data:`DIFFERENCES` to accept.
    """
    kinds: dict[tuple[tuple[Any, ...], tuple[Any, ...]], list[Any]] = {}  # few, and each is held against itself once
    for request, asked in a.conditions.items():
        if request in b.conditions:
            kinds.setdefault((asked, b.conditions[request]), [request, 0])[1] += 1
    both = sum(count for _, count in kinds.values())
    reasons = []
    for place, name in enumerate(CONDITIONS):
        pairs = ((of_a[place], of_b[place], *seen) for (of_a, of_b), seen in kinds.items())
        differ = [pair for pair in pairs if pair[0] != pair[1] and None not in pair[:2]]
        if differ and name not in allow:
            value, other, request, _ = differ[0]
            number = sum(pair[3] for pair in differ)
            share = "every request" if number == both else f"{number:,} of {counted(both, 'request')}"
            reasons.append(
                f"Runs {a.name!r} and {b.name!r} differ in {name}: {value} against {other} ({request}; {share}). "
                f"Compare runs with the same {name}, or accept the difference (--allow {name})."
            )
    try:
        align([ComparisonEntry(entrant.name, entrant.panel) for entrant in (a, b)], allow)
    except DataError as error:
        reasons.append(str(error))
    return reasons


def check_repeats(runs: Sequence[Run]) -> None:
    """Refuse runs of different models, or of other prompts or options; seeds may differ (DataError)."""
    why = "They do not repeat one judge: compare them without --repeated."
    check_alike([found for run in runs for path in run.source.paths for found in results_at(path)], why, ("seed",))
    records = (record for run in runs for present in run.records.values() for record in present)
    models = {record.conditions.usage.get("model") for record in records if record.conditions.usage} - {None}
    if len(models) > 1:
        raise DataError(f"The runs are of different models ({', '.join(sorted(map(str, models)))}). {why}")


def comparison_entries(entrants: Sequence[TaskRun], allow: Collection[str] = ()) -> list[ComparisonEntry]:
    """The runs as :func:`siming_tasks.benchmark.metrics.alignment.align` takes them.

    Raises:
        DataError: two of them cannot be compared; the first reason.
    """
    for place, entrant in enumerate(entrants):
        if reason := reason_against(entrant, entrants[:place], allow):
            raise DataError(reason)
    return [ComparisonEntry(entrant.name, entrant.panel) for entrant in entrants]


def largest_group(
    entrants: Sequence[TaskRun], allow: Collection[str] = (), weight: Callable[[Sequence[TaskRun]], Any] = len
) -> tuple[list[TaskRun], dict[str, str]]:
    """The largest group of runs that can all be compared, and by run why it is not in it.

    The order of the runs does not matter. If two groups are largest there is none, and no run is in it.

    Args:
        entrants: the runs, each with a name of its own.
        allow: members of :data:`DIFFERENCES` to accept.
        weight: size of a group.
    """
    groups: list[list[TaskRun]] = []
    for entrant in sorted(entrants, key=lambda run: run.name):
        home = next((group for group in groups if not reason_against(entrant, group, allow)), None)
        if home is None:
            groups.append([entrant])
        else:
            home.append(entrant)
    groups.sort(key=weight, reverse=True)
    tied = len(groups) > 1 and weight(groups[0]) == weight(groups[1])
    apart = {run.name: reason_against(run, groups[0 if place else 1], allow)
             for place, group in enumerate(groups) if place or tied for run in group}  # fmt: skip
    return ([] if tied else sorted(groups[0], key=entrants.index)), apart


def reason_against(entrant: TaskRun, group: Sequence[TaskRun], allow: Collection[str]) -> str:
    """The first reason against some member of a group; empty if there is none."""
    return next((reasons[0] for member in group if (reasons := comparable(member, entrant, allow))), "")


def _conditions(record: Record) -> tuple[Any, ...]:
    """Conditions under which one request was asked, in the order of :data:`CONDITIONS`."""
    media = record.media
    mode, digest = recorded_mode(media), record.conditions.dataset
    ours = mode.sampled  # else the backend's reader chooses, whatever the file holds
    offered = media.get("n_frames", media.get("file_frames"))
    # Encoding that the pixels went through: as PNG, or given to a local model, that of the stored file.
    stored, sent = f"jpeg{media['quality']}" if media.get("quality") else None, media.get("encoding")
    pixels = stored if sent in (None, "png") else str(sent)
    return (
        digest[:12] if digest else None,
        record.conditions.prompt,
        # of a run of the suite: one that states its prompt states whether the service was given a schema
        record.conditions.reply_schema or ("none" if record.conditions.prompt else None),
        None if media.get("mode") == UNKNOWN_MODE else media.get("mode"),
        *((offered, media.get("size"), media.get("density")) if ours else (None,) * 3),
        pixels if mode.images else None,
        media.get("sampler") if ours else None,
        media.get("pixels"),
    )


def _facts(records: Sequence[Record]) -> dict[str, str]:
    """The conditions of a whole run in a few words each."""

    def distinct(values: Iterable[Any]) -> list[str]:
        return sorted({str(value) for value in values if value is not None})

    media = [record.media for record in records]
    frames = sorted({item["n_frames"] for item in media if recorded_mode(item).images and "n_frames" in item})
    prompts = distinct(record.conditions.prompt for record in records)
    facts = {
        "dataset": " and ".join(digest[:12] for digest in distinct(record.conditions.dataset for record in records)),
        "prompt": sha256_json(prompts)[:12] if prompts else "",
        "media": " and ".join(distinct(item.get("mode") for item in media)),
        "frames": "-".join(map(str, (frames[0], frames[-1])[: len(frames)])) if frames else "",
    }
    return {name: value for name, value in facts.items() if value}
