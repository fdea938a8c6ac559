"""The rooms that a CMakeLists.txt names are those that its sources include, directly: DEPENDS for the
library, TEST_DEPENDS and TESTING_DEPENDS for what only the tests include, millrace_link_rooms() for programs."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from guards import cpp
from guards.rooms import room_of
from guards.tree import Fault

_COMMAND = re.compile(r"^[ \t]*(\w+)[ \t]*\(", re.MULTILINE)
_ARGUMENT = re.compile(r'"((?:\\.|[^"\\])*)"|([^\s"()]+)')
_LISTS = (
    "SOURCES",
    "DEPENDS",
    "LINKS",
    "TESTS",
    "TEST_DEPENDS",
    "TEST_TIMEOUT",
    "TESTING",
    "TESTING_DEPENDS",
)
_WORDS = {"PRIVATE", "PUBLIC", "INTERFACE", "STATIC", "SHARED", "OBJECT", "MODULE", "NO_EXTRAS"}


@dataclass
class Target:
    line: int
    sources: list = field(default_factory=list)
    rooms: list = field(default_factory=list)
    libraries: list = field(default_factory=list)


@dataclass
class Room:
    """One call of millrace_room()."""

    folder: Path
    name: str
    line: int
    lists: dict


class Script:
    """The targets that one CMakeLists.txt defines. Conditions are taken as true."""

    def __init__(self, tree, file):
        self.file = file
        self.rooms, self.targets, self.variables = [], {}, {}
        self.lines = {}  # of the variables
        text = re.sub(r"(?m)#.*$", "", tree.text(file))
        for command in _COMMAND.finditer(text):
            line = text.count("\n", 0, command.start()) + 1
            self._take(command[1], self._arguments(text, command.end()), line)

    def _arguments(self, text, start):
        depth, end = 1, start
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found = []
        for quoted, plain in _ARGUMENT.findall(text[start : end - 1]):
            variable = re.fullmatch(r"\$\{(\w+)\}", plain)
            found += self.variables.get(variable[1], []) if variable else [quoted or plain]
        return found

    def _target(self, name, line):
        return self.targets.setdefault(name, Target(line))

    def _take_list(self, command, arguments):
        """list(APPEND …) and list(TRANSFORM … PREPEND … OUTPUT_VARIABLE …), which are all that we use."""
        if command == "APPEND":
            self.variables[arguments[0]] = self.variables.get(arguments[0], []) + arguments[1:]
        elif command == "TRANSFORM" and arguments[1:2] == ["PREPEND"]:
            names = self.variables.get(arguments[0], [])
            self.variables[arguments[-1]] = [arguments[2] + name for name in names]

    def _take(self, command, arguments, line):
        name, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
        rest_words = [word for word in rest if word not in _WORDS]
        if command in ("set", "millrace_present"):
            self.variables[name] = rest
            self.lines[name] = line
        elif command == "list":
            self._take_list(name, rest)
        elif command in ("millrace_room", "millrace_testing"):
            if command == "millrace_testing":
                name += "_testing"
            lists, current = {key: [] for key in _LISTS}, None
            for word in rest:
                if word in lists:
                    current = lists[word]
                elif current is not None:
                    current.append(word)
            self.rooms.append(Room(self.file.parent, name, line, lists))
        elif command in ("add_executable", "add_library", "pybind11_add_module", "target_sources"):
            self._target(name, line).sources += rest_words
        elif command == "millrace_link_rooms":
            target = self._target(name, line)
            target.rooms += rest_words
            target.line = line
        elif command == "target_link_libraries":
            self._target(name, line).libraries += rest_words


class _Sources:
    """Which rooms files include."""

    def __init__(self, tree, folders, testing):
        self.tree = tree
        self.folders = folders
        self.testing = testing
        self.includes = cpp.Includes(tree)

    def file(self, folder, name):
        """A name of a CMake list as a file of the repository; None for what is generated."""
        name = name.replace("${PROJECT_SOURCE_DIR}/", "/")
        path = name[1:] if name.startswith("/") else str(folder / name)
        parts = []
        for part in Path(path).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        path = "/".join(parts)
        return path if self.tree.has(path) else None

    def rooms(self, files):
        """{room: the first file that includes it}, by CMake's names of rooms."""
        found = {}
        for file in sorted(files):
            for path in self.includes.of.get(file, []):
                room = (
                    room_of(path.removeprefix("millrace/"))
                    if path.startswith("millrace/")
                    else None
                )
                if room in self.folders:
                    found.setdefault(self.folders[room], file)
                if room in self.testing and f"millrace/{room}/testing/" in path:
                    found.setdefault(self.testing[room], file)
        return found

    def with_headers(self, files):
        """The files and the headers of their own folders that they include, directly or not."""
        found = set()
        for file in files:
            found |= {
                path
                for path in self.includes.closure(file)
                if path == file or Path(path).parent == Path(file).parent
            }
        return found


