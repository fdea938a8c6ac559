"""What a worker answers to a peer or master that is mistaken: both kinds say the same.

Others key on the code and on the details that travel beside it (which say that a worker was restarted,
or that an error is the consequence of another one), so these are compared as they are on the wire.
"""

import grpc
import pytest


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def message(fields):
    """{number: int or text} as protobuf has it."""
    out = b""
    for number, value in fields.items():
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value.encode()
    return out


def device(task):
    return f"/job:worker/replica:0/task:{task}/device:CPU:0"


# What is asked of task 1, and words of the answer.
NO_SESSION = "Session handle is not found: 0123456789abcdef. Possibly this worker"
MISTAKES = {
    "a graph for a session that is not there": (
        "RegisterGraph",
        {1: "0123456789abcdef", 6: 1},
        [NO_SESSION],
    ),
    "a step of a session that is not there": (
        "RunGraph",
        {1: "1", 2: 7, 8: "0123456789abcdef", 10: 1, 11: 99},
        [NO_SESSION],
    ),
    "a step of a graph that is not there": (
        "RunGraph",
        {1: "0000000000000077", 2: 7, 11: 98},
        ["Graph handle is not found: 0000000000000077"],
    ),
    "forgetting a graph that is not there": (
        "DeregisterGraph",
        {1: "0000000000000077"},
        ["Graph handle is not found: 0000000000000077"],
    ),
    "a session without a name": (
        "CreateWorkerSession",
        {},
        ["Session must be non-empty"],
    ),
    "a tensor of a device before its restart": (
        "RecvTensor",
        {1: 7, 2: f"{device(1)};00000000deadbeef;{device(0)};edge_1_x;0:0", 7: 97},
        ["RecvTensor expects a different device incarnation: 3735928559 vs. "],
    ),
    "a tensor with a key that is none": (
        "RecvTensor",
        {1: 7, 2: "no;key", 7: 96},
        ["Invalid  rendezvous key: no;key"],
    ),
}


def ask(address, method, request):
    """(code, text, details as they came) of a call that fails."""
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(f"/tensorflow.WorkerService/{method}")
        with pytest.raises(grpc.RpcError) as caught:
            call(message(request), timeout=20)
    error = caught.value
    details = {k: v for k, v in error.trailing_metadata() if k == "grpc-status-details-bin"}
    return error.code(), error.details(), details


@pytest.fixture
def addresses(cluster):
    """Of task 1 where it is TensorFlow's, and where it is ours."""
    theirs = cluster(worker=2, tf=["worker:0", "worker:1"])
    ours = cluster(worker=2)
    return theirs.addresses["worker:1"], ours.addresses["worker:1"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_alike(addresses, mistake):
    method, request, words = MISTAKES[mistake]
    theirs, ours = [ask(address, method, request) for address in addresses]
    assert ours[0] == theirs[0]
    assert ours[2] == theirs[2]
    for text in words:
        assert text in theirs[1] and text in ours[1], (theirs[1], ours[1])


def test_a_request_that_comes_twice_is_refused_alike(cluster):
    request = {1: "0000000000000077", 2: 7, 11: 95}
    answers = []
    for tensorflow in (["worker:0"], []):
        address = cluster(worker=1, tf=tensorflow).addresses["worker:0"]
        ask(address, "RunGraph", request)
        answers.append(ask(address, "RunGraph", request))
    theirs, ours = answers
    assert ours[0] == theirs[0] == grpc.StatusCode.ABORTED
    assert "request was received twice" in theirs[1] and "request was received twice" in ours[1]
