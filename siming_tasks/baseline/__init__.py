"""A supervised baseline on one's own data: heads over frozen features, cross-fitted."""
