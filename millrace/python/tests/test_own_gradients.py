"""A program's own gradients: registered under a name, put in place of an op's, or said by a function."""

import pytest

import millrace as tf
from millrace._ops import gradients as machinery


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """What a test registers is registered for no other."""
    monkeypatch.setattr(machinery._Registry, "functions", {})


def test_nodes_made_inside_of_the_map_have_the_gradient_of_that_name(graph, session):
    @tf.RegisterGradient("Triple")
    def triple(op, grad):
        assert op.type == "Sign" and op.inputs[0] is x
        return 3.0 * grad

    x = tf.constant([-2.0, 5.0])
    with graph.gradient_override_map({"Sign": "Triple"}):
        inside = tf.sign(x, name="inside")
        also = tf.negative(x)
    outside = tf.sign(x)
    (by_x,) = tf.gradients(inside, x)
    assert by_x.name.startswith("gradients/inside_grad/")
    assert session.run(by_x).tolist() == [3.0, 3.0]
    assert session.run(tf.gradients(outside, x)[0]).tolist() == [0.0, 0.0]
    assert session.run(tf.gradients(also, x)[0]).tolist() == [-1.0, -1.0]


def test_maps_nest_and_end(graph, session):
    tf.RegisterGradient("Two")(lambda op, grad: grad * 2.0)
    tf.RegisterGradient("Five")(lambda op, grad: [grad * 5.0])
    x = tf.constant(1.0)
    with graph.gradient_override_map({"Identity": "Two"}):
        with graph.gradient_override_map({"Identity": "Five"}):
            five = tf.identity(x)
        two = tf.identity(x)
    found = [tf.gradients(y, x)[0] for y in (five, two, tf.identity(x))]
    assert session.run(found) == [5.0, 2.0, 1.0]
    with pytest.raises(TypeError, match="must be a dictionary mapping strings to strings"):
        with graph.gradient_override_map({"Identity": 7}):
            pass


def test_the_name_of_an_op_stands_for_all_its_nodes(session):
    x = tf.constant([0.4, 2.6])
    before = tf.rint(x)
    assert tf.gradients(before, x) == [None]
    tf.RegisterGradient("Rint")(lambda op, grad: grad)
    assert session.run(tf.gradients([before, tf.rint(x)], x)[0]).tolist() == [2.0, 2.0]
    tf.NotDifferentiable("Exp")
    assert tf.gradients(tf.exp(x), x) == [None]
    assert tf.NoGradient is tf.NotDifferentiable
    with pytest.raises(KeyError, match="Registering two gradient with name 'Rint'"):
        tf.RegisterGradient("Rint")(lambda op, grad: grad)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(7)


def test_slices_and_several_outputs_go_through(graph, session):
    seen = []

    @tf.RegisterGradient("Halves")
    def halves(op, first, second):
        seen.append((first, second))
        return None, tf.concat([first, second], 0)

    @tf.RegisterGradient("Rows")
    def rows(op, grad):
        assert isinstance(grad, tf.IndexedSlices)
        return tf.IndexedSlices(grad.values * 2.0, grad.indices)

    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    with graph.gradient_override_map({"Split": "Halves"}):
        left, _ = tf.split(x, 2)
    # Nothing arrives at the right half: it gets zeros.
    assert session.run(tf.gradients(left * 7.0, x)[0]).tolist() == [7.0, 7.0, 0.0, 0.0]
    assert len(seen) == 1
    with graph.gradient_override_map({"Identity": "Rows"}):
        same = tf.identity(x)
    (by_x,) = tf.gradients(tf.gather(same, [3, 3]), x)
    assert isinstance(by_x, tf.IndexedSlices)
    assert session.run(tf.convert_to_tensor(by_x)).tolist() == [0.0, 0.0, 0.0, 4.0]


def test_what_functions_say_and_raise_is_checked(graph):
    tf.RegisterGradient("Many")(lambda op, grad: [grad, grad])
    tf.RegisterGradient("Large")(lambda op, grad: tf.constant([1.0, 2.0]))

    @tf.RegisterGradient("Raises")
    def raises(op, grad):
        raise RuntimeError("by hand")

    elsewhere = tf.Graph()
    with elsewhere.as_default():
        foreign = tf.constant(1.0)
    tf.RegisterGradient("Foreign")(lambda op, grad: foreign)
    x = tf.constant(1.0)
    for name, error, message in (
        ("Many", ValueError, "Num gradients 2 generated for op .* do not match num inputs 1"),
        ("Large", ValueError, r"its gradient by input 0 has shape \[2\]; the input has \[\]"),
        ("Raises", RuntimeError, "by hand"),
        ("Foreign", ValueError, "is not an element of this graph"),
        ("Missing", LookupError, "'Missing', which tf.RegisterGradient has not"),
    ):
        with graph.gradient_override_map({"Identity": "" + name}):
            y = tf.identity(x)
        with pytest.raises(error, match=message):
            tf.gradients(y, x)
    assert graph.get_name_scope() == ""
    assert tf.gradients(tf.identity(x), x)[0] is not None


def test_a_function_says_its_own_gradient(session):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)
        return tf.log(1 + e), lambda arriving: arriving * (1 - 1 / (1 + e))

    x = tf.constant(100.0)
    y = log1pexp(x) * 2.0
    # By the formula it would be infinity / infinity.
    assert session.run(tf.gradients(y, x)[0]) == 2.0

    @tf.custom_gradient
    def swapped(a, b):
        return {"sum": a + b, "product": a * b}, lambda by_product, by_sum: (by_sum, by_product)

    a, b = tf.constant(3.0), tf.constant(5.0)
    made = swapped(a, b)
    assert session.run(made) == {"sum": 8.0, "product": 15.0}
    found = tf.gradients(made["sum"] * 2.0 + made["product"] * 7.0, [a, b])
    assert session.run(found) == [2.0, 7.0]
    with pytest.raises(ValueError, match="keywords arguments only"):
        swapped(a, b=b)


def test_a_function_with_variables_says_their_gradients_too(session):
    w = tf.Variable(3.0, use_resource=True)

    @tf.custom_gradient
    def scaled(x):
        def gradient(arriving, variables):
            assert variables == [w]
            return arriving * 10.0, [arriving * 20.0]

        return x * w, gradient

    x = tf.constant(2.0)
    y = scaled(x)
    session.run(tf.global_variables_initializer())
    assert session.run([y, *tf.gradients(y, [x, w])]) == [6.0, 10.0, 20.0]

    @tf.custom_gradient
    def silent(x):
        return x * w, lambda arriving: arriving

    with pytest.raises(TypeError, match="must accept a 'variables' keyword argument"):
        silent(x)
    reference = tf.Variable(1.0, use_resource=False)

    @tf.custom_gradient
    def of_reference(x):
        return x * reference, lambda arriving, variables: (arriving, [arriving])

    with pytest.raises(TypeError, match="must be `ResourceVariable`s"):
        of_reference(x)
