"""What training says in files of events beside the summaries of a graph."""

from millrace._summaries.messages import SessionLog, Summary


def scalar_value(tag, value):
    """A Summary with one number."""
    return Summary(value=[Summary.Value(tag=tag, simple_value=value)])


def session_log(status, checkpoint_path=None):
    """A SessionLog for a writer of events.

    Args:
      status: "START", "STOP" or "CHECKPOINT".
      checkpoint_path: where the checkpoint was saved.
    """
    values = {} if checkpoint_path is None else {"checkpoint_path": checkpoint_path}
    return SessionLog(status=getattr(SessionLog, status), **values)
