"""Jobs whose tasks run in images, on a real YARN that starts Docker containers by Hadoop's own container-executor."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from managed import HELPERS_WAIT, PATIENCE
from yarn_queue import Queue, running_yarn

IMAGE = "local/millrace-test:1"
# Who YARN runs containers as where nobody has to prove who he is.
NOBODY = 65534
PROGRAMS = "bash sh cat cp chmod env find hostname id ln ls mkdir sleep touch".split()
CONFIGURATION = """yarn.nodemanager.linux-container-executor.group=root
min.user.id=1000
banned.users=bin
[docker]
module.enabled=true
docker.allowed.capabilities=CHOWN,DAC_OVERRIDE,FSETID,FOWNER,MKNOD,NET_RAW,SETGID,SETUID,SETFCAP,SETPCAP,NET_BIND_SERVICE,SYS_CHROOT,KILL,AUDIT_WRITE
docker.allowed.networks=host
docker.allowed.ro-mounts={0}
docker.allowed.rw-mounts={0}
docker.trusted.registries=local
"""


def leave_out(what):
    pytest.skip(f"LEFT OUT, images on a real YARN: {what}")


def run(*words, **how):
    return subprocess.run(words, capture_output=True, timeout=PATIENCE, **how)


@pytest.fixture(scope="module")
def executor():
    """Hadoop's container-executor, where it may be run from, and whose configuration allows Docker."""
    program = os.environ.get("MILLRACE_CONTAINER_EXECUTOR", "")
    if not program:
        leave_out(
            "no container-executor of Hadoop's, which is in no package; build the native part of its "
            "hadoop-yarn-server-nodemanager (with HADOOP_CONF_DIR=../etc/hadoop/), and name the program in "
            "MILLRACE_CONTAINER_EXECUTOR"
        )
    if os.geteuid() != 0:
        leave_out("only root starts containers of others")
    if not shutil.which("docker") or run("docker", "info").returncode != 0:
        leave_out("no Docker daemon; install the Debian package docker.io, and start it")
    # No folder above it may be one that others write.
    folder = Path(tempfile.mkdtemp(prefix="millrace-yarn-", dir="/var/lib"))
    try:
        folder.chmod(0o755)
        for name in ("bin", "etc", "etc/hadoop"):
            (folder / name).mkdir()
        placed = folder / "bin" / "container-executor"
        shutil.copy(program, placed)
        placed.chmod(0o6050)
        (folder / "etc" / "hadoop" / "container-executor.cfg").write_text(
            CONFIGURATION.format(tempfile.gettempdir())
        )
        yield placed
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def image(executor):
    """With a shell, the millrace command, and a file that this machine has not."""
    with tempfile.TemporaryDirectory(prefix="image-") as name:
        root = Path(name)
        root.chmod(0o755)
        for folder in ("bin", "etc", "tmp", "usr/bin"):
            (root / folder).mkdir(parents=True)
        for program in [*PROGRAMS, "millrace"]:
            path = shutil.which(program)
            assert path, f"no {program} on the PATH; source build/env.sh"
            shutil.copy(path, root / "bin" / program)
            needed = run("ldd", path, text=True).stdout
            for library in re.findall(r"(/\S+)", needed):
                if not (root / library[1:]).exists():
                    (root / library[1:]).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(library, root / library[1:])
        # Which programs of ours load when they need it.
        (library,) = list(Path("/usr/lib").glob("*/libcrypto.so.3"))[:1]
        (root / str(library)[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, root / str(library)[1:])
        (root / "etc" / "of_the_image").write_text("words of the image\n")
        archive = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        made = run("docker", "import", "-", IMAGE, stdin=archive.stdout)
        archive.stdout.close()
        assert archive.wait() == 0 and made.returncode == 0, made.stderr
    yield IMAGE
    run("docker", "rmi", IMAGE)


class ImageQueue(Queue):
    """Of jobs that run in the image, of a user who is nobody in particular."""

    def run(self, *words):
        return super().run("setpriv", *NOBODYS, *words)

    def job(self, script, roles="{map: 2}", until="map", **keys):
        return super().job(script, roles, until, **{"image": IMAGE, **keys})


NOBODYS = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


@pytest.fixture(scope="module")
def yarn(executor, image):
    with tempfile.TemporaryDirectory(prefix="programs-") as programs:
        Path(programs).chmod(0o755)
        run("strip", "-o", f"{programs}/millrace", shutil.which("millrace"), check=True)
        with running_yarn(options=["--executor", executor]) as found:
            # Where the image has it, too, and where nobody else's eyes get.
            path = f"{programs}:/usr/bin:/bin"
            kept = {"HADOOP_CONF_DIR": found["HADOOP_CONF_DIR"], "HOME": programs}
            yield {**kept, "PATH": path, "HADOOP_USER_NAME": "nobody"}


@pytest.fixture
def queue(yarn):
    with tempfile.TemporaryDirectory(prefix="jobs-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        queue = ImageQueue("yarn", yarn, Path(folder))
        yield queue
        queue.end_all()
        queue.wait_until(lambda: not containers(), "Docker has no containers left")


def containers():
    return run("docker", "ps", "-q", text=True).stdout.split()


def test_tasks_run_in_their_image_where_the_job_was_submitted(queue):
    (queue.folder / "data").mkdir()
    (queue.folder / "data" / "note.txt").write_text("a note\n")
    script = (
        'cat /etc/of_the_image /data/note.txt; echo "in $(pwd) as $(id -u)"; '
        "echo made > made_{task_index}"
    )
    job = queue.job(script, volumes=f"{{/data: {queue.folder}/data}}")
    code, output = queue.millrace("run", job)
    assert code == 0, output
    for line in ("words of the image", "a note", f"in {queue.folder} as {NOBODY}"):
        assert output.count(f"| {line}\n") == 2, output
    assert (queue.folder / "made_1").read_text() == "made\n"
    assert not Path("/etc/of_the_image").exists()


def test_how_a_task_ends_in_its_image_is_told_as_anywhere(queue):
    script = HELPERS_WAIT + "echo ValueError: bad record >&2; exit 3"
    code, output = queue.millrace("run", queue.job(script, "{files: 1, map: 1}"))
    assert code == 1 and re.search(r"map:0 +exit code 3", output), output
    assert "last error: ValueError: bad record" in output, output
    assert re.search(r"files:0 +stopped: map:0 failed", output), output


def test_stop_asks_the_tasks_first(queue):
    script = "trap 'touch peace_{task_index}; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    assert queue.millrace("submit", queue.job(script))[0] == 0
    queue.wait_for_tasks(2)
    queue.wait_until(lambda: "| up\n" in queue.millrace("logs", "words", "map:1")[1], "it runs")
    code, output = queue.millrace("stop", "words")
    assert code == 0, output
    assert len(list(queue.folder.glob("peace_*"))) == 2
    assert queue.left() == ([], [])


def test_a_command_beside_a_task_runs_in_its_image(queue):
    assert queue.millrace("submit", queue.job("COLOUR=blue exec sleep 600"))[0] == 0
    queue.wait_for_tasks(2)
    script = "cat /etc/of_the_image; echo $COLOUR; exit 7"
    done = queue.run("millrace", "exec", "words", "map:1", "--on", "yarn", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (7, "words of the image\nblue\n"), done
    assert queue.millrace("stop", "words")[0] == 0


def test_an_image_that_is_not_there_or_not_allowed_is_said(queue):
    for name, image in (("absent", "local/no-such-image:1"), ("strange", "elsewhere/image:1")):
        job = queue.job("true", "{map: 1}", image=image)
        code, output = queue.millrace("run", job, "--name", name)
        assert code == 1 and re.search(f"could not start: Unable .*{image}", output), output
    assert "docker.trusted.registries" in output, output
    job = queue.job("true", "{map: 1}", volumes="{/data: /etc}")
    code, output = queue.millrace("run", job)
    assert code == 1 and "does not allow it: Configuration does not allow mount" in output, output
