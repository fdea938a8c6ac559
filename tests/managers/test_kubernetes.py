"""What users ask of a job on Kubernetes, on a real one; every namespace here is a restricted one."""

import json
import re
import signal
import threading
import time

import pytest

from managed import (
    HELPERS_WAIT,
    PATIENCE,
    count_words,
    fail_with_last_words,
    submit_and_ask,
    until,
)


def test_what_explain_prints_is_what_the_api_server_takes(shell):
    job = shell.job("true")
    manifests = shell.run("millrace", "explain", job, "--on", "k8s").stdout
    path = shell.folder / "manifests.yaml"
    path.write_text(manifests)
    answer = shell.kubectl("apply", "--dry-run=server", "-f", str(path))
    assert answer.count("created (server dry run)") == 5
    assert shell.left() == ""


def test_word_count_is_exact_and_every_task_is_heard(shell):
    output = count_words(shell, "/texts/list")
    assert "ending the tasks that are left" not in output


def test_parameter_servers_end_when_the_workers_have_trained(shell):
    job = shell.job(["03_digits_on_a_cluster"], "{ps: 2, worker: 2}", until="worker")
    code, output = shell.millrace("run", job)
    assert code == 0, output
    assert len(re.findall(r"worker:\d \| accuracy 0\.\d+", output)) == 2, output
    assert len(re.findall(r"ps:\d +stopped: job finished", output)) == 2, output


def test_the_exit_code_of_a_task_that_fails_is_told_with_its_last_words(shell):
    fail_with_last_words(shell)


def test_a_task_that_is_killed_is_told_from_one_that_fails(shell):
    script = HELPERS_WAIT + "[ {task_index} = 1 ] && kill -9 $$; exec sleep 600"
    code, output = shell.millrace("run", shell.job(script))
    assert code == 1, output
    assert re.search(r"map:1 +exit code 137, as of SIGKILL", output), output


def test_a_task_that_takes_more_memory_than_it_may_is_told_so(shell):
    script = HELPERS_WAIT + "x=a; while :; do x=$x$x; done"
    code, output = shell.millrace(
        "run", shell.job(script, "{files: 1, map: {count: 1, memory: 64Mi}}")
    )
    assert code == 1, output
    assert re.search(r"map:0 +out of memory", output), output


def test_a_submitted_job_goes_on_alone_and_can_be_asked_about(shell):
    submit_and_ask(shell)
    assert shell.millrace("logs", "words", "map:1") == (0, "map:1    | counted\n")


def test_a_job_that_has_ended_is_run_once_more(shell):
    code, output = shell.millrace("run", shell.job(HELPERS_WAIT + "echo counted"))
    assert code == 0, output
    code, output = shell.millrace("rerun", "words", "--log-dir", "first")
    assert code == 0 and output.endswith("\nwords\n"), output
    assert (shell.folder / "first" / "map_1.log").read_text() == "counted\n"
    code, output = shell.millrace("wait", "words", "--timeout", "100s")
    assert code == 0 and "job succeeded" in output, output


def test_stop_ends_the_tasks_and_leaves_nothing(shell):
    shell.millrace("submit", shell.job("echo up; exec sleep 600"))
    until(lambda: "3 of 3 tasks run" in shell.millrace("status", "words")[1], "the tasks start")
    code, output = shell.millrace("stop", "words", "--log-dir", "saved")
    assert code == 0, output
    assert shell.left() == ""
    assert (shell.folder / "saved" / "map_1.log").read_text() == "up\n"
    code, output = shell.millrace("status", "words")
    assert code == 1 and "there is no job 'words'" in output, output


def test_a_task_that_does_not_end_is_killed_after_the_grace(shell):
    script = "trap '' TERM; echo up; while :; do sleep 1; done"
    shell.millrace("submit", shell.job(script, "{map: 2}"))
    until(lambda: "2 of 2 tasks run" in shell.millrace("status", "words")[1], "the tasks start")
    code, output = shell.millrace("stop", "words")
    assert code == 0, output
    assert shell.left() == ""


def test_who_submitted_may_be_killed_and_the_job_is_found_again(shell):
    running = shell.start("run", shell.job(HELPERS_WAIT + "echo up; sleep 8; echo counted"))
    for line in running.stdout:
        if line.endswith("| up\n"):
            break
    running.kill()
    running.wait()
    running.stdout.close()
    code, output = shell.millrace("logs", "words", "--follow")
    assert code == 0, output
    assert output.count("| up") == 2 and output.count("| counted") == 2, output
    assert "words: succeeded" in output
    assert shell.millrace("wait", "words")[0] == 0


def test_ctrl_c_removes_a_job_that_is_run(shell):
    running = shell.start("run", shell.job("echo up; exec sleep 600"))
    try:
        for line in running.stdout:
            if "tasks run" in line:
                break
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
    assert running.returncode == 130, output
    assert "interrupted" in output
    assert shell.left() == ""


