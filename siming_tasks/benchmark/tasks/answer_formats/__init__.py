"""Answer formats by name. A new one is a module in this folder and its name in the list below."""

from collections.abc import Mapping
from types import MappingProxyType

from siming_tasks.benchmark.tasks.answer_formats.abstention import AbstentionFormat
from siming_tasks.benchmark.tasks.answer_formats.answer_format import AnswerFormat, FormatInputs
from siming_tasks.benchmark.tasks.answer_formats.evidence import EvidenceFormat
from siming_tasks.benchmark.tasks.answer_formats.named_errors import NamedErrorsFormat

__all__ = ["ANSWER_FORMATS", "BENCHMARK_FORMAT", "RECORD_FIELDS", "AnswerFormat", "FormatInputs"]

BENCHMARK_FORMAT = AnswerFormat()  # one answer for every step and nothing else

ANSWER_FORMATS: Mapping[str, AnswerFormat] = MappingProxyType(
    {form.name: form for form in (AbstentionFormat(), EvidenceFormat(), NamedErrorsFormat())}
)
"""Every other answer format by name, in the order in which their tasks are listed."""

RECORD_FIELDS: Mapping[str, type] = MappingProxyType(
    {name: kind for form in ANSWER_FORMATS.values() for name, kind in form.record_fields.items()}
)
"""Fields that records have in some format only, and whether each is a list of step ids or a dict by step id."""
