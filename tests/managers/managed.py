"""What the tests of this folder share."""

import os
import re
import signal
import subprocess
import time

import pytest

# What ends a test whose cluster hangs; nothing takes that long when all is well.
PATIENCE = 150

HELPERS_WAIT = "[ {job_name} = map ] || exec sleep 600; "


def until(look, what):
    """Waits for something that the cluster does in its own time."""
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, what
        time.sleep(0.3)
    return found


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

    def texts(self):
        """The list of seven texts with 1000 words each."""
        for i in range(7):
            (self.folder / f"text_{i}").write_text("word " * 1000)
        texts = self.folder / "list"
        texts.write_text("".join(f"{self.folder}/text_{i}\n" for i in range(7)))
        return str(texts)

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


def own_lines(text):
    """Without what `millrace join` says while others are missing, and where a container is."""
    return [
        line
        for line in text.splitlines()
        if "millrace join: " not in line and "yarn: runs in " not in line
    ]


def count_words(place, texts):
    """Runs the example that counts 7000 words, and returns what `run` wrote."""
    job = place.job(["word_count", texts], "{files: 1, reduce: 1, map: 3}")
    code, output = place.millrace("run", job, "--log-dir", "logs")
    assert code == 0, output
    assert re.search(r"total: 7000\b", output), output
    heard = {line.split("|")[0].strip() for line in own_lines(output) if " | " in line}
    assert heard >= {"map:0", "map:1", "map:2"}, output
    for helper in ("files:0", "reduce:0"):
        assert re.search(rf"{helper} +stopped: job finished", output), output
    assert sorted(path.name for path in (place.folder / "logs").iterdir()) == [
        "files_0.log",
        "map_0.log",
        "map_1.log",
        "map_2.log",
        "reduce_0.log",
    ]
    code, logs = place.millrace("logs", "words")
    assert (code, "total: 7000" in logs) == (0, True), logs
    return output


def run_job_that_makes_files(place):
    """Runs a job of which one task succeeds, one fails, and a helper is told to end; all of them have made files,
    beside one that went along."""
    (place.folder / "note.txt").write_text("a note\n")
    script = (
        "cat note.txt; mkdir made; echo {job_name} {task_index} > made/who; seq 100000 > made/numbers; "
        "echo scratch > scratch.txt; case {job_name}{task_index} in "
        "helper*) trap 'echo ended > made/end; exit 0' TERM; echo up; sleep 600 & wait ;; "
        "map1) exit 3 ;; esac; sleep 2"
    )
    roles = "{helper: 1, map: {count: 2, may_lose: 1}}"
    job = place.job(script, roles, files=["note.txt"], outputs="[made/*]", output_dir="back")
    code, output = place.millrace("run", job)
    assert code == 0, output
    assert output.count("| a note\n") == 3, output
    assert re.search(r"map:1 +exit code 3", output), output
    back = place.folder / "back"
    assert sorted(path.name for path in back.iterdir()) == ["helper_0", "map_0", "map_1"]
    numbers = "".join(f"{i + 1}\n" for i in range(100000))
    for name, who in (("helper_0", "helper 0"), ("map_0", "map 0"), ("map_1", "map 1")):
        made = {path.name: path.read_text() for path in (back / name / "made").iterdir()}
        assert made["who"] == who + "\n" and made["numbers"] == numbers, (name, output)
    assert (back / "helper_0" / "made" / "end").read_text() == "ended\n"


def fail_with_last_words(place):
    """Runs a job of which one task fails."""
    script = HELPERS_WAIT + (
        "[ {task_index} = 1 ] && { echo ValueError: bad record >&2; exit 3; }; exec sleep 600"
    )
    code, output = place.millrace("run", place.job(script))
    assert code == 1, output
    assert re.search(r"map:1 +exit code 3", output), output
    assert "last error: ValueError: bad record" in output
    assert re.search(r"map:0 +stopped: map:1 failed", output), output
    assert re.search(r"files:0 +stopped: map:1 failed", output), output
    assert re.search(r"job failed after .*: map:1: exit code 3", output), output
    assert place.millrace("wait", "words")[0] == 1


