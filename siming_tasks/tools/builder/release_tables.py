"""Labels as authors release them: JSON (one file, or one for each video), Parquet, folders of `datasets`.

Each becomes a sheet of rows, which then goes the way of every other: a mapping file says which column is which.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from siming_tasks.common.errors import DataError, Problem
from siming_tasks.common.files import read_text
from siming_tasks.common.workbook import MAX_COLUMNS, MAX_ROWS
from siming_tasks.data.jsonl import parse_value
from siming_tasks.tools.builder.cells import trimmed
from siming_tasks.tools.builder.sheet_rows import Column, Sheet, SheetRow

MAX_BYTES = 64_000_000
"""Largest JSON file, and largest sum of the columns that are read of a Parquet file, in bytes."""
MAX_FILES = 20_000
METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""Table of a folder of videos, as ``datasets`` reads one (its column ``file_name`` names the video)."""
_SPLIT = re.compile(r"^(train|test|validation|val|dev)\b")

Record = dict[tuple[str, ...], Any]
"""Cells of a row by the names that lead to them."""


def release_files(folder: Path) -> list[Path]:
    """The files of a release: its tables of metadata, else its Arrow, Parquet or JSON files.

    Raises:
        DataError: the folder holds none of them, or too many.
    """
    files: list[Path] = []
    for pattern in (*METADATA, "data-*.arrow", "*.parquet", "*.json"):
        files = sorted(path for path in folder.rglob(pattern) if path.is_file() and path.name not in _NO_LABELS)
        if files:
            break
    if not files:
        what = f"holds no labels: {', '.join(METADATA)}, or files .arrow, .parquet or .json."
        raise DataError(f"{folder}: a folder that {what} Give the label sheet itself.")
    if len(files) > MAX_FILES:
        raise DataError(f"{folder}: {len(files):,} files; at most {MAX_FILES:,} are read.")
    return files


_NO_LABELS = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "croissant.json")


def release_sheet(path: Path, files: Sequence[Path]) -> Sheet:
    """The rows of JSON, Parquet or Arrow files as one sheet; nested names become headings of two lines.

    Raises:
        DataError: a file cannot be read, or is too large.
    """
    records: list[Record] = []
    problems: list[Problem] = []
    for file in files:
        rows = _json_records(file) if file.suffix.lower() == ".json" else _arrow_records(file)
        split = _SPLIT.match(file.stem) or _SPLIT.match(file.parent.name if file.parent != path else "")
        for row in rows:
            if split and ("split",) not in row:
                row[("split",)] = split[1]
            if len(files) > 1 and file.suffix.lower() == ".json":
                row.setdefault(("file",), file.stem)
            records.append(row)
            if len(records) > MAX_ROWS:
                raise DataError(f"{path}: more than {MAX_ROWS:,} rows.")
    columns = {parts: Column(" / ".join(parts), parts) for row in records for parts in row}
    if len(columns) > MAX_COLUMNS:
        raise DataError(f"{path}: {len(columns):,} columns; at most {MAX_COLUMNS:,} are read.")
    cells = ({columns[parts].name: cell for parts, value in row.items() if (cell := trimmed(value)) is not None}
             for row in records)  # fmt: skip
    sheet_rows = tuple(SheetRow(number, row) for number, row in enumerate(cells, 1) if row)
    return Sheet(None, tuple(columns.values()), sheet_rows, str(path), tuple(problems))


