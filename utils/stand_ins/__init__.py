"""Stand-ins for the weights, packages, engines and services behind lmms-eval's model classes.

:mod:`notes` holds what a stand-in writes down, :mod:`weights` what a class loads by ``from_pretrained``,
:mod:`packages` what takes the place of packages that are not installed, :mod:`cases` the table of classes.
``python utils/measure_model_classes.py`` runs them.
"""
