"""Build and try a release, uploading nothing: ``python utils/release.py OUT``.

OUT (a new folder) gets the source distribution and the wheel. A line says what each check found; exit code 1 if one
failed. Run it in the environment of the tests (`.[dev]`), on a clean tree. The wheel is installed with all that it
needs into a fresh environment, away from the checkout, and runs the README's first command there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
NOT_SHIPPED = (".ci/", ".github/", ".gitignore", ".pre-commit-config.yaml")
ROWS = ("full_score .*|qwk", "full_error .*|mcc", "clip_score .*|qwk", "clip_error .*|mcc")
"""Rows that the table of the README's first command must hold: lmms-eval's exit code alone says little."""


@dataclass(frozen=True)
class Release:
    """The project's folder and that of the files that are built."""

    root: Path
    out: Path

    def text(self, name: str) -> str:
        """A file of the project."""
        return (self.root / name).read_text(encoding="utf-8")

    def run(self, *command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in the project's folder."""
        return subprocess.run([str(word) for word in command], cwd=cwd or self.root, capture_output=True, text=True)

    @property
    def version(self) -> str:
        """The version that the package states."""
        return re.findall(r'^__version__ = "(.+)"$', self.text("siming_tasks/__init__.py"), flags=re.MULTILINE)[0]

    def built(self, ending: str) -> Path:
        """The file of this version that was built."""
        return next(self.out.glob(f"siming_tasks-{self.version}*{ending}"))


def clean_tree(release: Release) -> Iterator[str]:
    """Check that the working tree has no changes and no untracked files."""
    changed = release.run("git", "status", "--porcelain").stdout.splitlines()
    if changed:
        yield f"{len(changed)} files are changed or untracked, the first: {changed[0].strip()}"


def one_version(release: Release) -> Iterator[str]:
    """Package, changelog and citation name one version and one day."""
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", release.text("CHANGELOG.md"), flags=re.MULTILINE)
    name, day = next((heading for heading in headings if heading[0] != "Unreleased"), ("none", ""))
    cited = yaml.safe_load(release.text("CITATION.cff"))
    stated = {"package": release.version, "CHANGELOG.md": name, "CITATION.cff": str(cited["version"])}
    days = {"CHANGELOG.md": day, "date-released in CITATION.cff": str(cited.get("date-released"))}
    for found in (stated, days):
        if len(set(found.values())) > 1:
            yield "; ".join(f"{where}: {value or 'nothing'}" for where, value in found.items())
    try:
        date.fromisoformat(day)
    except ValueError:
        yield f"the heading of {name} in CHANGELOG.md has no date (## [{release.version}] - YYYY-MM-DD)"


def repository(release: Release) -> Iterator[str]:
    """The metadata name the place of the repository, which a published file cannot be given afterwards."""
    urls = release.text("pyproject.toml").partition("\n[project.urls]\n")[2].partition("\n[")[0]
    if not re.search(r'^(Repository|Source) = "https://\S+"$', urls, flags=re.MULTILINE):
        yield 'write Repository = "https://..." below [project.urls] in pyproject.toml before you publish'


def files(release: Release) -> Iterator[str]:
    """The source distribution holds every tracked file, the wheel is built from it, and both have whole metadata."""
    done = release.run(sys.executable, "-m", "build", "--no-isolation", "--outdir", release.out)
    if done.returncode:
        yield f"the build failed: {done.stderr.strip()[-300:]}"
        return
    with tarfile.open(release.built(".tar.gz")) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    tracked = release.run("git", "ls-files").stdout.splitlines()
    missing = [name for name in tracked if name not in held and not name.startswith(NOT_SHIPPED)]
    if missing:
        yield f"the source distribution lacks {len(missing)} tracked files, the first: {missing[0]}"
    both = release.built(".tar.gz"), release.built(".whl")
    done = release.run(sys.executable, "-m", "twine", "check", "--strict", *both)
    if done.returncode:
        yield f"twine check: {done.stdout.strip()[-300:]}"


def first_command(readme: str) -> list[str]:
    """The words of the README's first command, after the installation."""
    command = readme.partition("<!-- ci -->\n```sh\n")[2].partition("\n")[0]
    return shlex.split(command.partition(" && ")[2])


def install(release: Release) -> Iterator[str]:
    """From the wheel alone, in an empty folder, the README's first command prints its table."""
    programs, work = release.out / "env" / "bin", release.out / "work"
    work.mkdir()
    release.run(sys.executable, "-m", "venv", programs.parent)
    words = ["-m", "pip", "install", "-q", "-c", "constraints.txt", release.built(".whl")]
    done = release.run(programs / "python", *words)
    if done.returncode:
        yield f"pip install failed: {done.stderr.strip()[-300:]}"
        return
    program, *words = first_command(release.text("README.md"))
    done = release.run("env", f"XDG_CACHE_HOME={release.out / 'cache'}", programs / program, *words, cwd=work)
    lacking = [row for row in ROWS if not re.search(f"siming_{row.replace('|', '[|]')}", done.stdout)]
    if lacking:
        yield f"the table lacks {', '.join(lacking)}: {done.stderr.strip()[-300:]}"


CHECKS: tuple[Callable[[Release], Iterator[str]], ...] = (clean_tree, one_version, repository, files, install)


def main() -> int:
    """Do all checks; the exit code."""
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit("usage: python utils/release.py OUT, a folder that is not there already")
    (release := Release(ROOT, Path(sys.argv[1]).resolve())).out.mkdir(parents=True)
    failed = 0
    for check in CHECKS:
        wrong = list(check(release))
        failed += bool(wrong)
        print(f"{'FAILED ' if wrong else 'ok     '} {check.__name__}: {(check.__doc__ or '').strip()}")
        print(*(f"  {line}\n" for line in wrong), sep="", end="", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
