"""The table of floors, and which room a file belongs to."""

from pathlib import Path

# Lowest first. Rooms of one line do not include each other. A header alone is a room without a target:
# transport.h is what the transports implement and the list above them names; millrace.h names all rooms
# below it for programs, and only doors may include it.
FLOORS = [
    ("F0", ["base"]),
    ("F0", ["tensor"]),
    ("F0", ["format"]),
    ("F1", ["op", "wire", "io"]),
    ("F1", ["io/remote"]),
    ("F2", ["graph", "ops/loops", "ops/onednn", "ops/testing"]),
    ("F2", ["ops/state"]),
    ("F2", ["ops/lists", "ops/image"]),
    (
        "F2",
        [
            "ops/math",
            "ops/array",
            "ops/random",
            "ops/text",
            "ops/flow",
            "ops/transfer",
            "ops/nn",
            "ops/linalg",
            "ops/spectral",
            "ops/training",
            "ops/files",
            "ops/exchange",
            "ops/collective",
            "ops/tables",
            "ops/sampling",
            "ops/summary",
            "ops/parsing",
            "ops/script",
            "ops/sparse",
            "ops/ctc",
            "ops/ragged",
        ],
    ),
    ("F2", ["ops/readers", "ops/recurrent"]),
    ("F2", ["ops/data"]),
    ("F2", ["ops"]),
    ("F3", ["plan", "api"]),
    ("F3", ["autodiff"]),
    ("F4", ["cluster", "engine"]),
    ("F5", ["master", "worker"]),
    ("F6", ["transport/sockets"]),
    ("F6", ["transport/threads"]),
    ("F6", ["transport/protocol"]),
    ("F6", ["transport/direct"]),
    ("F6", ["transport/transport.h"]),
    ("F6", ["transport/inproc", "transport/grpc"]),
    ("F6", ["transport"]),
    ("F6", ["transport/conformance"]),
    ("F7", ["session"]),
    ("F8", ["train", "launch", "mapreduce"]),
    ("F8", ["launch/shipping"]),
    ("F8", ["launch/kubernetes", "launch/slurm", "launch/yarn"]),
    ("F8", ["launch/foreign"]),
    ("F8", ["millrace.h"]),
    ("F9", ["bin", "python"]),
]
HEIGHT = {room: height for height, (_, rooms) in enumerate(FLOORS) for room in rooms}
FLOOR = {room: floor for floor, rooms in FLOORS for room in rooms}


def room_of(path):
    """The room that a path inside millrace/ belongs to ("graph/graph.h" -> "graph"), or None."""
    parts = Path(path).parts
    for length in range(len(parts), 0, -1):
        room = "/".join(parts[:length])
        if room in HEIGHT and (len(parts) > length or room.endswith(".h")):
            return room
    return None


def room_of_file(file):
    """The room of a file of the repository ("millrace/graph/graph.h" -> "graph"), or None."""
    return room_of(Path(*file.parts[1:])) if file.parts[0] == "millrace" else None


def below(room):
    return [other for other, height in HEIGHT.items() if height < HEIGHT[room]]
