"""Verbs that are written in Python: which interpreter the command becomes for them."""

import os
import shutil
import subprocess

import pytest

INTERPRETER = """#!/bin/sh
echo {name} "$@"
"""


@pytest.fixture
def elsewhere(millrace, tmp_path):
    """elsewhere(folder, interpreters, path): `millrace check` of the command in a folder, where the folders
    `interpreters` have one that only tells its folder and its arguments, and PATH has one folder.
    """

    def check(folder, interpreters, path):
        for name in {folder, *interpreters, path}:
            (tmp_path / name).mkdir()
        for name in interpreters:
            program = tmp_path / name / "python3"
            program.write_text(INTERPRETER.format(name=name))
            program.chmod(0o755)
        command = tmp_path / folder / "millrace"
        try:
            os.link(millrace, command)
        except OSError:  # another file system
            shutil.copy(millrace, command)
        return subprocess.run(
            [command, "check", "a.py"],
            capture_output=True,
            text=True,
            env={"PATH": str(tmp_path / path)},
        )

    return check


def test_it_is_the_one_beside_the_command_though_path_has_another(elsewhere):
    done = elsewhere("environment", interpreters=["environment", "system"], path="system")
    assert done.stdout == "environment -m millrace._check -- a.py\n", done.stderr


def test_it_is_the_one_on_path_where_none_is_beside_the_command(elsewhere):
    done = elsewhere("alone", interpreters=["system"], path="system")
    assert done.stdout == "system -m millrace._check -- a.py\n", done.stderr


def test_without_any_it_says_what_can_not_be_started(elsewhere):
    done = elsewhere("alone", interpreters=[], path="empty")
    assert done.returncode == 2
    assert "can't start python3" in done.stderr
