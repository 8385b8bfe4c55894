"""Reading and writing files safely: bounded YAML, atomic writes, digests, paths that stay inside their folder."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import tempfile
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Any, Union, get_args, get_origin

import yaml

from siming_tasks.common.errors import DISK_FULL, DataError

MAX_YAML_BYTES = 4_000_000
MAX_YAML_DEPTH = 50
MAX_NUMBER = 100  # characters of a number in a YAML file; Python takes quadratic time for one of a million
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml, where PyYAML was built with it


class _Loader(_Base):  # type: ignore[misc,valid-type]
    """Safe loader that refuses duplicate keys and numbers of absurd length, and names the line of every bad value."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if number and isinstance(node, yaml.ScalarNode) and len(node.value) > MAX_NUMBER:
            what = f"a number of {len(node.value):,} characters; at most {MAX_NUMBER} are read"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, ArithmeticError, AttributeError, TypeError) as error:  # PyYAML's own slips
            what = f"{str(node.value)[:40]!r} is not a valid value ({error})"
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark) from None

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str | int) and key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {key!r} appears twice", key_node.start_mark)
            if isinstance(key, str | int):
                seen.add(key)
        return super().construct_mapping(node, deep)


_STANDARD = "tag:yaml.org,2002:"
_STR, _NULL = f"{_STANDARD}str", f"{_STANDARD}null"


def _as_written(node: yaml.Node | None, wanted: Any) -> None:
    """Make text of every unquoted scalar below ``node`` that a model wants as text or number; nothing stays nothing.

    YAML 1.1 makes false of ``no``, 90 of ``1:30``, 8 of ``010``, 1.1 of ``1.10`` and a date of ``2024-01-01``. Where a
    field is text, the text is meant; where it is a number, the model reads the digits as people do, or refuses the
    words. Fields of any type keep YAML's own reading.
    ``wanted`` is a pydantic model or a type of its fields.
    """
    kinds = _kinds(wanted)
    if isinstance(node, yaml.ScalarNode):
        if not node.style and node.tag != _NULL and {str, float, int} & {*kinds} and bool not in kinds:
            node.tag = _STR
    elif isinstance(node, yaml.SequenceNode):
        for kind in kinds:
            if get_origin(kind) in (list, tuple):
                for item in node.value:
                    _as_written(item, get_args(kind)[0])
    elif isinstance(node, yaml.MappingNode):
        for kind in kinds:
            models = getattr(kind, "model_fields", {})
            fields = {field.alias or name: field.annotation for name, field in models.items()}
            for key, value in node.value:
                if get_origin(kind) is dict:
                    _as_written(key, get_args(kind)[0])
                    _as_written(value, get_args(kind)[1])
                elif isinstance(key, yaml.ScalarNode) and key.value in fields:
                    _as_written(value, fields[key.value])


def _kinds(wanted: Any) -> list[Any]:
    """List the members of a union, without their annotations."""
    if get_origin(wanted) is Annotated:
        return _kinds(get_args(wanted)[0])
    if get_origin(wanted) in (Union, types.UnionType):
        return [kind for each in get_args(wanted) for kind in _kinds(each)]
    return [wanted]


