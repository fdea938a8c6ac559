"""`import tensorflow as tf` finds Millrace where one folder is on PYTHONPATH."""

import os
import subprocess
import sys
from pathlib import Path

import millrace

FOLDER = Path(millrace.__file__).parent / "as_tensorflow"


def run(program):
    """What a program prints that has nothing but that folder on its path."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_runs_as_it_is():
    assert (
        run("import tensorflow as tf\nwith tf.Session() as s: print(s.run(tf.constant(3) + 4))")
        == "7\n"
    )


def test_all_forms_of_import_find_the_same_modules():
    run(
        """
import tensorflow as tf
import tensorflow.compat.v1 as tf1
import tensorflow.contrib.slim as slim
import tensorflow.nn
import tensorflow.python.framework.ops as inner
from tensorflow.python.framework import ops
from tensorflow.contrib import layers
from tensorflow.compat.v1 import train
import millrace

assert tf1 is tf and ops is inner
assert slim is millrace.contrib.slim and layers is millrace.contrib.layers is tf.contrib.layers
assert train is millrace.train is tf.train and tensorflow.nn is millrace.nn
assert ops.Graph is millrace.Graph is tf.Graph
assert millrace.nn.__spec__.name == "millrace.nn"
from tensorflow import *
assert Graph is tf.Graph
"""
    )


def test_programs_that_show_word_vectors_find_the_projector(tmp_path):
    run(
        f"""
import tensorflow as tf
from tensorflow.contrib.tensorboard.plugins import projector
from tensorflow.contrib.tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorflow.contrib.tensorboard.plugins.projector import EmbeddingInfo

assert projector is tf.contrib.tensorboard.plugins.projector
assert ProjectorConfig is projector.ProjectorConfig and EmbeddingInfo is projector.EmbeddingInfo
embeddings = tf.Variable(tf.random_uniform([5, 2], -1.0, 1.0), name="embeddings")
config = projector.ProjectorConfig()
embedding = config.embeddings.add()
embedding.tensor_name = embeddings.name
projector.visualize_embeddings(tf.summary.FileWriter({str(tmp_path)!r}), config)
"""
    )
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text == 'embeddings {\n  tensor_name: "embeddings:0"\n}\n'


def test_programs_that_ask_for_the_version_are_told_what_they_meet():
    assert run("import tensorflow as tf; print(tf.__version__, tf.VERSION)") == "1.15.5 1.15.5\n"


def test_what_is_missing_is_said_as_everywhere():
    said = run(
        """
import tensorflow as tf
for ask in ("tf.contrib.bigtable", "from tensorflow.contrib import bigtable", "import tensorflow.nonsense"):
    try:
        exec(ask)
    except (AttributeError, ImportError) as error:
        print(error)
"""
    ).splitlines()
    for asked in said[:2]:
        assert "TensorFlow 1 has tf.contrib.bigtable" in asked
    assert said[2] == "no module or name 'millrace.nonsense'"


def test_names_from_before_1_0_are_there():
    assert run("import tensorflow as tf; print(tf.mul is tf.multiply)") == "True\n"


def test_without_the_folder_there_is_no_tensorflow_of_ours():
    found = "import importlib.util as u, millrace; print(u.find_spec('tensorflow'))"
    done = subprocess.run(
        [sys.executable, "-c", found], capture_output=True, text=True, timeout=60, check=True
    )
    assert "as_tensorflow" not in done.stdout
