"""Write constraints.txt: the newest versions of all that ``siming-tasks[dev]`` needs, for every Python that it takes.

    python utils/freeze_constraints.py

Needs uv and the package registry. No version was tried when this ends: run the README's two commands with each Python
before the file is committed, since a resolver knows what packages declare and not what they import.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST = re.search(r'requires-python = ">=([\d.]+)', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LEFT_OUT = re.compile(r"(torch|torchvision|triton|nvidia-[\w-]+|cuda-[\w-]+|pip|setuptools|wheel)==")
"""Builds of PyTorch for one's own card are nobody else's to replace; builders reach into isolated builds of others."""
HEADER = "# Versions that the tests passed with, for every Python of the package: pip install -e . -c constraints.txt\n"


def main() -> None:
    """Resolve for all Pythons and platforms at once, and write the file."""
    assert OLDEST is not None
    command = ["uv", "pip", "compile", "pyproject.toml", "--extra", "dev", "--universal", "--python-version", OLDEST[1]]
    command += ["--quiet", "--no-header", "--no-annotate", "--refresh-package", "siming-tasks"]
    # sphinx-basic-ng, of the documentation's theme, has had no other release than a beta for years
    command += ["--prerelease", "disallow", "--prerelease-package", "sphinx-basic-ng=allow"]
    lines = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    pins = [f"{line}\n" for line in lines if not LEFT_OUT.match(line)]
    (ROOT / "constraints.txt").write_text(HEADER + "".join(pins), encoding="utf-8")


if __name__ == "__main__":
    main()
