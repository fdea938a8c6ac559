"""RemoteMonitor: tells a server how training goes."""

import json
import urllib.parse
import urllib.request
import warnings

from millrace._keras.callback import Callback

_PATIENCE = 10.0  # seconds for an answer


class RemoteMonitor(Callback):
    """Posts the logs of epochs to a server: JSON, or a form whose field has it.

    Args:
      root, path: the URL, in two parts; field: the name of the form's field.
      headers: {name: value} of the request.
      send_as_json: whether it is sent as application/json, not as a form.

    A server that does not answer is warned of, and training goes on.
    """

    def __init__(
        self,
        root="http://localhost:9000",
        path="/publish/epoch/end/",
        field="data",
        headers=None,
        send_as_json=False,
    ):
        self.root, self.path, self.field = root, path, field
        self.headers, self.send_as_json = dict(headers or {}), send_as_json

    def on_epoch_end(self, epoch, logs=None):
        text = json.dumps({"epoch": epoch, **{k: float(v) for k, v in (logs or {}).items()}})
        if self.send_as_json:
            data, kind = text, "application/json"
        else:
            data = urllib.parse.urlencode({self.field: text})
            kind = "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **self.headers}
        request = urllib.request.Request(self.root + self.path, data.encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE):
                pass
        except OSError as error:
            warnings.warn(f"Could not reach RemoteMonitor root server at {self.root}: {error}")
