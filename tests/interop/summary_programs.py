"""Summaries of many values, as hexadecimal text: summary_programs.py tensorflow|millrace [FOLDER].

With a folder, writes there what a FileWriter writes of them.
"""

import json
import sys

import numpy as np

NUMBERS = ("float16", "float32", "float64", "uint8", "int32", "int64")
PIXELS = ("float16", "float32", "float64", "uint8")


def nodes(tf):
    """{name: a node that gives a summary}."""
    random = np.random.RandomState(0)
    made = {}
    for dtype in NUMBERS:
        values = (random.randn(1000) * 5).astype(dtype)
        made[f"histogram of {dtype}"] = tf.summary.histogram(f"h-{dtype}", values)
        made[f"scalar of {dtype}"] = tf.summary.scalar(f"s-{dtype}", values[0])
    made["empty histogram"] = tf.summary.histogram("he", np.zeros(0, np.float32))
    made["wide histogram"] = tf.summary.histogram("hw", [1e30, -1e30, 0.0, -0.0, 1e-30])
    for dtype in PIXELS:
        for channels in (1, 3, 4):
            images = (abs(random.randn(4, 5, 7, channels)) * 50).astype(dtype)
            name = f"images of {dtype}, {channels} channels"
            made[name] = tf.summary.image(f"i-{dtype}-{channels}", images, max_outputs=2)
            if dtype != "uint8":
                made[name + ", signed"] = tf.summary.image(
                    f"n-{dtype}-{channels}", images - np.array(40, dtype), max_outputs=1
                )
    image = np.ones((1, 2, 2, 3), np.float32)
    image[0, 0, 0, 0] = np.nan
    made["image with a pixel that is no number"] = tf.summary.image("in", image)
    sound = random.randn(3, 10, 2).astype(np.float32)
    made["sounds"] = tf.summary.audio("a", sound[:, :, 0], 44100.0)
    made["stereo"] = tf.summary.audio("b", sound, 44100.4, max_outputs=1)
    for dtype in ("float16", "float32", "int64", "bool", "complex64"):
        tensor = random.randn(2, 3).astype(dtype)
        made[f"tensor of {dtype}"] = tf.summary.tensor_summary(
            f"t-{dtype}", tensor, "text", display_name="name"
        )
    made["text"] = tf.summary.text("tt", tf.constant([[b"a", b"b"], [b"", b"\xff"]]))
    made["scalar tensor"] = tf.summary.tensor_summary("ts", 1.0)
    made["empty tensor"] = tf.summary.tensor_summary("te", np.zeros((0, 3), np.float32))
    made["nodes without tags"] = tf.raw_ops.TensorSummary(tensor=[1.0, 2.0], name="plain")
    with tf.name_scope("outer"):
        with tf.name_scope("inner"):
            family = tf.summary.scalar("f", 1.0, family="kin")
    made["family in scopes"] = family
    made["merged"] = tf.summary.merge([family, made["scalar of int32"]])
    return made


def main():
    if sys.argv[1] == "tensorflow":
        from beside import quiet

        quiet()
        import tensorflow.compat.v1 as tf

        tf.disable_v2_behavior()
    else:
        import millrace as tf
    made = nodes(tf)
    with tf.Session() as session:
        values = session.run(made)
        if len(sys.argv) > 2:
            with tf.summary.FileWriter(sys.argv[2], session.graph) as writer:
                for step, value in enumerate(values.values()):
                    writer.add_summary(value, step)
    print(json.dumps({name: value.hex() for name, value in values.items()}))


if __name__ == "__main__":
    main()
