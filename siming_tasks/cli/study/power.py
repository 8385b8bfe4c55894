"""``siming power``: what effect a number of videos can show, and how many videos an effect needs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from siming_tasks.cli.arguments import Checked
from siming_tasks.cli.flags import add_options, options_from
from siming_tasks.cli.markdown import show
from siming_tasks.options import Decimal, Whole

__all__ = ["add"]


class _Names:
    """Metrics that can be planned for, looked up when a choice is checked or help is printed: arrays load slowly."""

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)

    def __iter__(self) -> Iterator[str]:
        from siming_tasks.metrics.catalogue import select

        return iter(select(lifted=True))


def add(commands: Any) -> None:
    """Add this module's subcommands."""
    command = commands.add_parser(
        "power",
        help="plan a data set: detectable effects, or videos needed for an effect",
        description="Simulates raters and judges to plan a data set. The numbers are synthetic "
        "(siming_tasks.analysis.power.latent_model).",
    )
    share = Decimal(above=0, below=1)
    for flag, kind, default, words in (
        ("--videos", Whole(10), 200, "size of the data set"),
        ("--models", Whole(2), 12, "models compared pairwise under Holm"),
        ("--steps", Whole(), 33, "rubric steps per video"),
        ("--prevalence", share, 0.186, "share of steps not fully correct"),
        ("--agreement", share, 0.732, "kappa of two raters"),
        ("--alpha", share, 0.05, "level of the two-sided test"),
        ("--power", share, 0.8, "wanted power"),
        ("--replicates", Whole(100), 2000, "data sets to draw"),
    ):
        command.add_argument(flag, action=Checked, kind=kind, default=default, help=f"{words} (default {default})")
    command.add_argument(
        "--effect", action=Checked, kind=Decimal(above=0), help="find the videos needed for this effect instead"
    )
    command.add_argument(
        "--metric",
        metavar="NAME",
        choices=_Names(),
        action="append",
        help="%(choices)s; may be repeated (default: all)",
    )
    add_options(command, "seed")
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.set_defaults(run=power)


def power(arguments: argparse.Namespace) -> int:
    """Print the table; progress goes to standard error."""
    import numpy as np
    from tqdm import tqdm

    from siming_tasks.analysis.power.latent_model import StudyDesign
    from siming_tasks.analysis.power.sample_size import QUESTIONS, PowerSettings, plan, smallest_effects
    from siming_tasks.metrics.catalogue import select

    seed = options_from(arguments).seed
    design = StudyDesign(steps=arguments.steps, prevalence=arguments.prevalence, agreement=arguments.agreement)
    test = PowerSettings(arguments.alpha, arguments.power, arguments.models * (arguments.models - 1) // 2)
    metrics = tuple(dict.fromkeys(arguments.metric or select(lifted=True)))
    rng = np.random.default_rng(seed)
    total = arguments.replicates * (1 if arguments.effect is None else len(metrics) * (1 + len(QUESTIONS)))
    with tqdm(total=total, unit="data set", file=sys.stderr, disable=None, leave=False) as bar:
        options: dict[str, Any] = {"rng": rng, "test": test, "replicates": arguments.replicates, "progress": bar.update}
        found: list[Any]
        if arguments.effect is None:
            found = list(smallest_effects(design, arguments.videos, metrics=metrics, **options))
        else:
            found = [item for metric in metrics for item in plan(design, metric, arguments.effect, **options)]
    if arguments.json:
        settings = {name: getattr(arguments, name) for name in ("steps", "prevalence", "agreement", "alpha", "power")}
        settings |= {"comparisons": test.comparisons, "replicates": arguments.replicates, "seed": seed}
        print(json.dumps({"synthetic": True, **settings, "results": [item.to_json() for item in found]}, indent=2))
    else:
        _table(arguments, test.comparisons, found)
    return 0


def _table(arguments: argparse.Namespace, comparisons: int, found: list[Any]) -> None:
    made = (
        f"Simulated: {arguments.steps} steps, {arguments.prevalence:.1%} not fully correct, raters' kappa "
        f"{arguments.agreement:g}; power {arguments.power:g} at level {arguments.alpha:g}."
    )
    from siming_tasks.metrics.catalogue import CATALOGUE
    from siming_tasks.report.table import Table

    head = ["metric", "against a no-video baseline", "two models", f"two models, Holm over {comparisons}"]
    names = {item.metric: CATALOGUE[item.metric].gain_label for item in found}
    if arguments.effect is None:
        rows = [[names[item.metric], *map(_reach, (item.zero, item.two, item.holm))] for item in found]
        show(made, f"Smallest effect that {arguments.videos} videos show:", Table.of(head, rows))
        return
    rows = [[label, *(_cell(item) for item in found if item.metric == key)] for key, label in names.items()]
    what = f"Videos that show an effect of {arguments.effect:g} (in brackets: power in data sets of that size):"
    reasons = dict.fromkeys(f"{names[item.metric]}: {item.reason}" for item in found if item.reason)
    show(made, what, Table.of(head, rows), *reasons)


def _reach(effect: float | None) -> str:
    return "out of reach" if effect is None else f"{effect:.3f}"


def _cell(item: Any) -> str:
    if item.videos is None:
        return "out of reach"
    return f"{item.videos:,}" + (f" ({item.power:.2f})" if item.power is not None else "")
