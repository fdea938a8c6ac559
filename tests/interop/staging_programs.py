"""Programs with barriers, staging areas, kept tensors and critical sections, the same text for both.

`python3 staging_programs.py tensorflow` (or `millrace`) prints a JSON object: of each program what it gives.
Run by test_staging_beside_tensorflow.py.
"""

from data_programs import outcome, plain
from programs import print_results


def inner(tf, module, name):
    """A name of tensorflow.python.ops that is public in neither."""
    package = "tensorflow" if tf.__name__.startswith("tensorflow") else "millrace"
    return getattr(__import__(f"{package}.python.ops.{module}", fromlist=[name]), name)


def barriers(tf, session):
    barrier = inner(tf, "data_flow_ops", "Barrier")((tf.float32, tf.string), shapes=((2,), ()))
    keys = tf.placeholder(tf.string, [None])
    numbers = tf.placeholder(tf.float32, [None, 2])
    words = tf.placeholder(tf.string, [None])
    put_numbers = barrier.insert_many(0, keys, numbers)
    put_words = barrier.insert_many(1, keys, words)
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    results = {}

    def note(name, fetch, feeds=None):
        results[name] = [outcome(tf, session, fetch, feeds), outcome(tf, session, sizes)]

    note("numbers", put_numbers, {keys: ["a", "b", "c"], numbers: [[1, 2], [3, 4], [5, 6]]})
    note("word", put_words, {keys: ["b"], words: ["x"]})
    note("again", put_words, {keys: ["b"], words: ["y"]})
    note("twice", put_numbers, {keys: ["a"], numbers: [[1, 2]]})
    indices, taken, values = barrier.take_many(1)
    note("taken", [indices, taken, *values])
    note("late", put_numbers, {keys: ["b"], numbers: [[7, 8]]})
    note("rest", put_words, {keys: ["c", "a"], words: ["z", "y"]})
    note("no elements", barrier.take_many(0)[2])
    note("close", barrier.close())
    note("new key", put_words, {keys: ["q"], words: ["z"]})
    indices, taken, values = barrier.take_many(9, allow_small_batch=True)
    note("small", [taken, *values])
    note("nothing left", taken)
    note("too many", barrier.take_many(2)[1])
    note("close again", barrier.close())  # a close that cancels after it hangs TensorFlow
    return results


def areas(tf, session):
    StagingArea = inner(tf, "data_flow_ops", "StagingArea")
    area = StagingArea([tf.float32, tf.string], shapes=[[2], []], names=["x", "y"], capacity=3)
    x = tf.placeholder(tf.float32, [2])
    put = area.put({"x": x, "y": tf.constant("a")})
    results = {"name": area.name, "empty": outcome(tf, session, area.size())}
    for i in range(3):
        session.run(put, {x: [i, i + 1]})
    results["peeked"] = outcome(tf, session, area.peek(2)["x"])
    taken = area.get()
    results["taken"] = [plain(session.run(taken)["x"]) for _ in range(2)]
    session.run(area.clear())
    results["cleared"] = outcome(tf, session, area.size())
    limited = StagingArea([tf.float32], memory_limit=8)
    results["too large"] = outcome(tf, session, limited.put([tf.zeros([3])]))
    return results


def maps(tf, session):
    MapStagingArea = inner(tf, "data_flow_ops", "MapStagingArea")
    results = {}
    for ordered in (True, False):
        area = MapStagingArea([tf.int32, tf.string], ordered=ordered)
        key = tf.placeholder(tf.int64, [])
        number = tf.placeholder(tf.int32, [])
        put_number = area.put(key, [number], indices=[0])
        put_word = area.put(key, [tf.constant("w")], indices=[1])
        sizes = [area.size(), area.incomplete_size()]
        made = results[f"ordered {ordered}"] = []
        for k in (5, 3, 4) if ordered else (7,):
            session.run(put_number, {key: k, number: k * 10})
            made.append(outcome(tf, session, sizes))
            session.run(put_word, {key: k})
            made.append(outcome(tf, session, sizes))
        k = 4 if ordered else 7
        made.append(outcome(tf, session, area.peek(key), {key: k}))
        made.append(outcome(tf, session, area.get(key, indices=[1])[1], {key: k}))
        made.append(outcome(tf, session, area.get(key, indices=[1])[1], {key: k}))
        made.append(outcome(tf, session, area.get(key, indices=[0])[1], {key: k}))
        if ordered:
            made += [outcome(tf, session, area.get()) for _ in range(2)]
        made.append(outcome(tf, session, sizes))
        session.run(area.clear())
    return results


def kept_tensors(tf, session):
    x = tf.placeholder(tf.float32, [2])
    keep = tf.get_session_handle(x * 2)
    first, second = session.run(keep, {x: [1, 2]}), session.run(keep, {x: [3, 4]})
    holder, value = tf.get_session_tensor(first.handle, tf.float32)
    results = {
        "parts": [first.handle.split(";")[0], len(first.handle.split(";"))],
        "values": plain([first.eval(), second.eval()]),
        "read": outcome(tf, session, value + 1, {holder: first.handle}),
        "fed": outcome(tf, session, x * 10, {x: second}),
        "unknown": outcome(tf, session, value, {holder: "GetSessionHandle;77;/cpu:0"}),
    }
    first.delete()
    results["deleted"] = outcome(tf, session, value, {holder: first.handle})
    try:
        first.eval()
    except TypeError:
        results["of no use"] = True
    return results


def critical_sections(tf, session):
    count = tf.get_variable("count", initializer=0, use_resource=True)
    section = tf.CriticalSection(name="section")

    def add():
        value = count.read_value()
        with tf.control_dependencies([value]):
            with tf.control_dependencies([count.assign_add(1)]):
                return tf.identity(value)

    added = [section.execute(add) for _ in range(5)]
    session.run(tf.global_variables_initializer())
    results = {"seen": sorted(plain(session.run(added))), "name": section.name}
    try:
        section.execute(lambda: section.execute(add))
    except ValueError:
        results["inside itself"] = "ValueError"
    return results


PROGRAMS = [barriers, areas, maps, kept_tensors, critical_sections]

if __name__ == "__main__":
    print_results(PROGRAMS)
