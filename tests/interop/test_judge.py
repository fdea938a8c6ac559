"""The judge of `run_tf_module`, on modules in TensorFlow's shape whose outcome is known."""

import ast
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tasks import DEADLINE, ROOT

HERE = pathlib.Path(__file__).parent
SAMPLES = HERE / "judge" / "samples"


def run_judge(*arguments):
    command = [sys.executable, HERE / "run_tf_module", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """All samples, judged once: (the finished process, its report, verdicts by test)."""
    folder = tmp_path_factory.mktemp("judge")
    report = folder / "report.json"
    done = run_judge(
        "--time-limit", 8, "--jobs", 4, "--json", report, *sorted(SAMPLES.glob("*.py"))
    )
    assert report.exists(), done.stdout + done.stderr
    whole = json.loads(report.read_text())
    tests = {test["name"]: test for module in whole["modules"] for test in module["tests"]}
    return done, whole, tests


@pytest.fixture
def verdict(judged):
    return lambda name: (judged[2][name]["verdict"], judged[2][name]["detail"])


def test_every_test_of_every_module_has_a_verdict_and_counts_once(judged):
    done, whole, tests = judged
    assert (
        sum(whole["counts"].values())
        == len(tests)
        == sum(len(module["tests"]) for module in whole["modules"])
    )
    for name in tests:
        assert done.stdout.count(f" s  {name}") == 1


@pytest.mark.parametrize(
    "name",
    [
        "Passing.test_in_a_cached_session",
        "Passing.test_evaluates_without_naming_a_session",
        "Passing.test_in_both_modes",
        "Passing.test_named_one",
        "Passing.test_named_two",
        "Passing.test_numbered0",
        "Passing.test_numbered1",
        "Passing.test_a_failing_step_that_is_expected",
        "OnlyUs.test_passes",
        "AfterAnEagerImport.test_runs_in_a_session",
        "Flags.test_has_what_the_program_prepared",
    ],
)
def test_a_test_that_passes_on_millrace_has_passed(verdict, name):
    assert verdict(name) == ("passed", "")


@pytest.mark.parametrize(
    "name",
    [
        "Servers.test_made_with_the_test_case",
        "Servers.test_variables_are_shared_by_sessions_of_a_target",
        "Servers.test_a_local_cluster",
        "Servers.test_devices_that_the_server_is_configured_to_have",
        "Servers.test_a_time_limit_that_the_server_is_configured_to_have",
        "Servers.test_a_port_that_is_taken",
        "WithoutTarget.test_variables_are_a_sessions_own",
        "WithoutTarget.test_devices_that_the_session_asks_for",
    ],
)
def test_servers_that_a_module_starts_are_millraces_and_behave_as_tensorflows(verdict, name):
    assert verdict(name) == ("passed", "")


def test_what_fails_on_millrace_alone_is_our_failure_and_shown_with_both_sides(judged, verdict):
    done, _, _ = judged
    kind, detail = verdict("OnlyUs.test_dislikes_millrace")
    assert kind == "failed by us" and "AssertionError" in detail
    assert done.returncode == 2  # a module was not loaded, which weighs more
    shown = done.stdout.split("FAILED BY US")[1]
    assert "test_dislikes_millrace" in shown and "on TensorFlow: passed" in shown


def test_a_test_that_hangs_on_millrace_is_ended_and_the_others_go_on(judged, verdict):
    kind, detail = verdict("OnlyUs.test_hangs_on_millrace")
    assert kind == "failed by us" and "hung: the time limit ended it" in detail
    attempts = judged[2]["OnlyUs.test_hangs_on_millrace"]["attempts"]
    assert "test_hangs_on_millrace" in attempts["millrace"]["trace"]  # where it hung
    assert attempts["tensorflow"]["outcome"] == "passed"


@pytest.mark.parametrize(
    "name, told",
    [
        ("Failing.test_on_every_server", "in process as well: AssertionError"),
        ("Failing.test_hangs_on_every_server", "hung: the time limit ended it"),
        ("Failing.test_kills_its_process", "in process as well: crashed"),
        ("Failing.test_needs_threads_of_its_own_process", "it passes in process only"),
        ("SettingUp.test_never_begins", "ValueError: it was never set up"),
    ],
)
def test_what_fails_on_tensorflows_server_too_is_told_so(verdict, name, told):
    kind, detail = verdict(name)
    assert kind == "fails on TensorFlow's own grpc server too" and told in detail


def test_all_ops_that_a_test_lacks_are_named_at_once(judged, verdict):
    assert verdict("Wanting.test_ops_of_two_kinds")[0] == "needs an op that we lack"
    assert judged[2]["Wanting.test_ops_of_two_kinds"]["ops"] == ["AudioSpectrogram", "EncodeWav"]


@pytest.mark.parametrize(
    "name, told",
    [
        ("Elsewhere.test_eager_only", "no session ran anything"),
        ("Servers.test_ops_that_run_eagerly_on_a_server", "a server's eager services"),
        ("Servers.test_python_of_the_process_that_starts_the_server", "in which it starts"),
        ("Elsewhere.test_builds_a_graph_and_runs_nothing", "no session ran anything"),
        (
            "Elsewhere.test_expects_an_error_of_python_that_no_server_has",
            "Python of the client's process",
        ),
        ("Elsewhere.test_skips_itself", "skipped by the test: there is no GPU"),
        ("Elsewhere.test_fails_without_a_server", "it fails without any server"),
    ],
)
def test_what_no_server_has_to_do_with_is_not_applicable(verdict, name, told):
    kind, detail = verdict(name)
    assert kind == "not applicable" and told in detail


def test_a_module_that_cannot_be_loaded_says_why_in_a_line(judged):
    done, whole, _ = judged
    reasons = {pathlib.Path(m["file"]).name: m["reason"] for m in whole["not_loaded"]}
    assert set(reasons) == {"not_loadable_sample.py", "crashes_when_loaded_sample.py"}
    wanting = reasons["not_loadable_sample.py"]
    assert "a_module_that_only_tests_use" in wanting and "(line 3)" in wanting
    assert "its process ended while it was imported" in reasons["crashes_when_loaded_sample.py"]
    assert "Traceback" not in done.stderr


def test_a_filter_chooses_tests_and_nothing_that_failed_is_exit_code_0():
    done = run_judge("--filter", "test_pass", SAMPLES / "only_us_sample.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 of 3 tests" in done.stdout


def test_something_failed_by_us_is_exit_code_1():
    done = run_judge("--filter", "*dislikes*", SAMPLES / "only_us_sample.py")
    assert done.returncode == 1, done.stdout + done.stderr


def test_the_judge_and_what_it_imports_can_be_read_by_the_python_of_tensorflow_1():
    others = ["run_tf_module", "beside.py", "tasks.py", "tf_zygote.py", "old_client_program.py"]
    ports = ROOT / "tests" / "support" / "ports.py"
    for path in [*HERE.glob("judge/*.py"), *(HERE / name for name in others), ports]:
        ast.parse(path.read_text(), str(path), feature_version=(3, 7))


def processes_of_session(leader):
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == leader and int(folder.name) != leader:
                yield folder.name
        except ProcessLookupError:
            pass


def test_an_interrupted_judge_tells_what_it_knows_and_leaves_no_process_behind():
    command = [sys.executable, HERE / "run_tf_module", "--filter", "*s_on_millrace", "--jobs", "1"]
    judge = subprocess.Popen(
        [*map(str, command), str(SAMPLES / "only_us_sample.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert "1 of 3 tests" in judge.stdout.readline()
    judge.send_signal(signal.SIGTERM)
    said, _ = judge.communicate(timeout=60)
    assert judge.returncode == 130
    assert "interrupted; this is what was judged so far" in said
    # What it has killed may be a moment in dying.
    deadline = time.monotonic() + DEADLINE
    while list(processes_of_session(judge.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(processes_of_session(judge.pid)) == []


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["no_such_file.py"], "no such file: no_such_file.py"),
        (["--jobs", "0", __file__], "must be positive"),
        ([], "required: FILE"),
    ],
)
def test_usage_that_makes_no_sense_is_exit_code_2(arguments, told):
    done = run_judge(*arguments)
    assert done.returncode == 2 and told in done.stderr
