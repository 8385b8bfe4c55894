"""SiMing-Bench for lmms-eval: rubric-grounded judging of clinical procedures, scored against physicians.

The names in ``__init__.pyi`` are the public interface, imported when they are first used::

    import siming_tasks as st

    run = st.load("runs/qwen")
    scores = st.score_run(run)
    table = run.to_pandas()
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
