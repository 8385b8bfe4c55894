"""Pre-registered primary: the one claim that was stated before the results were known; all else is exploratory.

It stands in the data set (``primary:`` in ``dataset.yaml``) or in a file of its own, YAML or JSON::

    setting: full_score
    metric: qwk
    hypothesis: non-inferior-to-physicians
    margin: 0.05
    registered: https://osf.io/xxxxx, 2026-11-01
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from siming_tasks.common.errors import DataError
from siming_tasks.common.files import read_yaml, sha256_json
from siming_tasks.common.sanitize import literal
from siming_tasks.metrics.catalogue import CATALOGUE, select
from siming_tasks.tasks import TASKS, UNALTERED_TASKS

Hypothesis = Literal["superior-to-run", "superior-to-no-video", "non-inferior-to-physicians"]


class Primary(BaseModel):
    """Statement of the primary.

    Attributes:
        setting: name of a setting.
        metric: key of a metric of that setting that runs are compared in.
        hypothesis: a run is better than ``run``; better than every no-video baseline; or agrees with the physicians at
            most ``margin`` less than they do with each other.
        run: name of the run to be better than; with ``superior-to-run`` only.
        margin: largest acceptable deficit, above 0; with ``non-inferior-to-physicians`` only.
        registered: place and date of the registration, in free words.

    Example:
        >>> primary = Primary(setting="full_score", metric="qwk", hypothesis="superior-to-no-video")
        >>> print(primary)
        kappa (qwk) in full_score: better than every no-video baseline
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    setting: str
    metric: str
    hypothesis: Hypothesis
    run: str | None = Field(None, min_length=1, max_length=200)
    margin: float | None = Field(None, gt=0, lt=2)
    registered: str = Field("", max_length=500)

    @model_validator(mode="after")
    def _whole(self) -> Primary:
        if self.setting not in UNALTERED_TASKS:
            raise ValueError(f"there is no setting {self.setting!r}; known are {', '.join(UNALTERED_TASKS)}")
        metrics = select(TASKS[self.setting].answer, compared=True)
        if self.metric not in metrics:
            raise ValueError(f"{self.setting} has no metric {self.metric!r} to test; it has {', '.join(metrics)}")
        if self.hypothesis == "non-inferior-to-physicians" and self.metric not in select(symmetric=True):
            raise ValueError(f"{self.metric} changes with which physician is called the reference; use a symmetric one")
        for name, hypothesis in (("run", "superior-to-run"), ("margin", "non-inferior-to-physicians")):
            if (getattr(self, name) is None) == (self.hypothesis == hypothesis):
                raise ValueError(f"`{name}` belongs to the hypothesis {hypothesis}, and to that one alone")
        return self

    @property
    def digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the statement: the same words, the same digest."""
        return sha256_json(self.model_dump(exclude_none=True))[:12]

    def __str__(self) -> str:
        claim = {
            "superior-to-run": f"better than {literal(self.run or '')}",
            "superior-to-no-video": "better than every no-video baseline",
            "non-inferior-to-physicians": f"less than {self.margin or 0:g} below the agreement of the physicians with "
            "each other",
        }[self.hypothesis]
        return f"{CATALOGUE[self.metric].label} in {self.setting}: {claim}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types, with the digest."""
        return self.model_dump(exclude_none=True) | {"digest": self.digest}


def read_primary(path: Path) -> Primary:
    """A statement from a file.

    Raises:
        DataError: the file cannot be read or is no such statement; names the file and the field.
    """
    try:
        return Primary.model_validate(read_yaml(path, Primary))
    except ValidationError as error:
        item = error.errors(include_url=False)[0]
        field = ".".join(map(str, item["loc"]))
        what = item["msg"].removeprefix("Value error, ")
        fields = ", ".join(Primary.model_fields)
        raise DataError(f"{path}: {f'{field}: ' if field else ''}{what}. A primary has {fields}.") from None


def stated_primary(meta: Any, file: str = "") -> Primary | None:
    """The primary of a data set (its ``meta``) or of a file; None if neither states one.

    Raises:
        DataError: both state one and they differ: a claim is not changed after the data set has made it.
    """
    own = Primary.model_validate(meta["primary"]) if meta.get("primary") else None
    given = read_primary(Path(file).expanduser()) if file else None
    if own and given and own != given:
        raise DataError(
            f"{file}: states {given} (digest {given.digest}), the data set {own} (digest {own.digest}). "
            "There is one primary: give no file, or the same statement."
        )
    return own or given
