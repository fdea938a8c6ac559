"""tf.raw_ops: every op by its own name, with keyword arguments only: tf.raw_ops.AddV2(x=1, y=2)."""

from millrace._gen import OPS, by_op
from millrace._graph.op_specs import suggestions


def __getattr__(name):
    if name not in OPS:
        near = ", ".join(suggestions(name))
        raise AttributeError(
            f"there is no op '{name}'" + (f"; did you mean {near}?" if near else "")
        )

    function = by_op(name)

    def raw(**arguments):
        return function(**arguments)

    raw.__name__ = raw.__qualname__ = name
    raw.__doc__ = function.__doc__
    return raw


def __dir__():
    return sorted(OPS)
