import threading

import pytest

import millrace as tf


class Workers:
    """Workers of one training, each with a graph and a session of its own on one server."""

    def __init__(self, server, wanted, total, opt=lambda: tf.train.GradientDescentOptimizer(2.0)):
        self._server = server
        self.graphs, self.sessions, self.optimizers = [], [], []
        for index in range(total):
            with tf.Graph().as_default() as graph, tf.device("/job:local/task:0"):
                x = tf.placeholder(tf.float32, [], name="x")
                dense = tf.get_variable("dense", [], initializer=tf.zeros_initializer())
                rows = tf.get_variable("rows", [3, 1], initializer=tf.ones_initializer())
                loss = dense * x + tf.reduce_sum(tf.gather(rows, [index])) * x
                optimizer = tf.train.SyncReplicasOptimizer(opt(), wanted, total)
                step = tf.train.get_or_create_global_step()
                # Local variables of workers that share a server are told apart by name.
                with tf.name_scope(f"worker_{index}"):
                    train = optimizer.minimize(loss, global_step=step)
                self.graphs.append((graph, train))
                self.optimizers.append(optimizer)

    def start(self, index, num_tokens=0):
        graph, train = self.graphs[index]
        with graph.as_default():
            session = tf.train.MonitoredTrainingSession(
                self._server.target,
                is_chief=index == 0,
                hooks=[self.optimizers[index].make_session_run_hook(index == 0, num_tokens)],
                stop_grace_period_secs=30,
            )
        self.sessions.append(session)
        return lambda value: int(session.run(train, {"x:0": value}))

    def value(self, name):
        session = self.sessions[0]
        return session.run_step_fn(lambda step_context: step_context.session.run(name))


def together(*calls):
    """What several functions return that wait for each other."""
    answers = [None] * len(calls)

    def call(index, function, value):
        answers[index] = function(value)

    threads = [
        threading.Thread(target=call, args=(index, *call_), daemon=True)
        for index, call_ in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers


@pytest.fixture
def workers():
    server = tf.train.Server.create_local_server()
    made = []

    def make(*args, **kwargs):
        made.append(Workers(server, *args, **kwargs))
        return made[-1]

    yield make
    for each in made:
        # The chief last: it closes the queue of tokens.
        for session in each.sessions[::-1]:
            session.close()
    server.stop()


def test_two_workers_make_one_step_with_the_mean_of_their_gradients(workers):
    both = workers(wanted=2, total=2)
    first, second = both.start(0), both.start(1)
    assert together((first, 1.0), (second, 3.0)) == [1, 1]
    assert both.value("dense:0") == -4.0
    # Of rows each worker has its own: the mean of one gradient is itself.
    assert both.value("rows:0").ravel().tolist() == [1 - 2 * 1, 1 - 2 * 3, 1]
    assert together((first, 5.0), (second, 7.0)) == [2, 2]
    assert both.value("dense:0") == -16.0


def test_a_backup_workers_gradients_are_dropped(workers):
    three = workers(wanted=2, total=3)
    first, second, late = [three.start(index) for index in range(3)]
    assert together((first, 1.0), (second, 3.0)) == [1, 1]
    # It still begins at step 0: what it gives is stale, and it is told the new step.
    assert late(1000.0) == 1
    assert three.value("dense:0") == -4.0
    assert together((late, 1.0), (second, 3.0)) == [2, 2]
    assert three.value("dense:0") == -8.0


def test_it_takes_as_many_gradients_of_fewer_workers(workers):
    one = workers(wanted=2, total=1)
    step = one.start(0, num_tokens=1)
    # Each step takes two gradients; the first token lets the worker give a second one.
    assert [step(1.0) for _ in range(4)] == [0, 1, 1, 2]
    assert one.value("dense:0") == -4.0


def test_first_tokens_are_as_many_as_gradients_are_wanted(workers):
    one = workers(wanted=1, total=1)
    step = one.start(0, num_tokens=-1)
    assert step(1.0) == 0  # it did not wait for its own update


def test_the_optimizers_own_words_go_through():
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), 1)
    for early in (optimizer.get_chief_queue_runner, optimizer.get_init_tokens_op):
        with pytest.raises(ValueError, match="called after apply_gradients"):
            early()
    with pytest.raises(ValueError, match="called after apply_gradients"):
        optimizer.make_session_run_hook(True).begin()
    variable = tf.Variable(1.0, name="v")
    unused = tf.Variable(1.0)
    pairs = optimizer.compute_gradients(variable * 2)
    assert pairs[1] == (None, unused)
    step = tf.train.get_or_create_global_step()
    optimizer.apply_gradients(pairs, step)
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(variable, "momentum").op.name == "v/Momentum"
    assert len(optimizer.variables()) == 1
    assert optimizer.get_init_tokens_op(0).name == "no_init_tokens"
    assert [v.op.name for v in tf.local_variables()] == ["sync_rep_local_step"]


def test_what_makes_no_sense_is_refused():
    step = tf.train.get_or_create_global_step()
    variable = tf.Variable(1.0)
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 5, 2)
    with pytest.raises(ValueError, match="at least one variable"):
        optimizer.apply_gradients([], step)
    with pytest.raises(ValueError, match="Global step is required"):
        optimizer.apply_gradients([(tf.constant(1.0), variable)])
    with pytest.raises(ValueError, match="Unknown grad type"):
        optimizer.apply_gradients([(1.0, variable)], step)
    optimizer.minimize(variable * 2, global_step=step)
    with pytest.raises(ValueError, match="Too few tokens to finish the first step: 2 .* vs 3"):
        optimizer.get_init_tokens_op(2)


def test_steps_may_be_counted_in_32_bits():
    variable = tf.Variable(1.0)
    step = tf.Variable(0, name="global_step", trainable=False)
    assert step.dtype.base_dtype == tf.int32
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
    train = optimizer.minimize(variable * 4, global_step=step)
    hook = optimizer.make_session_run_hook(True, num_tokens=0)
    with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
        assert [session.run(train) for _ in range(2)] == [1, 2]
        assert session.run(variable) == -7.0


def test_averages_follow_each_step():
    variable = tf.Variable(1.0)
    averages = tf.train.ExponentialMovingAverage(0.5)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(1.0),
        1,
        variable_averages=averages,
        variables_to_average=[variable],
    )
    train = optimizer.minimize(variable * 4, global_step=tf.train.get_or_create_global_step())
    average = averages.average(variable)
    hook = optimizer.make_session_run_hook(True, num_tokens=0)
    with tf.train.MonitoredTrainingSession(hooks=[hook]) as session:
        assert [int(session.run(train)) for _ in range(2)] == [1, 2]
        assert session.run(variable) == -7.0
        assert session.run(average) in (-1.0, -4.0)  # the second mean may be on its way
