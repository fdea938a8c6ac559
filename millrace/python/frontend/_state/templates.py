"""tf.make_template: a function of Tensors that makes its variables once, and finds them again."""

import functools
import traceback

from millrace._graph.collections import GraphKeys
from millrace._graph.graph import get_default_graph
from millrace._state.named_variables import variable_scope


def make_template(
    name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None, **kwargs
):
    """A function that shares variables between its calls.

        scale_by_y = tf.make_template("scale_by_y", my_op, scalar_name="y")
        z, w = scale_by_y(input1), scale_by_y(input2)

    The first call makes what `func_` asks tf.get_variable for, in a variable scope of its own; all later
    ones enter that scope again, and find it.

    Args:
      name_: the scope's name, which gets _1, _2 ... if it is taken.
      func_: the function.
      create_scope_now_: True to have the scope where the template is made; False to have it where it is
        called first.
      unique_name_: a name for the scope in place of `name_`, which gets no number.
      custom_getter_: what makes variables in place of tf.get_variable, see there.
      **kwargs: arguments that `func_` is given by name in each call.

    Returns:
      a Template, to be called with the other arguments.

    Raises:
      ValueError: if there is no name; when it is called again, if it makes a trainable variable anew.
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """What make_template makes.

    Attributes:
      name: what it was given.
      func: the function.
      variable_scope: the VariableScope of its variables; None while there is none.
    """

    def __init__(self, name, func, create_scope_now=False, unique_name=None, custom_getter=None):
        if name is None:
            raise ValueError("name cannot be None.")
        self.name, self.func = name, func
        self.variable_scope = None
        self._unique_name, self._custom_getter = unique_name, custom_getter
        self._is_called = False
        frame = traceback.extract_stack(limit=3)[0]
        self._made_at = f"{frame.filename}:{frame.lineno}"
        if create_scope_now:
            with self._new_scope(auxiliary_name_scope=False) as scope:
                self.variable_scope = scope

    def _new_scope(self, **options):
        return variable_scope(
            self._unique_name, self.name, custom_getter=self._custom_getter, **options
        )

    def __call__(self, *args, **kwargs):
        try:
            if self.variable_scope is None:
                with self._new_scope() as scope:
                    self.variable_scope = scope
                    return self._first(args, kwargs)
            if not self._is_called:
                with variable_scope(self.variable_scope):
                    return self._first(args, kwargs)
            with variable_scope(self.variable_scope, reuse=True):
                return self._again(args, kwargs)
        except Exception as error:
            error.add_note(f"in the template '{self.name}', which was made at {self._made_at}")
            raise

    def _first(self, args, kwargs):
        made = self.func(*args, **kwargs)
        self._is_called = True
        return made

    def _again(self, args, kwargs):
        graph = get_default_graph()
        before = len(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
        made = self.func(*args, **kwargs)
        new = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)[before:]
        if new:
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps "
                f"you used tf.Variable when you meant tf.get_variable: {new}"
            )
        return made

    @property
    def variable_scope_name(self):
        """The scope's name and a slash; None while there is no scope."""
        return self.variable_scope and self.variable_scope.name.rstrip("/") + "/"

    @property
    def var_scope(self):
        return self.variable_scope

    def _collected(self, key):
        if not self._is_called:
            return []
        return get_default_graph().get_collection(key, self.variable_scope_name)

    @property
    def variables(self):
        """Those of this template, global and local."""
        return self.global_variables + self.local_variables

    weights = variables

    @property
    def trainable_variables(self):
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    trainable_weights = trainable_variables

    @property
    def non_trainable_variables(self):
        """Of its global variables those that are not trained."""
        trained = self.trainable_variables
        return [each for each in self.global_variables if not any(each is one for one in trained)]

    non_trainable_weights = non_trainable_variables

    @property
    def global_variables(self):
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self):
        return self._collected(GraphKeys.LOCAL_VARIABLES)
