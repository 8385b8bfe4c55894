"""The task files of lmms-eval, installed as data."""
