"""Make a folder for any static host: README in both languages, the documentation, a report, a board, and a first page.

    python utils/make_site.py OUT [--exams 8] [--judges siming_nano siming_reference:kind=random]

The exams are the SYNTHETIC demo, and every page says so. All links are followed; one that leads nowhere fails the
script and leaves OUT out. Takes some minutes, most of them for the judges.
"""

from __future__ import annotations

import argparse
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

from siming_tasks.common.output_folder import check_place, output_folder

ROOT = Path(__file__).parents[1]
PARTS = Path(__file__).parent / "site"
SIMING = [sys.executable, "-c", "import sys; from siming_tasks.cli import main; sys.exit(main())"]
JUDGES = ("siming_nano", "siming_reference:kind=random")
PLACES = (
    ("docs/readme.html", "What it is", "README."),
    ("docs/readme.zh.html", "简介", "README，中文。"),
    ("docs/index.html", "Documentation", "From the first model to a paper."),
    ("report/index.html", "A report", "Judges of SYNTHETIC exams: comparison, steps, every reply beside its video."),
    ("board/index.html", "A board", "The same judges as submissions. SYNTHETIC."),
)


def run(*words: object) -> None:
    """Run a program quietly; its output is shown if it fails."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stdout}\n{done.stderr}")


def make_runs(judges: Sequence[str], data: Path, out: Path) -> list[Path]:
    """Runs of the judges, ``MODEL`` or ``MODEL:ARGS``, in all four settings."""
    os.environ["SIMING_DATA"] = str(data)
    runs = [out / re.sub(r"\W", "-", judge) for judge in judges]
    for judge, path in zip(judges, runs, strict=True):
        model, _, words = judge.partition(":")
        command = [sys.executable, "-m", "lmms_eval", "--model", model, *(["--model_args", words] if words else [])]
        run(*command, "--tasks", "siming", "--output_path", path, "--log_samples")
    return runs


def write_docs(docs: Path, out: Path) -> None:
    """The documentation with both READMEs as pages; a link of theirs to a file outside of docs/ becomes its words."""
    with tempfile.TemporaryDirectory() as name:
        pages = Path(name) / "docs"
        shutil.copytree(docs, pages)

        def inside(link: re.Match[str]) -> str:
            return link[0] if (pages / link[2]).exists() else link[1]

        for source, page in (("README.md", "readme.md"), ("README.zh.md", "readme.zh.md")):
            text = (ROOT / source).read_text(encoding="utf-8").replace("(docs/", "(").replace("(README", "(readme")
            text = re.sub(r"(?<!!)\[([^]]*)\]\((?!https?:|readme)([^)#]*)[^)]*\)", inside, text)
            (pages / page).write_text(f"---\norphan: true\n---\n{text}", encoding="utf-8")
        run(sys.executable, "-m", "sphinx", "-q", "-W", "-d", Path(name) / "trees", pages, out)


def write_board(runs: Sequence[Path], data: Path, out: Path) -> None:
    """A board of some runs as submissions."""
    with tempfile.TemporaryDirectory() as inbox:
        for path in runs:
            archive = Path(inbox) / path.name / f"{path.name}.zip"
            run(*SIMING, "board", "submit", path, "--data", data, "--out", archive)
        run(*SIMING, "board", "build", inbox, "--data", data, "--out", out)


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
    """Links of a folder's pages that lead out of it, to no file, or to no place in a page of the documentation."""
    pages, root = {}, folder.resolve()
    for path in sorted(root.rglob("*.html")):
        pages[path] = reader = Links()
        reader.feed(path.read_text(encoding="utf-8"))
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


def make_site(out: Path, docs: Path, demo: Path, runs: Sequence[Path]) -> None:
    """Write the site into an empty folder.

    Args:
        out: the folder.
        docs: sources of the documentation.
        demo: the SYNTHETIC exams.
        runs: finished runs on them; those of reference judges are no models, and stand on no board.

    Raises:
        SystemExit: a part cannot be made, or a link leads nowhere.
    """
    write_docs(docs, out / "docs")
    run(*SIMING, "report", *runs, "--data", demo, "--out", out / "report", "--video-files", "copy")
    write_board([path for path in runs if not path.name.startswith("siming_reference")], demo, out / "board")
    items = "\n".join(f'<li><a href="{link}">{title}</a> <span>{text}</span></li>' for link, title, text in PLACES)
    page = (PARTS / "index.html").read_text(encoding="utf-8").format(places=items)
    (out / "index.html").write_text(page, encoding="utf-8")
    shutil.copyfile(PARTS / "site.css", out / "site.css")
    shutil.copyfile(ROOT / "siming_tasks" / "report" / "static" / "icon.svg", out / "icon.svg")
    (out / ".nojekyll").touch()  # else GitHub's host leaves out the folders that begin with _
    if broken := list(broken_links(out)):
        raise SystemExit("\n".join([f"{len(broken)} links lead nowhere:", *broken[:20]]))


def is_site(folder: Path) -> bool:
    """True for a folder that this script wrote."""
    return (folder / "site.css").is_file()


def main() -> None:
    """Draw the exams, run the judges, write the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--exams", type=int, default=8, help="number of SYNTHETIC exams")
    parser.add_argument("--short", action="store_true", help="exams of half a minute")
    parser.add_argument("--judges", nargs="+", default=JUDGES, metavar="MODEL[:ARGS]")
    given = parser.parse_args()
    if check_place(given.out, "a site", is_site):
        print(f"{given.out}: the older site stays until the new one is whole")
    with tempfile.TemporaryDirectory() as name:
        demo, short = Path(name) / "demo", ["--short"] if given.short else []
        run(*SIMING, "data", "demo", demo, "--videos", given.exams, *short)
        print(f"running {', '.join(given.judges)}")
        runs = make_runs(given.judges, demo, Path(name) / "runs")
        with output_folder(given.out, "a site", is_site) as part:
            make_site(part, ROOT / "docs", demo, runs)
    size = sum(path.stat().st_size for path in given.out.rglob("*"))
    print(f"{given.out}: {size / 1e6:.0f} MB; open {given.out / 'index.html'}")


if __name__ == "__main__":
    main()
