"""Write docs/reference/models.md from the table of model classes: ``python utils/make_models_page.py [--check]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from siming_tasks.media import Backend, backends
from siming_tasks.media.modes import OURS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "models.md"
TEXT = Path(__file__).with_name("models_page.md")
TITLES = {"chat": "Chat classes", "simple": "Simple classes (`--force_simple`, or where there is no other)"}


HEARS = {"url": "data URL", "path": "path of a WAV file", "array": "samples"}


def _shown(row: Backend) -> str:
    if row.listens:
        return "sound alone"
    if row.media is None:
        return "-"
    several = row.images in ("several", "paths")
    other = " (video)" if row.modality == "image" else " (frames)" if row.modality and several else ""
    return f"{row.media.name}{other}" + (", as files" if row.images == "paths" else "")


def _reads(row: Backend) -> str:
    return "-" if not row.video else "refused" if row.file else "yes"


def _hears(row: Backend) -> str:
    return HEARS[row.hears] if row.hears else "no"


def _notes(row: Backend) -> str:
    notes = [
        ", ".join(f"`{key}={str(value).lower()}`" for key, value in row.arguments.items()),
        row.sound_seconds and f"{row.sound_seconds} s of sound each",
        "" if row.hears else row.deaf,
        row.note,
        row.tokens and f"new tokens: {row.tokens}",
        row.frames and "given with frames: " + ", ".join(f"`{key}={value}`" for key, value in row.frames.items()),
        row.needs and f"needs {', '.join(row.needs)}",
        row.video_needs and f"its reader needs {', '.join(row.video_needs)}",
        row.batch and "batch size 1" + (" with files" if row.batch == "file" else ""),
        row.most_tokens and f"at most {row.most_tokens} new tokens",
        row.schema and "JSON schema",
    ]
    return "; ".join(part for part in notes if part)


def page() -> str:
    """The whole page."""
    lines = []
    for registry, title in TITLES.items():
        rows = [row for row in (*backends().values(), *OURS.values()) if row.name.startswith(f"{registry}.")]
        lines.append(f"## {title}\n\n| shown | own reader | hears | `--model` (notes) |\n|---|---|---|---|\n")
        shown: dict[tuple[str, str, str], dict[str, list[str]]] = {}
        refused: dict[str, list[str]] = {}
        for row in sorted(rows, key=lambda row: row.name.lower()):
            name, notes = f"`{row.name.removeprefix(f'{registry}.')}`", _notes(row)
            if row.why_refused:
                refused.setdefault(row.why_refused, []).append(name)
            else:
                cells = (_shown(row), _reads(row), _hears(row))
                shown.setdefault(cells, {}).setdefault(notes, []).append(name)
        for cells, told in sorted(shown.items()):
            classes = "; ".join(f"{', '.join(names)}{f' ({notes})' if notes else ''}" for notes, names in told.items())
            lines.append(f"| {' | '.join(cells)} | {classes.replace('|', chr(92) + '|')} |\n")
        lines.append("\n| refused, because | `--model` |\n|---|---|\n")
        lines.extend(f"| {reason} | {', '.join(names)} |\n" for reason, names in refused.items())
        lines.append("\n")
    return TEXT.read_text(encoding="utf-8").replace("{tables}\n", "".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    if parser.parse_args().check:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == page() else "docs/reference/models.md is not current")
    PAGE.write_text(page(), encoding="utf-8")
