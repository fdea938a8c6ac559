"""Jobs that are left to this machine, for tests: in a folder of the test's own."""

import os
import subprocess
import time
from pathlib import Path

from processes import PATIENCE, default_signals

WRITES_PID = "echo $$ > pid_{job_name}_{task_index}; "
HELPERS_WAIT = "[ {job_name} = map ] || exec sleep 600; "


class Here:
    """millrace, with jobs kept in a folder of the test's own."""

    def __init__(self, command, folder):
        self.command, self.folder = command, folder
        self.environment = {**os.environ, "MILLRACE_JOBS": str(folder / "kept")}

    def millrace(self, verb, *words):
        done = subprocess.run(
            [self.command, verb, "--on", "local", *words],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            preexec_fn=default_signals,
        )
        return done.returncode, done.stdout + done.stderr

    def start(self, verb, *words, **options):
        return subprocess.Popen(
            [self.command, verb, "--on", "local", *words],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )

    def job(self, script, roles="{files: 1, map: 2}", until="map", **keys):
        lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
        path = self.folder / "words.yaml"
        path.write_text(
            f"name: words\ncommand: {['sh', '-c', script]}\nroles: {roles}\nuntil: {until}\n"
            f"grace: 2s\n{lines}"
        )
        return str(path)

    def kept(self):
        folder = self.folder / "kept" / "local"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []

    def wait_until(self, found, what):
        deadline = time.monotonic() + PATIENCE
        while not (answer := found()):
            assert time.monotonic() < deadline, f"{what}: {self.millrace('status', 'words')[1]}"
            time.sleep(0.02)
        return answer

    def pids(self):
        """The numbers that its tasks wrote down, while they are those of living processes."""
        pids = [int(path.read_text() or 0) for path in self.folder.glob("pid_*")]
        return [pid for pid in pids if pid and Path(f"/proc/{pid}").exists()]

    def launcher(self):
        """Who holds the journal's lock, as the kernel tells it."""
        inode = (self.folder / "kept" / "local" / "words" / "journal").stat().st_ino
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if fields[1] == "POSIX" and fields[5].endswith(f":{inode}"):
                return int(fields[4])
        return None
