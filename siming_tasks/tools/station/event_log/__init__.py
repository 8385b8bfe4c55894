"""What physicians did at a rating station: an append-only file of acts, and what they come to."""

from siming_tasks.tools.station.event_log.events import Act, check_act
from siming_tasks.tools.station.event_log.file import is_journal, rubric_digest
from siming_tasks.tools.station.event_log.replay import ExamState, StepState, fold, folded_exams
from siming_tasks.tools.station.event_log.store import Journal, Known

__all__ = [
    "Act",
    "ExamState",
    "Journal",
    "Known",
    "StepState",
    "check_act",
    "fold",
    "folded_exams",
    "is_journal",
    "rubric_digest",
]
