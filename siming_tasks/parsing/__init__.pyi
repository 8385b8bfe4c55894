from .model import MISSING as MISSING
from .model import STATUSES as STATUSES
from .model import Parsed as Parsed
from .reply import parse_reply as parse_reply
from .write import format_answers as format_answers
