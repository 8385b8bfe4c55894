"""SiMing-Bench for lmms-eval: rubric-grounded judging of clinical procedures, scored against physicians."""

__version__ = "0.1.0"