def _compare(file, line, what, named, wanted):
    for room in sorted(set(wanted) - set(named)):
        yield Fault(file, line, f"{what} lacks {room}, which {wanted[room]} includes")
    for room in sorted(set(named) - set(wanted)):
        yield Fault(file, line, f"{what} names {room}, which nothing of it includes")


def check(tree):
    scripts = [
        Script(tree, file) for file in tree.below("millrace") if file.name == "CMakeLists.txt"
    ]
    folders = {
        str(room.folder.relative_to("millrace")): room.name
        for script in scripts
        for room in script.rooms
    }
    testing = {
        folder: f"{name}_testing"
        for script in scripts
        for room in script.rooms
        for folder, name in [(str(room.folder.relative_to("millrace")), room.name)]
        if room.lists["TESTING"]
    }
    sources = _Sources(tree, folders, testing)
    for script in scripts:
        for room in script.rooms:
            yield from _check_room(sources, script, room)
        for name, target in script.targets.items():
            if target.rooms:
                yield from _check_program(sources, script, name, target)


def _files(sources, folder, names):
    return {file for name in names if (file := sources.file(folder, name))}


def _check_room(sources, script, room):
    library, test = f"millrace_{room.name}", f"millrace_{room.name}_test"
    tests_only = sources.includes.tests
    files = _files(sources, room.folder, room.lists["SOURCES"])
    tests = _files(sources, room.folder, room.lists["TESTS"] + room.lists["TESTING"])
    for name, target in script.targets.items():
        if name == test:
            tests |= _files(sources, room.folder, target.sources)
        elif library in target.libraries:
            files |= _files(sources, room.folder, target.sources)
    own = str(room.folder.relative_to("millrace"))
    for header in sources.tree.below(room.folder, ".h"):
        if room_of(header.relative_to("millrace")) == own:
            (tests if str(header) in tests_only else files).add(str(header))
    tests |= {file for file in files if file in tests_only}
    if room.folder.name == "testing":
        files, tests, tests_only = files | tests, set(), set()
    wanted = sources.rooms(files - tests_only)
    wanted.pop(room.name, None)
    yield from _compare(script.file, room.line, "DEPENDS", room.lists["DEPENDS"], wanted)
    for_tests = sources.rooms(tests)
    own_testing = f"{room.name}_testing" if room.lists["TESTING"] else room.name
    for name in (room.name, own_testing, *wanted):
        for_tests.pop(name, None)
    named = room.lists["TEST_DEPENDS"] + room.lists["TESTING_DEPENDS"]
    yield from _compare(script.file, room.line, "TEST_DEPENDS", named, for_tests)


def _check_program(sources, script, name, target):
    files = _files(sources, script.file.parent, target.sources)
    wanted = sources.rooms(sources.with_headers(files))
    yield from _compare(
        script.file, target.line, f"millrace_link_rooms({name})", target.rooms, wanted
    )
