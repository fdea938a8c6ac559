"""Files that travel with jobs on a real Kubernetes, and come back; every namespace here is a restricted one."""

import hashlib
import json
import os
import re
import shutil
import subprocess

from managed import until


def pods(shell):
    return json.loads(shell.kubectl("get", "pods", "-o", "json"))["items"]


def test_small_files_reach_every_task_without_an_image_of_their_own(shell):
    (shell.folder / "say.sh").write_text('echo "task $1 has $(cat data) in $PWD"\n')
    (shell.folder / "lib").mkdir()
    (shell.folder / "lib" / "data").write_text("seven words")
    job = shell.job(["sh", "say.sh", "{task_index}"], "{map: 2}", files="[say.sh, lib/data]")
    code, output = shell.millrace("run", job)
    assert code == 0, output
    for task in (0, 1):
        assert f"task {task} has seven words in /var/millrace/task" in output, output
    # What a Secret holds is not shown, and goes with the job.
    shown = shell.run("millrace", "explain", job, "--on", "k8s").stdout
    assert "# data, 11 bytes, SHA-256 " in shown and "c2V2ZW4" not in shown, shown
    assert "secret/words-files" in shell.left()
    assert shell.millrace("stop", "words")[0] == 0
    assert shell.left() == ""


def test_a_task_that_is_tried_again_has_the_files_as_they_were(shell):
    (shell.folder / "try.sh").write_text(
        "echo first >> notes; cat notes; [ $MILLRACE_ATTEMPT = 2 ]\n"
    )
    job = shell.job(["sh", "try.sh"], "{map: {count: 1, restart: 2}}", files="try.sh")
    assert shell.millrace("submit", job)[0] == 0
    (shell.folder / "try.sh").write_text("exit 9\n")
    code, output = shell.millrace("wait", "words")
    assert code == 0, output
    code, output = shell.millrace("logs", "words")
    # Each attempt has a folder of its own.
    assert (code, output.count("| first")) == (0, 2), output


def test_a_file_that_is_missing_is_told_before_anything_is_made(shell):
    code, output = shell.millrace("submit", shell.job("true", files="[train.py]"))
    assert code == 1 and "files: there is no 'train.py' in " in output, output
    assert shell.left() == ""


def test_a_command_beside_a_task_begins_in_its_folder(shell):
    (shell.folder / "note").write_text("here")
    job = shell.job("exec sleep 600", "{map: 1}", files="note")
    assert shell.millrace("submit", job)[0] == 0
    until(lambda: "1 of 1 tasks run" in shell.millrace("status", "words")[1], "it runs")
    code, output = shell.millrace("exec", "words", "map:0", "--", "cat", "note")
    assert (code, output) == (0, "here"), output


# By a depot: what is too large for a Secret, and what comes back.


def large_script(shell, script):
    (shell.folder / "work.sh").write_text(script)
    (shell.folder / "large").write_bytes(os.urandom(3_000_000))
    return hashlib.sha256((shell.folder / "large").read_bytes()).hexdigest()


def depot_pods(shell):
    return [pod for pod in pods(shell) if "millrace-part" in pod["metadata"]["labels"]]


def test_a_program_and_its_texts_go_along_and_count_words(shell):
    texts = [f"text_{i}" for i in range(7)]
    for text in texts:
        (shell.folder / text).write_text("word " * 1000)
    (shell.folder / "list").write_text("\n".join(texts) + "\n")
    # Its name is not that of the image's, which would be found as well.
    subprocess.run(
        ["strip", "-o", shell.folder / "counter", shutil.which("word_count")], check=True
    )
    job = shell.job(
        ["counter", "list"],
        "{files: 1, reduce: 1, map: 3}",
        files=["counter", "list", *texts],
    )
    code, output = shell.millrace("run", job)
    assert code == 0, output
    assert re.search(r"total: 7000\b", output), output
    assert "files:0" in output and "depot" not in output.split("job succeeded")[0], output
    # It is needed no longer.
    until(lambda: not depot_pods(shell), "the depot has ended")
    assert shell.millrace("stop", "words")[0] == 0
    assert shell.left() == ""


def test_what_tasks_have_made_comes_back_when_the_job_is_run(shell):
    digest = large_script(shell, "cat large > copy; mkdir model; echo $1 > model/weights\n")
    job = shell.job(
        ["sh", "work.sh", "{task_index}"],
        "{map: 2}",
        files="[work.sh, large]",
        outputs="[copy, model]",
    )
    code, output = shell.millrace("run", job)
    assert code == 0, output
    for task in (0, 1):
        made = shell.folder / "outputs" / f"map_{task}"
        assert hashlib.sha256((made / "copy").read_bytes()).hexdigest() == digest
        assert (made / "model" / "weights").read_text() == f"{task}\n"
        assert f"outputs of map_{task} are in " in output, output
    assert shell.millrace("stop", "words")[0] == 0
    assert shell.left() == ""


def test_who_waits_for_a_submitted_job_has_its_outputs(shell):
    job = shell.job("echo {task_index} > made", "{map: 2}", outputs="made", output_dir="there")
    assert shell.millrace("submit", job)[0] == 0
    assert [line.split()[0] for line in shell.millrace("list")[1].splitlines()[1:]] == ["words"]
    code, output = shell.millrace("wait", "words")
    assert code == 0 and "depot" not in output, output
    assert (shell.folder / "there" / "map_1" / "made").read_text() == "1\n"
    # They are here, and nobody keeps them any more.
    shutil.rmtree(shell.folder / "there")
    code, output = shell.millrace("wait", "words")
    assert code == 0 and not (shell.folder / "there").exists(), output


def test_a_task_whose_program_fails_brings_what_it_has_made_too(shell):
    code, output = shell.millrace(
        "run", shell.job("echo half > made; exit 3", "{map: 1}", outputs="made")
    )
    assert code == 1 and "map:0: exit code 3" in output, output
    assert (shell.folder / "outputs" / "map_0" / "made").read_text() == "half\n"


def test_a_job_that_is_stopped_leaves_what_its_tasks_had_made(shell):
    job = shell.job("echo half > made; exec sleep 600", "{map: 2}", outputs="made")
    assert shell.millrace("submit", job)[0] == 0
    until(lambda: "2 of 2 tasks run" in shell.millrace("status", "words")[1], "the tasks run")
    code, output = shell.millrace("stop", "words")
    assert code == 0, output
    for task in (0, 1):
        assert (shell.folder / "outputs" / f"map_{task}" / "made").read_text() == "half\n"
    assert shell.left() == ""


def test_a_depot_that_is_lost_is_told_as_the_cause(shell):
    script = "until [ -e go ]; do sleep 0.2; done; echo all > made"
    job = shell.job(script, "{map: 1}", outputs="made")
    assert shell.millrace("submit", job)[0] == 0
    until(lambda: "1 of 1 tasks run" in shell.millrace("status", "words")[1], "the task runs")
    shell.kubectl("delete", "pod", "--force", "--grace-period=0", "-l", "millrace-part=depot")
    code, output = shell.millrace("exec", "words", "map:0", "--", "sh", "-c", "echo > go")
    assert code == 0, output
    code, output = shell.millrace("wait", "words")
    # A task whose outputs are lost has not succeeded.
    assert code == 1 and "map:0: exit code 1" in output, output
    assert "the job's depot at words-depot-0.words:2224" in output, output
