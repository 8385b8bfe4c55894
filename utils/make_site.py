"""Make a folder for any static host: the documentation, a report, a board, and a page that leads to them.

    python utils/make_site.py OUT [--exams 8] [--judges siming_nano siming_reference:kind=random] [--footage FOLDER]

The exams are the SYNTHETIC demo, and every page says so. With ``--footage`` there is a report of camera recordings as
well: of those alone whose licence in ``FOLDER/SOURCES.md`` lets anybody hand them on (CC0, CC BY), credited on the
first page. All links are followed; one that leads nowhere fails the script and leaves OUT out. Takes some minutes,
most of them for the judges.
"""

from __future__ import annotations

import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tqdm import tqdm

from siming_tasks.common.output_folder import check_place, output_folder

ROOT = Path(__file__).parents[1]
PARTS = Path(__file__).parent / "site"
SIMING = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]
FREE = {
    "CC0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
}
"""Licences under which a recording is published, and their text."""
JUDGES = ("siming_nano", "siming_reference:kind=random")


@dataclass(frozen=True)
class Recording:
    """A recording of ``SOURCES.md`` that may be handed on: its file, where it comes from, and its licence."""

    file: str
    repository: str
    path: str
    licence: str

    @property
    def credit(self) -> str:
        """The credit that the licence asks for, as HTML."""
        source = f"https://github.com/{self.repository}"
        return (
            f'{html.escape(self.path)} of <a href="{html.escape(source)}">{html.escape(self.repository)}</a>, '
            f'<a href="{FREE[self.licence]}">{self.licence}</a>, encoded anew'
        )


def free_recordings(sources: Path) -> list[Recording]:
    """The recordings of a table of sources whose licence is one of :data:`FREE`, right A alone."""
    found = []
    for line in sources.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) >= 7 and cells[6] == "A" and (licence := re.sub(r" \(.*", "", cells[5])) in FREE:
            found.append(Recording(cells[0], cells[2], cells[3], licence))
    return found


def run(*words: object) -> None:
    """Run a program quietly; its output is shown if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}")


def make_runs(judges: Sequence[str], data: Path, out: Path) -> list[Path]:
    """Runs of the judges, ``MODEL`` or ``MODEL:ARGS``, in all four settings."""
    runs = []
    for judge in judges:
        model, _, words = judge.partition(":")
        runs.append(out / re.sub(r"\W", "-", judge))
        command = [sys.executable, "-m", "lmms_eval", "--model", model, *(["--model_args", words] if words else [])]
        os.environ["SIMING_DATA"] = str(data)
        run(*command, "--tasks", "siming", "--output_path", runs[-1], "--log_samples")
    return runs


def write_pages(runs: Sequence[Path], data: Path, out: Path, on_board: Sequence[Path] = ()) -> None:
    """The report of runs into ``out/report``, its videos with it, and a board of some of them into ``out/board``."""
    run(*SIMING, "report", *runs, "--data", data, "--out", out / "report", "--video-files", "copy")
    if on_board:
        with tempfile.TemporaryDirectory() as inbox:
            for path in on_board:
                run(
                    *SIMING,
                    "board",
                    "submit",
                    path,
                    "--data",
                    data,
                    "--out",
                    Path(inbox) / path.name / f"{path.name}.zip",
                )
            run(*SIMING, "board", "build", inbox, "--data", data, "--out", out / "board")


@dataclass
class Links(HTMLParser):
    """Targets of a page, what it leads to or loads, and the places in it that can be led to."""

    found: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the links and ids of one tag."""
        for name, value in attrs:
            if name in ("href", "src", "poster") and value and tag != "use":
                self.found.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def broken_links(folder: Path) -> Iterator[str]:
    """Links of a folder's pages that lead out of it, to no file, or to no place in a page of ours."""
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path.resolve()] = reader = Links()
        reader.feed(path.read_text(encoding="utf-8"))
    root = folder.resolve()
    for path, reader in pages.items():
        for link in reader.found:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            names_place = re.fullmatch(r"[\w.-]+", parts.fragment) and target in pages
            if root not in target.parents or not target.is_file():
                yield f"{path.relative_to(root)}: {link}"
            elif names_place and "docs" in target.parts and unquote(parts.fragment) not in pages[target].places:
                yield f"{path.relative_to(root)}: {link} (no such place)"


