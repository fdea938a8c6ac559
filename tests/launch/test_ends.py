"""Whatever ends a launcher or a task, no process that they started stays."""

import os
import signal

import pytest

from processes import PATIENCE, is_task, task_and_keeper

# A task with a child in its process group and one that has left it, session and all. Each of the
# three holds the pipe LIVES open and writes its number when it is up.
FAMILY = """
exec 9>"$LIVES"
(echo $$ >&9; exec sleep 1000) &
setsid sh -c 'echo $$ >&9; exec sleep 1000' &
echo $$ >&9
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_launcher_ends_everything(start, lives, number):
    launcher = start("--job", "worker=2", "--env", f"LIVES={lives.path}", sh=FAMILY + "wait")
    lives.wait_until_up(6)
    launcher.send_signal(number)
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 130
    assert f"interrupted by {number.name} (signal {int(number)})" in output
    assert output.count("  interrupted ") == 2


def test_the_second_signal_does_not_wait_for_the_grace_time(start, lives):
    stubborn = "trap '' TERM\n" + FAMILY + "while :; do sleep 1; done"
    launcher = start(
        "--job", "worker=2", "--grace", "1h", "--env", f"LIVES={lives.path}", sh=stubborn
    )
    lives.wait_until_up(6)
    launcher.send_signal(signal.SIGINT)
    assert "interrupted" in launcher.stdout.readline()
    launcher.send_signal(signal.SIGINT)
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 130
    assert "(SIGKILL was needed)" in output


def test_a_killed_launcher_leaves_no_process(start, lives):
    stubborn = "trap '' TERM HUP INT\n" + FAMILY + "wait"
    launcher = start("--job", "worker=2", "--env", f"LIVES={lives.path}", sh=stubborn)
    lives.wait_until_up(6)
    launcher.kill()
    lives.wait_until_gone()


def test_a_killed_keeper_leaves_no_process(start, lives):
    launcher = start("--job", "worker=1", "--env", f"LIVES={lives.path}", sh=FAMILY + "wait")
    _, keeper = task_and_keeper(lives.wait_until_up(3))
    os.kill(keeper, signal.SIGKILL)
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 1
    assert "killed by SIGKILL (signal 9)" in output


def test_what_a_task_leaves_behind_ends_with_it(run, lives):
    done = run("--job", "worker=1", "--env", f"LIVES={lives.path}", sh=FAMILY + "exit 0")
    assert done.returncode == 0
    lives.wait_until_gone()


def test_a_task_that_is_killed_takes_the_others_along(start, lives):
    launcher = start(
        "--job", "a=1", "--job", "b=1", "--env", f"LIVES={lives.path}", sh=FAMILY + "wait"
    )
    pids = lives.wait_until_up(6)
    task = next(pid for pid in pids if is_task(pid))
    os.kill(task, signal.SIGKILL)
    output, _ = launcher.communicate(timeout=PATIENCE)
    lives.wait_until_gone()
    assert launcher.returncode == 1
    assert "killed by SIGKILL (signal 9)" in output
    assert "stopped: " in output
