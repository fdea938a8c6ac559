"""SessionRunHook: what is told of the life of a monitored session, and takes part in its steps."""

import collections


class SessionRunHook:
    """Called around the steps of a monitored session; the base class does nothing.

    In this order: `begin` once, while the graph may still change; `after_create_session` for each
    session, the first one and those made after a loss; `before_run` and `after_run` around each step;
    `end` once, unless an error ended the session.
    """

    def begin(self):
        """Called before the session is made: may add nodes to the default graph."""

    def after_create_session(self, session, coord):
        """Called with each new tf.Session and its Coordinator. The graph is finalized."""

    def before_run(self, run_context):
        """Called before a step. Returns a SessionRunArgs with what the hook wants of it, or None."""
        return None

    def after_run(self, run_context, run_values):
        """Called after a step that went well, with the values of what `before_run` asked for."""

    def end(self, session):
        """Called at the end of a session that no error ended; it can still run."""


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """What a hook adds to a step: fetches, feeds, tf.RunOptions."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunContext:
    """A step as hooks see it.

    Attributes:
      original_args: the SessionRunArgs that the program gave.
      session: the tf.Session that runs it.
      stop_requested: True once a hook asked for the end.
    """

    def __init__(self, original_args, session):
        self.original_args = original_args
        self.session = session
        self.stop_requested = False

    def request_stop(self):
        """Asks for the end after this step: the session's should_stop is True from then on."""
        self.stop_requested = True


class SessionRunValues(
    collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])
):
    """What a step gave: values of the hook's fetches, the options, a tf.RunMetadata."""
