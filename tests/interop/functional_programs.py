"""Graphs whose conditionals, loops and calls are functions of a library, and their gradients.

`python3 functional_programs.py tensorflow FOLDER` writes each graph to the folder as TensorFlow builds it, and
prints a JSON object: for each of its feeds the value and its gradient. `... millrace FOLDER` imports these
graphs, differentiates them, and prints the same. Run by test_functional_gradients_beside_tensorflow.py.
"""

import json
import sys
from pathlib import Path

X = [0.5, -1.5]
FEEDS = {
    "cond": [{"p": True}, {"p": False}],
    "loop": [{"n": n} for n in (0, 1, 4)],
    "nested": [{"n": n} for n in (0, 1, 5)],
    "called": [{}],
    "case": [{"i": i} for i in (0, 1, 2, 7)],
    "case in loop": [{"n": n} for n in (0, 2, 5)],
}


def of_cond(tf, x):
    p = tf.compat.v1.placeholder(tf.bool, [], name="p")
    return tf.cond(p, lambda: x * x * 3.0, lambda: tf.sin(x))


def of_loop(tf, x):
    n = tf.compat.v1.placeholder(tf.int32, [], name="n")
    return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * x + 1.0), [0, x])[1]


def of_nested(tf, x):
    n = tf.compat.v1.placeholder(tf.int32, [], name="n")

    def body(i, a):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * x, lambda: a + tf.exp(x))

    return tf.while_loop(lambda i, a: i < n, body, [0, x])[1]


def of_called(tf, x):
    return tf.function(lambda z: tf.reduce_sum(z * z * z))(x) * 2.0


def of_case(tf, x):
    i = tf.compat.v1.placeholder(tf.int32, [], name="i")
    return tf.switch_case(i, [lambda: x * 2.0, lambda: x * x, lambda: tf.exp(x)])


def of_case_in_loop(tf, x):
    n = tf.compat.v1.placeholder(tf.int32, [], name="n")

    def body(i, a):
        return i + 1, tf.switch_case(i % 3, [lambda: a * x, lambda: tf.sin(a), lambda: a - x])

    return tf.while_loop(lambda i, a: i < n, body, [0, x])[1]


def built_by_tensorflow(folder):
    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    tf.compat.v1.enable_control_flow_v2()
    results = {}
    for name, feeds in FEEDS.items():
        with tf.Graph().as_default() as graph:
            x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            y = tf.identity(globals()[f"of_{name.replace(' ', '_')}"](tf, x), name="y")
            (folder / f"{name}.pb").write_bytes(graph.as_graph_def().SerializeToString())
            results[name] = values(tf.compat.v1, x, y, feeds, "")
    return results


def values(tf, x, y, feeds, scope):
    (by_x,) = tf.gradients(y, x)
    with tf.Session() as session:
        found = [
            session.run([y, by_x], {x: X, **{f"{scope}{k}:0": v for k, v in feed.items()}})
            for feed in feeds
        ]
    return [[each.tolist() for each in pair] for pair in found]


def imported(folder):
    import millrace as tf

    results = {}
    for name, feeds in FEEDS.items():
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [2])
            data = (folder / f"{name}.pb").read_bytes()
            (y,) = tf.import_graph_def(data, input_map={"x": x}, return_elements=["y:0"])
            results[name] = values(tf, x, y, feeds, "import/")
            functional = ("If", "While", "Case", "Call")
            assert not any(op.type.endswith(functional) for op in graph.get_operations())
    return results


def main():
    make = built_by_tensorflow if sys.argv[1] == "tensorflow" else imported
    json.dump(make(Path(sys.argv[2])), sys.stdout)


if __name__ == "__main__":
    main()
