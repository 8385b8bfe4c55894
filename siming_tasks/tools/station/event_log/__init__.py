"""Event log of a rating station: an append-only file of events, and the state that they come to."""

from siming_tasks.tools.station.event_log.events import Event, check_event
from siming_tasks.tools.station.event_log.file import is_event_log, rubric_digest
from siming_tasks.tools.station.event_log.replay import ExamState, StepState, replay, replay_exams
from siming_tasks.tools.station.event_log.store import EventLog, Known

__all__ = [
    "Event",
    "EventLog",
    "ExamState",
    "Known",
    "StepState",
    "check_event",
    "is_event_log",
    "replay",
    "replay_exams",
    "rubric_digest",
]
