"""``siming score``: metrics of predictions, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, show_markdown, show_problems
from siming_tasks.options import Options

if TYPE_CHECKING:
    from siming_tasks.metrics import Rows
    from siming_tasks.results.run import Run, Scores


@cli.command()
def score(
    chosen: cli.DatasetChoice = cli.dataset_flags(labels=True),
    predictions: tuple[Path, ...] = cli.word(
        "PREDICTIONS...",
        "prediction files, sample logs or folders that are one run; before them, the data set",
        Path,
    ),
    options: Options = cli.option_flags(*cli.SCORING_OPTIONS, "prices"),
    partial: bool = cli.switch("count only requests that have a line (run with --limit)"),
    allow: tuple[str, ...] = cli.several(
        "WHAT", "with the word `dataset`: accept predictions for other labels or media"
    ),
    as_json: bool = cli.switch("print one JSON object", "--json"),
) -> None:
    """Print the metrics of a run, and what is to be known of them."""
    from siming_tasks.results.discovery import run_at
    from siming_tasks.results.run import read_run, score_run
    from siming_tasks.results.unread_replies import UnreadReplies, unread_note

    chosen, parts = chosen.from_words("siming score", predictions)
    source = run_at(parts)
    dataset = chosen.open([source], reference=True)
    unread = UnreadReplies(dataset)
    run = read_run(source, dataset, partial=partial, allow=allow, seen=unread.put)
    note = unread_note(run, unread.all())
    scores = score_run(run, options)
    if as_json:
        print_json(scores.to_json(), indent=1)
        return
    show_problems(scores.problems)
    if note.is_many:
        print(f"{note}\n")
    label = " SYNTHETIC" if dataset.synthetic else ""
    part = f", split {dataset.part}" if dataset.part else ""
    print(f"{dataset.name} {dataset.version}{part}{label}, digest {dataset.digest[:12]}\n")
    _print_scores(scores, run)
    if not note.is_many and str(note):
        print(f"\n{note}")


def _print_scores(scores: Scores, run: Run) -> None:
    """Print the values by which runs are ranked and those of what was answered, and what is to be known of them."""
    from siming_tasks.metrics import Rows as Kept
    from siming_tasks.metrics.evaluate import ALL, ANSWERED, RANKED
    from siming_tasks.report.formatting import usage_line
    from siming_tasks.report.row_tables import row_section
    from siming_tasks.results.run import partial_notes

    for name, result in scores.settings.items():
        rows, options = scores.rows(name), result["options"]
        shown = Kept(row for row in rows if row.row == ALL or row.table not in (ANSWERED, RANKED))
        show_markdown(f"## {name}", row_section(shown, reference=options["rater"], only=_shown(shown)))
        below = [result["estimand"]["sentence"]]
        if result["usage"]:
            n_videos = len({record.video_id for record in run.records[name]})
            below.append(f"{name} took {usage_line(result['usage'], n_videos)}")
        print("\n" + "\n".join(below) + "\n")
    print("\n".join(partial_notes(scores.settings)))


def _shown(rows: Rows) -> list[str]:
    """The tables that are printed: other readings are in the JSON alone, and one of two that are the same."""
    from siming_tasks.metrics.evaluate import ANSWERED, RANKED, READINGS

    complete = all(row.value == 1 for row in rows.of(ANSWERED, metric="coverage"))
    return [name for name in rows.names("table") if name not in (READINGS, RANKED if complete else "")]
