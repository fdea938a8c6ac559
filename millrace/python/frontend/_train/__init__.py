"""Optimizers and what belongs to them: slots, decays of the learning rate, moving averages, global steps."""
