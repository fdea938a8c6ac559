"""What the tests of this folder share."""

import subprocess
import time

# What ends a test whose cluster hangs; nothing takes that long when all is well.
PATIENCE = 150


class KeptJobs:
    """Commands where a manager is there, with jobs kept in a folder of the test's own."""

    def __init__(self, place, environment, folder):
        self.place = place
        self.environment = {**environment, "MILLRACE_JOBS": str(folder / "kept")}
        self.folder = folder

    def run(self, *words):
        return subprocess.run(
            words,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )

    def millrace(self, verb, *words):
        done = self.run("millrace", verb, "--on", self.place, *words)
        return done.returncode, done.stdout + done.stderr

    def start(self, verb, *words):
        return subprocess.Popen(
            ["millrace", verb, "--on", self.place, *words],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def job(self, script, roles="{files: 1, map: 2}", until="map", **keys):
        lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
        path = self.folder / "words.yaml"
        words = script if isinstance(script, list) else ["sh", "-c", script]
        path.write_text(
            f"name: words\ncommand: {words}\nroles: {roles}\nuntil: {until}\ngrace: 2s\n{lines}"
        )
        return str(path)

    def wait_until(self, found, what):
        """Waits for something that the cluster does in its own time."""
        deadline = time.monotonic() + PATIENCE
        while not (answer := found()):
            assert time.monotonic() < deadline, f"{what}: {self.millrace('status', 'words')[1]}"
            time.sleep(0.2)
        return answer

    def wait_for_tasks(self, count=3):
        text = f"{count} of {count} tasks run"
        self.wait_until(lambda: text in self.millrace("status", "words")[1], "the tasks start")

    def names(self):
        """Of the jobs that are kept."""
        folder = self.folder / "kept" / self.place
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
