"""Media: one deterministic sampler, every frame decoded once, clips that begin and end where they should.

The names in ``__init__.pyi`` are imported when they are first used: planning needs neither Pillow nor the frame store.
No module here has the name of one of them, which would take its place.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
