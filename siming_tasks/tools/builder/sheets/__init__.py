"""A dataset folder of a rubric, score sheets and videos."""
