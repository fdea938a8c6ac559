"""Recurrent nets: cells, what unrolls them along time, decoders and losses of sequences."""
