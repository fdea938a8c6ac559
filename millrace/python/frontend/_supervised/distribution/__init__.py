"""Strategies: how one program trains replicas of its model, on devices of one task or in many tasks."""