def test_an_image_that_is_not_there_is_told_and_the_job_is_given_up(shell):
    job = shell.job("true", "{map: 1}")
    code, output = shell.millrace("run", job, "--image", "nowhere.test/no:1", "--patience", "3s")
    assert code == 1, output
    assert "image 'nowhere.test/no:1' can't be had" in output
    assert "job failed" in output and "map:0 can't start" in output
    assert shell.left() == ""


def test_a_quota_that_is_too_small_is_told_and_nothing_is_left(shell):
    shell.kubectl("create", "quota", "small", "--hard=pods=1")
    code, output = shell.millrace("run", shell.job("exec sleep 600"), "--patience", "3s")
    assert code == 1, output
    assert "the namespace's quota is too small" in output and "exceeded quota: small" in output
    assert shell.left() == ""


def test_a_quota_that_forbids_a_part_of_the_job_leaves_no_other_part(shell):
    shell.kubectl("create", "quota", "small", "--hard=count/jobs.batch=1")
    code, output = shell.millrace("submit", shell.job("true"))
    assert code == 1 and "exceeded quota: small" in output, output
    assert shell.left() == ""


def test_of_two_jobs_that_keep_each_other_from_running_one_is_given_up_and_the_other_goes_on(shell):
    shell.kubectl("create", "quota", "small", "--hard=pods=5")
    job = shell.job("sleep 3; echo ran", "{map: 4}", keep="10s")
    ended = {}

    def run(name, patience):
        ended[name] = shell.millrace("run", job, "--name", name, "--patience", patience)

    runs = [threading.Thread(target=run, args=args) for args in (("one", "3s"), ("two", "90s"))]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    code, output = ended["two"]
    assert code == 0 and output.count("| ran") == 4, output
    # Where it came first, it has run before the other.
    assert ended["one"][0] == 0 or "the namespace's quota is too small" in ended["one"][1]
    until(lambda: shell.left() == "", "both are removed")


# --- jobs that need more than there is at once ---


def most_of_all_memory(shell, tasks):
    """So much for each of that many tasks that no two jobs of them fit at once."""
    nodes = json.loads(shell.kubectl("get", "nodes", "-o", "json"))["items"]
    free = [int(node["status"]["allocatable"]["memory"].removesuffix("Ki")) for node in nodes]
    each = min(free) * len(free) // tasks * 9 // 10
    return f"{{map: {{count: {tasks}, memory: {each}Ki}}}}"


def machines_held(shell):
    """How many pods of each job have a machine."""
    pods = json.loads(shell.kubectl("get", "pods", "-o", "json"))["items"]
    held = {"one": 0, "two": 0}
    for pod in pods:
        is_over = pod["status"]["phase"] in ("Succeeded", "Failed")
        if "nodeName" in pod["spec"] and not is_over:
            held[pod["metadata"]["labels"]["app.kubernetes.io/instance"]] += 1
    return held


def test_two_jobs_of_which_only_one_fits_run_one_after_the_other(shell):
    job = shell.job("sleep 8; echo ran", most_of_all_memory(shell, 8))
    submitted = [shell.start("submit", job, "--name", name) for name in ("one", "two")]
    for each in submitted:
        output, _ = each.communicate(timeout=PATIENCE)
        assert each.returncode == 0, output
    told = r"no room for all of it: \d of 8 tasks fit"
    until(
        lambda: any(re.search(told, shell.millrace("status", it)[1]) for it in ("one", "two")),
        "one of them waits",
    )
    # Nobody asks any more but those that `submit` has left behind.
    both = []

    def have_ended():
        both.append(machines_held(shell))
        jobs = json.loads(shell.kubectl("get", "jobs", "-o", "json"))["items"]
        return all(job["status"].get("succeeded") == 8 for job in jobs)

    until(have_ended, "both have ended")
    assert not any(held["one"] and held["two"] for held in both), both
    for name in ("one", "two"):
        code, output = shell.millrace("wait", name)
        assert code == 0 and "job succeeded" in output, output
        assert shell.millrace("logs", name)[1].count("| ran") == 8
        assert shell.millrace("stop", name)[0] == 0
    assert shell.left() == ""


def test_two_jobs_that_are_run_and_of_which_only_one_fits_both_succeed(shell):
    job = shell.job("sleep 5; echo ran", most_of_all_memory(shell, 4))
    running = [shell.start("run", job, "--name", name) for name in ("one", "two")]
    outputs = [each.communicate(timeout=PATIENCE)[0] for each in running]
    for each, output in zip(running, outputs):
        assert each.returncode == 0 and output.count("| ran") == 4, output
    assert sum("no room for all of it" in output for output in outputs) == 1, outputs


def apply_a_half(shell, name, path):
    """A job that is let in, and has half of its pods."""
    text = open(path).read().replace("name: words", f"name: {name}")
    (shell.folder / "named.yaml").write_text(text)
    manifests = shell.run("millrace", "explain", "named.yaml", "--on", "k8s").stdout
    (shell.folder / f"{name}.yaml").write_text(
        manifests.replace("parallelism: 8", "parallelism: 4")
    )
    shell.kubectl("apply", "-f", f"{name}.yaml")
    note = f"millrace/admission=admitted {int(time.time())} 0 0"
    shell.kubectl("annotate", "job", f"{name}-map", note)


