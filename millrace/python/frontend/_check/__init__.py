"""`millrace check`: which names and ops a program or graph needs that are not here. Runs none of it."""
