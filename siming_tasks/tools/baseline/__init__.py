"""A supervised baseline on one's own data, cross-fitted: heads over frozen features, or the network fine-tuned."""
