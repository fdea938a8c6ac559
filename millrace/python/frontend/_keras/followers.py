"""The callbacks of one call of fit, evaluate or predict, which are told together."""


class Followers:
    """Callbacks in their order.

    Args:
      callbacks: a list of Callbacks, or None; model: what they follow.
      params: what they are told of the call.

    Attributes:
      params: the same dictionary, which may be changed before they are told something.
    """

    def __init__(self, callbacks, model, params):
        self._callbacks, self.params = list(callbacks or []), params
        for each in self._callbacks:
            each.set_model(model)
            each.set_params(params)

    def tell(self, what, *args):
        """Calls a method of all of them."""
        for each in self._callbacks:
            getattr(each, what)(*args)

    def along(self, what, batches):
        """Batches, numbered; before and after each, on_<what>_batch_begin and on_<what>_batch_end are told.

        Gives (the batch, a dictionary for the logs of its end).
        """
        for number, arrays in enumerate(batches):
            logs = {"batch": number, "size": len(arrays[0])}
            self.tell(f"on_{what}_batch_begin", number, dict(logs))
            yield arrays, logs
            self.tell(f"on_{what}_batch_end", number, logs)