def _json_records(path: Path) -> Iterator[Record]:
    try:
        value = parse_value(read_text(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}. Save it again.") from None
    yield from records_of(value)


def records_of(value: Any) -> Iterator[Record]:
    """The rows of a JSON value: objects of a list, or by name; a list of objects inside one becomes rows of it.

    Example:
        >>> list(records_of({"video": "a.mp4", "steps": [{"step": "s1", "score": 2}]}))
        [{('video',): 'a.mp4', ('step',): 's1', ('score',): 2}]
        >>> list(records_of({"a.mp4": {"s1": {"Li": 2, "Wu": 1}}}))
        [{('video_id',): 'a.mp4', ('s1', 'Li'): 2, ('s1', 'Wu'): 1}]
    """
    if isinstance(value, list):
        for item in value:
            yield from records_of(item)
    elif isinstance(value, dict) and value and all(isinstance(item, dict | list) for item in value.values()):
        wraps = len(value) == 1 and isinstance(next(iter(value.values())), list)
        for name, item in value.items():  # one key, such as `videos`, with a list; else the names of videos
            for row in records_of(item) if isinstance(item, list) else _rows_of(item):
                yield row if wraps else {("video_id",): name, **row}
    elif isinstance(value, dict):
        yield from _rows_of(value)


def _rows_of(value: dict[str, Any], inner: bool = False) -> Iterator[Record]:
    """One row, or one for each object of the list that it holds (``inner``: there, a name says what is below it).

    So it does where several names hold objects, or nothing else is there: without their names, one step's points would
    take the place of another's.
    """
    outer: Record = {}
    lists: list[list[Any]] = []
    objects = [isinstance(item, dict) for item in value.values()]
    inner = inner or sum(objects) > 1 or all(objects)
    for name, item in value.items():
        if isinstance(item, list) and item and all(isinstance(each, dict) for each in item):
            lists.append(item)
        elif isinstance(item, dict):
            for parts, leaf in _leaves(item, (name,) if inner else ()):
                outer[parts[-2:]] = leaf
        else:
            outer[(name,)] = item if not isinstance(item, list) else json.dumps(item, ensure_ascii=False)
    if not lists:
        yield outer
    for item in (each for alike in lists for each in alike):
        for row in _rows_of(item, inner=True):
            yield {**outer, **row}


def _leaves(value: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _leaves(item, (*above, name))
        else:
            yield (*above, name), item if not isinstance(item, list) else json.dumps(item, ensure_ascii=False)


def _arrow_records(path: Path) -> Iterator[Record]:
    """The rows of a Parquet file or an Arrow stream, without the bytes of videos: of those, their path."""
    import pyarrow
    import pyarrow.parquet

    try:
        if path.suffix.lower() == ".parquet":
            with pyarrow.parquet.ParquetFile(path) as file:
                wanted = _without_bytes(file.schema_arrow)
                _check_size(path, file, wanted)
                table = file.read(columns=wanted)
        else:
            with pyarrow.memory_map(str(path)) as source, pyarrow.ipc.open_stream(source) as stream:
                keep = [field.name for field in stream.schema if not pyarrow.types.is_large_binary(field.type)]
                table = pyarrow.Table.from_batches(list(stream), stream.schema).select(keep)
                table = _paths_alone(table)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path}: not a readable {path.suffix} file ({error}). Write it again.") from None
    if table.num_rows > MAX_ROWS:
        raise DataError(f"{path}: {table.num_rows:,} rows; at most {MAX_ROWS:,} are read.")
    for row in table.to_pylist():
        yield from _rows_of({name: _plain(_path_of(item)) for name, item in row.items()})


def _plain(item: Any) -> Any:
    """A value, inside lists and objects too, with numbers of fixed digits (``decimal128``) as plain numbers."""
    if isinstance(item, Decimal):
        return float(item)
    if isinstance(item, list):
        return [_plain(each) for each in item]
    return {name: _plain(each) for name, each in item.items()} if isinstance(item, dict) else item


def _without_bytes(schema: Any) -> list[str]:
    """Names of the columns that are read; of a column of files (``bytes`` and ``path``) the path."""
    import pyarrow

    names = []
    for field in schema:
        inner = [part.name for part in field.type] if pyarrow.types.is_struct(field.type) else []
        if {"bytes", "path"} <= {*inner}:
            names.append(f"{field.name}.path")
        elif not pyarrow.types.is_binary(field.type) and not pyarrow.types.is_large_binary(field.type):
            names.append(field.name)
    return names


def _paths_alone(table: Any) -> Any:
    import pyarrow

    for index, field in enumerate(table.schema):
        if pyarrow.types.is_struct(field.type) and {"bytes", "path"} <= {part.name for part in field.type}:
            paths = pyarrow.compute.struct_field(table.column(index), "path")
            table = table.set_column(index, field.name, paths)
    return table


def _check_size(path: Path, file: Any, wanted: Iterable[str]) -> None:
    """Refuse columns that unpack to more than is read."""
    heads = {name.partition(".")[0]: name for name in wanted}
    size = 0
    for group in range(file.metadata.num_row_groups):
        row_group = file.metadata.row_group(group)
        for index in range(row_group.num_columns):
            part = row_group.column(index)
            name = heads.get(part.path_in_schema.partition(".")[0], "-")
            size += part.total_uncompressed_size if part.path_in_schema.startswith(name) else 0
    if size > MAX_BYTES or file.metadata.num_rows > MAX_ROWS:
        raise DataError(f"{path}: {size:,} bytes in {file.metadata.num_rows:,} rows; a label sheet has fewer.")


def _path_of(item: Any) -> Any:
    """The name of a file that a column of files has."""
    return item["path"] if isinstance(item, dict) and set(item) == {"path"} else item
