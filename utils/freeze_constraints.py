"""Write constraints.txt: the installed versions of everything that ``siming-tasks[dev]`` needs, and of nothing else.

    python utils/freeze_constraints.py > constraints.txt

Run it in the environment that the tests passed in (Python 3.11, Linux). Whatever else is installed there is left out.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Requirement("siming-tasks[dev]")
BUILDERS = {"pip", "setuptools", "wheel"}
"""Left out, as ``pip freeze`` does: a constraint on them would reach into the isolated builds of other packages."""


def needed(root: Requirement) -> dict[str, str]:
    """Name and version of every distribution that a requirement brings, itself not included."""
    versions: dict[str, str] = {}
    queue, seen = [(canonicalize_name(root.name), extra) for extra in ("", *root.extras)], set()
    while queue:
        name, extra = queue.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        package = distribution(name)
        versions[package.metadata["Name"]] = package.version
        for text in package.requires or ():
            wanted = Requirement(text)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                queue += [(canonicalize_name(wanted.name), more) for more in ("", *wanted.extras)]
    return {name: version for name, version in versions.items() if name.lower() not in BUILDERS | {root.name}}


def main() -> None:
    """Print the file."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    print(f"# Versions that the tests passed with (Python {python}, Linux): pip install -e . -c constraints.txt")
    for name, version in sorted(needed(ROOT).items(), key=lambda item: item[0].lower()):
        print(f"{name}=={version}")


if __name__ == "__main__":
    main()
