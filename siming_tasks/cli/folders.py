"""Commands that make another data set folder or publish one: ``siming data split``, ``push``, ``edit``, ``demo`` ..."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal

from siming_tasks.cli import parameters as cli
from siming_tasks.cli.terminal import marked_name, plural, say, say_next, show_markdown, show_problems
from siming_tasks.common.errors import OptionsError
from siming_tasks.options import Options, Whole

_OPERATIONS: tuple[Literal["drop", "freeze", "swap"], ...] = ("drop", "freeze", "swap")
_MAKERS: tuple[Literal["zoll", "laerdal", "plain"], ...] = ("zoll", "laerdal", "plain")


@cli.command()
def split(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, split=False),
    out: Path = cli.word("OUT", "the public folder", cli.NEW_FOLDER),
    key: Path = cli.option("KEYFILE", "the label file to keep", cli.NEW_FILE, required=True),
) -> None:
    """Write the public folder and the label file."""
    from siming_tasks.data import withhold

    public = withhold(chosen.folder(), out, key)
    say(f"{public.root}: {len(public.videos)} videos without labels, digest {public.digest[:12]}. This part is public.")
    say(f"{key}: the labels. Keep it; `siming score {public.root} PREDICTIONS --labels {key}`.")


@cli.command(
    "Uploads the public folder of `siming data split` and refuses any other. HF_TOKEN and HF_ENDPOINT are those of "
    "huggingface_hub."
)
def push(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, split=False),
    repo: str = cli.word("ORG/NAME", "the repository; is made if it is not there"),
    gated: Literal["auto", "manual", "no"] | None = cli.option(
        "",
        "who gets in: who asks, person by person, everybody (default manual, for SYNTHETIC data no)",
        ("auto", "manual", "no"),
    ),
    private: bool = cli.switch("make a new repository private"),
    options: Options = cli.option_flags("cache"),
) -> None:
    """Upload the public folder."""
    from siming_tasks.data import is_hub_name
    from siming_tasks.tools.exchange.hub_upload import push as push_dataset

    if not is_hub_name(repo) or "@" in repo:
        raise OptionsError(f"{repo!r} is no name of a repository (org/name).")
    dataset = chosen.open(media=True)
    gate = gated or ("no" if dataset.synthetic else "manual")
    revision = push_dataset(dataset, repo, gate=gate, private=private)
    say(f"{repo}: {marked_name(dataset)}, without labels, revision {revision}.")
    say(f"SIMING_DATA={repo}@{revision}")


@cli.command(
    "Writes a data set of edited videos, each beside an untouched copy encoded in the same way, and pairs.jsonl. "
    "Labels stand only where spans and the rubric's requirements make them certain."
)
def edit(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True, split=False),
    out: Path = cli.word("OUT", "the new folder", cli.NEW_FOLDER),
    only: tuple[Literal["drop", "freeze", "swap"], ...] = cli.several(
        "EDIT", "drop, freeze or swap; may be repeated", _OPERATIONS
    ),
    each: int = cli.option("N", "edits of each kind a video (default 1)", Whole(), 1),
    seed: int = cli.option("S", "decides which steps (default 0)", Whole(0), 0),
) -> None:
    """Make the folder; say what is certain and what was left out."""
    from siming_tasks.tools.builder.edits import edit_dataset

    wanted = only or _OPERATIONS
    edited = edit_dataset(chosen.open(media=True), out, operations=wanted, each=each, seed=seed, progress=True)
    videos, pairs = sum(edited.edits.values()), sum(edited.pairs.values())
    kinds = ", ".join(f"{name} {count:,}" for name, count in edited.edits.items())
    untouched = len(edited.dataset.videos) - videos
    say(f"{edited.dataset.root}: {videos:,} edited videos ({kinds}), {untouched:,} untouched.")
    kinds = ", ".join(f"{count:,} {name}" for name, count in edited.pairs.items())
    say(f"{pairs:,} pairs ({kinds}), in pairs.jsonl.")
    left = sum(edited.unsure.values())
    reasons = "; ".join(f"{count:,}: {why}" for why, count in edited.unsure.items())
    reasons = f" ({reasons})" if left else ""
    say(f"Labels of the edited videos: {edited.certain:,} certain, {left:,} left out{reasons}.")
    if missing := set(wanted) - set(edited.edits):
        say(f"No video has a step for {', '.join(sorted(missing))}.")
    if edited.without:
        shown = ", ".join(edited.without[:5]) + (", ..." if len(edited.without) > 5 else "")
        say(f"Of {len(edited.without):,} videos no edit could be made ({shown}).")


@cli.command()
def demo(
    out: Path = cli.word("OUT", "the new folder", cli.NEW_FOLDER),
    videos: int = cli.option("N", "number of exams (default 16)", Whole(), 16),
    seed: int = cli.option("S", "of trainees, raters and looks (default 0)", Whole(0), 0),
    short: bool = cli.switch("half a minute of video per exam instead of three; for tests"),
    pairs: bool = cli.switch("add counterfactual minimal pairs, for the pair metric"),
    jobs: int = cli.option("J", "worker processes (default 2)", Whole(), 2),
    no_contact: bool = cli.switch("write no contact sheets"),
    sound: bool = cli.switch("add a sound track of synthetic speech and the words as transcript"),
    voice: bool = cli.switch("the same, and no speech bubbles: what is said is heard and not seen"),
    manikin: Path | None = cli.option("DIR", "also write what a manikin would have exported", cli.NEW_FOLDER),
    maker: Literal["zoll", "laerdal", "plain"] = cli.option(
        "", "form of those exports (default laerdal)", _MAKERS, "laerdal"
    ),
) -> None:
    """Make the folder and say what it is."""
    from siming_tasks.common.output_folder import check_place
    from siming_tasks.tools.simulator import make_demo, write_exports

    if manikin:
        check_place(manikin)

    out = make_demo(
        out, videos=videos, seed=seed, short=short, pairs=pairs, jobs=jobs, contact=not no_contact,
        sound="instead" if voice else "beside" if sound else "none",
    )  # fmt: skip
    say(f"{out}: SYNTHETIC dataset (simulated exams, labels true by construction; see its README.md).")
    if manikin:
        count = write_exports(out, manikin, maker)
        say(f"{manikin}: {count} SYNTHETIC exports in the form of {maker}, and their offsets.")


@cli.command(
    "Reads the compressions that a manikin or defibrillator exported (one .csv for each video, and offsets.csv), "
    "measures rate, depth and release in each step's span, and gives the points that the rubric's facts make of them."
)
def sensor(
    chosen: cli.DatasetChoice = cli.dataset_flags(word=True),
    exports: Path = cli.word("EXPORTS", "folder of the exports", Path),
    out: Path = cli.word("OUT", "the new folder", cli.NEW_FOLDER),
    name: str = cli.option("NAME", "name of the rater (default manikin)", default="manikin", flag="--name"),
    names: Path | None = cli.option("FILE", "table of original names, if it is not beside the data set", Path),
) -> None:
    """Write the folder; say what was judged and what was not."""
    from siming_tasks.report.table import Name, Table
    from siming_tasks.tools.instruments import rate_with_instrument

    rated = rate_with_instrument(chosen.open(media=True), exports, out, rater=name, names=names)
    show_problems(rated.warnings)
    rows = [[Name(step), count, rated.wrong[step]] for step, count in rated.judged.items()]
    show_markdown(Table.of(["step", "judged", "below full points"], rows))
    for why, count in rated.unjudged.items():
        say(f"{plural(count, 'step')} without points of {name}: {why}.")
    say(f"{rated.dataset.root}: {name} is a rater of the kind instrument; the consensus is as it was.")
    say_next(shlex.join(["siming", "study", "raters", str(rated.dataset.root), "--reference", name]))
