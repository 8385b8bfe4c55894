"""Manikins and sensors as raters: their exports, what they measure in a step, and the points that follow."""

from siming_tasks.tools.instruments.exports import Compressions, read_export, read_exports
from siming_tasks.tools.instruments.measures import Measured, MeasuredFact, measure, measured_facts
from siming_tasks.tools.instruments.rate_folder import rate_with_instrument

__all__ = [
    "Compressions",
    "Measured",
    "MeasuredFact",
    "measure",
    "measured_facts",
    "rate_with_instrument",
    "read_export",
    "read_exports",
]
