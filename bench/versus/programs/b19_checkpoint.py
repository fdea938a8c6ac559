"""B19: a checkpoint of many variables, saved and restored by one process, on the disk and in memory."""

import os
import tempfile

from measure import Figure, Limit, gigabytes_per_second

TITLE = "B19 checkpoints"
VARIABLES = 100
MB = 1_000_000


def tasks(scale):
    return 0


def size(scale):
    return scale.pick(quick=10, normal=1000) * MB


def places():
    """(what it is called, a folder there) of each."""
    return [("the disk", tempfile.gettempdir()), ("memory", os.environ["IN_MEMORY"])]


def saved(scale, where):
    return f"{size(scale) // MB:,} MB saved to {where}"


def restored(scale, where):
    return f"{size(scale) // MB:,} MB restored from {where}"


def figures(tf, cluster, scale):
    floats = size(scale) // VARIABLES // 4
    model = [tf.Variable(tf.ones([floats]) * i, name=f"v{i}") for i in range(VARIABLES)]
    # One for each place: a Saver that saves to another path removes what it has saved before.
    savers = [tf.train.Saver(model, max_to_keep=1) for _ in places()]
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    for saver, (where, folder) in zip(savers, places(), strict=True):
        path = os.path.join(folder, cluster.cell, "model")
        os.mkdir(os.path.dirname(path))

        def save(saver=saver, path=path):
            saver.save(session, path, write_meta_graph=False)

        def restore(saver=saver, path=path):
            saver.restore(session, path)

        save()
        yield Figure(saved(scale, where), "GB/s", gigabytes_per_second(size(scale), save))
        yield Figure(restored(scale, where), "GB/s", gigabytes_per_second(size(scale), restore))


def limits(scale):
    piece = bytearray(10 * MB)
    for where, folder in places():
        path = os.path.join(folder, "limit")

        def write(path=path):
            with open(path, "wb", buffering=0) as file:
                for _ in range(size(scale) // len(piece)):
                    file.write(piece)
                os.fsync(file.fileno())

        def read(path=path):
            with open(path, "rb", buffering=0) as file:
                while file.readinto(piece):
                    pass

        write()
        bound = gigabytes_per_second(size(scale), write)
        yield Limit(saved(scale, where), "a file written and synced", bound)
        bound = gigabytes_per_second(size(scale), read)
        yield Limit(restored(scale, where), "a file read", bound)
