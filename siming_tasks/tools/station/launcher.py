"""Launcher of a command: a small file that a file manager opens, for those who do not type commands.

Linux starts ``.desktop`` files (`Desktop Entry Specification 1.5
<https://specifications.freedesktop.org/desktop-entry-spec/1.5/>`_), macOS ``.command`` and Windows ``.bat``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from siming_tasks.common.errors import OptionsError
from siming_tasks.common.files import atomic_write

_WAIT = '"$@" || { echo; echo "Enter closes this window."; read -r _; }'
"""A shell's command that runs its arguments; a message about what went wrong stays to be read."""


def write_launcher(place: Path, name: str, command: Sequence[str], folder: Path, platform: str) -> Path:
    """Write a launcher and return its path.

    Args:
        place: the folder to write it to.
        name: what the file is called, without its ending.
        command: the program and its words.
        folder: where the program is started.
        platform: as in :data:`sys.platform`.

    Raises:
        OptionsError: there is another file of that name, it cannot be written, or a word cannot be quoted.
    """
    if bad := next((word for word in (*command, str(folder)) if not word.isprintable()), None):
        raise OptionsError(f"--desktop: {bad!r:.200} holds a character that no launcher can hold. Rename it.")
    ending, text = _bat(command, folder) if platform == "win32" else (
        _command(command, folder) if platform == "darwin" else _desktop(command, folder, name)
    )  # fmt: skip
    path = place / (re.sub(r'[\\/:*?"<>|]', "_", name) + ending)
    try:
        if path.exists() and path.read_bytes() != text.encode():
            raise OptionsError(f"{path}: is there already, and starts something else. Move it away.")
        with atomic_write(path, "wb") as stream:
            stream.write(text.encode())
        path.chmod(0o755)
    except OSError as error:
        raise OptionsError(f"{path}: cannot be written ({error.strerror}).") from None
    return path


def _desktop(command: Sequence[str], folder: Path, name: str) -> tuple[str, str]:
    def quoted(word: str) -> str:
        return '"' + re.sub(r'(["`$\\])', r"\\\1", word).replace("%", "%%") + '"'

    def value(text: str) -> str:
        return text.replace("\\", "\\\\")

    words = " ".join(map(quoted, ["sh", "-c", _WAIT, "sh", *command]))
    lines = ["[Desktop Entry]", "Type=Application", f"Name={value(name)}", f"Exec={value(words)}"]
    return ".desktop", "\n".join([*lines, f"Path={value(str(folder))}", "Terminal=true", ""])


def _command(command: Sequence[str], folder: Path) -> tuple[str, str]:
    return ".command", f"#!/bin/sh\ncd {shlex.quote(str(folder))} && exec {shlex.join(command)}\n"


def _bat(command: Sequence[str], folder: Path) -> tuple[str, str]:
    if bad := next((word for word in command if '"' in word), None):
        raise OptionsError(f"--desktop: {bad!r:.200} holds a quotation mark, which a .bat file cannot quote.")
    # A backslash before the closing quotation mark would make it a part of the word.
    words = " ".join('"' + re.sub(r"(\\+)$", r"\1\1", word) + '"' for word in command)
    lines = ["@echo off", "chcp 65001 >nul", f'cd /d "{folder}"', words, "if errorlevel 1 pause", ""]
    return ".bat", "\r\n".join(line.replace("%", "%%") for line in lines)
