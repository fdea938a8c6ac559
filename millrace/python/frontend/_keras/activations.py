"""Activations by Keras's names."""

from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._keras import objects
from millrace._ops.clipping import clip_by_value
from millrace._ops.layers import leaky_relu
from millrace._ops.layers import softmax as nn_softmax

elu_op, selu_op = gen_ops.elu, gen_ops.selu


def linear(x):
    """x."""
    return x


def relu(x, alpha=0.0, max_value=None, threshold=0.0):
    """x above a threshold, alpha * (x - threshold) below it; at most max_value."""
    x = convert(x)
    if threshold:
        above = gen_ops.cast(x > threshold, x.dtype.base_dtype) * x
        made = above + alpha * gen_ops.minimum(x - threshold, 0.0) if alpha else above
    elif alpha:
        made = leaky_relu(x, alpha)
    else:
        made = gen_ops.relu(x)
    return made if max_value is None else clip_by_value(made, made.dtype.min, float(max_value))


def elu(x, alpha=1.0):
    """x where it is positive, else alpha * (exp(x) - 1)."""
    made = elu_op(x)
    if alpha == 1.0:
        return made
    return gen_ops.maximum(made, 0.0) + alpha * gen_ops.minimum(made, 0.0)


def selu(x):
    """The scaled elu."""
    return selu_op(x)


def softmax(x, axis=-1):
    """Probabilities along an axis. ValueError for a vector."""
    x = convert(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(
            f"Cannot apply softmax to a tensor that is 1D. Received input: {x.name} of shape {x.shape}"
        )
    return nn_softmax(x, axis=axis)


def softplus(x):
    """log(exp(x) + 1)."""
    return gen_ops.softplus(x)


def softsign(x):
    """x / (|x| + 1)."""
    return gen_ops.softsign(x)


def tanh(x):
    """The hyperbolic tangent."""
    return gen_ops.tanh(x)


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return gen_ops.sigmoid(x)


def exponential(x):
    """exp(x)."""
    return gen_ops.exp(x)


def hard_sigmoid(x):
    """0.2 * x + 0.5 between 0 and 1."""
    return clip_by_value(0.2 * convert(x) + 0.5, 0.0, 1.0)


_NAMED = {
    each.__name__: each
    for each in (
        linear,
        relu,
        elu,
        selu,
        softmax,
        softplus,
        softsign,
        tanh,
        sigmoid,
        exponential,
        hard_sigmoid,
    )
}


def get(identifier):
    """An activation: by its name, a function itself, or `linear` for None. ValueError for others."""
    if identifier is None:
        return linear
    if callable(identifier):
        return identifier
    return deserialize(identifier)


def serialize(activation):
    """The name of an activation."""
    return objects.serialize(activation)


def deserialize(name, custom_objects=None):
    """The activation of a name. ValueError for unknown names."""
    return objects.deserialize(name, _NAMED, custom_objects, "activation function")
