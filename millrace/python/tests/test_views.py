"""Operations and Tensors as objects: views on the nodes of a graph that live as long as somebody looks."""

import gc
import threading
import tracemalloc
import weakref

import pytest

import millrace as tf
from millrace import _millrace


def test_the_same_output_is_the_same_object_while_somebody_holds_it(graph):
    x = tf.constant(1.0)
    assert graph.get_tensor_by_name(x.name) is x
    assert x.op is x.op.outputs[0].op
    assert x.op.outputs[0] is x
    assert x.op is not x


def test_a_view_goes_with_who_holds_it_and_a_new_one_is_equal_in_all(graph):
    x = tf.constant([1.0, 2.0], name="x")
    told = (x.name, x.dtype, x.endpoint, x.shape.as_list())
    gone = weakref.ref(x)
    del x
    assert gone() is None
    again = graph.get_tensor_by_name("x:0")
    assert (again.name, again.dtype, again.endpoint, again.shape.as_list()) == told


def test_views_are_keys_of_weak_dictionaries(graph):
    x = tf.constant(1.0)
    notes = weakref.WeakKeyDictionary({x: "kept", x.op: "gone"})
    assert notes[x] == "kept"
    assert list(notes.values()) == ["kept"]


def test_an_operation_has_no_type_of_elements(graph):
    assert not hasattr(tf.no_op(), "dtype")


def test_a_tensor_that_is_held_costs_python_one_small_object(graph):
    x = tf.constant(1.0)
    for _ in range(100):
        tf.negative(x)  # what is made once
    count = 2000
    tracemalloc.start()
    try:
        held = [tf.negative(x) for _ in range(count)]
        gc.collect()
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(held) == count
    assert used / count < 150  # 80 the object, 8 the list, 8 where it was made; spare


def test_a_view_in_a_circle_goes_with_its_graph():
    def build():
        graph = tf.Graph()
        with graph.as_default():
            x = tf.constant(1.0)
            graph.add_to_collection("held", x)
            graph.add_to_collection("held", x.op)
        return weakref.ref(x), weakref.ref(graph)

    view, graph = build()
    gc.collect()
    assert view() is None and graph() is None


def test_who_hears_of_the_end_of_a_view_gets_a_new_one(graph):
    """Objects that lie deep in each other end late: until then nobody may find them."""
    found = []
    x = tf.constant(1.0, name="x")
    ended = x.node_id
    ears = [weakref.ref(x, lambda _: found.append(graph.tensor(ended, 0)))]
    deep = x
    for _ in range(1000):
        deep = [deep, tf.constant(2.0)]
    del x, deep
    assert ears[0]() is None
    assert found[0].name == "x:0"
    assert graph.tensor(ended, 0) is found[0]


def test_threads_that_look_at_once_see_one_view(graph):
    tf.constant(1.0, name="x")
    start = threading.Barrier(4)
    seen = [None] * 4

    def look(index):
        start.wait()
        seen[index] = graph.get_tensor_by_name("x:0")

    threads = [threading.Thread(target=look, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(view is seen[0] for view in seen)


@pytest.mark.parametrize("arguments", [(), (1, 2, 3), (1, 2, 0, 0), (1, 2, "a", 0)])
def test_a_view_of_no_graph_is_refused(arguments):
    with pytest.raises(TypeError):
        _millrace.View(*arguments)
