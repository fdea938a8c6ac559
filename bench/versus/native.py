"""Limits that need C++: `build/bin/raw_limits` measures, a line of input per sample."""

import subprocess

import interpreters


class Native:
    """Seconds per call of what the arguments name; `raw_limits --help` lists what there is."""

    gives_seconds = True

    def __init__(self, *arguments):
        command = [str(interpreters.build() / "bin" / "raw_limits"), *map(str, arguments)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(self, seconds):
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}")
        return float(line)
