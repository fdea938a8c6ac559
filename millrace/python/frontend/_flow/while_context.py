"""tf.while_loop: a frame of iterations, as Enter, Merge, Switch, NextIteration and Exit nodes."""

from millrace import _gen as gen_ops
from millrace._flow.context_messages import is_outside, strip_scope, while_message
from millrace._flow.control_context import ControlContext
from millrace._flow.tensor_array import TensorArray
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import convert
from millrace._graph.default_graph import name_scope
from millrace._graph.node_counts import count_more, counted_as
from millrace._ops.gradients import bar_gradients
from millrace._values import dtypes, structure
from millrace._values.tensor_shape import as_shape


class WhileContext(ControlContext):
    """The inside of one loop; what comes in is the same in each iteration.

    Attributes:
      back_prop, swap_memory, parallel_iterations: what while_loop was given.
      entered, exits: the Tensors that come in as first values, and that leave.
      proceed, first_merged, first_current: what says whether there is another iteration; the first variable
        before that is known, and in an iteration.
    """

    is_loop = True
    kind = "while loop"

    def __init__(self, name, parallel_iterations):
        super().__init__(name)
        self.parallel_iterations = parallel_iterations
        self.back_prop, self.swap_memory = True, False
        self._frame = {
            "frame_name": self.full_name,
            "parallel_iterations": parallel_iterations,
        }

    def to_proto(self, export_scope=None, inside=None):
        """A WhileContextDef; None if it is not in the name scope `export_scope`."""
        if is_outside(self.name, export_scope):
            return None
        return while_message(self, inside or strip_scope(export_scope))

    def _import(self, tensor):
        return self._enter(tensor, is_constant=True)

    def is_free(self, inputs):
        # What comes in is there when the loop ends, too, and would let a node run once more than the body.
        return self.came_in.issuperset(inputs)

    def _enter(self, tensor, is_constant):
        enter = gen_ops.ref_enter if tensor.dtype.is_reference else gen_ops.enter
        with self.graph.plumbing(self):
            return enter(tensor, is_constant=is_constant, **self._frame)

    def build(self, keep_going, body, loop_vars, shape_invariants):
        """Makes the loop's nodes; returns the Tensors that leave it, one per leaf of loop_vars."""
        graph = self.graph
        entered = self.entered = [self._entered(leaf) for leaf in structure.flatten(loop_vars)]
        if shape_invariants is not None:
            for tensor, shape in zip(entered, shape_invariants, strict=True):
                graph.replace_shape(tensor, as_shape(shape))
        with graph.plumbing(self):
            # The second input becomes the value of the next iteration once there is one.
            merged = [_merge(tensor) for tensor in entered]
        with self:
            self.first_merged = merged[0]
            self.pivot = merged[0].op
            proceed = convert(keep_going(*structure.pack(loop_vars, merged)), dtypes.bool)
            proceed = self.bring(proceed)
        with graph.plumbing(self):
            proceed = self.proceed = gen_ops.loop_cond(proceed)
            parted = [_switch(graph, tensor, proceed) for tensor in merged]
            current = [gen_ops.identity(part[1]) for part in parted]
        with self:
            self.first_current = current[0]
            self.pivot = current[0].op
            returned = self._returned(body, loop_vars, current)
        for tensor, old in zip(returned, merged, strict=True):
            self._close(tensor, old, shape_invariants is not None)
        with graph.plumbing(self.outer):
            self.exits = [gen_ops.exit(part[0]) for part in parted]
        return self.exits

    def _entered(self, leaf):
        tensor = convert(leaf)
        if self.graph.has_control_dependencies or tensor.dtype.is_reference:
            # The loop starts after what the program waits for, and on a value of its own.
            tensor = gen_ops.identity(tensor)
        if self.outer is not None:
            tensor = self.outer.bring(tensor)
        return self._enter(tensor, is_constant=False)

    def _returned(self, body, loop_vars, current):
        result = body(*structure.pack(loop_vars, current))
        wanted = loop_vars
        if not isinstance(result, (list, tuple)):
            result = [result]
        if len(result) == 1 and len(wanted) == 1 and structure.is_sequence(wanted[0]):
            if not structure.is_sequence(result[0]):
                result = [result]
        structure.assert_same_structure(list(wanted), list(result), "loop_vars and body's results")
        leaves = structure.flatten(result)
        return [
            self.bring(
                convert(leaf, tensor.dtype.base_dtype if not hasattr(leaf, "dtype") else None)
            )
            for leaf, tensor in zip(leaves, current)
        ]

    def _close(self, tensor, merged, shapes_are_given):
        """Lets the value that the body returned be the next one of a loop variable."""
        if tensor.dtype.base_dtype != merged.dtype.base_dtype:
            raise TypeError(
                f"The body of '{self.name}' returns {tensor.dtype.name} for '{merged.op.inputs[0].name}'"
                f", which is {merged.dtype.name}"
            )
        if not _fits(tensor.shape, merged.shape):
            advice = "loosen its invariant" if shapes_are_given else "give it a shape_invariant"
            raise ValueError(
                f"The shape {merged.shape} of '{merged.name}' is not an invariant for the loop: it is "
                f"{tensor.shape} after one iteration; {advice}, or use set_shape."
            )
        with self.graph.plumbing(self):
            following = gen_ops.next_iteration(tensor)
        self.graph.set_input(merged.op, 1, following)


