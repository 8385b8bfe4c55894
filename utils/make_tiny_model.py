"""Write a tiny random-weight model of some architecture to a folder: a real model path for tests, nothing downloaded.

    python utils/make_tiny_model.py qwen3_vl OUT

The names are the functions of ``utils/tiny/``. Their replies are noise. Where the host goes by a folder's name
(``A3B``, ``Flash``), OUT must be named likewise.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tiny import images, qwen

MAKERS = {
    name: maker
    for module in (qwen, images)
    for name, maker in vars(module).items()
    if getattr(maker, "__module__", "") == module.__name__ and not name.startswith("_") and callable(maker)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(MAKERS))
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    MAKERS[arguments.name](arguments.out)
    print(f"Wrote {arguments.out}")
