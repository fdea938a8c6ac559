"""A program that saves and restores a model, for TensorFlow and for Millrace: saver_program.py MODULE ACTION.

`save FOLDERS`: trains two steps and saves; `restore FOLDERS`: goes on from the MetaGraphs and checkpoints
that are there; `nodes`: the names of the nodes of savers and input. Prints what it found as JSON.
"""

import json
import os
import sys

if sys.argv[1] == "tensorflow":
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
else:
    import millrace as tf


def model():
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    weight = tf.Variable([[1.0], [2.0]], name="weight", use_resource=False)
    bias = tf.Variable([0.5], name="bias", use_resource=True)
    local = tf.Variable(3, name="local", trainable=False, collections=["local_variables"])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weight) + bias - 1.0), name="loss")
    step = tf.train.get_or_create_global_step()
    train = tf.train.MomentumOptimizer(0.1, 0.5).minimize(loss, global_step=step, name="train")
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]], name="numbers")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(local)]))
    queue.dequeue(name="number")
    tf.add_to_collection("mine", loss)
    tf.add_to_collection("mine", train)
    tf.add_to_collection("sizes", 2)
    return train, loss, local


FEED = {"x:0": [[1.0, 2.0], [0.5, -1.0]]}


def values(session):
    names = ["weight:0", "bias/Read/ReadVariableOp:0", "weight/Momentum:0", "global_step:0"]
    return {name: session.run(name).tolist() for name in names}


def save(folder):
    train, _, _ = model()
    saver = tf.train.Saver(max_to_keep=1, sharded="sharded" in folder)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for step in (1, 2):
            session.run(train, FEED)
            saver.save(session, os.path.join(folder, "model"), global_step=step)
        return values(session)


def restore(folder):
    path = tf.train.latest_checkpoint(folder)
    saver = tf.train.import_meta_graph(path + ".meta")
    with tf.Session() as session:
        saver.restore(session, path)
        session.run(tf.local_variables_initializer())
        found = {
            "restored": values(session),
            "listed": [[name, list(shape)] for name, shape in tf.train.list_variables(folder)],
            "read": tf.train.load_variable(folder, "weight").tolist(),
            "variables": sorted(v.op.name for v in tf.global_variables()),
            "trainable": sorted(v.op.name for v in tf.trainable_variables()),
            "local": session.run("local:0").tolist(),
            "queues": [runner.name for runner in tf.get_collection("queue_runners")],
            "mine": [item.name for item in tf.get_collection("mine")],
            "sizes": tf.get_collection("sizes"),
        }
        coord = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coord)
        found["numbers"] = [int(session.run("number:0")) for _ in range(4)]
        coord.request_stop()
        session.run("train", FEED)
        found["trained"] = values(session)
        saver.save(session, os.path.join(folder, "again"))
        return found


def nodes():
    found = {}
    with tf.Graph().as_default() as graph:
        model()
        seen = len(graph.get_operations())
        tf.train.Saver()
        tf.train.Saver([v for v in tf.global_variables() if v.op.name != "bias"], sharded=True)
        found["savers"] = [op.name for op in graph.get_operations()[seen:]]
    with tf.Graph().as_default() as graph:
        names = tf.train.string_input_producer(["a", "b"], num_epochs=2)
        numbers, texts = tf.train.slice_input_producer([[1, 2], ["x", "y"]])
        tf.train.batch([names.dequeue(), numbers], 2, num_threads=2)
        tf.train.shuffle_batch([texts], 2, 10, 3, allow_smaller_final_batch=True)
        tf.train.batch_join([[numbers], [numbers]], 2, dynamic_pad=True)
        found["input"] = [op.name for op in graph.get_operations()]
    return found


def in_graphs_of_their_own(action, folders):
    found = []
    for folder in folders:
        with tf.Graph().as_default():
            found.append(action(folder))
    return found


if __name__ == "__main__":
    if sys.argv[2] == "nodes":
        result = nodes()
    else:
        result = in_graphs_of_their_own(
            {"save": save, "restore": restore}[sys.argv[2]], sys.argv[3:]
        )
    print(json.dumps(result))
