"""What a run can be told from outside: fields, choices, help, checks; the only reader of environment variables."""

from siming_tasks.options.environment import host_variables
from siming_tasks.options.model import OPTIONS, Options
from siming_tasks.options.option import Option, Row
from siming_tasks.options.values import Choice, Decimal, ImageFormat, Kind, Refused, Share, Text, Whole

__all__ = [
    "OPTIONS",
    "Choice",
    "Decimal",
    "ImageFormat",
    "Kind",
    "Option",
    "Options",
    "Refused",
    "Row",
    "Share",
    "Text",
    "Whole",
    "host_variables",
]
