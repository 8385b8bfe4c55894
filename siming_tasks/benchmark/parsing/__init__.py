"""Reading of raw replies: points or verdicts per step, or a named reason. It never raises, guesses or puts zeros.

The names in ``__init__.pyi`` are imported when they are first used: most importers need the statuses alone.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
