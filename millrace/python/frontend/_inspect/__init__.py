"""`millrace inspect`: what is in checkpoints, graphs and event files, and how two of them differ."""
