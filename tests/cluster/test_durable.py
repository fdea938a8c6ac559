"""`millrace serve --state DIR --state-keeps asked`: of a task that is killed, what asked to be kept is there again."""

import pathlib
import signal

import millrace as tf
import pytest

from started_tasks import millrace_command

KINDS = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
DEVICE = "/job:state/task:0"


class Lives:
    """One task, in one life after the other; each is killed before the next one begins."""

    def __init__(self, tasks, folder):
        self._tasks, self._folder = tasks, folder
        self._task = None
        self.target = f"grpc://{tasks.address('state')}"

    def next(self, keep="asked"):
        if self._task is not None:
            self._task.signal(signal.SIGKILL)
            self._task.wait()
        command = [millrace_command(), "serve", "--state", self._folder, "--state-keeps", keep]
        self._task = self._tasks.start("state", 0, command)
        self._task.wait_for("serving")
        return tf.Session(self.target)

    def output(self):
        return self._task.output()


@pytest.fixture
def lives(cluster, tmp_path):
    with tf.Graph().as_default(), tf.device(DEVICE):
        yield Lives(cluster(state=1), tmp_path / "state")


@KINDS
def test_a_variable_that_asks_goes_on_and_its_neighbour_begins_anew(lives, use_resource):
    total = tf.Variable(0, name="total", use_resource=use_resource, durable=True)
    seen = tf.Variable(0, name="seen", use_resource=use_resource)
    with lives.next() as session:
        session.run([total.initializer, seen.initializer])
        session.run([tf.assign_add(total, 7).op, tf.assign_add(seen, 7).op])
    with lives.next() as session:
        assert "keeps what asks for it, and found 1 variable" in lives.output()
        assert session.run(total) == 7
        assert not session.run(tf.is_variable_initialized(seen))
        # What was kept once is kept, whoever asks now.
        session.run(tf.assign_add(total, 1).op)
    with lives.next("all") as session:
        assert session.run(total) == 8


def test_queues_that_ask_keep_their_elements_by_a_shared_name_or_that_of_the_node(lives):
    queues = [
        tf.FIFOQueue(9, tf.int32, shared_name="names", durable=True),
        tf.RandomShuffleQueue(9, 0, tf.int32, name="by_node", durable=True),
        tf.PaddingFIFOQueue(9, tf.int32, [()], durable=True),
        tf.FIFOQueue(9, tf.int32, shared_name="plain"),
    ]
    order = tf.PriorityQueue(9, tf.string, durable=True)
    sizes = [queue.size() for queue in queues]
    puts = [queue.enqueue(3) for queue in queues]
    priority, name = tf.placeholder(tf.int64, []), tf.placeholder(tf.string, [])
    put, take = order.enqueue((priority, name)), order.dequeue()
    with lives.next() as session:
        session.run(puts)
        for number, text in ((3, "c"), (1, "a"), (2, "b")):
            session.run(put, {priority: number, name: text})
    with lives.next() as session:
        assert session.run(sizes) == [1, 1, 1, 0]
        assert [session.run(queue.dequeue()) for queue in queues[:3]] == [3, 3, 3]
        assert [session.run(take)[1] for _ in range(3)] == [b"a", b"b", b"c"]


def test_a_variable_is_kept_from_the_step_on_in_which_somebody_asks(lives):
    with tf.Graph().as_default(), tf.device(DEVICE):
        plain = tf.Variable(0, name="total")
        begin, add = plain.initializer, tf.assign_add(plain, 5).op
        plain_session = None
        durable_graph = tf.Graph()
        with durable_graph.as_default(), tf.device(DEVICE):
            durable = tf.Variable(0, name="total", durable=True)
        lives.next().close()
        with tf.Session(lives.target) as plain_session:
            plain_session.run(begin)
            plain_session.run(add)
        with tf.Session(lives.target, graph=durable_graph) as session:
            assert session.run(durable) == 5
        with tf.Session(lives.target) as plain_session:
            plain_session.run(add)
    lives.next().close()
    with tf.Session(lives.target, graph=durable_graph) as session:
        assert session.run(durable) == 10


def test_a_queue_that_was_made_without_asking_is_refused_to_who_asks(lives):
    put = tf.FIFOQueue(9, tf.int32, shared_name="names").enqueue(1)
    with lives.next() as session:
        session.run(put)
        with tf.Graph().as_default() as graph, tf.device(DEVICE):
            put_durable = tf.FIFOQueue(9, tf.int32, shared_name="names", durable=True).enqueue(2)
        with tf.Session(lives.target, graph=graph) as other:
            with pytest.raises(tf.errors.FailedPreconditionError, match="of that name that is not"):
                other.run(put_durable)


def test_a_task_without_a_folder_says_what_it_was_asked_where_and_what_to_do(cluster):
    tasks = cluster(state=1)
    tasks.serve("state")
    with tf.Graph().as_default(), tf.device(DEVICE):
        total = tf.Variable(0, name="total", durable=True)
        put = tf.FIFOQueue(9, tf.int32, shared_name="names", durable=True).enqueue(2)
        with tf.Session(f"grpc://{tasks.address('state')}") as session:
            for target, name in ((total.initializer, "total"), (put, "names")):
                with pytest.raises(tf.errors.FailedPreconditionError) as caught:
                    session.run(target)
                for words in (
                    f"'{name}' is to be kept (durable=True)",
                    "/job:state/replica:0/task:0/device:CPU:0",
                    "--state DIR",
                ):
                    assert words in str(caught.value)


def test_only_what_can_be_kept_may_ask(lives):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    op = table.table_ref.op if hasattr(table, "table_ref") else table._table_ref.op
    op.graph.ask_to_last(op)
    with lives.next() as session:
        with pytest.raises(tf.errors.UnimplementedError, match="only variables and queues"):
            session.run(table.size())


def test_a_word_that_says_nothing_is_refused_before_anything_is_served(cluster, tmp_path):
    command = [millrace_command(), "serve", "--state", tmp_path, "--state-keeps", "some"]
    task = cluster(state=1).start("state", 0, command)
    assert task.wait() == 2
    assert "all" in task.output() and "asked" in task.output()
    assert not list(pathlib.Path(tmp_path).glob("state-*"))
