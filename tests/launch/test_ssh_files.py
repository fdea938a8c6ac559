"""Files that travel with a job to machines that are known by name alone, and share no folder with this one."""

import re
import signal
import tarfile

from processes import PATIENCE
from ssh_machines import machines  # noqa: F401, a fixture

WRITES_PID = "echo $$ > {folder}/pid_{job_name}_{task_index}; "


def start(machines, script, *flags, roles="{map: 4}", **keys):
    here = machines.folder / "here"
    lines = "".join(f"{key}: {value}\n" for key, value in keys.items())
    script = script.replace("{folder}", str(machines.folder))
    (here / "job.yaml").write_text(f"command: {['sh', '-c', script]}\nroles: {roles}\n{lines}")
    return machines.start_job(["job.yaml", *flags], here)


def run(machines, script, **keys):
    running = start(machines, script, **keys)
    output, _ = running.communicate(timeout=PATIENCE)
    return running.returncode, output


def left(machines):
    """What tasks have left on the machines, but for what is kept for others."""
    return list(machines.folder.glob("scratch_n*/millrace-*/tasks/*"))


def test_files_go_to_machines_that_do_not_have_them_and_outputs_come_back(machines):
    here = machines.folder / "here"
    (here / "train.sh").write_text("cat env/words data > made; echo $MACHINE made it in $(pwd)\n")
    (here / "words").write_text("of the archive\n")
    (here / "data").write_bytes(b"data" * 1_000_000)
    with tarfile.open(here / "env.tar.gz", "w:gz") as archive:
        archive.add(here / "words", "words")
    code, output = run(
        machines, "sh train.sh", files="[train.sh, data, env.tar.gz]", outputs="[made]"
    )
    assert code == 0, output
    told = re.findall(r"map:(\d) +\| (n\d) made it in (\S+)$", output, re.MULTILINE)
    assert sorted(index for index, _, _ in told) == ["0", "1", "2", "3"], output
    assert {machine for _, machine, _ in told} == {"n1", "n2"}
    for index, machine, folder in told:
        assert folder.startswith(f"{machines.folder}/scratch_{machine}/"), folder
        made = (here / f"outputs/map_{index}/made").read_bytes()
        assert made == b"of the archive\n" + b"data" * 1_000_000
    assert left(machines) == []
    # Once on each machine: the list and three files.
    for machine in ("n1", "n2"):
        cache = list((machines.folder / f"scratch_{machine}").glob("millrace-*/cache/*"))
        assert len(cache) == 4 and not any(path.suffix for path in cache), cache


def test_a_launcher_that_is_killed_takes_tasks_and_folders_along(machines):
    (machines.folder / "here" / "word").write_text("a word\n")
    running = start(machines, WRITES_PID + "exec sleep 600", files="[word]")
    machines.wait_until(lambda: len(machines.pids()) == 4, "all tasks run")
    assert len(left(machines)) == 8  # a folder each, and its lock
    running.kill()
    running.wait()
    machines.wait_until(lambda: machines.pids() == [] and left(machines) == [], "nothing is left")
    running.stdout.close()


def test_a_job_that_is_interrupted_has_what_its_tasks_had_made(machines):
    script = WRITES_PID + "echo {task_index} > made; exec sleep 600"
    running = start(machines, script, outputs="[made]", grace="2s")
    machines.wait_until(lambda: len(machines.pids()) == 4, "all tasks run")
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, output
    outputs = machines.folder / "here" / "outputs"
    assert [(outputs / f"map_{i}/made").read_text() for i in range(4)] == [
        "0\n",
        "1\n",
        "2\n",
        "3\n",
    ]
    assert left(machines) == []


def test_a_machine_without_room_is_told_with_task_and_file(machines):
    scratch = machines.folder / "scratch_n2"
    scratch.rmdir()
    scratch.write_text("no folder")
    (machines.folder / "here" / "word").write_text("a word\n")
    code, output = run(machines, "exec sleep 600", files="[word]")
    assert code == 1, output
    assert re.search(
        r"last error: .*map:[13] on \S+: files: can't make the folder '\S+/scratch_n2/", output
    ), output
    assert left(machines) == []


def test_a_machine_that_lacks_the_command_is_brought_it(machines):
    machines.lose("n2")
    machines.path = "/usr/bin:/bin"
    machines.start("n2", machines.ports["n2"])
    code, output = run(machines, "true", roles="{map: 2}")
    assert code == 1 and "millrace: not found" in output, output
    for _ in range(2):
        running = start(machines, "echo on $MACHINE", "--ship-millrace", roles="{map: 2}")
        output, _ = running.communicate(timeout=5 * PATIENCE)  # it is large
        assert running.returncode == 0, output
        assert re.search(r"map:1 +\| on n2$", output, re.MULTILINE), output
    brought = list(machines.folder.glob("scratch_n2/millrace-*/command-*"))
    assert len(brought) == 1 and (brought[0] / "millrace").exists(), brought


def test_a_machine_that_can_not_be_reached_is_told_before_anything_starts(machines):
    machines.lose("n2")
    running = start(machines, "true", "--ship-millrace")
    output, _ = running.communicate(timeout=5 * PATIENCE)
    assert running.returncode == 1, output
    assert re.search(r"n2: the millrace command can't be brought there: ssh: connect to", output)
