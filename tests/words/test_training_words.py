"""The words of training mean the same in C++ and in Python, and so do their checkpoints."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import millrace as tf

ROOT = pathlib.Path(__file__).resolve().parents[2]
IN_PYTHON = [sys.executable, str(pathlib.Path(__file__).with_name("training_words.py"))]
OPTIMIZERS = [
    "GradientDescent",
    "Momentum",
    "Nesterov",
    "Adagrad",
    "Adam",
    "RMSProp",
    "Centered",
]


@pytest.fixture
def in_cpp():
    program = ROOT / "build" / "test-bin" / "training_words"
    if not program.exists():
        pytest.skip(f"{program} is missing: build it (make build)")
    return [str(program)]


def losses(program, *arguments):
    done = subprocess.run(
        [*program, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def values(prefix):
    """{name: value} of a checkpoint."""
    reader = tf.train.NewCheckpointReader(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_both_find_the_same_losses_and_save_the_same_variables(in_cpp, tmp_path, optimizer):
    own = losses(IN_PYTHON, optimizer, tmp_path / "python")
    other = losses(in_cpp, optimizer, tmp_path / "cpp")
    assert len(own) == 5 and float(own[-1]) < float(own[0])
    assert other == own
    expected, found = values(tmp_path / "python"), values(tmp_path / "cpp")
    assert sorted(found) == sorted(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@pytest.mark.parametrize("optimizer", ["Momentum", "Adam"])
def test_each_goes_on_from_what_the_other_has_saved(in_cpp, tmp_path, optimizer):
    first = losses(IN_PYTHON, optimizer, tmp_path / "a")
    second = losses(in_cpp, optimizer, tmp_path / "b", tmp_path / "a")
    third = losses(IN_PYTHON, optimizer, tmp_path / "c", tmp_path / "b")
    assert float(third[-1]) < float(third[0]) < float(second[0]) < float(first[0])
    assert second == losses(IN_PYTHON, optimizer, tmp_path / "d", tmp_path / "a")
    assert third == losses(in_cpp, optimizer, tmp_path / "e", tmp_path / "b")
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "e")


def test_a_checkpoint_of_another_model_is_refused_by_name(in_cpp, tmp_path):
    losses(IN_PYTHON, "Adagrad", tmp_path / "adagrad")
    command = [*in_cpp, "Adam", tmp_path / "x", tmp_path / "adagrad"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "beta1_power" in done.stderr or "/Adam" in done.stderr
