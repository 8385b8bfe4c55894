"""``siming data audit``: facts that tell the labels of a data set without any picture."""

from __future__ import annotations

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import print_json, say, show_markdown
from siming_tasks.options import Options


@cli.command()
def audit(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, labels=True),
    quick: bool = cli.switch("open no video: what the files tell is left out"),
    options: Options = cli.option_flags("rater"),
    as_json: bool = cli.switch("print one JSON object instead of Markdown", "--json"),
) -> int:
    """Print how well each kind of fact tells the labels, learnt from the other exams; 1 if a video cannot be read."""
    from siming_tasks.analysis.leak_audit import audit as find_leaks
    from siming_tasks.cli.study import origin, title
    from siming_tasks.report.row_tables import row_section

    dataset = chosen.open()
    rows = find_leaks(dataset, options, media=not quick)
    if as_json:
        print_json(origin(dataset) | {"rows": rows.to_json()})
    else:
        show_markdown(f"## Leak audit of {title(dataset)}", row_section(rows, reference=options.rater))
    unread = [row.why for row in rows.of("leaks", "files") if row.value is None]
    for sentence in unread:
        say(sentence, error=True)
        say("What the files tell was not looked at: mend the videos, or leave them out with --quick.", error=True)
    return 1 if unread else 0
