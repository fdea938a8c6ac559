"""The driver's end of a child process that runs a program: requests and answers, each with a deadline."""

import json
import selectors
import subprocess
import time

import interpreters


class ChildFailed(Exception):
    """The child said that it can't, ended, or did not answer in time."""


class Child:
    """A program in the interpreter of `library`; "none" measures the limits. `log` gets its prints.

    `places` are variables of its environment: folders for its files, which the driver removes.
    """

    def __init__(self, library, program, scale, log, places):
        self._log = log
        self._process = subprocess.Popen(
            [
                interpreters.python(library),
                str(interpreters.HERE / "child.py"),
                library,
                program,
                scale,
            ],
            env=interpreters.environment(library) | places,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
        )
        self._waiting = b""

    @property
    def pid(self):
        return self._process.pid

    def ask(self, seconds, /, **request):
        """The answer to a request, within `seconds`."""
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ChildFailed(self._ending()) from None
        return self.hear(seconds)

    def hear(self, seconds):
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._waiting:
                if not selector.select(max(0.0, until - time.monotonic())):
                    self.stop()
                    raise ChildFailed(f"no answer in {seconds:.0f} s")
                piece = self._process.stdout.read1(65536)
                if not piece:
                    raise ChildFailed(self._ending())
                self._waiting += piece
        line, _, self._waiting = self._waiting.partition(b"\n")
        answer = json.loads(line)
        if "error" in answer:
            raise ChildFailed(answer["error"])
        return answer

    def _ending(self):
        code = self._process.wait()
        last = self._log.read_text(errors="replace").strip().splitlines()[-5:]
        return f"the process ended with {code}: " + " | ".join(last)

    def stop(self):
        self._process.kill()
        self._process.wait()
