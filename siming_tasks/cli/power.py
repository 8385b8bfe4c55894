"""``siming study power``: what effect a number of videos can show, and how many videos an effect needs."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import show_markdown
from siming_tasks.options import Decimal, Options, Whole

_PROPORTION = Decimal(above=0, below=1)


class _LiftedMetrics(click.ParamType[str]):
    """A metric that can be planned for; the list is looked up only when a metric is named: arrays load slowly."""

    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, if it is one."""
        from siming_tasks.metrics.catalogue import select

        if value not in (names := tuple(select(lifted=True))):
            self.fail(f"{value!r} is not one of {', '.join(names)}.", param, ctx)
        return value


@cli.command("Simulates raters and judges (synthetic; siming_tasks.analysis.power) to plan a data set.")
def power(
    videos: int = cli.option("N", "size of the data set (default 200)", Whole(10), 200),
    models: int = cli.option("N", "models compared pairwise under Holm (default 12)", Whole(2), 12),
    steps: int = cli.option("N", "rubric steps per video (default 33)", Whole(), 33),
    prevalence: float = cli.option("X", "share of steps not fully correct (default 0.186)", _PROPORTION, 0.186),
    agreement: float = cli.option("X", "kappa of two raters (default 0.732)", _PROPORTION, 0.732),
    alpha: float = cli.option("X", "level of the two-sided test (default 0.05)", _PROPORTION, 0.05),
    wanted_power: float = cli.option("X", "wanted power (default 0.8)", _PROPORTION, 0.8, flag="--power"),
    replicates: int = cli.option("N", "data sets to draw (default 2000)", Whole(100), 2000),
    effect: float | None = cli.option("X", "find the videos needed for this effect instead", Decimal(above=0)),
    metric_names: tuple[str, ...] = cli.option(
        "",
        "a metric with a no-video baseline; may be repeated (default: all)",
        _LiftedMetrics(),
        flag="--metric",
        multiple=True,
    ),
    options: Options = cli.option_flags("seed"),
    as_json: bool = cli.switch("print JSON instead of a table", "--json"),
) -> None:
    """Print the table; progress goes to standard error."""
    import numpy as np
    from tqdm import tqdm

    from siming_tasks.analysis.power import QUESTIONS, PowerSettings, StudyDesign, plan, smallest_effects
    from siming_tasks.metrics.catalogue import select

    design = StudyDesign(steps=steps, prevalence=prevalence, agreement=agreement)
    test = PowerSettings(alpha, wanted_power, models * (models - 1) // 2)
    metrics = tuple(dict.fromkeys(metric_names or select(lifted=True)))
    rng = np.random.default_rng(options.seed)
    total = replicates * (1 if effect is None else len(metrics) * (1 + len(QUESTIONS)))
    with tqdm(total=total, unit="data set", file=sys.stderr, disable=None, leave=False) as bar:
        how: dict[str, Any] = {"rng": rng, "test": test, "replicates": replicates, "progress": bar.update}
        sizes: list[Any]
        if effect is None:
            sizes = list(smallest_effects(design, videos, metrics=metrics, **how))
        else:
            sizes = [item for metric in metrics for item in plan(design, metric, effect, **how)]
    if as_json:
        settings: dict[str, Any] = {"steps": steps, "prevalence": prevalence, "agreement": agreement}
        settings |= {"alpha": alpha, "power": wanted_power, "comparisons": test.comparisons}
        settings |= {"replicates": replicates, "seed": options.seed, "results": [item.to_json() for item in sizes]}
        print(json.dumps({"synthetic": True, **settings}, indent=2))
        return
    made = (
        f"Simulated: {steps} steps, {prevalence:.1%} not fully correct, raters' kappa {agreement:g}; "
        f"power {wanted_power:g} at level {alpha:g}."
    )
    _print_table(made, videos, effect, test.comparisons, sizes)


def _print_table(made: str, videos: int, effect: float | None, comparisons: int, sizes: list[Any]) -> None:
    """Print a row for each metric: the smallest effect, or the videos that the effect needs."""
    from siming_tasks.metrics.catalogue import CATALOGUE
    from siming_tasks.report.table import Table

    head = ["metric", "against a no-video baseline", "two models", f"two models, Holm over {comparisons}"]
    names = {item.metric: CATALOGUE[item.metric].gain_label for item in sizes}
    if effect is None:
        rows = [
            [names[item.metric]]
            + ["out of reach" if reach is None else f"{reach:.3f}" for reach in (item.zero, item.two, item.holm)]
            for item in sizes
        ]
        show_markdown(made, f"Smallest effect that {videos} videos show:", Table.of(head, rows))
        return

    def cell(item: Any) -> str:
        if item.videos is None:
            return "out of reach"
        return f"{item.videos:,}" + (f" ({item.power:.2f})" if item.power is not None else "")

    rows = [[label, *(cell(item) for item in sizes if item.metric == key)] for key, label in names.items()]
    what = f"Videos that show an effect of {effect:g} (in brackets: power in data sets of that size):"
    reasons = dict.fromkeys(f"{names[item.metric]}: {item.reason}" for item in sizes if item.reason)
    show_markdown(made, what, Table.of(head, rows), *reasons)
