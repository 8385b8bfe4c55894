"""Write docs/reference/models.md.

python utils/make_models_page.py [--check]
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from made_pages import wrapped, write

from siming_tasks.media import Backend, backends
from siming_tasks.media.modes import OURS
from siming_tasks.models.recipes import Recipe, recipes

TEXT = Path(__file__).with_name("models_page.md")
TITLES = {"chat": "Chat classes", "simple": "Simple classes (`--force_simple`, or if there is no chat class)"}
HEARS = {"url": "sound as a data URL", "path": "sound as a WAV file", "array": "sound as samples", None: "no sound"}

RECIPES = """
## Recipes

`siming run plan --model "GPT-4o" --data DIR` prints the command for one of the paper's twelve models or a successor,
and checks its requests against the limits of the service. The frames are those of the paper's table 6.

**No command was run with the real weights or the real service.** *Run*: the command ran to its end with a local
stand-in. *Read*: its arguments were found in the code of the class. *None*: there is no command. Names, dates and
memory (16-bit weights) were read in pages and code on {checked} or later, unless the notes say *facts unconfirmed*.

| model | frames | command was | notes |
|---|---|---|---|
"""


def _rows(registry: str) -> list[Backend]:
    rows = [row for row in (*backends().values(), *OURS.values()) if row.name.startswith(f"{registry}.")]
    return sorted(rows, key=lambda row: row.name.lower())


def _name(row: Backend) -> str:
    marks = "¹" * (row.batch == "one") + "²" * (row.batch == "file") + "³" * ("frames" in row.arguments.values())
    return f"`{row.name.partition('.')[2]}`{marks}"


def _kind(row: Backend) -> str:
    """Title of the classes that are shown the same media in the same form."""
    if row.listens or row.media is None:
        return f"Sound alone, as {HEARS[row.hears].rpartition(' ')[2]}"
    several = row.images in ("several", "paths")
    other = " (video)" if row.modality == "image" else " (frames)" if row.modality and several else ""
    reader = "own reader refused" if row.file else "own reader" if row.video else "no reader"
    return ", ".join(
        [f"{row.media.name.capitalize()}{other}", *([reader] if row.media.images else []), HEARS[row.hears]]
    )


def _notes(row: Backend) -> str:
    notes = [
        ", ".join(f"`{key}={str(value).lower()}`" for key, value in row.arguments.items() if value != "frames"),
        row.alone and "gets one request at a time",
        row.sound_seconds and f"gets sound in pieces of {row.sound_seconds} s",
        # A part about transformers is told where that version is refused.
        "; ".join(part for part in row.note.split("; ") if "transformers" not in part),
        row.tokens,
        row.frames and "with frames " + ", ".join(f"`{key}={value}`" for key, value in row.frames.items()),
        row.needs and f"needs {', '.join(need.rpartition('/')[2] for need in row.needs)}",
        row.video_needs and f"its reader needs {', '.join(row.video_needs)}",
        row.most_tokens and f"at most {row.most_tokens} new tokens",
    ]
    return "; ".join(part for part in notes if part)


def _classes(registry: str) -> Iterator[str]:
    """Sections of a registry: classes by what they are shown, one line for each note; then the refused ones."""
    yield f"## {TITLES[registry]}\n"
    usable = [row for row in _rows(registry) if not row.why_refused]
    for kind in sorted({_kind(row) for row in usable}):
        yield f"**{kind}**\n"
        groups: dict[str, list[str]] = {}
        for row in usable:
            if _kind(row) == kind:
                groups.setdefault(_notes(row), []).append(_name(row))
        for notes, names in sorted(groups.items(), key=lambda item: item[0] != ""):
            yield wrapped(f"* {', '.join(names)}{': ' if notes else ''}{notes}")
        yield ""
    refused = ", ".join(_name(row) for row in _rows(registry) if row.why_refused)
    yield wrapped(f"**Refused**, with the reason in the message: {refused}") + "\n"


def models_page() -> str:
    """The whole page of the models."""
    lines = "\n".join(line for registry in TITLES for line in _classes(registry))
    return TEXT.read_text(encoding="utf-8").replace("{tables}\n", lines) + recipe_section()


def recipe_section() -> str:
    """The last section of the page: what is known of each recipe."""
    text = RECIPES.format(checked=min(entry.checked for entry in recipes().values()))
    for entry in recipes().values():
        title = entry.title if entry.model else f"{entry.title}, `{entry.where}`"
        notes = "; ".join(_recipe_notes(entry))
        text += f"| {title} | {entry.full_frames} | {entry.how} | {notes} |\n"
    return text


def _recipe_notes(entry: Recipe) -> Iterator[str]:
    """Facts that the other columns and the command do not say."""
    if entry.successor_of:
        yield f"successor of {recipes()[entry.successor_of].title}"
    if entry.facts != "read":
        yield f"facts {entry.facts}"
    if entry.retired:
        is_gone = entry.retired <= entry.checked
        yield f"{'CANNOT be run again: retired' if is_gone else 'will be retired'} on {entry.retired}"
    yield from (note for note in (entry.undone, entry.memory, *entry.notes) if note)


if __name__ == "__main__":
    write({"models.md": models_page()})