def test_of_two_jobs_that_hold_half_of_the_machines_each_the_younger_gives_way(shell):
    # As when two let them in at one moment, who did not see each other's.
    job = shell.job("sleep 50; echo ran", most_of_all_memory(shell, 8))
    for name in ("one", "two"):
        apply_a_half(shell, name, job)
    until(lambda: machines_held(shell) == {"one": 4, "two": 4}, "each holds a half")
    for name in ("one", "two"):
        shell.kubectl("patch", "job", f"{name}-map", "-p", '{"spec": {"parallelism": 8}}')
    waiting = shell.start("wait", "one")
    until(
        lambda: "it has let go of its machines" in shell.millrace("status", "two")[1],
        "the younger gives way",
    )
    output, _ = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == 0 and "job succeeded" in output, output
    code, output = shell.millrace("wait", "two")
    assert code == 0 and "job succeeded" in output, output
    for name in ("one", "two"):
        assert shell.millrace("logs", name)[1].count("| ran") == 8


def test_a_login_that_sees_one_namespace_only_lets_jobs_in_one_after_the_other(shell):
    shell.kubectl(
        "create",
        "role",
        "user",
        "--verb=create,get,list,patch,delete",
        "--resource=jobs.batch,pods,pods/log,services,configmaps,secrets,events",
    )
    shell.kubectl("create", "rolebinding", "user", "--role=user", "--user=guest")
    guest = shell.environment["KUBECONFIG"].replace("admin", "guest")
    user = type(shell)({**shell.environment, "KUBECONFIG": guest}, shell.space, shell.folder)
    job = shell.job("sleep 5; echo ran", most_of_all_memory(shell, 4))
    running = [user.start("run", job, "--name", name) for name in ("one", "two")]
    for each in running:
        output, _ = each.communicate(timeout=PATIENCE)
        assert each.returncode == 0 and output.count("| ran") == 4, output


def test_pending_says_what_it_waits_for(shell):
    shell.millrace("submit", shell.job("true", "{map: {count: 1, memory: 900Gi}}"))
    found = until(
        lambda: re.search("no machine for it: .*", shell.millrace("status", "words")[1]),
        "the scheduler says no",
    )
    assert "Insufficient memory" in found[0]
    assert shell.millrace("stop", "words")[0] == 0


def test_a_login_that_may_not_is_told_what_it_lacks(shell):
    guest = shell.environment["KUBECONFIG"].replace("admin", "guest")
    code, output = shell.millrace("submit", shell.job("true"), KUBECONFIG=guest)
    assert code == 1, output
    assert "the login may not do this" in output and 'User "guest" cannot' in output
    assert shell.left() == ""


def test_a_login_that_does_not_hold_is_told(shell):
    text = open(shell.environment["KUBECONFIG"]).read()
    stale = shell.folder / "stale"
    stale.write_text(re.sub("token: [0-9a-f]+", "token: stale", text))
    code, output = shell.millrace("list", KUBECONFIG=str(stale))
    assert code == 1 and "the login does not hold" in output, output


def test_a_cluster_that_does_not_answer_is_told_in_bounded_time(shell):
    text = open(shell.environment["KUBECONFIG"]).read()
    gone = shell.folder / "gone"
    gone.write_text(text.replace(":6443", ":1"))
    code, output = shell.millrace("list", KUBECONFIG=str(gone))
    assert code == 1 and "the cluster does not answer" in output, output


def test_a_job_that_has_ended_goes_by_itself_when_its_time_is_over(shell):
    shell.millrace("run", shell.job(HELPERS_WAIT, keep="1s"))
    until(lambda: shell.left() == "", "the job and all of its objects are removed")


def test_a_time_limit_ends_the_job(shell):
    code, output = shell.millrace("run", shell.job("exec sleep 600", time_limit="6s"))
    assert code == 1 and "time limit of 6.0 s" in output, output


def test_thirty_tasks_know_each_other(shell):
    script = 'echo "{map_hosts}" | cat; exit 0'
    code, output = shell.millrace("run", shell.job(script, "{map: 30}"))
    assert code == 0, output
    lists = set(re.findall(r"\| (words-map-0\S+)", output))
    assert len(lists) == 1 and len(lists.pop().split(",")) == 30


@pytest.mark.parametrize("verb", ["status", "logs", "wait", "stop"])
def test_a_job_that_is_not_there_is_told(shell, verb):
    code, output = shell.millrace(verb, "nobody")
    assert code == 1 and "there is no job 'nobody'" in output, output


def test_objects_belong_to_the_job_whose_success_counts(shell):
    shell.millrace("submit", shell.job("true"))
    found = json.loads(shell.kubectl("get", "service", "words", "-o", "json"))
    assert found["metadata"]["ownerReferences"][0]["name"] == "words-map"
