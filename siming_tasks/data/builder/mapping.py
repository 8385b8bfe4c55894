"""The mapping file of a score sheet: how a hospital's own words are ours."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from siming_tasks.data.rows import problems_of
from siming_tasks.errors import DataError
from siming_tasks.files import read_yaml

__all__ = ["SheetMapping", "read_mapping"]


class SheetMapping(BaseModel):
    """The mapping file: how a sheet's own words are ours. Every key is optional.

    Attributes:
        columns: our column name to the sheet's (``video_id: 录像编号``).
        raters: the sheet's rater (a cell in the wide form, a column in the long form) to the name in the dataset.
        steps: wide form: the sheet's column to the step's id.
        not_applicable: cells that mean N/A.
    """

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    columns: dict[str, str] = Field(default_factory=dict)
    raters: dict[str, str] = Field(default_factory=dict)
    steps: dict[str, str] = Field(default_factory=dict)
    not_applicable: tuple[str, ...] = ()


def read_mapping(path: Path) -> SheetMapping:
    """The mapping file of a score sheet.

    Raises:
        DataError: not YAML, or not a mapping file.
    """
    try:
        return SheetMapping.model_validate(read_yaml(path) or {})
    except ValidationError as error:
        raise DataError.of(problems_of(error, str(path))) from None
