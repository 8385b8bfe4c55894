"""Psychometrics of the exam: reliability, generalisability, difficulty, cut scores, decisions."""
