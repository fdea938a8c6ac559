"""What is made of a ResourceManager's answers when it can't or may not be asked: a script stands in for
curl, so that no cluster is needed.

tests/managers has the real one.
"""

import json
import os
import shlex
import subprocess

import pytest

from processes import PATIENCE

APPLICATION = "application_1_0001"
NEW = {
    "application-id": APPLICATION,
    "maximum-resource-capability": {"memory": 4096, "vCores": 4},
}
REFUSED = "echo 'curl: (7) Failed to connect to rm: Connection refused' >&2; exit 7"
SILENT = "echo 'curl: (28) Operation timed out' >&2; exit 28"
LOST = "app with id: application_1_0001 not found"


def says(body, code=200):
    """curl's answer, whose last line is the code."""
    text = body if isinstance(body, str) else json.dumps(body)
    return f"printf '%s\\n%s' {shlex.quote(text)} {code}"


LOGS = "http://n1:8042/node/containerlogs/container_1_0001_01_000001/me"


def app(state, diagnostics="", final="UNDEFINED", logs=LOGS):
    fields = {"state": state, "finalStatus": final, "diagnostics": diagnostics}
    return says({"app": {**fields, "amContainerLogs": logs}})


def refuses(code, message, exception="BadRequestException"):
    return says({"RemoteException": {"exception": exception, "message": message}}, code)


ACTIVE = says({"clusterInfo": {"haState": "ACTIVE"}})
SUBMITTED = {"POST apps/new": says(NEW), "POST apps": says("", 202), "GET apps": app("ACCEPTED")}


