"""Submissions and static leaderboards."""
