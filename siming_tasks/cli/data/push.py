"""``siming push``: a data set to the Hugging Face Hub."""

from __future__ import annotations

import argparse
from typing import Any

from siming_tasks.cli.dataset import add_data, open_chosen
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.terminal import say

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add this module's subcommand."""
    command = commands.add_parser(
        "push",
        help="upload a dataset to the Hugging Face Hub, without its labels unless told otherwise",
        description="Uploads videos, rubric, card and Croissant description. Scores stay here unless --with-labels is "
        "given. HF_TOKEN and HF_ENDPOINT are those of huggingface_hub.",
    )
    add_data(command, word=True)
    command.add_argument("repo", metavar="ORG/NAME", help="the repository; is made if it is not there")
    command.add_argument("--with-labels", action="store_true", help="upload the scores, too")
    command.add_argument(
        "--gated",
        choices=("auto", "manual", "no"),
        help="who gets in: who asks, person by person, everybody (default manual, for SYNTHETIC data no)",
    )
    command.add_argument("--private", action="store_true", help="make a new repository private")
    command.add_argument("--branch", metavar="NAME", help="another branch than the main one")
    command.add_argument("--dry-run", action="store_true", help="list what would be uploaded and stop")
    add_options(command, "cache")
    command.set_defaults(run=_push)


def _push(arguments: argparse.Namespace) -> int:
    from siming_tasks.common.errors import OptionsError
    from siming_tasks.data import is_hub_name
    from siming_tasks.tools.exchange.push import push

    if not is_hub_name(arguments.repo) or "@" in arguments.repo:
        raise OptionsError(f"{arguments.repo!r} is no name of a repository (org/name).")
    dataset = open_chosen(arguments, options_from(arguments), media=True)
    done = push(
        dataset,
        arguments.repo,
        labels=arguments.with_labels,
        gate=arguments.gated or ("no" if dataset.synthetic else "manual"),
        private=arguments.private,
        branch=arguments.branch,
        dry=arguments.dry_run,
    )
    label = "SYNTHETIC " if dataset.synthetic else ""
    words = "with labels" if arguments.with_labels else "without labels"
    if done.revision is None:
        say("\n".join(done.files))
        say(f"{label}{dataset.name}, {words}: {len(done.files)} files; nothing was sent.")
        return 0
    say(f"{arguments.repo}: {label}{dataset.name}, {words}, {len(done.files)} files, revision {done.revision}.")
    say(f"SIMING_DATA={arguments.repo}@{done.revision}")
    return 0
