"""From a raw reply to points or verdicts per step, or a named failure: nothing raised, nothing guessed, no zeros."""

from siming_tasks.parsing.model import MISSING, STATUSES, Parsed
from siming_tasks.parsing.reply import parse_reply
from siming_tasks.parsing.write import format_answers

__all__ = ["MISSING", "STATUSES", "Parsed", "format_answers", "parse_reply"]
