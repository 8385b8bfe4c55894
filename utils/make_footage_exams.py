"""Build a data set of real, everyday recordings: cups, blocks, coffee, a ball, signs, bottles, visits.

    python utils/make_footage_exams.py OUT [--footage ../shared/footage]

The recordings lie outside this repository; OUT is for tests and never to be published. ``footage_exams/`` has the
rubric and the points and spans of two annotators, AI models that looked at frames independently of each other. They are
no physicians, the tasks are no medicine, nobody was examined: numbers say whether the suite works on camera pictures
and nothing about a model.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from siming_tasks.benchmark.exams import Rater
from siming_tasks.tools.builder import BuildOptions, Built, build_dataset

HERE = Path(__file__).parent / "footage_exams"
RATERS = ("rater_first", "rater_second")
LOOKED = Rater("model", heard=False, saw="recording")
PERSONS = {"cups": "cups", "blocks": "blocks", "pour": "coffee", "ball": "juggler", "bottles": "bottles",
           "visits": "visitors"}  # fmt: skip
"""Who acts, by skill: recordings that share footage are of one person. Those who sign are two, by recording."""

Row = Mapping[str, str]


def read_annotator(name: str) -> dict[tuple[str, str], Row]:
    """Points and span (s) of an annotator by recording and step, as text; a step that was not begun has no span."""
    with (HERE / f"{name.removeprefix('rater_')}.csv").open(encoding="utf-8", newline="") as stream:
        return {(row["video_id"], row["step_id"]): row for row in csv.DictReader(stream)}


def write_sheet(path: Path, recordings: Collection[str] = ()) -> None:
    """Write the table of labels: spans of the first annotator, and a consensus where both agree.

    ``recordings``: the file names of those wanted; none named: all.
    """
    first, second = map(read_annotator, RATERS)
    if first.keys() != second.keys():
        raise ValueError(f"the annotators judged other steps: {sorted(first.keys() ^ second.keys())}")
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["video_id", "step_id", "start", "end", "rater", "points", "student"])
        wanted = {key: row for key, row in first.items() if not recordings or key[0] in recordings}
        for key, row in wanted.items():
            points = [row["points"], second[key]["points"]]
            person = PERSONS.get(key[1].split("_")[0], key[0])
            agreed = [("consensus", points[0])] if points[0] == points[1] else []
            for given in (*zip(RATERS, points, strict=True), *agreed):
                writer.writerow([*key, row["start"], row["end"], *given, person])


def make(out: Path, footage: Path, recordings: Collection[str] = ()) -> Built:
    """Build the data set folder from the folder of recordings, or from those named in it."""
    facts = dict.fromkeys((*RATERS, "consensus"), LOOKED)
    options = BuildOptions(name="everyday-footage", keep_rater_names=True, rater_facts=facts)
    with tempfile.TemporaryDirectory() as folder:
        sheet = Path(folder) / "sheet.csv"
        write_sheet(sheet, recordings)
        return build_dataset(out, rubric=HERE / "rubric.yaml", labels=sheet, videos=footage, options=options)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--footage", type=Path, default=Path(__file__).parents[2] / "shared/footage")
    arguments = parser.parse_args()
    built = make(arguments.out, arguments.footage)
    for warning in built.warnings:
        print(warning)
    print(f"{arguments.out}: {len(built.dataset.videos)} recordings, digest {built.dataset.digest[:12]}")
