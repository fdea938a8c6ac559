"""`millrace check`: what programs and graphs lack, in one go, with lines, and without running them."""

import shutil
import subprocess
import textwrap

import pytest

import millrace as tf


@pytest.fixture
def check(tmp_path):
    """check(program, name=source of a module beside it) -> (exit code, lines, what is complained)."""
    command = shutil.which("millrace")
    assert command, "the millrace command is not on PATH: source build/env.sh"

    def run(program, name="program.py", **beside):
        for module, source in beside.items():
            (tmp_path / f"{module}.py").write_text(textwrap.dedent(source))
        if isinstance(program, bytes):
            (tmp_path / name).write_bytes(program)
        else:
            (tmp_path / name).write_text(textwrap.dedent(program))
        done = subprocess.run(
            [command, "check", name], capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
        return done.returncode, done.stdout.splitlines(), done.stderr

    return run


def test_a_program_that_lacks_nothing(check):
    code, lines, _ = check(
        """\
        import tensorflow as tf
        x = tf.placeholder(tf.float32, [None])
        with tf.Session() as session:
            print(session.run(tf.reduce_sum(x), {x: [1, 2]}))
        """
    )
    assert (code, lines) == (0, ["program.py: all 4 names are here"])


def test_every_name_that_is_missing_is_told_at_once_with_its_line(check):
    code, lines, _ = check(
        """\
        import tensorflow as tf
        tf.contrib.bigtable.BigtableClient('a', 'b')
        tf.reduce_men(3.0)
        tf.contrib.cudnn_rnn.CudnnLSTM
        tf.mul(1, 2)
        tf.contrib.cudnn_rnn.CudnnLSTM
        tf.nn.relu(tf.constant(1.0))
        """
    )
    assert code == 1
    assert lines == [
        "program.py:2: tf.contrib.bigtable.BigtableClient: not here yet",
        "program.py:3: tf.reduce_men: not TensorFlow 1.15's, and not here; did you mean tf.reduce_mean "
        "or tf.reduce_min or tf.reduce_sum?",
        "program.py:4: tf.contrib.cudnn_rnn.CudnnLSTM: not here yet; instead: there are CPU devices alone "
        "here, and no driver of others (also in line 6)",
        "program.py: 3 of 6 names are missing",
    ]


def test_nothing_of_the_program_runs(check, tmp_path):
    code, _, _ = check("import millrace as tf\nopen('ran', 'w')\nraise SystemExit(7)\ntf.Session()")
    assert code == 0 and not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "program",
    [
        "import tensorflow as tf; tf.contrib.bigtable",
        "import tensorflow.compat.v1 as tf; tf.contrib.bigtable",
        "import millrace.compat.v1 as tf; tf.contrib.bigtable",
        "import tensorflow; tensorflow.contrib.bigtable",
        "import tensorflow.contrib as c; c.bigtable",
        "from tensorflow import contrib; contrib.bigtable",
        "from tensorflow.contrib import bigtable",
        "import tensorflow.contrib.bigtable",
        "import tensorflow.contrib.bigtable as b",
        "import tensorflow as tf\ncontrib = tf.contrib\ndef f():\n  c = contrib\n  return c.bigtable",
        "def f():\n  import tensorflow as tf\n  return tf.contrib.bigtable",
        "import tensorflow as tf; tf.compat.v1.contrib.bigtable",
        "import tensorflow as tf; getattr(tf.contrib, 'bigtable')",
        "try:\n  import tensorflow as tf\nfinally:\n  pass\nlambda: tf.contrib.bigtable",
    ],
)
def test_aliases_are_followed(check, program):
    code, lines, _ = check(program)
    assert code == 1
    assert any(": tf.contrib.bigtable: not here yet" in line for line in lines), lines


@pytest.mark.parametrize(
    "program",
    [
        "import tensorflow as tf\ndef f(tf): return tf.nonsense",
        "import tensorflow as tf\nlambda tf: tf.nonsense",
        "import tensorflow as tf\ndef f():\n  tf = 3\n  return tf.nonsense",
        "import tensorflow_hub as tf; tf.nonsense",
        "tf = 3; tf.nonsense",
        "import tensorflow as tf\nFLAGS = tf.app.flags.FLAGS\nFLAGS.nonsense",
        "import tensorflow as tf\ntf.float32.nonsense",
    ],
)
def test_what_is_not_tensorflows_is_left_alone(check, program):
    assert check(program)[0] == 0


def test_modules_beside_the_program_are_read_too(check):
    code, lines, _ = check(
        """\
        import model
        from layers import *
        from names import tf as t
        t.contrib.bigtable
        """,
        model="import tensorflow as tf\ntf.contrib.tensorrt(1, 2)\nimport model",
        layers="from tensorflow.contrib import cudnn_rnn\n",
        names="import tensorflow as tf\n",
    )
    assert code == 1
    assert [line.partition(": not")[0].partition(": from")[0] for line in lines[:3]] == [
        "program.py:4: tf.contrib.bigtable",
        "model.py:2: tf.contrib.tensorrt",
        "layers.py:1: tf.contrib.cudnn_rnn",
    ]


