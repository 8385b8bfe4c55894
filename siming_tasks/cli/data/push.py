"""``siming data push``: a data set to the Hugging Face Hub."""

from __future__ import annotations

from typing import Literal

import click

from siming_tasks.cli.parameters import DatasetChoice, command, dataset_flags, option_flags
from siming_tasks.cli.terminal import say
from siming_tasks.options import Options

__all__ = ["push"]


@command(
    "Uploads videos, rubric, card and Croissant description. Scores stay here unless --with-labels is given. HF_TOKEN "
    "and HF_ENDPOINT are those of huggingface_hub."
)
@dataset_flags(word=True)
@click.argument("repo", metavar="ORG/NAME", help="the repository; is made if it is not there")
@click.option("--with-labels", is_flag=True, help="upload the scores, too")
@click.option(
    "--gated",
    type=click.Choice(("auto", "manual", "no")),
    help="who gets in: who asks, person by person, everybody (default manual, for SYNTHETIC data no)",
)
@click.option("--private", is_flag=True, help="make a new repository private")
@click.option("--branch", metavar="NAME", help="another branch than the main one")
@click.option("--dry-run", is_flag=True, help="list what would be uploaded and stop")
@option_flags("cache")
def push(
    chosen: DatasetChoice,
    options: Options,
    repo: str,
    with_labels: bool,
    gated: Literal["auto", "manual", "no"] | None,
    private: bool,
    branch: str | None,
    dry_run: bool,
) -> int:
    """Upload the data set, or list what would be uploaded; 0."""
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.data import is_hub_name
    from siming_tasks.tools.exchange.hub_upload import push as push_dataset

    if not is_hub_name(repo) or "@" in repo:
        raise OptionsError(f"{repo!r} is no name of a repository (org/name).")
    dataset = chosen.open(media=True)
    done = push_dataset(
        dataset,
        repo,
        labels=with_labels,
        gate=gated or ("no" if dataset.synthetic else "manual"),
        private=private,
        branch=branch,
        dry=dry_run,
    )
    label = "SYNTHETIC " if dataset.synthetic else ""
    words = "with labels" if with_labels else "without labels"
    if done.revision is None:
        say("\n".join(done.files))
        say(f"{label}{dataset.name}, {words}: {len(done.files)} files; nothing was sent.")
        return 0
    say(f"{repo}: {label}{dataset.name}, {words}, {len(done.files)} files, revision {done.revision}.")
    say(f"SIMING_DATA={repo}@{done.revision}")
    return 0