def submit_and_ask(place):
    """Submits a job, and asks about it until it has succeeded."""
    job = place.job(HELPERS_WAIT + "echo counted; sleep 2")
    assert place.millrace("submit", job) == (0, "words\n")
    assert "words" in place.millrace("list")[1]
    code, output = place.millrace("submit", job)
    assert code == 1 and "there is a job 'words' already" in output, output
    code, output = place.millrace("wait", "words", "--timeout", "100s")
    assert code == 0 and "job succeeded" in output, output
    status = place.millrace("status", "words")[1]
    assert "words: succeeded" in status and "stopped: job finished" in status, status
    assert "succeeded" in place.millrace("list")[1]


def run_out_of_memory(queue, memory):
    """Runs a job of which a task takes more than that, and returns what `run` wrote."""
    # The shell keeps what it has while it waits: the manager looks now and then.
    script = HELPERS_WAIT + "x=0123456789abcdef; "
    script += "while [ ${#x} -lt 200000000 ]; do x=$x$x; done; sleep 600"
    job = queue.job(script, f"{{files: 1, map: {{count: 1, memory: {memory}}}}}")
    code, output = queue.millrace("run", job)
    assert code == 1, output
    assert re.search(r"map:0 +out of memory", output), output
    return output


class JobsOfOurLauncher:
    """What holds wherever a launcher of ours supervises; `queue` is the module's KeptJobs."""

    def test_a_worker_that_is_killed_is_told_from_one_that_fails(self, queue):
        script = HELPERS_WAIT + "echo $$ > pid_{task_index}; exec sleep 600"
        running = queue.start("run", queue.job(script))
        pid = queue.wait_until(
            lambda: (path := queue.folder / "pid_1").exists() and path.read_text().strip(),
            "map:1 runs",
        )
        os.kill(int(pid), signal.SIGKILL)
        output, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 1, output
        assert re.search(r"map:1 +exit code 137, as of SIGKILL", output), output
        assert re.search(r"map:0 +stopped: map:1 failed", output), output

    def test_a_submitted_job_goes_on_alone_and_can_be_asked_about(self, queue):
        submit_and_ask(queue)
        # Tasks that came before others say so, on their own account.
        code, output = queue.millrace("logs", "words", "map:1")
        assert code == 0 and own_lines(output) == ["map:1    | counted"], output

    def test_who_submitted_may_be_killed_and_the_job_is_found_again(self, queue):
        job = queue.job(HELPERS_WAIT + "echo up; until [ -e go ]; do sleep 0.1; done; echo counted")
        running = queue.start("run", job)
        for line in running.stdout:
            if line.endswith("| up\n"):
                break
        running.kill()
        running.wait()
        running.stdout.close()
        following = queue.start("logs", "words", "--follow")
        for line in following.stdout:
            if line.endswith("| up\n"):
                break
        (queue.folder / "go").touch()
        output, _ = following.communicate(timeout=PATIENCE)
        assert following.returncode == 0 and output.count("| counted") == 2, output
        assert "words: succeeded" in output
        assert queue.millrace("wait", "words")[0] == 0

    def test_ctrl_c_removes_a_job_that_is_run(self, queue):
        running = queue.start("run", queue.job("echo up; exec sleep 600"))
        for line in running.stdout:
            if "tasks run" in line:
                break
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode == 130 and "interrupted" in output, output
        assert queue.left() == ([], [])

    def test_a_time_limit_ends_the_job(self, queue):
        code, output = queue.millrace("run", queue.job("exec sleep 600", time_limit="3s"))
        assert code == 1 and "time limit of 3.0 s" in output, output

    def test_roles_that_ask_for_different_machines_know_each_other(self, queue):
        roles = "{files: {cpus: 2}, map: {count: 2, cpus: 1, memory: 300Mi}}"
        code, output = queue.millrace("run", queue.job(HELPERS_WAIT + "echo {map_hosts}", roles))
        assert code == 0, output
        hosts = re.findall(r"map:\d +\| (\S+:\d+,\S+:\d+)$", output, re.MULTILINE)
        assert len(hosts) == 2 and len(set(hosts)) == 1, output

    @pytest.mark.parametrize("verb", ["status", "logs", "wait", "stop", "rerun"])
    def test_a_job_that_is_not_there_is_named(self, queue, verb):
        code, output = queue.millrace(verb, "nobody")
        assert code == 1 and "there is no job 'nobody'" in output, output
