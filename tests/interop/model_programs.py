"""A model written and loaded as SavedModel and as a frozen graph: model_programs.py MODULE ACTION FOLDER.

For TensorFlow and for Millrace: `write` leaves in the folder what `load` of either finds. Both print JSON.
"""

import json
import os
import sys

import numpy as np

if sys.argv[1] == "tensorflow":
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import millrace as tf

FEED = [[1.0, 2.0], [0.5, -1.0]]


def model():
    """A prediction by variables of both kinds, a loop, a branch and a table filled from a file."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    weight = tf.Variable([[1.0], [2.0]], name="weight", use_resource=False)
    bias = tf.Variable([0.5], name="bias", use_resource=True)
    y = tf.add(tf.matmul(x, weight), bias, name="y")
    limit = tf.Variable(10.0, name="limit", use_resource=True)
    grown = tf.while_loop(lambda v: v < limit, lambda v: v * 2.0 + bias[0], [1.0], name="grow")
    sign = tf.cond(tf.reduce_sum(y) > 0.0, lambda: tf.identity(bias), lambda: -bias)
    tf.identity(grown * sign, name="z")
    return x, y


def values(session):
    return {name: session.run(name, {"x:0": FEED}).tolist() for name in ("y:0", "z:0")}


def write(folder):
    words = os.path.join(folder, "words.txt")
    with open(words, "w", encoding="utf-8") as file:
        file.write("brass\ncopper\n")
    x, y = model()
    path = tf.constant(words, name="path")
    text = tf.Variable("", name="text", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    first = tf.group(tf.assign(text, tf.read_file(path)), tf.tables_initializer(), name="first")
    signatures = tf.saved_model.signature_def_utils
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(tf.assign(tf.global_variables()[0], [[3.0], [-4.0]]))
        for as_text in (True, False):
            builder = tf.saved_model.builder.SavedModelBuilder(
                os.path.join(folder, "text" if as_text else "binary")
            )
            builder.add_meta_graph_and_variables(
                session,
                [tf.saved_model.tag_constants.SERVING],
                {
                    "serving_default": signatures.predict_signature_def({"in": x}, {"out": y}),
                    "texts": signatures.classification_signature_def(path, path, y),
                },
                main_op=None if as_text else first,
                assets_collection=None if as_text else [path],
            )
            builder.save(as_text)
        frozen = tf.graph_util.convert_variables_to_constants(
            session, session.graph.as_graph_def(), ["y", "z"]
        )
        with open(os.path.join(folder, "frozen.pb"), "wb") as file:
            file.write(frozen.SerializeToString())
        os.remove(words)
        return values(session)


def sorted_items(infos):
    return sorted(infos.items(), key=lambda item: item[0])


def load(folder):
    """What both kinds of SavedModel and the frozen graph give; a gradient goes back through the loop."""
    found = {}
    for kind in ("binary", "text"):
        with tf.Graph().as_default(), tf.Session() as session:
            loaded = tf.saved_model.loader.load(session, ["serve"], os.path.join(folder, kind))
            found[kind] = values(session)
            found[f"{kind} signatures"] = {
                name: [
                    signature.method_name,
                    *([key, info.name, info.dtype] for key, info in sorted_items(signature.inputs)),
                    *(
                        [key, info.name, info.dtype]
                        for key, info in sorted_items(signature.outputs)
                    ),
                ]
                for name, signature in loaded.signature_def.items()
            }
            z = session.graph.get_tensor_by_name("z:0")
            slope = tf.gradients(z, [tf.global_variables()[1]])[0]
            found[f"{kind} slope"] = session.run(slope, {"x:0": FEED}).tolist()
            found[f"{kind} variables"] = sorted(v.name for v in tf.global_variables())
            if kind == "binary":
                found["words"] = session.run("text:0").decode()
    with tf.Graph().as_default(), tf.Session() as session:
        definition = tf.GraphDef()
        with open(os.path.join(folder, "frozen.pb"), "rb") as file:
            definition.ParseFromString(file.read())
        tf.import_graph_def(definition, name="")
        found["frozen"] = values(session)
        found["frozen variables"] = [
            node.name for node in definition.node if "Variable" in node.op or "VarHandle" in node.op
        ]
    return found


def objects():
    """(a tf.train.Checkpoint of a layer, Adam and the step, what trains, the variables by name)."""
    tf.set_random_seed(1)
    kernel = tf.Variable([[1.0], [2.0]], name="kernel", use_resource=True)
    bias = tf.Variable([0.5], name="bias", use_resource=True)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(0.1)
    loss = tf.reduce_sum(tf.square(tf.matmul([[1.0, 2.0]], kernel) + bias))
    train = optimizer.minimize(loss, global_step=step)
    inner = tf.train.Checkpoint(bias=bias)
    checkpoint = tf.train.Checkpoint(
        kernel=kernel, parts=[inner, {"a.b/c": kernel}], optimizer=optimizer, step=step
    )
    return checkpoint, train, [kernel, bias, step, *optimizer.variables()]


def old_variables():
    """Variables of several types, one of them in parts."""
    values = {
        "f": [[1.5, -2.0]],
        "d": np.array([0.1, -1e300]),
        "i": [-7, 2**31 - 1],
        "l": np.array([2**40, -1]),
        "u": np.array([0, 255], np.uint8),
        "b": [True, False],
        "h": np.array([0.5, -2.0], np.float16),
        "c": np.array([1 - 2j], np.complex64),
        "s": np.array(["", "text"], object),
        "none": np.zeros([0, 3], np.float32),
    }
    made = [tf.Variable(value, name=name) for name, value in values.items()]
    parts = tf.get_variable(
        "parts",
        initializer=tf.constant([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        partitioner=tf.fixed_size_partitioner(2),
    )
    return made, parts


def shown(values):
    return [[str(item) for item in np.asarray(value).ravel().tolist()] for value in values]


def write_old(folder):
    """A model in the format before 2017, in one file and in shards."""
    made, parts = old_variables()
    savers = [tf.train.Saver(write_version=tf.train.SaverDef.V1, sharded=s) for s in (False, True)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        paths = [
            saver.save(session, os.path.join(folder, name), write_meta_graph=False)
            for saver, name in zip(savers, ("one", "many"))
        ]
        return {"paths": paths, "values": shown(session.run([*made, *parts]))}


def load_old(folder):
    made, parts = old_variables()
    found = []
    with tf.Session() as session:
        for path in (os.path.join(folder, "one"), os.path.join(folder, "many-?????-of-00001")):
            tf.train.Saver().restore(session, path)
            found.append(shown(session.run([*made, *parts])))
        shapes = tf.train.NewCheckpointReader(path).get_variable_to_shape_map()
    return {"values": found, "shapes": sorted(shapes.items())}


def read_all(session, variables):
    return [session.run(variable).tolist() for variable in variables]


def write_objects(folder):
    checkpoint, train, variables = objects()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = checkpoint.save(os.path.join(folder, "ckpt"), session=session)
        return {"values": read_all(session, variables), "names": tf.train.list_variables(path)}


def load_objects(folder):
    """What comes back: into the same objects, and by a Saver into variables by name."""
    checkpoint, train, variables = objects()
    path = tf.train.latest_checkpoint(folder)
    with tf.Session() as session:
        status = checkpoint.restore(path)
        status.assert_consumed()
        status.initialize_or_restore(session)
        found = {"values": read_all(session, variables)}
        session.run(train)
        found["trained"] = read_all(session, variables)
    with tf.Graph().as_default(), tf.Session() as session:
        _, _, variables = objects()
        tf.train.Saver(variables).restore(session, path)
        found["by name"] = read_all(session, variables)
    return found


if __name__ == "__main__":
    actions = {
        "write": write,
        "load": load,
        "write_objects": write_objects,
        "load_objects": load_objects,
        "write_old": write_old,
        "load_old": load_old,
    }
    print(json.dumps(actions[sys.argv[2]](sys.argv[3])))
