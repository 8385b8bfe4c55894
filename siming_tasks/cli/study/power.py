"""``siming study power``: what effect a number of videos can show, and how many videos an effect needs."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from siming_tasks.cli.parameters import Checked, command, option_flags
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.options import Decimal, Options, Whole

__all__ = ["power"]


class _LiftedMetrics(click.ParamType[str]):
    """A metric that can be planned for; the list is looked up only when a metric is named: arrays load slowly."""

    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one."""
        from siming_tasks.metrics.catalogue import select

        if value not in (names := tuple(select(lifted=True))):
            self.fail(f"{value!r} is not one of {', '.join(names)}.", param, ctx)
        return value


@command("Simulates raters and judges (synthetic; siming_tasks.analysis.power) to plan a data set.")
@click.option(
    "--videos",
    type=Checked(Whole(10)),
    default=200,
    metavar="N",
    help="size of the data set (default 200)",
)
@click.option(
    "--models",
    type=Checked(Whole(2)),
    default=12,
    metavar="N",
    help="models compared pairwise under Holm (default 12)",
)
@click.option(
    "--steps",
    type=Checked(Whole()),
    default=33,
    metavar="N",
    help="rubric steps per video (default 33)",
)
@click.option(
    "--prevalence",
    type=Checked(Decimal(above=0, below=1)),
    default=0.186,
    metavar="X",
    help="share of steps not fully correct (default 0.186)",
)
@click.option(
    "--agreement",
    type=Checked(Decimal(above=0, below=1)),
    default=0.732,
    metavar="X",
    help="kappa of two raters (default 0.732)",
)
@click.option(
    "--alpha",
    type=Checked(Decimal(above=0, below=1)),
    default=0.05,
    metavar="X",
    help="level of the two-sided test (default 0.05)",
)
@click.option(
    "--power",
    "wanted_power",
    type=Checked(Decimal(above=0, below=1)),
    default=0.8,
    metavar="X",
    help="wanted power (default 0.8)",
)
@click.option(
    "--replicates",
    type=Checked(Whole(100)),
    default=2000,
    metavar="N",
    help="data sets to draw (default 2000)",
)
@click.option(
    "--effect",
    type=Checked(Decimal(above=0)),
    metavar="X",
    help="find the videos needed for this effect instead",
)
@click.option(
    "--metric",
    "metric_names",
    type=_LiftedMetrics(),
    multiple=True,
    help="a metric with a no-video baseline; may be repeated (default: all)",
)
@option_flags("seed")
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of a table")
def power(
    options: Options,
    videos: int,
    models: int,
    steps: int,
    prevalence: float,
    agreement: float,
    alpha: float,
    wanted_power: float,
    replicates: int,
    effect: float | None,
    metric_names: tuple[str, ...],
    as_json: bool,
) -> int:
    """Print the table; progress goes to standard error."""
    import numpy as np
    from tqdm import tqdm

    from siming_tasks.analysis.power import QUESTIONS, PowerSettings, StudyDesign, plan, smallest_effects
    from siming_tasks.metrics.catalogue import select

    seed = options.seed
    design = StudyDesign(steps=steps, prevalence=prevalence, agreement=agreement)
    test = PowerSettings(alpha, wanted_power, models * (models - 1) // 2)
    metrics = tuple(dict.fromkeys(metric_names or select(lifted=True)))
    rng = np.random.default_rng(seed)
    total = replicates * (1 if effect is None else len(metrics) * (1 + len(QUESTIONS)))
    with tqdm(total=total, unit="data set", file=sys.stderr, disable=None, leave=False) as bar:
        how: dict[str, Any] = {"rng": rng, "test": test, "replicates": replicates, "progress": bar.update}
        sample_sizes: list[Any]
        if effect is None:
            sample_sizes = list(smallest_effects(design, videos, metrics=metrics, **how))
        else:
            sample_sizes = [item for metric in metrics for item in plan(design, metric, effect, **how)]
    if as_json:
        settings: dict[str, Any] = {"steps": steps, "prevalence": prevalence, "agreement": agreement}
        settings |= {"alpha": alpha, "power": wanted_power}
        settings |= {"comparisons": test.comparisons, "replicates": replicates, "seed": seed}
        print(
            json.dumps({"synthetic": True, **settings, "results": [item.to_json() for item in sample_sizes]}, indent=2)
        )
    else:
        made = (
            f"Simulated: {steps} steps, {prevalence:.1%} not fully correct, raters' kappa {agreement:g}; "
            f"power {wanted_power:g} at level {alpha:g}."
        )
        _print_table(made, videos, effect, test.comparisons, sample_sizes)
    return 0


def _print_table(made: str, videos: int, effect: float | None, comparisons: int, sample_sizes: list[Any]) -> None:
    from siming_tasks.metrics.catalogue import CATALOGUE
    from siming_tasks.report.table import Table

    head = ["metric", "against a no-video baseline", "two models", f"two models, Holm over {comparisons}"]
    names = {item.metric: CATALOGUE[item.metric].gain_label for item in sample_sizes}
    if effect is None:
        rows = [[names[item.metric], *map(_reach, (item.zero, item.two, item.holm))] for item in sample_sizes]
        show_markdown(made, f"Smallest effect that {videos} videos show:", Table.of(head, rows))
        return
    rows = [[label, *(_cell(item) for item in sample_sizes if item.metric == key)] for key, label in names.items()]
    what = f"Videos that show an effect of {effect:g} (in brackets: power in data sets of that size):"
    reasons = dict.fromkeys(f"{names[item.metric]}: {item.reason}" for item in sample_sizes if item.reason)
    show_markdown(made, what, Table.of(head, rows), *reasons)


def _reach(effect: float | None) -> str:
    return "out of reach" if effect is None else f"{effect:.3f}"


def _cell(item: Any) -> str:
    if item.videos is None:
        return "out of reach"
    return f"{item.videos:,}" + (f" ({item.power:.2f})" if item.power is not None else "")
