"""Edits of recordings whose consequences for the rubric are known: counterfactual pairs without a simulator."""
