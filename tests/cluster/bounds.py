"""Where the checkout is, and how long a test waits before it calls something a hang."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 60.0  # seconds; a bound on hangs, not a measure of speed
