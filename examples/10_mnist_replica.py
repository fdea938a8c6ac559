"""Training by hand-started tasks, as programs for TensorFlow 1 do it: each is told who it is by flags.

    for each task:  python3 examples/10_mnist_replica.py --job_name=worker --task_index=0 \
        --ps_hosts=localhost:2222 --worker_hosts=localhost:2223,localhost:2224

It trains on MNIST if --data_dir has it, and on drawn digits if not.
"""

import sys

import millrace as tf

import digits

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "addresses of the ps, with commas between them")
flags.DEFINE_string("worker_hosts", "", "addresses of the workers")
flags.DEFINE_string("job_name", "", "ps or worker")
flags.DEFINE_integer("task_index", 0, "which of them this is; worker 0 is the chief")
flags.DEFINE_integer("train_steps", 300, "global steps after which all workers end")
flags.DEFINE_string("data_dir", "", "a folder with MNIST")
flags.DEFINE_string("checkpoint_dir", None, "a folder for checkpoints")
FLAGS = flags.FLAGS


def batches(seed):
    if FLAGS.data_dir:
        mnist = tf.contrib.learn.datasets.mnist.read_data_sets(FLAGS.data_dir).train
        while True:
            yield mnist.next_batch(64)
    yield from digits.batches(*digits.load(2000), 64, seed=seed)


def main(_):
    cluster = tf.train.ClusterSpec(
        {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
    )
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
        return
    batch = batches(FLAGS.task_index)
    pixels = next(batch)[0].shape[1]
    here = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=cluster)):
        x = tf.placeholder(tf.float32, [None, pixels])
        y = tf.placeholder(tf.int64, [None])
        logits = tf.layers.dense(tf.layers.dense(x, 100, tf.nn.relu), 10)
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(0.005).minimize(loss, global_step=step)
    with tf.train.MonitoredTrainingSession(
        server.target,
        is_chief=FLAGS.task_index == 0,
        checkpoint_dir=FLAGS.checkpoint_dir,
        hooks=[tf.train.StopAtStepHook(last_step=FLAGS.train_steps)],
    ) as session:
        while not session.should_stop():
            pictures, labels = next(batch)
            _, value, at = session.run([train, loss, step], {x: pictures, y: labels})
            if at % 50 == 0:
                print(f"step {at} loss {value:.3f}")
    print(f"worker {FLAGS.task_index} is done")


if __name__ == "__main__":
    sys.exit(tf.app.run(main))
