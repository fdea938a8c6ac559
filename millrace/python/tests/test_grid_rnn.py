"""tf.contrib.grid_rnn: cells of several dimensions, beside the same grids in NumPy."""

import numpy as np
import pytest

import millrace as tf

grid_rnn = tf.contrib.grid_rnn
X = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]], np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(kernel, bias, inputs, c, h):
    i, j, f, o = np.split(np.concatenate([inputs, h], 1) @ kernel + bias, 4, 1)
    c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    return c, sigmoid(o) * np.tanh(c)


def beside(*parts):
    return np.concatenate(parts, 1)


def held(*shape):
    return np.random.RandomState(len(shape) + 5).uniform(-1, 1, shape).astype(np.float32)


def pair(seed, units=2):
    return tuple(held(2, units) * seed for _ in range(2))


class Run:
    """The results of one call, and the values of variables by name without the scope of the class."""

    def __init__(self, session, cell, inputs, state):
        made = cell(inputs, state)
        variables = tf.global_variables()
        for number, variable in enumerate(variables):
            values = np.random.RandomState(number).uniform(-1, 1, variable.shape.as_list())
            session.run(variable.assign(values))
        (self.outputs, self.states), values = session.run([made, variables])
        names = [variable.name.removeprefix(type(cell).__name__ + "/") for variable in variables]
        self.variables = {name.removesuffix(":0"): value for name, value in zip(names, values)}

    def cell(self, number, kind="basic_lstm_cell"):
        where = "recurrent" if number is None else f"recurrent/cell_{number}"
        return [self.variables[f"{where}/{kind}/{part}"] for part in ("kernel", "bias")]


def test_the_first_dimension_sees_what_the_second_gives(session):
    cell = grid_rnn.Grid2BasicLSTMCell(2)
    assert cell.state_size == ((2, 2), (2, 2)) and cell.output_size == (2,)
    state = (pair(1.0), pair(0.5))
    run = Run(session, cell, X, state)
    assert sorted(run.variables) == [
        "project_c_0",
        "project_m_0",
        "recurrent/cell_0/basic_lstm_cell/bias",
        "recurrent/cell_0/basic_lstm_cell/kernel",
        "recurrent/cell_1/basic_lstm_cell/bias",
        "recurrent/cell_1/basic_lstm_cell/kernel",
    ]
    c0, h0 = X @ run.variables["project_c_0"], X @ run.variables["project_m_0"]
    c1, h1 = lstm(*run.cell(1), h0, *state[1])
    c0, h0 = lstm(*run.cell(0), h0, c0, h1)
    np.testing.assert_allclose(run.states, [[c0, h0], [c1, h1]], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(run.outputs, [run.states[0].h])


def test_known_values_of_tensorflow(session):
    with tf.variable_scope("root", initializer=tf.constant_initializer(0.2)) as scope:
        cell = grid_rnn.Grid2BasicLSTMCell(2)
        state = (([[0.1, 0.2]], [[0.3, 0.4]]), ([[0.5, 0.6]], [[0.7, 0.8]]))
        state = tf.contrib.framework.nest.map_structure(tf.constant, state)
        outputs, states = cell(tf.ones([1, 3]), state)
        scope.reuse_variables()
        later, _ = cell(2 * tf.ones([1, 3]), states)
    session.run(tf.global_variables_initializer())
    found = session.run([outputs[0], states[1].c, states[1].h, later[0]])
    expected = [[0.366172] * 2, [0.723208, 0.805555], [0.391024, 0.421502], [0.588475] * 2]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-5)


def test_tied_dimensions_share_their_variables(session):
    state = (pair(1.0), pair(0.5))
    run = Run(session, grid_rnn.Grid2BasicLSTMCell(2, tied=True), X, state)
    assert len(run.variables) == 4
    c0, h0 = X @ run.variables["project_c_0"], X @ run.variables["project_m_0"]
    _, h1 = lstm(*run.cell(None), h0, *state[1])
    _, h0 = lstm(*run.cell(None), h0, c0, h1)
    np.testing.assert_allclose(run.outputs, [h0], rtol=1e-4)


