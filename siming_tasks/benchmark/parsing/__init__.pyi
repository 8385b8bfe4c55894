from .parsed_reply import MISSING as MISSING
from .parsed_reply import STATUSES as STATUSES
from .parsed_reply import Parsed as Parsed
from .parsed_reply import format_answers as format_answers
from .reply import parse_reply as parse_reply
