"""GradientTape: gradients of what was built in a block, as TensorFlow has them in graphs."""

from millrace._graph.conversion import convert
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._ops.arrays import zeros_like
from millrace._ops.gradients import UnconnectedGradients, gradients
from millrace._state.variables import Variable
from millrace._values import structure


class GradientTape:
    """In a `with` block: notes what is built, for `gradient`.

        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        dy_dx = tape.gradient(y, x)

    Args:
      persistent: True to ask for gradients more than once.
      watch_accessed_variables: False to watch no variable that is not named to `watch`.
    """

    def __init__(self, persistent=False, watch_accessed_variables=True):
        self._persistent, self._watches_variables = persistent, watch_accessed_variables
        self._graph, self._spans, self._begin = None, [], None
        self._watched, self._used = [], False

    def __enter__(self):
        self._start()
        return self

    def __exit__(self, *unused):
        self._stop()

    def _start(self):
        if self._begin is not None:
            raise ValueError("Tape is already recording.")
        self._graph = self._graph or get_default_graph()
        self._begin = self._graph.version

    def _stop(self):
        if self._begin is None:
            raise ValueError("Tape is not recording.")
        self._spans.append((self._begin, self._graph.version))
        self._begin = None

    def watch(self, tensor):
        """Watches a Tensor, a Variable, or a structure of them. ValueError for types without gradients."""
        for each in structure.flatten(tensor):
            if not each.dtype.base_dtype.is_floating and not each.dtype.base_dtype.is_complex:
                raise ValueError(
                    f"The dtype of the watched tensor must be floating (e.g. tf.float32), got {each.dtype}"
                )
            self._watched.append(each)

    def stop_recording(self):
        """A `with` block whose nodes are not noted."""
        return _Pause(self)

    def pause(self):
        """Stops noting what is built."""
        self._stop()

    def resume(self):
        """Goes on noting."""
        self._start()

    def reset(self):
        """Forgets what was built and watched so far."""
        self._spans, self._watched = [], []
        if self._begin is not None:
            self._begin = self._graph.version

    def watched_variables(self):
        """The trainable variables that were read, and those that were named to `watch`."""
        found = [each for each in self._watched if isinstance(each, Variable)]
        if self._watches_variables:
            taken = {tensor.op for op in self._noted() for tensor in op.inputs}
            # Directly, or by the node that reads it.
            read = {each.name for op in taken for each in (op, *(t.op for t in op.inputs))}
            found += [
                v for v in self._graph.get_collection("trainable_variables") if v.op.name in read
            ]
        return tuple(v for i, v in enumerate(found) if not any(v is each for each in found[:i]))

    def _noted(self):
        operations = self._graph.get_operations()
        open_span = [] if self._begin is None else [(self._begin, self._graph.version)]
        return [op for begin, end in [*self._spans, *open_span] for op in operations[begin:end]]

    def gradient(
        self,
        target,
        sources,
        output_gradients=None,
        unconnected_gradients=UnconnectedGradients.NONE,
    ):
        """The gradients of what was built in the block, in the structure of `sources`.

        Args:
          target: a Tensor, or a structure of them, whose gradients add up.
          sources: watched Tensors and Variables, in any structure.
          output_gradients: what arrives at each target; ones if None.
          unconnected_gradients: what the gradient is by a source that no target depends on through
            nodes of the block, or that was not watched.

        Raises:
          RuntimeError: if it is not persistent and was asked before.
        """
        if self._used and not self._persistent:
            raise RuntimeError(
                "GradientTape.gradient can only be called once on non-persistent tapes."
            )
        if self._begin is not None and not self._persistent:
            self._stop()
        self._used = True
        targets = [convert(each) for each in structure.flatten(target)]
        flat = structure.flatten(sources)
        noted = set(self._noted())
        # What was computed before the block is a constant in it.
        known = {id(_tensor(each)) for each in flat}
        edges = [
            tensor
            for op in noted
            for tensor in op.inputs
            if tensor.op not in noted and id(tensor) not in known and not _is_state(tensor)
        ]
        if output_gradients is not None:
            output_gradients = structure.flatten(output_gradients)
        found = gradients(
            targets,
            flat,
            grad_ys=output_gradients,
            stop_gradients=edges or None,
            unconnected_gradients=unconnected_gradients,
        )
        watched = {id(each) for each in (*self._watched, *self.watched_variables())}
        found = [each if id(source) in watched else None for each, source in zip(found, flat)]
        if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
            found = [
                zeros_like(_tensor(source)) if each is None else each
                for each, source in zip(found, flat)
            ]
        return structure.pack(sources, found)


def _tensor(source):
    return source if isinstance(source, Tensor) else convert(source)


def _is_state(tensor):
    """A variable, or what reads one: gradients by variables go through these."""
    return tensor.op.type in ("VarHandleOp", "VariableV2", "Variable") or any(
        each.op.type in ("VarHandleOp", "VariableV2", "Variable") for each in tensor.op.inputs
    )


class _Pause:
    def __init__(self, tape):
        self._tape = tape

    def __enter__(self):
        self._tape.pause()

    def __exit__(self, *unused):
        self._tape.resume()