@pytest.mark.parametrize("tied", [False, True])
def test_a_dimension_may_have_a_layer_for_a_cell(session, tied):
    cell = grid_rnn.Grid2BasicLSTMCell(2, tied=tied, non_recurrent_fn=tf.nn.relu)
    assert cell.state_size == ((2, 2),)
    run = Run(session, cell, X, (pair(0.5),))
    where = "non_recurrent" if tied else "non_recurrent/cell_0"
    weights = run.variables[f"{where}/fully_connected/weights"]
    biases = run.variables[f"{where}/fully_connected/biases"]
    h0 = X @ run.variables["project_m_0"]
    c1, h1 = lstm(*run.cell(None if tied else 1), h0, *pair(0.5))
    np.testing.assert_allclose(run.states, [[c1, h1]], rtol=1e-4, atol=1e-6)
    layer = np.maximum(beside(h0, h1) @ weights + biases, 0)
    np.testing.assert_allclose(run.outputs, [layer], rtol=1e-4)


def test_one_dimension_is_a_cell_that_is_read_at_its_state(session):
    run = Run(session, grid_rnn.Grid1BasicLSTMCell(2, forget_bias=1), X, (pair(1.0),))
    assert run.variables["recurrent/cell_0/basic_lstm_cell/kernel"].shape == (2, 8)
    c, h = X @ run.variables["project_c_0"], X @ run.variables["project_m_0"]
    np.testing.assert_allclose(run.states, [lstm(*run.cell(0), X[:, :0], c, h)], rtol=1e-4)


@pytest.mark.parametrize("make", [grid_rnn.Grid1BasicRNNCell, grid_rnn.Grid2BasicRNNCell])
def test_cells_without_memories_have_outputs_for_states(session, make):
    cell = make(2)
    count = len(cell.state_size)
    run = Run(session, cell, X, tuple(held(2, 2) for _ in range(count)))
    assert "project_c_0" not in run.variables
    h = [X @ run.variables["project_m_0"], held(2, 2)][:count]
    for dim in reversed(range(count)):
        kernel, bias = run.cell(dim, "basic_rnn_cell")
        h[dim] = np.tanh(beside(*h) @ kernel + bias)
    np.testing.assert_allclose(run.states, h, rtol=1e-4)
    np.testing.assert_allclose(run.outputs, h[:1], rtol=1e-4)


def test_cells_with_gates_see_the_last_output_as_their_state(session):
    run = Run(session, grid_rnn.Grid2GRUCell(2), X, (held(2, 2), held(2, 2)))

    def gru(number, inputs, h):
        gates, candidate = (
            [run.variables[f"recurrent/cell_{number}/gru_cell/{part}/{kind}"] for kind in kinds]
            for part, kinds in [("gates", ("kernel", "bias")), ("candidate", ("kernel", "bias"))]
        )
        r, u = np.split(sigmoid(beside(inputs, h) @ gates[0] + gates[1]), 2, 1)
        new = np.tanh(beside(inputs, r * h) @ candidate[0] + candidate[1])
        return u * h + (1 - u) * new

    h0 = X @ run.variables["project_m_0"]
    h1 = gru(1, h0, held(2, 2))
    np.testing.assert_allclose(run.states, [gru(0, h0, h1), h1], rtol=1e-4, atol=1e-6)


