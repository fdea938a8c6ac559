"""Where in a program its nodes were made."""

import sys

_PACKAGE = __name__.partition(".")[0]
_SIZE = 8  # bytes of a place


def caller():
    """(file, line) of the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != _PACKAGE and not module.startswith(_PACKAGE + "."):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None


class Origins:
    """(file, line) by the numbers of nodes, in eight bytes each."""

    def __init__(self):
        self._files = [None]
        self._numbers = {}  # file -> its place in _files
        self._places = bytearray()  # number of the file << 32 | line; 0 where nothing is known

    def put(self, node_id, place):
        """Remembers where a node was made: what `caller` gives."""
        if place is None:
            return
        file, line = place
        number = self._numbers.get(file)
        if number is None:
            number = self._numbers[file] = len(self._files)
            self._files.append(file)
        places = self._places
        missing = _SIZE * node_id - len(places)
        if missing > 0:  # nodes that no program made
            places.extend(bytes(missing))
        places[_SIZE * node_id :] = (number << 32 | line).to_bytes(_SIZE, "little")

    def get(self, node_id):
        """(file, line), or None if it is not known."""
        held = self._places[_SIZE * node_id : _SIZE * (node_id + 1)]
        place = int.from_bytes(held, "little")
        return (self._files[place >> 32], place & 0xFFFFFFFF) if place else None
