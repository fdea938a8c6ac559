"""Minimizing by an algorithm outside of the graph, which asks sessions for the loss and its gradients."""

import itertools
import logging
import math

import numpy as np

from millrace._graph.default_session import session_or_default
from millrace._ops.arrays import concat, placeholder, reshape, zeros_like
from millrace._ops.gradients import gradients
from millrace._state.variable_groups import trainable_variables

try:
    from scipy import optimize as _scipy
except ImportError:  # only ScipyOptimizerInterface needs it
    _scipy = None

_log = logging.getLogger("millrace")


class ExternalOptimizerInterface:
    """The base of what minimizes a loss by an algorithm of its own: classes that derive from it define
    `_minimize(initial_val, loss_grad_func, equality_funcs, equality_grad_funcs, inequality_funcs,
    inequality_grad_funcs, packed_bounds, step_callback, optimizer_kwargs)`.

    That gives the best vector: all variables one after another, as initial_val is. loss_grad_func gives the
    loss and its gradient at a vector, the other functions give constraints and theirs.

    Args:
      loss: a scalar Tensor.
      var_list: Variables of known shape; all that are trainable if None.
      equalities, inequalities: scalar Tensors that are to be 0, and not below 0.
      var_to_bounds: (low, high) by Variable: numbers or arrays that broadcast to its shape.
      **optimizer_kwargs: what the algorithm takes.
    """

    def __init__(
        self,
        loss,
        var_list=None,
        equalities=None,
        inequalities=None,
        var_to_bounds=None,
        **optimizer_kwargs,
    ):
        self._loss, self.optimizer_kwargs = loss, optimizer_kwargs
        self._equalities, self._inequalities = equalities or [], inequalities or []
        self._vars = trainable_variables() if var_list is None else list(var_list)
        self._shapes = [variable.shape.as_list() for variable in self._vars]
        self._bounds = None if var_to_bounds is None else self._packed_bounds(var_to_bounds)
        self._given = [placeholder(variable.dtype.base_dtype) for variable in self._vars]
        self._updates = [
            variable.assign(reshape(value, shape))
            for variable, value, shape in zip(self._vars, self._given, self._shapes)
        ]
        self._packed = _packed(self._vars)
        self._slopes = {id(each): self._slope(each) for each in self._tensors()}
        ends = list(itertools.accumulate(map(math.prod, self._shapes), initial=0))
        self._slices = [slice(*pair) for pair in itertools.pairwise(ends)]

    def _tensors(self):
        return [self._loss, *self._equalities, *self._inequalities]

    def _slope(self, tensor):
        found = gradients(tensor, self._vars)
        return _packed(
            [
                zeros_like(variable) if slope is None else slope
                for slope, variable in zip(found, self._vars)
            ]
        )

    def _packed_bounds(self, var_to_bounds):
        made = []
        for variable, shape in zip(self._vars, self._shapes):
            low, high = next(
                (bounds for key, bounds in var_to_bounds.items() if key is variable),
                (-np.inf, np.inf),
            )
            low = -np.inf if low is None else low
            high = np.inf if high is None else high
            made += zip(np.broadcast_to(low, shape).flat, np.broadcast_to(high, shape).flat)
        return made

    def minimize(
        self,
        session=None,
        feed_dict=None,
        fetches=None,
        step_callback=None,
        loss_callback=None,
        **run_kwargs,
    ):
        """Finds the least loss, and sets the variables to where it is.

        Args:
          session: the default one if None.
          feed_dict: feeds for each step.
          fetches: a list of Tensors for loss_callback.
          step_callback: called with the vector at each step of the algorithm.
          loss_callback: called with the fetches whenever the loss is computed.
          **run_kwargs: for the session's run that sets the variables.
        """
        session = session_or_default(
            session, self._loss.graph, "ExternalOptimizerInterface.minimize"
        )

        def asked(tensors, told=None):
            def values(x):
                places = {
                    variable: x[part].reshape(shape)
                    for variable, part, shape in zip(self._vars, self._slices, self._shapes)
                }
                more = list(fetches or []) if told else []
                found = session.run([*tensors, *more], {**places, **(feed_dict or {})})
                if told:
                    told(*found[len(tensors) :])
                return found[: len(tensors)]

            return values

        def each(tensors):
            single = [asked([tensor]) for tensor in tensors]
            slopes = [asked([self._slopes[id(tensor)]]) for tensor in tensors]
            return [_first(function) for function in single], [_first(f) for f in slopes]

        loss = asked([self._loss, self._slopes[id(self._loss)]], loss_callback)
        equal, equal_slopes = each(self._equalities)
        unequal, unequal_slopes = each(self._inequalities)
        best = self._minimize(
            initial_val=session.run(self._packed),
            loss_grad_func=loss,
            equality_funcs=equal,
            equality_grad_funcs=equal_slopes,
            inequality_funcs=unequal,
            inequality_grad_funcs=unequal_slopes,
            packed_bounds=self._bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = [best[part] for part in self._slices]
        session.run(self._updates, feed_dict=dict(zip(self._given, values)), **run_kwargs)

    def _minimize(self, **kwargs):
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method."
        )


def _first(function):
    return lambda x: function(x)[0]


def _packed(tensors):
    flat = [reshape(tensor, [-1]) for tensor in tensors]
    return flat[0] if len(flat) == 1 else concat(flat, 0)


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes by scipy.optimize.minimize, which must be installed.

    Args:
      method: (by keyword) its name; "L-BFGS-B" by default, which knows bounds but no other constraints.
      Others: as for ExternalOptimizerInterface; optimizer_kwargs are for scipy, `options` for instance.
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val,
        loss_grad_func,
        equality_funcs,
        equality_grad_funcs,
        inequality_funcs,
        inequality_grad_funcs,
        packed_bounds,
        step_callback,
        optimizer_kwargs,
    ):
        if _scipy is None:
            raise ImportError("ScipyOptimizerInterface needs SciPy, which is not installed")

        def loss_in_doubles(x):
            loss, slope = loss_grad_func(x)
            return loss, slope.astype(np.float64)

        constraints = [
            {"type": kind, "fun": function, "jac": slope}
            for kind, functions, slopes in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, slope in zip(functions, slopes)
        ]
        kwargs = dict(optimizer_kwargs)
        own = {
            "jac": True,
            "callback": step_callback,
            "method": kwargs.pop("method", self._DEFAULT_METHOD),
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        for key in own.keys() & kwargs.keys():
            instead = ": use var_to_bounds" if key == "bounds" else ""
            raise ValueError(f"{key!r} is set by ScipyOptimizerInterface itself{instead}")
        result = _scipy.minimize(loss_in_doubles, initial_val, **own, **kwargs)
        _log.info(
            "Optimization terminated with: %s; objective function value: %f",
            result.message,
            result.fun,
        )
        return result["x"]
