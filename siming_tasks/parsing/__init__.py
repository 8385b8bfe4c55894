"""From a raw reply to points or verdicts per step, or a named failure: nothing raised, nothing guessed, no zeros.

The names in ``__init__.pyi`` are imported when they are first used: who asks needs the words of an answer, not its
grammar.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
