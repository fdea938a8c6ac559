"""Estimators: a model's function trained, evaluated, asked and exported, on one task or as one of many."""
