"""Converter for runs of SiMing-Bench, scored by the package siming-tasks."""