def _merge(tensor):
    return gen_ops.merge([tensor, tensor])[0]


def _switch(graph, tensor, proceed):
    with graph.colocate_with(tensor.op):
        return gen_ops.switch(tensor, proceed)


def _fits(shape, declared):
    """True if every tensor of `shape` has the declared shape."""
    wanted, found = declared.plain, shape.plain
    if wanted is None:
        return True
    if found is None or len(found) != len(wanted):
        return False
    return all(want is None or want == have for have, want in zip(found, wanted))


def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
    maximum_iterations=None,
    return_same_structure=False,
):
    """Repeats `body` while `cond` holds; returns the loop variables after the last iteration.

    Both functions are called once, to build the loop.

    Args:
      cond: a function of the loop variables that returns a bool scalar.
      body: a function of the loop variables that returns their next values.
      loop_vars: a list or tuple of Tensors and TensorArrays, or of nested structures of them.
      shape_invariants: shapes that the variables keep, in the structure of loop_vars; those of
        loop_vars if None.
      parallel_iterations: how many iterations may be under way at once.
      back_prop: False to let no gradient go through the loop.
      swap_memory: accepted.
      name: a name for the nodes.
      maximum_iterations: a limit of the number of iterations.
      return_same_structure: True to return a list even for one variable.

    Raises:
      TypeError: if cond or body cannot be called; ValueError: if there are no loop variables, or a
        shape changes in the loop.
    """
    if not callable(cond) or not callable(body):
        raise TypeError("cond and body must be callable.")
    if not loop_vars:
        raise ValueError("No loop variables provided")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if not isinstance(loop_vars, (list, tuple)):
        loop_vars = [loop_vars]
    with name_scope(name, "while", structure.flatten(loop_vars)) as scope:
        variables, invariants = [_flow_of(variable) for variable in loop_vars], shape_invariants
        if invariants is not None:
            structure.assert_same_structure(
                [0] * len(variables), [0] * len(invariants), "loop_vars and shape_invariants"
            )
            invariants = _flat_shapes(variables, invariants)
        keep_going, step = _with_arrays(cond, body, loop_vars)
        if maximum_iterations is not None:
            keep_going, step = _counted(keep_going, step, maximum_iterations)
            with counted_as(1 if hasattr(maximum_iterations, "dtype") else 2):
                variables = [gen_ops.identity(0), *variables]
            invariants = invariants and [(), *invariants]
        context = WhileContext(scope[:-1], parallel_iterations)
        context.back_prop, context.swap_memory = bool(back_prop), bool(swap_memory)
        exits = context.build(keep_going, step, variables, invariants)
        if context.outer is None:
            context.graph.add_to_collection(GraphKeys.WHILE_CONTEXT, context)
        if not back_prop:
            bar_gradients(exits)
        if maximum_iterations is not None:
            exits = exits[1:]
        result = _after(loop_vars, exits)
    if len(result) == 1 and not return_same_structure:
        return result[0]
    return result


def _flow_of(variable):
    """The structure with TensorArrays as the Tensors that stand for their changes."""

    def flow_of(leaf):
        return leaf.flow if isinstance(leaf, TensorArray) else leaf

    return structure.map_structure(flow_of, variable)


def _after(variables, tensors):
    """The structure of the variables with these Tensors, or TensorArrays after what they stand for."""
    leaves = [
        leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor
        for leaf, tensor in zip(structure.flatten(variables), tensors)
    ]
    return structure.pack(variables, leaves)


def _with_arrays(cond, body, loop_vars):
    """cond and body as functions of Tensors alone, if there are TensorArrays among the variables."""
    if not any(isinstance(leaf, TensorArray) for leaf in structure.flatten(loop_vars)):
        return cond, body

    def keep_going(*tensors):
        return cond(*_after(loop_vars, structure.flatten(tensors)))

    def step(*tensors):
        return _flow_of(body(*_after(loop_vars, structure.flatten(tensors))))

    return keep_going, step


def _flat_shapes(variables, invariants):
    """The shapes in the order of the variables' leaves."""
    shapes = []
    for variable, shape in zip(variables, invariants):
        if structure.is_sequence(variable):
            parts = variable.values() if isinstance(variable, dict) else variable
            inner = shape.values() if isinstance(shape, dict) else shape
            shapes.extend(_flat_shapes(list(parts), list(inner)))
        else:
            shapes.append(shape)
    return shapes


def _counted(cond, body, limit):
    """cond and body with the number of iterations as the first variable."""

    def keep_going(count, *variables):
        return gen_ops.logical_and(gen_ops.less(count, limit), cond(*variables))

    def step(count, *variables):
        count_more(2)  # TensorFlow adds to the number first
        returned = body(*variables)
        count_more(-2)
        if not isinstance(returned, (list, tuple)):
            returned = [returned]
        return [gen_ops.add(count, 1), *returned]

    return keep_going, step