@pytest.fixture
def ask(millrace, tmp_path):
    """ask(scripts, *words): millrace, with these scripts by the beginnings of calls; its code and what it
    wrote."""
    conf = tmp_path / "conf"
    conf.mkdir()
    properties = {"yarn.resourcemanager.hostname": "rm"}

    def ask(scripts, *words, conf_properties=properties, **environment):
        text = "".join(
            f"<property><name>{name}</name><value>{value}</value></property>"
            for name, value in conf_properties.items()
        )
        (conf / "yarn-site.xml").write_text(f"<configuration>{text}</configuration>")
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        cases = "".join(f"{shlex.quote(call)}*) {script} ;;\n" for call, script in scripts.items())
        path = folder / "curl"
        path.write_text(
            f"#!/bin/sh\ncd {tmp_path}\n"
            "while [ $# -gt 1 ]; do case $1 in --request) method=$2 ;; esac; shift; done\n"
            'call="$method ${1#*/ws/v1/cluster/}"\necho "$call ${1%%/ws/*}" >> asked\n'
            f'case "$call" in\n{cases}*) echo "$call was not expected" >&2; exit 1 ;; esac\n'
        )
        path.chmod(0o755)
        done = subprocess.run(
            [millrace, *words, "--on", "yarn"],
            env={
                **os.environ,
                "PATH": f"{folder}:{os.environ['PATH']}",
                "MILLRACE_JOBS": str(tmp_path / "kept"),
                "HADOOP_CONF_DIR": str(conf),
                "HADOOP_USER_NAME": "me",
                **environment,
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    (tmp_path / "words.yaml").write_text("command: 'true'\nroles: {map: 1}\n")
    return ask


def asked(tmp_path, call):
    path = tmp_path / "asked"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line.startswith(call)]


def kept(tmp_path):
    return sorted(path.name for path in (tmp_path / "kept" / "yarn").glob("*"))


def test_a_manager_that_flaps_is_asked_again(ask, tmp_path):
    assert ask(SUBMITTED, "submit", "words.yaml") == (0, "words\n")
    flapping = f"[ -e again ] || {{ touch again; {REFUSED}; }}; {app('ACCEPTED')}"
    (tmp_path / "asked").unlink()
    code, output = ask({"GET apps": flapping}, "status", "words")
    assert code == 0 and "no machine is free for its launcher" in output, output
    call = f"GET apps/{APPLICATION}?user.name=me http://rm:8088"
    assert asked(tmp_path, "GET") == [call, call]


def test_a_manager_that_stays_silent_is_not_asked_for_ever(ask, tmp_path):
    ask(SUBMITTED, "submit", "words.yaml")
    (tmp_path / "asked").unlink()
    code, output = ask({"GET apps": SILENT}, "status", "words")
    assert code == 1 and "YARN's ResourceManager does not answer" in output, output
    assert len(asked(tmp_path, "GET")) == 4


def test_of_two_managers_the_active_one_is_asked(ask, tmp_path):
    two = {
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.rm-ids": "one,two",
        "yarn.resourcemanager.hostname.one": "a",
        "yarn.resourcemanager.hostname.two": "b",
    }
    script = (
        f"if tail -n 1 asked | grep -q http://a; then {says('This is standby RM.', 307)}; "
        f"else {says(NEW)}; fi"
    )
    scripts = {**SUBMITTED, "POST apps/new": script}
    assert ask(scripts, "submit", "words.yaml", conf_properties=two)[0] == 0
    # And from then on.
    assert [line.split()[-1] for line in asked(tmp_path, "")] == [
        "http://a:8088",
        "http://b:8088",
        "http://b:8088",
        "http://b:8088",
    ]


def test_a_submission_that_was_not_answered_is_taken_back(ask, tmp_path):
    scripts = {**SUBMITTED, "POST apps?": SILENT, "PUT apps": says({"state": "KILLED"}, 202)}
    scripts = {
        call: scripts[call] for call in ("POST apps/new", "POST apps?", "GET apps", "PUT apps")
    }
    code, output = ask(scripts, "submit", "words.yaml")
    assert code == 1 and "YARN's ResourceManager does not answer" in output, output
    assert len(asked(tmp_path, "POST apps?")) == 1
    assert len(asked(tmp_path, f"PUT apps/{APPLICATION}/state")) == 1
    assert kept(tmp_path) == []


def test_a_job_that_was_taken_in_stays_though_nobody_answers_then(ask, tmp_path):
    assert ask({**SUBMITTED, "GET apps": REFUSED}, "submit", "words.yaml") == (0, "words\n")
    assert kept(tmp_path) == ["words"]


def test_what_could_not_be_taken_back_is_said(ask, tmp_path):
    scripts = {"POST apps/new": says(NEW), "POST apps": SILENT, "GET apps": REFUSED}
    code, output = ask(scripts, "submit", "words.yaml")
    assert code == 1 and f"it would be {APPLICATION}" in output, output


@pytest.mark.parametrize(
    "answer, code, told",
    [
        (says("<html>", 401), 1, "the login does not hold"),
        (refuses(403, "me may not submit"), 1, "the login may not do this: me may not submit"),
        (refuses(400, "no such thing"), 2, "YARN does not take the job: no such thing"),
    ],
)
def test_what_will_not_pass_is_told_and_leaves_nothing(ask, tmp_path, answer, code, told):
    scripts = {"POST apps/new": says(NEW), "POST apps": answer}
    found, output = ask(scripts, "submit", "words.yaml")
    assert (found, told in output) == (code, True), output
    assert len(asked(tmp_path, "POST apps?")) == 1 and kept(tmp_path) == []


def test_a_queue_that_is_not_there_is_found_out_when_it_is_submitted(ask, tmp_path):
    words = f"Application {APPLICATION} submitted by user me to unknown queue: nowhere"
    scripts = {**SUBMITTED, "GET apps": app("FAILED", words, "FAILED", logs="")}
    code, output = ask(scripts, "submit", "words.yaml")
    assert code == 2 and "unknown queue: nowhere" in output, output
    assert kept(tmp_path) == []


def test_a_launcher_that_ends_at_once_was_submitted_all_the_same(ask, tmp_path):
    scripts = {**SUBMITTED, "GET apps": app("FAILED", "exited with  exitCode: 127", "FAILED")}
    assert ask(scripts, "submit", "words.yaml") == (0, "words\n")
    code, output = ask(scripts, "wait", "words")
    assert code == 1 and "its launcher has ended with code 127" in output, output


def test_a_manager_that_can_not_hand_on_the_word_to_end_kills_the_job(ask, tmp_path):
    ask(SUBMITTED, "submit", "words.yaml")
    look = f"if [ -e killed ]; then {app('KILLED')}; else {app('RUNNING')}; fi"
    code, output = ask(
        {
            "GET apps": look,
            "POST containers/container_1_0001_01_000001/signal/GRACEFUL_SHUTDOWN": says("", 404),
            "PUT apps": f"touch killed; {says('', 202)}",
        },
        "stop",
        "words",
    )
    assert code == 0, output
    assert kept(tmp_path) == []


def test_a_job_that_yarn_forgets_while_it_is_killed_has_ended(ask, tmp_path):
    ask(SUBMITTED, "submit", "words.yaml")
    gone = refuses(404, LOST, "NotFoundException")
    look = f"if [ -e killed ]; then {gone}; else {app('ACCEPTED')}; fi"
    code, output = ask(
        {"GET apps": look, "GET info": ACTIVE, "PUT apps": f"touch killed; {gone}"}, "stop", "words"
    )
    assert code == 0, output
    assert kept(tmp_path) == []


def test_nothing_is_run_beside_a_task_before_it_runs(ask):
    ask(SUBMITTED, "submit", "words.yaml")
    code, output = ask(
        {"GET apps": app("ACCEPTED")}, "exec", "words", "map:0", "--on", "yarn", "--", "true"
    )
    assert code == 1 and "map:0 does not run yet" in output, output


def test_who_would_scale_a_role_of_fixed_size_is_told_what_to_write(ask):
    ask(SUBMITTED, "submit", "words.yaml")
    code, output = ask({}, "scale", "words", "map=2")
    assert code == 2 and "its job file says neither min nor max" in output, output


def test_a_job_that_may_not_be_stopped_stays(ask, tmp_path):
    ask(SUBMITTED, "submit", "words.yaml")
    scripts = {"GET apps": app("ACCEPTED"), "PUT apps": refuses(403, "User me cannot perform")}
    code, output = ask(scripts, "stop", "words")
    assert code == 1 and "the login may not do this" in output, output
    assert kept(tmp_path) == ["words"]


def test_a_job_that_yarn_forgot_is_told_so(ask, tmp_path):
    ask(SUBMITTED, "submit", "words.yaml")
    lost = {"GET apps": refuses(404, LOST, "NotFoundException"), "GET info": ACTIVE}
    code, output = ask(lost, "wait", "words")
    assert code == 1 and "YARN no longer knows of it" in output, output
    assert ask(lost, "stop", "words")[0] == 0
    assert kept(tmp_path) == []


def test_a_manager_that_just_begins_is_not_believed_to_have_forgotten_anything(ask, tmp_path):
    ask(SUBMITTED, "submit", "words.yaml")
    lost = refuses(404, LOST, "NotFoundException")
    begins = says({"clusterInfo": {"haState": "INITIALIZING"}})
    code, output = ask({"GET apps": lost, "GET info": begins}, "status", "words")
    assert code == 1 and "just begins" in output, output
    # It may know by the time that it is asked what it is.
    later = f"[ -e again ] || {{ touch again; {lost}; exit; }}; {app('RUNNING')}"
    code, output = ask({"GET apps": later, "GET info": ACTIVE}, "status", "words")
    assert code == 0 and "its launcher is being started" in output, output


def test_a_ticket_of_kerberos_is_shown_by_curl(ask, tmp_path):
    secure = {
        "yarn.resourcemanager.hostname": "rm",
        "yarn.http.policy": "HTTPS_ONLY",
        "hadoop.http.authentication.type": "kerberos",
    }
    assert ask(SUBMITTED, "submit", "words.yaml", conf_properties=secure)[0] == 0
    assert asked(tmp_path, "GET") == [f"GET apps/{APPLICATION} https://rm:8090"]


def test_where_nothing_says_where_yarn_is_that_is_said(ask):
    code, output = ask({}, "list", HADOOP_CONF_DIR="", YARN_CONF_DIR="")
    assert code == 1 and "set HADOOP_CONF_DIR" in output, output
    code, output = ask({}, "list", conf_properties={"a": "b"})
    assert code == 1 and "yarn.resourcemanager.hostname is not set" in output, output


def test_a_folder_that_a_shell_would_take_apart_is_refused(ask, tmp_path):
    code, output = ask(
        {"POST apps/new": says(NEW)}, "submit", "words.yaml", MILLRACE_JOBS=str(tmp_path / "it's")
    )
    assert code == 2 and "choose another with MILLRACE_JOBS" in output, output
    assert not (tmp_path / "it's" / "yarn" / "words").exists()


def test_explain_shows_the_application_and_asks_nobody(ask, tmp_path):
    code, output = ask({}, "explain", "words.yaml")
    assert code == 0, output
    # The containers that its launcher asks for later are told in comments.
    comments, _, rest = output.partition("{")
    assert comments == "# map: 1 container of 1024 MiB, 1 core\n"
    application = json.loads("{" + rest)
    assert application["application-name"] == "words"
    command = application["am-container-spec"]["commands"]["command"]
    assert "millrace run --on yarn-am --folder 'FOLDER' 'FOLDER/job.yaml'" in command
    assert asked(tmp_path, "") == []


@pytest.mark.parametrize("words", [["run", "words.yaml"], ["yarn-task"]])
def test_what_belongs_into_a_container_says_so_elsewhere(millrace, tmp_path, words):
    (tmp_path / "words.yaml").write_text("command: 'true'\nroles: {map: 1}\n")
    flags = {
        "run": ["--on", "yarn-am", "--folder", "kept"],
        "yarn-task": "--master none --files f --priority 1 --memory 1 --cores 1 -- true".split(),
    }
    environment = {**os.environ}
    environment.pop("HADOOP_TOKEN_FILE_LOCATION", None)
    done = subprocess.run(
        [millrace, *words, *flags[words[0]]],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "no container of YARN" in done.stderr or "can't be reached" in done.stderr