@contextmanager
def open_regular(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file for reading, and nothing else: a pipe or device would keep its reader waiting or never end.

    It raises OSError, with errno ``EINVAL`` for a folder, a pipe, a socket or a device.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kinds = {"folder": stat.S_ISDIR, "pipe": stat.S_ISFIFO, "socket": stat.S_ISSOCK, "device": stat.S_ISCHR}
        kinds["block device"] = stat.S_ISBLK
        kind = next((word for word, test in kinds.items() if test(mode)), "special file")
        raise OSError(errno.EINVAL, f"a {kind}; only regular files can be read", str(path))
    with os.fdopen(handle, "rb") as stream:
        yield stream


def read_bytes(path: Path, most: int, fix: str = "") -> bytes:
    """Read a regular file of at most ``most`` bytes.

    Raises:
        DataError: it is longer, cannot be read, or is not a regular file; names the file, the limit and ``fix``.
    """
    try:
        with open_regular(path) as stream:
            data, size = stream.read(most + 1), os.fstat(stream.fileno()).st_size
    except FileNotFoundError:
        raise DataError(f"{path}: no such file. {fix}".strip()) from None
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. {fix or 'Name the file itself.'}") from None
    except ValueError:  # a NUL in the path
        raise DataError(f"{str(path)!r}: not a path.") from None
    if len(data) > most:
        fix = fix or "Is it the right file?"
        raise DataError(f"{path}: {max(size, most + 1):,} bytes; at most {most:,} are read here. {fix}")
    return data


def read_text(path: Path, most: int, fix: str = "") -> str:
    """Read the UTF-8 text (a byte-order mark is dropped) of a regular file of at most ``most`` bytes.

    Raises:
        DataError: as :func:`read_bytes`, or the file is not UTF-8.
    """
    return utf8_text(read_bytes(path, most, fix), str(path))


NOT_UTF8 = "this line is not UTF-8.", "Save the file as UTF-8."
"""What is wrong with a line, and the way out."""


def utf8_text(data: bytes, name: str) -> str:
    """Decode UTF-8; a byte-order mark is dropped. DataError: it is something else; names the file and the line."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len((data[: error.start] + b".").splitlines())
        raise DataError(f"{name}:{line}: {' '.join(NOT_UTF8)}") from None


def read_yaml(path: Path, model: Any = None) -> Any:
    """Read a YAML file safely; where the ``model`` it is meant for wants text or numbers, scalars are as written.

    Raises:
        DataError: the file is missing, not a regular file, over 4 MB, not UTF-8, not YAML, uses tags or aliases,
            repeats a key or contains an impossible value; names the line.
    """
    text = read_text(path, MAX_YAML_BYTES)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=_Base):
            depth += isinstance(event, yaml.events.CollectionStartEvent)
            depth -= isinstance(event, yaml.events.CollectionEndEvent)
            what = "aliases (*name) are not accepted here" if isinstance(event, yaml.events.AliasEvent) else ""
            if tag := getattr(event, "tag", None):
                what = f"tags ({tag.replace(_STANDARD, '!!')[:40]}) are not accepted here"
            what = f"nested more than {MAX_YAML_DEPTH} levels deep" if depth > MAX_YAML_DEPTH else what
            if what:  # a few lines of aliases expand to gigabytes
                mark: Any = event.start_mark
                raise yaml.composer.ComposerError(None, None, what, mark)
        loader: Any = _Loader(text)  # derived from SafeLoader
        try:
            node = loader.get_single_node()
            _as_written(node, model)
            return None if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        what = getattr(error, "problem", None) or str(error)
        fix = "Fix that line."
        if "mapping values" in what:
            fix = "Put text that has `: ` in it into quotes, or correct the blanks at the beginning of the line."
        raise DataError(f"{where}: not valid YAML: {what}. {fix}") from None


def yaml_lines(path: Path) -> dict[tuple[str | int, ...], int]:
    """Find the line (from 1) of every entry of a YAML file that :func:`read_yaml` reads, by the keys that lead to it.

    Raises:
        DataError: it is not readable.
    """
    lines: dict[tuple[str | int, ...], int] = {}

    def walk(node: Any, place: tuple[str | int, ...], line: int) -> None:
        lines[place] = line + 1
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                walk(value, (*place, str(key.value)), key.start_mark.line)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                walk(value, (*place, index), value.start_mark.line)

    root = yaml.compose(read_text(path, MAX_YAML_BYTES), Loader=_Base)
    if root is not None:
        walk(root, (), root.start_mark.line)
    return lines


def check_file_name(name: str) -> str:
    """A name that is used as a file's name, if every system takes it for one (ValueError: it is not, and why).

    Windows drops a full stop at the end; ``index`` is the list of a report.
    """
    if name.endswith("."):
        raise ValueError("the name ends with a full stop, which Windows removes; choose another")
    if name.casefold() == "index":
        raise ValueError("the name is reserved for a report's list of pages; choose another")
    return name


@contextmanager
def atomic_path(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Provide a temporary path next to ``target``, which replaces it if the block succeeds and is removed otherwise.

    ``private``: no other user can read it at any moment, whatever the umask; otherwise every user can. An OSError of
    the temporary file, or of a full disk, names ``target``.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.stem[:60]}.", suffix=target.suffix[:20], dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if not private:  # mkstemp makes its file 0600
            temporary.chmod(0o644)
        os.replace(temporary, target)
    except OSError as error:
        if error.filename == name or (error.filename is None and error.errno in DISK_FULL):
            with suppress(AttributeError):  # FFmpeg's errors cannot be changed
                error.filename = str(target)
        raise
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_write(target: Path, mode: str = "w", *, private: bool = False) -> Iterator[IO[Any]]:
    """Open ``target`` for writing so that readers see the old file or the whole new one, never a part.

    ``private``: as :func:`atomic_path` has it.
    """
    with (
        atomic_path(target, private=private) as temporary,
        temporary.open(mode, encoding=None if "b" in mode else "utf-8") as stream,
    ):
        yield stream


def sha256_file(path: Path) -> str:
    """Compute the hex SHA-256 of a file's bytes."""
    with open_regular(path) as stream:
        digest = hashlib.sha256()
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


VERIFIED = "verified"
"""Folder of the cache in which digests are kept for later processes.

``<cache>/verified/<name>`` contains the SHA-256; the name is made of the path, inode, size and dates of the file. A
file that is replaced, renamed or written to has another name and is read again.
"""

_SHA256 = re.compile("[0-9a-f]{64}")
_read_here: dict[str, str] = {}
_identities: dict[tuple[str, int, int, int, int, int], str] = {}


def digest_of(path: Path, cache: Path | None = None) -> str:
    """Compute the hex SHA-256 of a file, read at most once as long as it looks the same.

    It is kept in the cache, if given, for later processes; a failure to write it there is ignored.
    """
    if known := known_digest(path, cache):
        return known
    identity = _identity(path)
    digest = sha256_file(path)
    if _identity(path) == identity:  # else it was written to meanwhile
        _read_here[identity] = digest
        if cache is not None:
            with suppress(OSError), atomic_write(cache / VERIFIED / identity) as stream:
                stream.write(digest)
    return digest


def known_digest(path: Path, cache: Path | None = None) -> str | None:
    """Look up the digest of a file that was read before and looks the same; None if it is unknown.

    Raises:
        OSError: there is no such file.
    """
    identity = _identity(path)
    if identity not in _read_here and cache is not None:
        with suppress(OSError, ValueError):
            text = (cache / VERIFIED / identity).read_text(encoding="ascii")
            if _SHA256.fullmatch(text):
                _read_here[identity] = text
    return _read_here.get(identity)


def _identity(path: Path) -> str:
    """Name the state of a file by its path, inode, size and dates.

    Inode and change date tell apart what size and modification date do not: ``cp -p``, ``touch -r``.
    """
    status = path.stat()
    facts = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    key = (os.path.abspath(path), status.st_dev, *facts)
    if key not in _identities:  # following every link of a path takes longest, and every request asks
        text = "\0".join(map(str, (path.resolve(), *facts)))
        _identities[key] = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:32]
    return _identities[key]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: Any) -> str:
    """Encode a JSON-able value in the one form that digests are taken of: sorted keys, no spaces, nothing escaped."""
    return _CANONICAL.encode(value)


def sha256_json(value: Any) -> str:
    """Compute the hex SHA-256 of a JSON-able value in canonical form, as UTF-8."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def inside(root: Path, relative: str) -> Path:
    """``root / relative``, after making sure that it stays inside ``root``, links followed.

    Raises:
        ValueError: the path is absolute, contains ``..`` or a NUL, or a link leads out of ``root``.
    """
    if not relative or "\0" in relative or "\\" in relative:
        raise ValueError(f"{relative!r} is not a plain relative path")
    path = Path(relative)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{relative!r} leaves the dataset folder")
    # Text, not Path: a data set has as many of them as videos.
    home, target = os.path.realpath(root), os.path.realpath(root / path)
    if target != home and not target.startswith(os.path.join(home, "")):
        raise ValueError(f"{relative!r} leaves the dataset folder through a link")
    return root / path
