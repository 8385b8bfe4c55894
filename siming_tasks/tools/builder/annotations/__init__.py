"""Spans out of the files of annotation tools: ELAN, BORIS, Label Studio."""
