"""Recipes to run the paper's models and their successors, and limits of services: dated facts, kept as data."""

from siming_tasks.models.recipes.run_recipes import Recipe, recipe, recipes
from siming_tasks.models.recipes.services import Service, Weight, service_at, service_of_backend, services

__all__ = ["Recipe", "Service", "Weight", "recipe", "recipes", "service_at", "service_of_backend", "services"]
