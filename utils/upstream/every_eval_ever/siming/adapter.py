"""Runs of SiMing-Bench as evaluation logs.

A run is a folder of sample logs that lmms-eval wrote, or a file of
predictions. The package ``siming-tasks`` scores it and writes a record of the
schema (``siming run export --format every-eval-ever``); here that record is
given the facts about who ran it and validated.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

from every_eval_ever.converters.common.adapter import (
    AdapterMetadata,
    BaseEvaluationAdapter,
    SupportedLibrary,
)
from every_eval_ever.converters.common.error import AdapterError
from every_eval_ever.eval_types import EvaluationLog

try:
    from siming_tasks.common.errors import DataError
    from siming_tasks.data import open_dataset
    from siming_tasks.data.resolve import resolve_dataset
    from siming_tasks.options import Options
    from siming_tasks.results.discovery import find_runs
    from siming_tasks.tools.exchange.every_eval_ever import (
        write_every_eval_ever,
    )
    from siming_tasks.tools.exchange.exported_run import read_exported_run
except ImportError as error:
    raise ImportError(
        'the siming converter scores runs with a package of its own: '
        'pip install siming-tasks'
    ) from error

COLLECTION = 'siming-bench'
SOURCE_FACTS = (
    'source_organization_name',
    'source_organization_url',
    'source_organization_logo_url',
    'evaluator_relationship',
)


class SimingAdapter(BaseEvaluationAdapter):
    """Scores a run on its data set, and gives one log for it.

    Args:
        data: folder of the data set, with its labels.
        staging: folder for the written records; instance-level lines are
            published from there.
        include_samples: write a line per request, which holds its reference.
        resamples: bootstrap resamples of each interval.

    Attributes:
        uuids: names of the staged records, in the order of their logs.
    """

    def __init__(
        self,
        data: str | Path,
        staging: str | Path,
        *,
        include_samples: bool = False,
        resamples: int = 1000,
        strict_validation: bool = True,
    ):
        super().__init__(strict_validation)
        self.options = Options(data=str(data), resamples=resamples)
        self.staging = Path(staging)
        self.include_samples = include_samples
        self.uuids: List[str] = []

    @property
    def metadata(self) -> AdapterMetadata:
        return AdapterMetadata(
            name='SimingAdapter',
            version='0.1.0',
            supported_library_versions=['0.1.*'],
            description='Runs of SiMing-Bench, scored by siming-tasks',
        )

    @property
    def supported_library(self) -> SupportedLibrary:
        return SupportedLibrary.CUSTOM

    def transform_from_file(
        self, file_path: str | Path, metadata_args: Dict[str, Any]
    ) -> EvaluationLog:
        """The log of a prediction file or of one run's folder."""
        return self._transform_single(file_path, metadata_args)

    def transform_from_directory(
        self,
        dir_path: str | Path,
        metadata_args: Dict[str, Any] | None = None,
    ) -> List[EvaluationLog]:
        """A log for each run in a folder."""
        sources = find_runs([str(dir_path)])
        return [
            self._transform_single(source.path, metadata_args or {})
            for source in sources
        ]

    def _transform_single(
        self, raw_data: Any, metadata_args: Dict[str, Any]
    ) -> EvaluationLog:
        try:
            (source,) = find_runs([str(raw_data)])
            exported = read_exported_run(
                source,
                open_dataset(resolve_dataset(self.options), media=False),
                self.options,
                labels=self.include_samples,
            )
            (file, *_) = write_every_eval_ever(exported, self.staging)
        except DataError as error:
            raise AdapterError(str(error)) from error
        record = json.loads(file.read_text(encoding='utf-8'))
        known = {key: metadata_args.get(key) for key in SOURCE_FACTS}
        record['source_metadata'] |= {
            key: value for key, value in known.items() if value
        }
        log = EvaluationLog.model_validate(record)
        self.uuids.append(file.stem)
        return log
