"""Where the sessions and servers of this process really go.

A session without a target gets the target that `targets` has for it, and asks for a state of its own
(isolate_session_state), as a session in the client's process has. One with a target keeps it. The
servers that a program starts in its own process are replaced at the C calls beneath
tf.distribute.Server, so everything above (server_def, create_local_cluster, errors of cluster specs)
stays TensorFlow's.
"""

import dataclasses

_SESSION_CALLS = [
    "ExtendSession",
    "TF_Reset",
    "TF_SessionListDevices",
    "TF_SessionMakeCallable",
    "TF_SessionPRunSetup_wrapper",
    "TF_SessionPRun_wrapper",
    "TF_SessionRunCallable",
    "TF_SessionRun_wrapper",
]


@dataclasses.dataclass
class Record:
    """What the program did with sessions and servers."""

    used_servers: bool = False
    started_servers: bool = False
    session_errors: list = dataclasses.field(default_factory=list)
    cpu_devices: set = dataclasses.field(default_factory=set)


class _Calls:
    """A module of C calls of which some are replaced."""

    def __init__(self, calls, **replaced):
        self._calls = calls
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(self._calls, name)


def _recording(call, record):
    def recorded(*args, **kwargs):
        record.used_servers = True
        try:
            return call(*args, **kwargs)
        except Exception as error:
            record.session_errors.append(str(error)[:20_000])
            raise

    return recorded


def _record_sessions(session, record):
    calls = session.tf_session
    replaced = {name: _recording(getattr(calls, name), record) for name in _SESSION_CALLS}
    session.tf_session = _Calls(calls, **replaced)


def _redirect_sessions(session, targets, record):
    from tensorflow.core.protobuf import config_pb2
    from tensorflow.python.eager import context

    original = session.BaseSession.__init__

    def init(self, target="", graph=None, config=None):
        asked = context.context().config if config is None else config
        if target in ("", b"", None) and isinstance(asked, config_pb2.ConfigProto):
            config = config_pb2.ConfigProto()
            config.CopyFrom(asked)
            config.isolate_session_state = True
            cpu_devices = max(1, asked.device_count.get("CPU", 1))
            record.cpu_devices.add(cpu_devices)
            target = targets(cpu_devices)
        original(self, target, graph, config)

    session.BaseSession.__init__ = init


def _redirect_servers(server_lib, start_server, record):
    from tensorflow.core.protobuf import tensorflow_server_pb2

    def new_server(definition):
        record.used_servers = record.started_servers = True
        return start_server(tensorflow_server_pb2.ServerDef.FromString(definition))

    # TensorFlow's own servers don't end when they are asked to stop, nor do these.
    server_lib.c_api = _Calls(
        server_lib.c_api,
        TF_NewServer=new_server,
        TF_ServerStart=lambda server: None,
        TF_ServerStop=lambda server: None,
        TF_ServerJoin=lambda server: server.join(),
        TF_ServerTarget=lambda server: server.target,
    )


def redirect(targets=None, start_server=None):
    """targets(cpu_devices) -> a session's target, None: sessions stay in process.
    start_server(ServerDef) -> an object with join() and target, None: servers stay TensorFlow's."""
    from tensorflow.python.client import session
    from tensorflow.python.training import server_lib

    record = Record()
    _record_sessions(session, record)
    if targets:
        _redirect_sessions(session, targets, record)
    if start_server:
        _redirect_servers(server_lib, start_server, record)
    return record
