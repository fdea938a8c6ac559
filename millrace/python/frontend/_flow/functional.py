"""Functions applied along the first axis of Tensors: tf.map_fn, foldl, foldr and scan."""

from millrace import _gen as gen_ops
from millrace._flow.tensor_array import TensorArray
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more
from millrace._values import structure
from millrace._values.tensor_shape import TensorShape

__all__ = ["foldl", "foldr", "map_fn", "scan"]


class _Elements:
    """The parts of one or several Tensors along their first axes."""

    def __init__(self, elems):
        self._structure = elems
        self._tensors = [convert(leaf, name="elem") for leaf in structure.flatten(elems)]
        if not self._tensors:
            raise ValueError("elems must hold at least one Tensor")
        for tensor in self._tensors:
            if tensor.shape.ndims == 0:
                raise ValueError("elements in elems must be 1+ dimensional Tensors, not scalars")
        sizes = {tensor.shape.as_list()[0] for tensor in self._tensors if tensor.shape.ndims}
        known = sizes - {None}
        if len(known) > 1:
            raise ValueError(f"elems differ in the size of their first axis: {sorted(known)}")
        self.known_size = known.pop() if known else None
        first = self._tensors[0]
        self.size = gen_ops.shape(first)[0] if self.known_size is None else convert(self.known_size)
        self._arrays = [
            TensorArray(tensor.dtype, size=self.size, clear_after_read=False).unstack(tensor)
            for tensor in self._tensors
        ]

    def count_more(self, results=0):
        """Counts what TensorFlow makes more: a size for each array, and for the limit, if it is known."""
        if self.known_size is not None:
            count_more(len(self._tensors) + results + 1)

    def at(self, index):
        return structure.pack(self._structure, [array.read(index) for array in self._arrays])


def _check_callable(fn):
    if not callable(fn):
        raise TypeError("fn must be callable.")


def _check_same(made, wanted, what):
    try:
        structure.assert_same_structure(wanted, made, what)
    except TypeError as error:
        raise ValueError(str(error)) from None


def _stacked(arrays, like, size):
    results = []
    for array in arrays:
        made = array.stack()
        if made.shape.ndims is not None:
            made.set_shape(TensorShape([size]).concatenate(made.shape[1:]))
        results.append(made)
    return structure.pack(like, results)


def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
):
    """fn of each part of `elems` along the first axis, the results stacked.

    Args:
      fn: a function of a part: of a structure like `elems`, if that is one.
      elems: a Tensor, or a nested structure of Tensors with first axes of one size.
      dtype: the type, or structure of types, of the results; that of elems if None.
      parallel_iterations: how many may be under way at once; 10 if None.
      back_prop: False to let no gradient go through the loop.
      swap_memory: accepted.
      infer_shape: False if results have several shapes.
      name: the name scope.

    Returns:
      a Tensor, or a structure of them, with the first axis of elems.

    Raises:
      TypeError: if fn can't be called; ValueError: if elems are scalars or of several sizes, or fn
        gives another structure than dtype.
    """
    _check_callable(fn)
    with name_scope(name, "map", structure.flatten(elems)):
        elements = _Elements(elems)
        if dtype is None:
            dtype = structure.map_structure(lambda leaf: convert(leaf).dtype.base_dtype, elems)
        results = [
            TensorArray(kind, size=elements.size, infer_shape=infer_shape)
            for kind in structure.flatten(dtype)
        ]

        elements.count_more(len(results))

        def step(index, arrays):
            made = fn(elements.at(index))
            _check_same(made, dtype, "dtype and results of fn")
            written = zip(arrays, structure.flatten(made), strict=True)
            return index + 1, [array.write(index, value) for array, value in written]

        _, results = while_loop(
            lambda index, _: gen_ops.less(index, elements.size),
            step,
            (convert(0), results),
            parallel_iterations=parallel_iterations or 10,
            maximum_iterations=elements.size,
            back_prop=back_prop,
        )
        return _stacked(results, dtype, elements.known_size)


def _begun(elements, initializer, from_end):
    """Where a fold begins: what is held then, after how many parts, and the place of the nth part."""
    if from_end:
        last = elements.size - 1
        place = lambda index: last - index  # noqa: E731
        count_more(-2)  # TensorFlow counts downwards
    else:
        place = lambda index: index  # noqa: E731
    if initializer is None:
        return elements.at(place(convert(0))), 1, place
    return structure.map_structure(convert, initializer), 0, place


def _folded(fn, elems, initializer, parallel_iterations, back_prop, name, default_name, from_end):
    _check_callable(fn)
    with name_scope(name, default_name, structure.flatten(elems)):
        elements = _Elements(elems)
        start, begin, place = _begun(elements, initializer, from_end)
        elements.count_more()

        def step(index, held):
            made = fn(held, elements.at(place(index)))
            _check_same(made, held, "initializer and results of fn")
            count_more(-2 * from_end)
            return index + 1, made

        _, result = while_loop(
            lambda index, _: gen_ops.less(index, elements.size),
            step,
            (convert(begin), start),
            parallel_iterations=parallel_iterations,
            maximum_iterations=elements.size,
            back_prop=back_prop,
        )
        return result


def foldl(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """fn(... fn(fn(initializer, first), second) ..., last) over the parts of `elems`.

    Args:
      fn: a function of (what came so far, a part) that gives the former's structure and shapes.
      elems: a Tensor, or a nested structure of Tensors with first axes of one size.
      initializer: what to begin with; the first part if None.
      parallel_iterations: how many may be under way at once.
      back_prop: False to let no gradient go through the loop.
      swap_memory: accepted.
      name: the name scope.

    Raises:
      TypeError: if fn can't be called; ValueError: if elems are scalars or of several sizes, or fn
        gives another structure or other shapes.
    """
    return _folded(fn, elems, initializer, parallel_iterations, back_prop, name, "foldl", False)


def foldr(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
):
    """foldl from the last part to the first."""
    return _folded(fn, elems, initializer, parallel_iterations, back_prop, name, "foldr", True)


def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """All that foldl comes to on its way, stacked: what fn gives after each part of `elems`.

    Args:
      fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name: as for foldl. Without
        an initializer the first result is the first part.
      infer_shape: False if results have several shapes.
      reverse: True to go from the last part to the first; results stay at the place of their part.

    Returns:
      a Tensor, or a structure of them, with the first axis of elems.

    Raises:
      TypeError, ValueError: as for foldl.
    """
    _check_callable(fn)
    with name_scope(name, "scan", structure.flatten(elems)):
        elements = _Elements(elems)
        start, begin, place = _begun(elements, initializer, reverse)
        leaves = structure.flatten(start)
        results = [
            TensorArray(leaf.dtype, size=elements.size, infer_shape=infer_shape) for leaf in leaves
        ]
        if initializer is None:
            first = place(convert(0))
            results = [array.write(first, leaf) for array, leaf in zip(results, leaves)]
        elements.count_more(len(results))

        def step(index, held, arrays):
            at = place(index)
            made = fn(held, elements.at(at))
            _check_same(made, held, "initializer and results of fn")
            values = [convert(leaf) for leaf in structure.flatten(made)]
            written = zip(arrays, values, strict=True)
            made = structure.pack(held, values)
            return index + 1, made, [array.write(at, value) for array, value in written]

        _, _, results = while_loop(
            lambda index, *_: gen_ops.less(index, elements.size),
            step,
            (convert(begin), start, results),
            parallel_iterations=parallel_iterations,
            maximum_iterations=elements.size,
            back_prop=back_prop,
        )
        return _stacked(results, start, elements.known_size)
