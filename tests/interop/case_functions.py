"""Functions that attributes of cases name: ("function", a name of this file's FUNCTIONS), made in either.

A function is told by the types and shapes of its arguments, and by what it does with them.
"""

FUNCTIONS = {}


def function(*arguments):
    """Keeps a function (tf, its arguments) -> a list of Tensors; each argument is (type, shape)."""

    def keep(body):
        FUNCTIONS[body.__name__] = (arguments, body)
        return body

    return keep


def as_function(tf, value):
    """What an attribute takes that tells a function, or a list of them; other values as they are."""
    if isinstance(value, list):
        return [as_function(tf, each) for each in value]
    if not isinstance(value, tuple) or len(value) != 2 or value[0] != "function":
        return value
    arguments, body = FUNCTIONS[value[1]]
    make = millrace_function if tf.__name__ == "millrace" else tensorflow_function
    return make(tf, value[1], arguments, body)


def tensorflow_function(tf, name, arguments, body):
    specs = [tf.TensorSpec(shape, tf.as_dtype(dtype)) for dtype, shape in arguments]
    return tf.function(lambda *given: body(tf, *given), autograph=False).get_concrete_function(
        *specs
    )


def millrace_function(tf, name, arguments, body):
    from millrace._graph.function_graph import FunctionGraph

    graph = FunctionGraph(tf.get_default_graph())
    with graph.as_default():
        given = [
            graph.add_argument(tf.as_dtype(dtype), tf.TensorShape(shape))
            for dtype, shape in arguments
        ]
        results = [tf.convert_to_tensor(each) for each in body(tf, *given)]
    return graph.define(name, results)


@function(("variant", []))
def window_itself(tf, window):
    return [window]


@function(("int64", []))
def double(tf, n):
    return [n * 2]


@function(("int64", []))
def is_odd(tf, n):
    return [tf.equal(n % 2, 1)]


@function(("int64", []))
def is_below_four(tf, n):
    return [n < 4]


@function(("int64", []))
def inverse(tf, n):
    return [tf.div(tf.constant(6, tf.int64), n)]


@function(("int64", []))
def but_one_in_four(tf, n):
    """One, five and so on are divided by nought."""
    return [n + tf.div(tf.constant(0, tf.int64), n % 4 - 1)]


@function(("int64", []))
def and_draws(tf, n):
    """What is drawn is always nought."""
    shape = tf.constant([], tf.int32)
    none, one = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
    return [n + tf.raw_ops.RandomUniformInt(shape=shape, minval=none, maxval=one, seed=1, seed2=2)]


@function(("int64", []), ("int64", []))
def sum_so_far(tf, state, n):
    return [state + n, state * n]


@function(("int64", []), ("int64", []))
def plus(tf, state, n):
    return [state + n]


@function(("int64", []))
def up_to(tf, n):
    zero, one = tf.constant(0, tf.int64), tf.constant(1, tf.int64)
    shapes, types = [[]], [tf.int64]
    given = {"start": zero, "stop": n, "step": one}
    return [tf.raw_ops.RangeDataset(**given, output_types=types, output_shapes=shapes)]


@function(("int64", []))
def parity(tf, n):
    return [n % 2]


@function(("int64", []))
def three(tf, key):
    return [tf.constant(3, tf.int64)]


@function(("int64", []), ("variant", []))
def in_twos(tf, key, window):
    """Batches of two of what has one key."""
    size, drops = tf.constant(2, tf.int64), tf.constant(False)
    given = {"input_dataset": window, "batch_size": size, "drop_remainder": drops}
    types, shapes = [tf.int64], [[None]]
    return [tf.raw_ops.BatchDatasetV2(**given, output_types=types, output_shapes=shapes)]


@function()
def below_three(tf):
    return up_to(tf, tf.constant(3, tf.int64))


@function()
def one(tf):
    return [tf.constant(1, tf.int64)]


# --- of control flow: numbers of any shape ---

ANY_SHAPE = ("float32", None)


@function(ANY_SHAPE)
def squared(tf, x):
    return [x * x]


@function(ANY_SHAPE)
def sine(tf, x):
    return [tf.sin(x)]


@function(ANY_SHAPE)
def checked(tf, x):
    """Refuses what is no number, or too large."""
    return [tf.check_numerics(tf.log(x), "of a branch")]


@function(("int32", []), ANY_SHAPE)
def has_turns(tf, turns, x):
    return [turns < 3]


@function(("int32", []), ANY_SHAPE)
def is_small(tf, turns, x):
    """Not a scalar: whether there is anything at all."""
    return [tf.size(x) * tf.maximum(3 - turns, 0)]


@function(("int32", []), ANY_SHAPE)
def turned(tf, turns, x):
    return [turns + 1, x * tf.cos(x)]


@function(("int32", []), ANY_SHAPE)
def turned_down(tf, turns, x):
    return [x + tf.cast(turns, tf.float32)]


@function(ANY_SHAPE, ANY_SHAPE)
def product(tf, x, y):
    return [x * y, x + y]
