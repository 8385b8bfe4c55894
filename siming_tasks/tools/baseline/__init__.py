"""A supervised baseline on one's own labels: a frozen image backbone and a logistic regression for each step."""
