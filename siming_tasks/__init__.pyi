from .benchmark.exams import Exams as Exams
from .benchmark.metrics import Estimate as Estimate
from .benchmark.metrics import Rows as Rows
from .benchmark.metrics import ScoreMatrix as ScoreMatrix
from .benchmark.metrics import difference as difference
from .benchmark.metrics import estimate as estimate
from .benchmark.metrics import evaluate as evaluate
from .benchmark.parsing import parse_reply as parse_reply
from .benchmark.record import Record as Record
from .benchmark.rubrics import default_rubric as default_rubric
from .benchmark.scoring import score as score
from .benchmark.tasks import list_tasks as list_tasks
from .benchmark.tasks.prompt import build_prompt as build_prompt
from .data import Dataset as Dataset
from .data import check_dataset as check_dataset
from .data import open_dataset as open_dataset
from .options import Options as Options
from .study.analysis.compare_runs import compare as compare
from .study.analysis.diagnosis import diagnose as diagnose
from .study.report.build import write_report as write_report
from .study.results.run import Run as Run
from .study.results.run import load as load
from .study.results.run import read_run as read_run
from .study.results.run import score_run as score_run
from .tools.builder import build_dataset as build_dataset

__version__: str