def test_what_the_program_can_do_without_is_told_and_does_not_count(check):
    code, lines, _ = check(
        """\
        try:
            from tensorflow.contrib import bigtable
        except ImportError:
            bigtable = None
        """
    )
    assert code == 0
    assert lines[0].endswith("(in a try: the program goes on without it)")


def test_arguments_that_do_not_fit_are_told(check):
    code, lines, _ = check(
        "import tensorflow as tf\ntf.add(1, 2, 3, 4, 5)\ntf.add(*[1, 2, 3, 4, 5])"
    )
    assert code == 1
    assert lines[0] == "program.py:2: tf.add is here, but not so: too many positional arguments"
    assert len(lines) == 2


def test_inner_modules_of_tensorflow_are_looked_up(check):
    code, lines, _ = check(
        """\
        from tensorflow.python.framework import ops
        from tensorflow.python.platform import gfile
        ops.reset_default_graph()
        gfile.Exists('x')
        ops.no_such_thing
        """
    )
    assert code == 1
    assert lines[0].startswith(
        "program.py:5: tensorflow.python.framework.ops.no_such_thing: inside "
    )
    assert len(lines) == 2


def test_members_of_classes_are_looked_up(check):
    code, lines, _ = check(
        "import tensorflow as tf\ntf.Graph.nonsense\ntf.DeviceSpec.from_string('')"
    )
    assert code == 1
    assert lines[0] == "program.py:2: tf.Graph.nonsense: the class tf.Graph has no such member here"


def test_what_can_not_be_read_is_said(check):
    code, _, error = check("print 'Python 2'")
    assert code == 2 and error.startswith("program.py:1: no Python 3: ") and "2to3" in error
    code, _, error = check("import other", other="print 'Python 2'")
    assert code == 2 and error.startswith("other.py:1: no Python 3: ")
    command = [shutil.which("millrace"), "check"]
    done = subprocess.run([*command, "/no/such.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "millrace check: can't read '/no/such.py': No such file or directory\n"
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "FILE is required" in done.stderr


def test_help_tells_the_exit_codes():
    done = subprocess.run(
        [shutil.which("millrace"), "check", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "Exit codes: 0 nothing is missing" in done.stdout


def test_a_graph_that_lacks_nothing(check):
    with tf.Graph().as_default() as graph:
        tf.add(1, 2, name="sum")
    data = graph.as_graph_def().SerializeToString()
    assert check(data, "graph.pb")[:2] == (0, ["graph.pb: all 2 ops are here"])


GRAPH = """\
# A graph of three nodes and a function.
node { name: "a" op: "Const" attr { key: "name" value { s: "op: \\"Not\\"" } } }
node: < name: "b" op: "BigtableClient" >
node { name: "c" op: "Mine" }
node { name: "d" op: "Twice" }
library {
  function {
    signature { name: "Twice" input_arg { name: "x" type: DT_FLOAT } }
    node_def { name: "e" op: "Mine" }
  }
}
versions { producer: 24 }
"""


def test_the_ops_of_a_graph_are_told_in_text_and_in_bytes(check):
    # As bytes: fields 1 (name) and 2 (op) of nodes, in field 1 of the graph; 2 is the library.
    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def node(name, op):
        return field(1, name) + field(2, op)

    function = field(1, field(1, b"Twice")) + field(3, node(b"e", b"Mine"))
    binary = b"".join(
        field(1, node(*pair))
        for pair in [(b"a", b"Const"), (b"b", b"NcclAllReduce"), (b"c", b"Mine")]
    )
    binary += field(1, node(b"d", b"Twice")) + field(2, field(1, function))
    for data, name in (
        (GRAPH.replace("BigtableClient", "NcclAllReduce"), "g.pbtxt"),
        (binary, "g.pb"),
    ):
        code, lines, error = check(data, name)
        assert code == 1, error
        assert lines == [
            f"{name}: op Mine: no op of TensorFlow 1.15, and not here; used by 'c', 'e'",
            f"{name}: op NcclAllReduce: not here yet; used by 'b'",
            f"{name}: 2 of 3 ops are missing",
        ]


def test_a_graph_that_is_none_is_refused(check):
    assert check('node { name: "a" ', "g.pbtxt")[0] == 2
    code, _, error = check('node { name: "a" } }', "g.pbtxt")
    assert code == 2 and "line 1: a bracket closes nothing" in error
    code, _, error = check('node { name: "a" @ }', "g.pbtxt")
    assert code == 2 and "line 1: no GraphDef in text form" in error