def test_three_dimensions_with_peepholes(session):
    cell = grid_rnn.Grid3LSTMCell(2, use_peepholes=True)
    state = tuple(pair(scale) for scale in (1.0, 0.5, 0.25))
    run = Run(session, cell, X, state)
    assert run.variables["recurrent/cell_2/lstm_cell/kernel"].shape == (6, 8)
    assert run.variables["recurrent/cell_2/lstm_cell/w_f_diag"].shape == (2,)

    def peeping(number, inputs, c, h):
        kernel, bias = run.cell(number, "lstm_cell")
        peep = [run.variables[f"recurrent/cell_{number}/lstm_cell/w_{g}_diag"] for g in "ifo"]
        i, j, f, o = np.split(beside(inputs, h) @ kernel + bias, 4, 1)
        new = sigmoid(f + 1 + peep[1] * c) * c + sigmoid(i + peep[0] * c) * np.tanh(j)
        return new, sigmoid(o + peep[2] * new) * np.tanh(new)

    h = [X @ run.variables["project_m_0"], state[1][1], state[2][1]]
    # The second and the third see the same; the first sees what both have given.
    second = peeping(1, beside(h[0], h[1]), state[1][0], h[2])
    third = peeping(2, beside(h[0], h[1]), state[2][0], h[2])
    first = peeping(0, beside(h[0], second[1]), X @ run.variables["project_c_0"], third[1])
    np.testing.assert_allclose(run.states, [first, second, third], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", [grid_rnn.Grid2LSTMCell, grid_rnn.Grid2GRUCell])
def test_states_and_outputs_may_lie_side_by_side(session, make):
    width = 8 if make is grid_rnn.Grid2LSTMCell else 4
    flat = make(2, state_is_tuple=False, output_is_tuple=False)
    assert flat.state_size == width and flat.output_size == 2
    state = held(2, width)
    parts = tuple(np.split(state, width // 2, 1))
    if width == 8:
        parts = (parts[:2], parts[2:])
    run = Run(session, flat, X, state)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        outputs, states = make(2)(X, parts)
    outputs, states = session.run([outputs, states])
    np.testing.assert_allclose(run.outputs, outputs[0], rtol=1e-6)
    leaves = tf.contrib.framework.nest.flatten(states)
    np.testing.assert_allclose(run.states, beside(*leaves), rtol=1e-6)


def test_any_dimensions_may_be_read_and_give_outputs(session):
    cell = grid_rnn.GridRNNCell(
        2, 3, input_dims=[2, 0], output_dims=(1, 2), non_recurrent_dims=1, priority_dims=[1]
    )
    assert cell.output_size == (2, 2) and cell.state_size == ((2, 2), (2, 2))
    with pytest.raises(ValueError, match="Dimension 1 of the grid has neither"):
        cell(held(2, 6), (pair(1.0), pair(0.5)), "alone")
    cell = grid_rnn.GridRNNCell(
        2, 2, input_dims=[0, 1], output_dims=[0, 1], cell_fn=tf.nn.rnn_cell.GRUCell
    )
    x = held(2, 6)
    both, _ = cell(x, (held(2, 2), held(2, 2)), "grid")
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        apart, _ = cell((x[:, :3], x[:, 3:]), (held(2, 2), held(2, 2)), "grid")
        blind, kept = cell(None, (held(2, 2), held(2, 2)), "grid")
        blinder, _ = cell(np.zeros([2, 0], "f"), (held(2, 2), held(2, 2)), "grid")
    session.run(tf.global_variables_initializer())
    both, apart, blind, kept, blinder = session.run([both, apart, blind, kept, blinder])
    np.testing.assert_allclose(both, apart, rtol=1e-6)
    np.testing.assert_array_equal(blind, kept)
    np.testing.assert_array_equal(blind, blinder)
    assert not np.allclose(both, blind)


def test_grids_run_through_time(session):
    x = tf.placeholder(tf.float32, [None, 4, 3])
    cell = grid_rnn.Grid2LSTMCell(2, output_is_tuple=False)
    with tf.variable_scope("net"):
        outputs, last = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    with tf.variable_scope("net", reuse=True):
        unrolled, _ = tf.nn.static_rnn(
            grid_rnn.Grid2LSTMCell(2), tf.unstack(x, axis=1), dtype=tf.float32
        )
    loss = tf.reduce_sum(outputs)
    assert all(grad is not None for grad in tf.gradients(loss, tf.trainable_variables()))
    assert tf.trainable_variables()[0].name == "net/rnn/Grid2LSTMCell/project_m_0:0"
    session.run(tf.global_variables_initializer())
    feeds = {x: held(5, 4, 3)}
    outputs, last, unrolled = session.run([outputs, last, unrolled], feeds)
    assert outputs.shape == (5, 4, 2)
    np.testing.assert_allclose(outputs[:, -1], last[0].h, rtol=1e-6)
    np.testing.assert_allclose(np.stack([step[0] for step in unrolled], 1), outputs, rtol=1e-5)


def test_grids_that_can_not_be_are_refused():
    with pytest.raises(ValueError, match="dims must be >= 1: 0"):
        grid_rnn.GridRNNCell(2, 0)
    with pytest.raises(ValueError, match=r"Invalid dims: \[0, 2\]. Must be in \[0, 2\)"):
        grid_rnn.GridRNNCell(2, 2, input_dims=[2, 0])
    with pytest.raises(TypeError, match="cell_fn must return an RNNCell instance"):
        grid_rnn.GridRNNCell(2, cell_fn=lambda units: units)
    with pytest.raises(ValueError, match="Expected state as a tuple of 2 element"):
        grid_rnn.Grid2LSTMCell(2)(X, (pair(1.0),))
    with pytest.raises(ValueError, match="Expect inputs as a tuple of 1 tensors"):
        grid_rnn.Grid2LSTMCell(2)((X, X), (pair(1.0), pair(1.0)))
