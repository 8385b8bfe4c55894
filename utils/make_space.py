"""Write the folder of a Space of the Hugging Face Hub: a page that takes predictions and prints the checked table.

    python utils/make_space.py OUT DATA REPOSITORY

DATA is a data set of the Hub (``ORG/NAME@REVISION``); REPOSITORY the public address of this one, from which the Space
installs the light requirements and the package. A label file, where the labels are withheld, is put into the Space as a
secret file and named by its variable SPACE_LABELS. Nothing is sent: ``hf upload SPACE OUT --repo-type space``.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

CARD = """---
title: SiMing-Bench, check predictions
sdk: docker
app_port: 7860
license: mit
---

Takes a file of predictions on {data} and prints the table of `siming score`. A number on SYNTHETIC exams is no finding
about any model. Files are scored and not kept.
"""

DOCKERFILE = """FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
RUN git clone --depth 1 {repository} /suite && cd /suite \\
    && pip install --no-cache-dir -r requirements-light.txt && pip install --no-cache-dir --no-deps .
RUN useradd --create-home --uid 1000 user
USER user
ENV SPACE_DATA={data} SPACE_HOST=0.0.0.0 SPACE_PORT=7860
COPY app.py /home/user/app.py
CMD ["python", "/home/user/app.py"]
"""


def write(out: Path, data: str, repository: str) -> None:
    """Write the folder."""
    out.mkdir(parents=True)
    shutil.copy(ROOT / "utils" / "space" / "app.py", out)
    (out / "README.md").write_text(CARD.format(data=data), encoding="utf-8")
    (out / "Dockerfile").write_text(DOCKERFILE.format(data=data, repository=repository), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: make_space.py OUT ORG/NAME@REVISION REPOSITORY")
    if Path(sys.argv[1]).exists():
        sys.exit(f"{sys.argv[1]} is there already; name a new folder.")
    write(Path(sys.argv[1]), *sys.argv[2:])
