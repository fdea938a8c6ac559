"""A way between tasks that breaks: a TCP proxy in front of one address, whose connections are cut now and then.

What is under way on a connection that is cut is lost in the midst of a message; bytes that had gone through
have arrived, and their sender does not know. A new connection is let through at once.
"""

import socket
import struct
import threading

# With that a socket is closed by RST: what has not been sent is thrown away.
ABRUPT = struct.pack("ii", 1, 0)


class CuttingProxy:
    """`address`: "host:port" of whoever is behind it; `at` is its own, on a free port unless it is told one."""

    def __init__(self, address, at="127.0.0.1:0"):
        host, port = address.rsplit(":", 1)
        self._behind = (host, int(port))
        own_host, own_port = at.rsplit(":", 1)
        self._listener = socket.create_server((own_host, int(own_port)))
        self.at = f"{own_host}:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._pairs = set()
        self.cuts = 0  # in the midst of what was said
        self._passes = None  # so many bytes before the cut that is due
        self._is_over = False
        self._is_barred = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, abruptly):
        """Ends the connections that there are: so that nothing more is sent, or in good order. How many they were."""
        with self._lock:
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            for end in pair:
                try:
                    if abruptly:
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABRUPT)
                    end.shutdown(socket.SHUT_RDWR)  # wakes who reads from it
                except OSError:
                    pass  # its peer was quicker
                end.close()
        return len(pairs)

    def cut_within(self, most):
        """Cuts when so many bytes more have gone through, either way: in the midst of what is said next. None: no more."""
        with self._lock:
            self._passes = most

    def bar(self, is_barred):
        """Ends what there is, and lets nobody through until it is lifted."""
        with self._lock:
            self._is_barred = is_barred
        if is_barred:
            self.cut(True)

    def close(self):
        with self._lock:
            self._is_over = True
        self._listener.close()
        self.cut(True)

    def _accept(self):
        while True:
            try:
                came, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                behind = socket.create_connection(self._behind)
            except OSError:
                came.close()  # as if nobody listened
                continue
            pair = (came, behind)
            for end in pair:
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._pairs.add(pair)
                is_over, is_barred = self._is_over, self._is_barred
            if is_over or is_barred:
                self.cut(True)
                if is_over:
                    return
                continue
            for source, sink in (pair, pair[::-1]):
                threading.Thread(target=self._pump, args=(pair, source, sink), daemon=True).start()

    def _passing(self, count):
        with self._lock:
            if self._passes is None:
                return count
            passes = min(self._passes, count)
            self._passes = self._passes - passes if passes == count else None
            return passes

    def _pump(self, pair, source, sink):
        try:
            while some := source.recv(65536):
                passes = self._passing(len(some))
                sink.sendall(some[:passes])
                if passes < len(some):
                    ended = self.cut(abruptly=False)
                    with self._lock:
                        self.cuts += ended
                    return
        except OSError:
            pass
        with self._lock:
            self._pairs.discard(pair)
        for end in pair:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()
