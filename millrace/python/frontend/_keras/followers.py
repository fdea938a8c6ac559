"""The callbacks of one call of fit, evaluate or predict, which are told together."""

from millrace._keras.callback import ProgbarLogger


class Followers:
    """Callbacks in their order.

    Args:
      callbacks: a list of Callbacks, or None; model: what they follow.
      params: what they are told of the call.
      what: "train", "test" or "predict": whose batches the progress that is printed is of.

    Attributes:
      progress: the ProgbarLogger, which is told of batches and epochs after the others.
      params: the same dictionary, which may be changed before they are told something.
    """

    def __init__(self, callbacks, model, params, what):
        self._callbacks, self.params, self._what = list(callbacks or []), params, what
        self.progress = ProgbarLogger("samples" if params["samples"] is not None else "steps")
        self.progress.set_params(params)
        for each in self._callbacks:
            each.set_model(model)
            each.set_params(params)

    def tell(self, what, *args):
        """Calls a method of all of them."""
        for each in self._callbacks:
            getattr(each, what)(*args)
        if what in ("on_epoch_begin", "on_epoch_end"):
            getattr(self.progress, what)(*args)

    def note_running(self, what, names):
        """Told which numbers of batches are over all batches before, too."""
        if what == self._what:
            self.progress.hold(names)

    def along(self, what, batches):
        """Batches, numbered; before and after each, on_<what>_batch_begin and on_<what>_batch_end are told.

        Gives (the batch, a dictionary for the logs of its end).
        """
        for number, arrays in enumerate(batches):
            logs = {"batch": number, "size": len(arrays[0])}
            self.tell(f"on_{what}_batch_begin", number, dict(logs))
            yield arrays, logs
            self.tell(f"on_{what}_batch_end", number, logs)
            if what == self._what:
                self.progress.on_batch_end(number, logs)
