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
