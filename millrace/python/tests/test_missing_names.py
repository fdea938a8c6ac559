"""What programs are told that ask for a name that is not here: whose it is, and what to do."""

import importlib
import subprocess
import sys

import pytest

import millrace as tf
from millrace._names import before_1_0, instead, missing, tensorflow1

# TensorFlow's, and nothing that this package plans to have.
ABSENT = "contrib.bigtable"


def said(code):
    """The last line that a program of one line leaves behind when it fails."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stdout
    return done.stderr.strip().splitlines()[-1]


def test_a_name_of_tensorflow_that_is_not_here_is_said_to_be_that():
    with pytest.raises(AttributeError) as caught:
        tf.contrib.bigtable
    text = str(caught.value)
    assert text.startswith(
        "module 'millrace.contrib' has no attribute 'bigtable': TensorFlow 1 has "
    )
    assert f"Millrace {tf.__version__} does not" in text and "millrace check" in text


def test_what_to_use_instead_comes_with_it():
    text = str(_error(lambda: tf.contrib.tensorrt))
    assert "; instead: there are CPU devices alone here, and no driver of others. " in text
    assert missing.Verdict("contrib.rnn.python.ops").instead == ""


def test_a_function_that_is_here_under_another_module_is_named():
    assert "did you mean tf.nn.relu?" in str(_error(lambda: tf.math.relu))
    assert "did you mean tf.layers.dropout or tf.nn.dropout?" in str(_error(lambda: tf.dropout))


def test_a_typing_error_says_what_is_near():
    text = str(_error(lambda: tf.reduce_men))
    assert text.startswith(
        "module 'millrace' has no attribute 'reduce_men'; did you mean tf.reduce_m"
    )
    assert "TensorFlow" not in text


def test_the_interpreter_adds_no_guesses_to_ours():
    line = said("import millrace as tf; tf.reduce_men")
    assert line.count("id you mean") == 1


@pytest.mark.parametrize("old", before_1_0.RENAMED)
def test_names_from_before_1_0_stand_for_what_took_their_place(old):
    module, _, name = old.rpartition(".")
    held = getattr(tf, module) if module else tf
    assert getattr(held, name) is before_1_0.found(old)
    assert name not in dir(held)


def test_a_name_from_before_1_0_says_what_it_is_called_now():
    code = "import millrace as tf; tf.mul(1, 2); tf.mul(1, 2)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == "tf.mul is from before TensorFlow 1.0: it is tf.multiply now\n"


def test_a_program_of_2016_runs_as_it_is(session):
    x = tf.Variable([[1.0, 2.0]])
    parts = tf.split(1, 2, x)
    joined = tf.concat(0, [tf.neg(tf.mul(x, x)), tf.pack([parts[1][0, 0], 0.0])[None]])
    tf.scalar_summary("sum", tf.reduce_sum(tf.sub(joined, 1.0)))
    summary = tf.merge_all_summaries()
    session.run(tf.initialize_all_variables())
    assert session.run(joined).tolist() == [[-1, -4], [2, 0]]
    assert tf.Summary.FromString(session.run(summary)).value[0].simple_value == -7
    assert tf.train.SummaryWriter is tf.summary.FileWriter


def test_new_names_of_those_from_before_1_0_are_tensorflows():
    for new in before_1_0.RENAMED.values():
        assert tensorflow1.has(new.removeprefix("tf.")), new


def test_a_module_of_tensorflow_that_is_not_here_fails_when_it_is_imported():
    for form in (f"import millrace.{ABSENT}", "from millrace.contrib import bigtable"):
        line = said(form)
        assert line.startswith(
            f"ModuleNotFoundError: no module or name 'millrace.{ABSENT}': TensorFlow"
        )


def test_a_name_that_is_not_here_is_said_well_by_an_import_from_a_module_too():
    line = said("from millrace.nn import fractional_max_pools")
    assert line.startswith(
        "ModuleNotFoundError: no module or name 'millrace.nn.fractional_max_pools'"
    )
    with pytest.raises(ImportError, match="did you mean tf.train.GradientDescentOptimizer"):
        from millrace.train import GradientDescentOptimiser  # noqa: F401


def test_names_that_no_program_would_find_are_refused_as_python_does():
    assert str(_error(lambda: tf.__nothing__)) == "module 'millrace' has no attribute '__nothing__'"
    assert not hasattr(tf, "nonsense") and not hasattr(tf.nn, "nonsense")
    with pytest.raises(ModuleNotFoundError, match="^no module or name 'millrace.nonsense'$"):
        importlib.import_module("millrace.nonsense")


def test_what_is_inside_tensorflow_is_found_under_its_public_names():
    from millrace.python.client import session
    from millrace.python.framework import dtypes, errors, ops
    from millrace.python.ops import array_ops, math_ops, variables
    from millrace.python.platform import app, flags, gfile
    from millrace.python.platform import tf_logging as logging
    from millrace.python.training import training_ops
    from millrace.python.util import nest

    assert ops.reset_default_graph is tf.reset_default_graph and ops.Tensor is tf.Tensor
    assert ops.colocate_with is tf.colocate_with
    assert dtypes.float32 is tf.float32
    assert errors.OutOfRangeError is tf.errors.OutOfRangeError
    assert array_ops.concat is tf.concat and math_ops.add_n is tf.add_n
    assert variables.local_variables_initializer is tf.local_variables_initializer
    assert session.Session is tf.Session
    assert gfile.Exists is tf.gfile.Exists and app.run is tf.app.run
    assert flags.DEFINE_string is tf.flags.DEFINE_string
    assert logging.info is tf.logging.info
    assert nest.flatten is tf.contrib.framework.nest.flatten
    assert training_ops.apply_rms_prop is importlib.import_module("millrace._gen").apply_rms_prop
    assert tf.python.framework.tensor_shape.TensorShape is tf.TensorShape


def test_what_is_inside_tensorflow_and_not_here_says_so():
    from millrace.python.ops import array_ops

    text = str(_error(lambda: array_ops.nonsense))
    assert (
        "tensorflow.python.ops.array_ops.nonsense is inside TensorFlow, with no public name" in text
    )
    with pytest.raises(ImportError, match="no module or name 'millrace.python.framework.opps'"):
        importlib.import_module("millrace.python.framework.opps")


def test_what_is_inside_contrib_is_found_too():
    from millrace.contrib.layers.python.layers import regularizers

    assert regularizers.l2_regularizer is tf.contrib.layers.l2_regularizer


def test_modules_are_found_below_compat_v1():
    import millrace.compat.v1.nn as nn
    from millrace.compat.v1 import train

    assert nn is tf.nn and train is tf.train
    assert nn.__name__ == nn.__spec__.name == "millrace.nn"


def test_the_list_of_names_is_read_only_when_a_name_is_missing():
    code = "import sys, millrace as tf; tf.nn.relu; print('millrace._names.missing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_list_has_public_names_modules_and_ops():
    for path in ("train.Saver", "contrib.rnn.BasicLSTMCell", "keras.layers.Dense", "estimator"):
        assert tensorflow1.has(path), path
    assert not tensorflow1.has("train.Savor") and not tensorflow1.has("mul")
    assert tensorflow1.has_op("MatMul") and not tensorflow1.has_op("MatMull")
    assert tensorflow1.names("python.platform.gfile")["Exists"] == "gfile.Exists"
    assert tensorflow1.names("no.such.module") is None


def _error(ask):
    with pytest.raises(AttributeError) as caught:
        ask()
    return caught.value


def test_nobody_is_told_what_to_do_without_a_name_that_is_here():
    def is_here(path):
        holder = tf
        for part in path.split("."):
            holder = getattr(holder, part, None)
        return holder is not None and not isinstance(holder, type(tf))

    # What a module lacks may have advice in the module's name.
    assert [path for path in instead.ADVICE if is_here(path)] == []
