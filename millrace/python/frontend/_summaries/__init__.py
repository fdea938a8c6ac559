"""Summaries: nodes that make them, the messages that they are, and files of events that hold them."""
