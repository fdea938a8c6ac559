"""A room includes only rooms on lower floors; generated protobuf headers stay in few rooms; what is
for tests stands in a folder `testing/`, and only tests include it."""

import itertools
import re
from pathlib import Path

from guards import cpp
from guards.dependencies import Script
from guards.rooms import FLOOR, HEIGHT, below, room_of, room_of_file
from guards.tree import YARDS, Fault

ROOM_FOLDERS = "MILLRACE_ROOM_FOLDERS"

GENERATED = re.compile(r"\.pb\.h$")
GENERATED_ALLOWED = ["wire", "io", "transport/protocol", "transport/grpc"]


def include_fault(room, path, folder):
    """What is wrong with a file of a room, in this folder, including this path; None if nothing."""
    top, _, rest = path.partition("/")
    if top in YARDS:
        return f"room {room} includes {top}/, which stands on F9 above all rooms"
    if top != "millrace":
        from_here = "/" not in path or top in (".", "..")
        return f'write it from the top: "{folder}/{path}"' if from_here else None
    if GENERATED.search(path):
        # Generated messages are vocabulary, not a room: these share them across floors.
        if room in GENERATED_ALLOWED:
            return None
        return (
            f"room {room} includes a generated protobuf header; "
            f"allowed in: {', '.join(GENERATED_ALLOWED)}"
        )
    other = room_of(rest)
    if other is None:
        return f'"{path}" is in no room of the floor table in tools/guards/rooms.py'
    if other == room or HEIGHT[other] < HEIGHT[room]:
        return None
    where = "on the same floor" if HEIGHT[other] == HEIGHT[room] else "above"
    return (
        f"room {room} ({FLOOR[room]}) includes {other} ({FLOOR[other]}), {where}; "
        f"allowed: {', '.join(below(room)) or 'nothing'}"
    )


def check(tree):
    for file in tree.below("millrace", ".h", ".cc"):
        room = room_of_file(file)
        if room is None:
            yield Fault(file, 1, "is in no room of the floor table in tools/guards/rooms.py")
            continue
        for number, path in cpp.includes(tree.text(file)):
            if message := include_fault(room, path, file.parent):
                yield Fault(file, number, message)
    yield from _testing(tree)
    yield from _order(tree)


def _testing(tree):
    graph = cpp.Includes(tree)
    for file in tree.cpp:
        if file.parts[0] == "bench" or cpp.is_test(file) or str(file) in graph.tests:
            continue
        for number, path in cpp.includes(tree.text(file)):
            if "testing" in Path(path).parts:
                yield Fault(
                    file,
                    number,
                    f'"{path}" is for tests; what is built into programs may not include it',
                )
    for header in sorted(graph.tests):
        file = Path(header)
        if file.suffix == ".h" and file.parts[0] == "millrace" and not cpp.is_test(file):
            room = room_of_file(file) or file.parent.name
            yield Fault(file, 1, f"only tests include it: it belongs into millrace/{room}/testing/")


def _order(tree):
    """The top CMakeLists.txt builds all rooms, lower floors first, as it must to link them."""
    top = Path("CMakeLists.txt")
    if not tree.has(top):
        return
    script = Script(tree, top)
    rooms, line = script.variables.get(ROOM_FOLDERS, []), script.lines.get(ROOM_FOLDERS, 1)
    for room in rooms:
        if room not in HEIGHT:
            yield Fault(
                top, line, f"room {room} is not in the floor table in tools/guards/rooms.py"
            )
    for lower, higher in itertools.pairwise(room for room in rooms if room in HEIGHT):
        if HEIGHT[lower] > HEIGHT[higher]:
            yield Fault(
                top, line, f"room {lower} stands before {higher}, which is on a lower floor"
            )
