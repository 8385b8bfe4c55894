"""The release checklist, which does the checks itself. Uploads nothing.

    python utils/release.py OUT [--download] [--skip NAME ...]

OUT (a new folder) gets the source distribution and the wheel. Every check prints one line; the exit code is 1 if one
failed. Run it in the environment of the tests (`.[dev]`), on a clean tree. The wheel is installed into a fresh
environment of every interpreter found that the package supports (python3.10, 3.11, 3.12) and runs the README's first
command there. Its dependencies come from this environment, for its own version of Python only; ``--download`` installs
them for each.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import yaml
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"
NOT_SHIPPED = (".ci/", ".github/", ".gitignore")
ROWS = ("full_score .*|qwk", "full_error .*|mcc", "clip_score .*|qwk", "clip_error .*|mcc")
"""Rows that the table of the README's first command must hold: lmms-eval's exit code alone says little."""


@dataclass(frozen=True)
class Release:
    """Arguments of a release check: the project's folder, the output folder, and if dependencies are downloaded."""

    root: Path
    out: Path
    download: bool = False

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
    named = next(((name, day) for name, day in headings if name != "Unreleased"), ("none", ""))
    if named[0] != release.version:
        yield f"the newest version in CHANGELOG.md is {named[0]}, the package is {release.version}"
    try:
        date.fromisoformat(named[1])
    except ValueError:
        yield f"the heading of {named[0]} in CHANGELOG.md has no date (## [{release.version}] - YYYY-MM-DD)"
    cited = yaml.safe_load(release.text("CITATION.cff"))
    if cited["version"] != release.version:
        yield f"CITATION.cff says version {cited['version']}, the package is {release.version}"
    if str(cited.get("date-released")) != named[1]:
        yield f"date-released in CITATION.cff is {cited.get('date-released')}, in CHANGELOG.md {named[1] or 'nothing'}"


def constraints(release: Release) -> Iterator[str]:
    """constraints.txt is what is installed here."""
    frozen = release.run(sys.executable, "utils/freeze_constraints.py")
    if frozen.returncode or frozen.stdout != release.text("constraints.txt"):
        yield "run: python utils/freeze_constraints.py > constraints.txt"


def pages(release: Release) -> Iterator[str]:
    """Every page that a script makes is what the script would write."""
    before = release.run("git", "status", "--porcelain", "docs").stdout
    for script in sorted((release.root / "utils").glob("make_*_page*.py")):
        done = release.run(sys.executable, script)
        if done.returncode:
            yield f"{script.name} failed: {done.stderr.strip()[-200:]}"
    if release.run("git", "status", "--porcelain", "docs").stdout != before:
        yield "generated pages were out of date and are written anew; look at them and commit"


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
    done = release.run(
        sys.executable, "-m", "twine", "check", "--strict", release.built(".tar.gz"), release.built(".whl")
    )
    if done.returncode:
        yield f"twine check: {done.stdout.strip()[-300:]}"


def interpreters(release: Release) -> dict[str, str]:
    """The supported interpreters of this machine, by version."""
    supported = SpecifierSet(re.findall(r'^requires-python = "(.+)"$', release.text("pyproject.toml"), re.MULTILINE)[0])
    wanted = [f"3.{minor}" for minor in range(8, 20) if f"3.{minor}" in supported]
    by_version = {
        version: sys.executable if version == OURS else shutil.which(f"python{version}") for version in wanted
    }
    return {
        version: python if python and runs(release, python, version) else "" for version, python in by_version.items()
    }


def runs(release: Release, python: str, version: str) -> bool:
    """True if it is that version: a name on the path may be a switch between versions, none of them chosen."""
    return release.run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip() == version


def first_command(readme: str) -> list[str]:
    """The words of the README's first command, after the installation."""
    command = readme.partition("<!-- ci -->\n```sh\n")[2].partition("\n")[0]
    return shlex.split(command.partition(" && ")[2])


def install(release: Release) -> Iterator[str]:
    """From the wheel alone, in an empty folder, the README's first command prints its table."""
    for version, python in interpreters(release).items():
        if not python or (version != OURS and not release.download):
            print(f"  Python {version}: not tried ({'give --download' if python else 'not on this machine'})")
            continue
        folder = release.out / f"python{version}"
        wrong = tried(release, folder, python)
        if wrong:
            yield f"Python {version}: {wrong}"
        else:
            shutil.rmtree(folder)
            print(f"  Python {version}: installed from the wheel, the table is printed")


def tried(release: Release, folder: Path, python: str) -> str:
    """Install the wheel with this interpreter and run the command; what is wrong, if anything."""
    release.run(python, "-m", "venv", folder / "env")
    inside = folder / "env" / "bin" / "python"
    pinned = ["-c", "constraints.txt"] if folder.name == f"python{OURS}" else []  # they are those of this version
    options = pinned if release.download else ["--no-deps", "--no-index"]
    done = release.run(inside, "-m", "pip", "install", "-q", *options, release.built(".whl"))
    if done.returncode:
        return f"pip install failed: {done.stderr.strip()[-300:]}"
    if not release.download:
        where = release.run(inside, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        others = [path for path in sys.path if path.endswith("-packages")]
        Path(where, "others.pth").write_text("".join(f"{path}\n" for path in others), encoding="utf-8")
    work = folder / "work"
    work.mkdir()
    program, *words = first_command(release.text("README.md"))
    module = {"lmms-eval": "lmms_eval"}[program]
    done = release.run("env", f"XDG_CACHE_HOME={folder / 'cache'}", inside, "-m", module, *words, cwd=work)
    lacking = [row for row in ROWS if not re.search(f"siming_{row.replace('|', '[|]')}", done.stdout)]
    return f"the table lacks {', '.join(lacking)}: {done.stderr.strip()[-300:]}" if lacking else ""


CHECKS: tuple[Callable[[Release], Iterator[str]], ...] = (clean_tree, one_version, constraints, pages, files, install)


def main() -> int:
    """Do all checks; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--download", action="store_true", help="install dependencies anew for every interpreter")
    parser.add_argument("--skip", nargs="*", default=[], choices=[check.__name__ for check in CHECKS])
    arguments = parser.parse_args()
    release = Release(ROOT, arguments.out.resolve(), arguments.download)
    release.out.mkdir(parents=True)
    failed = 0
    for check in CHECKS:
        if check.__name__ in arguments.skip:
            print(f"SKIPPED {check.__name__}")
            continue
        wrong = list(check(release))
        failed += bool(wrong)
        print(f"{'FAILED ' if wrong else 'ok     '} {check.__name__}: {(check.__doc__ or '').strip()}")
        for line in wrong:
            print(f"  {line}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