@dataclass(frozen=True)
class Footage:
    """A data set of recordings that may be published, the runs on it, and whom to credit."""

    data: Path
    runs: Sequence[Path]
    recordings: Sequence[Recording]


def make_site(out: Path, docs: Path, demo: Path, runs: Sequence[Path], footage: Footage | None = None) -> None:
    """Write the site into an empty folder.

    Args:
        out: the folder.
        docs: sources of the documentation.
        demo: the SYNTHETIC exams.
        runs: finished runs on them; those of reference judges are no models, and stand on no board.
        footage: camera recordings, if any.

    Raises:
        SystemExit: a part cannot be made, or a link leads nowhere.
    """
    places = [
        ("docs/index.html", "Documentation", "From the first model to a paper."),
        (
            "demo/report/index.html",
            "A report",
            "Judges of SYNTHETIC exams: comparison, steps, every reply beside its video.",
        ),
    ]
    lines = []
    models = [path for path in runs if not path.name.startswith("siming_reference")]
    places += [("demo/board/index.html", "A board", "The same judges as submissions. SYNTHETIC.")] if models else []
    with tempfile.TemporaryDirectory() as name, tqdm(total=4 if footage else 3, desc="site") as bar:
        work = Path(name)
        run(sys.executable, "-m", "sphinx", "-q", "-W", "-d", work / "trees", docs, out / "docs")
        bar.update()
        write_pages(runs, demo, out / "demo", models)
        bar.update()
        if footage:
            write_pages(footage.runs, footage.data, out / "footage")
            about = "Everyday tasks, judged by AI annotators: no medicine, no physicians."
            places.append(("footage/report/index.html", "Camera recordings", about))
            lines = [
                "<section><h2>Recordings</h2><ul>",
                *(f"<li>{one.credit}</li>" for one in footage.recordings),
                "</ul></section>",
            ]
            bar.update()
        items = [f'<li><a href="{link}">{title}</a> <span>{text}</span></li>' for link, title, text in places]
        page = (PARTS / "index.html").read_text(encoding="utf-8")
        page = page.format(places="\n".join(items), credits="\n".join(lines))
        (out / "index.html").write_text(page, encoding="utf-8")
        shutil.copyfile(PARTS / "site.css", out / "site.css")
        shutil.copyfile(ROOT / "siming_tasks" / "report" / "static" / "icon.svg", out / "icon.svg")
        (out / ".nojekyll").touch()  # else GitHub's host leaves out the folders that begin with _
        if broken := list(broken_links(out)):
            raise SystemExit("\n".join([f"{len(broken)} links lead nowhere:", *broken[:20]]))
        bar.update()


def main() -> None:
    """Draw the exams, run the judges, write the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--exams", type=int, default=8, help="number of SYNTHETIC exams")
    parser.add_argument("--short", action="store_true", help="exams of half a minute")
    parser.add_argument("--judges", nargs="+", default=JUDGES, metavar="MODEL[:ARGS]")
    parser.add_argument("--footage", type=Path, metavar="FOLDER", help="recordings with their SOURCES.md")
    given = parser.parse_args()
    if check_place(given.out, "a site", is_site):
        print(f"{given.out}: the older site stays until the new one is whole")
    with tempfile.TemporaryDirectory() as name:
        work, footage = Path(name), None
        print(f"drawing {given.exams} SYNTHETIC exams")
        short = ["--short"] if given.short else []
        run(*SIMING, "data", "demo", work / "demo", "--videos", given.exams, *short)
        print(f"running {', '.join(given.judges)}")
        runs = make_runs(given.judges, work / "demo", work / "runs")
        if given.footage:
            from make_footage_exams import make, read_annotator

            judged = {name for name, _ in read_annotator("rater_first")}
            free = [each for each in free_recordings(given.footage / "SOURCES.md") if each.file in judged]
            data = make(work / "footage", given.footage, {each.file for each in free}).dataset.root
            footage = Footage(data, make_runs(given.judges, data, work / "footage_runs"), free)
        with output_folder(given.out, "a site", is_site) as part:
            make_site(part, ROOT / "docs", work / "demo", runs, footage)
    size = sum(path.stat().st_size for path in given.out.rglob("*"))
    print(f"{given.out}: {size / 1e6:.0f} MB; open {given.out / 'index.html'}")


def is_site(folder: Path) -> bool:
    """True for a folder that this script wrote."""
    return (folder / "site.css").is_file()


if __name__ == "__main__":
    main()
