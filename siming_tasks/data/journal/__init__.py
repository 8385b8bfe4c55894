"""What physicians did at a rating station: an append-only file of acts, and what they come to."""

from siming_tasks.data.journal.acts import Act, check_act
from siming_tasks.data.journal.file import is_journal, rubric_digest
from siming_tasks.data.journal.fold import ExamState, StepState, fold, folded_exams
from siming_tasks.data.journal.store import Journal, Known

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
