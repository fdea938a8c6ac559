"""Functions that make a layer and call it, with the arguments that the layer has."""

import inspect


def function_of_layer(layer, name, *, doc=None, without=(), **defaults):
    """A function of `inputs`, the arguments that a layer is made of, and `reuse`.

    Args:
      layer: the class of layers.
      name: of the function.
      doc: its docstring.
      without: names of arguments that it does not have.
      **defaults: what it has by default where that differs from the layer's.
    """
    signature = _signature(layer, without, defaults)

    def made_and_called(*args, **kwargs):
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}() {error}") from None
        given.apply_defaults()
        settings = given.arguments
        inputs, reuse = settings.pop("inputs"), settings.pop("reuse")
        return layer(**settings, _scope=settings["name"], _reuse=reuse)(inputs)

    made_and_called.__name__ = made_and_called.__qualname__ = name
    made_and_called.__module__ = layer.__module__
    made_and_called.__signature__ = signature
    made_and_called.__doc__ = doc or (
        f"{layer.__name__}, made and called; `name` is the variable scope, `reuse` as for dense."
    )
    return made_and_called


def _signature(layer, without, defaults):
    own = inspect.signature(layer).parameters.values()
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        each.replace(default=defaults.get(each.name, each.default))
        for each in own
        if each.kind == either and each.name not in without
    ]
    first = inspect.Parameter("inputs", either)
    return inspect.Signature([first, *parameters, inspect.Parameter("reuse", either, default=None)])
