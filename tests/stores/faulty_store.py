"""FaultyStore: an S3 server of one object, /bucket/object, that answers as a test says, and counts."""

import http.server
import socket
import threading

CONTENT = bytes(range(256)) * 16


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self):
        store = self.server.store
        with store.lock:
            store.requests.append(f"{self.command} {self.path}")
            fault = store.faults.pop(0) if store.faults else store.usual
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        getattr(self, "_" + fault)()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer

    def _send(self, status, body=b"", length=None, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _range(self):
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        return CONTENT[int(first) : int(last) + 1]

    def _right(self):
        if self.command == "HEAD":
            self._send(200, length=len(CONTENT), ETag='"e"')
        elif self.command == "GET":
            self._send(206, self._range())
        else:
            self._send(200)

    def _busy(self):
        self._send(503, b"<Error><Code>SlowDown</Code><Message>Later.</Message></Error>")

    def _denied(self):
        self._send(403, b"<Error><Code>AccessDenied</Code></Error>")

    def _absent(self):
        self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def _reset(self):
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def _cut(self):
        """Says how much comes, and sends half of it."""
        self._send(206, self._range()[:100], length=len(self._range()))
        self._reset()

    def _silent(self):
        self.server.store.ended.wait()
        self.close_connection = True

    def _short(self):
        self._send(206, self._range()[:-1])

    def _long(self):
        self._send(206, self._range() + b"x")

    def _round(self):
        self._send(307, Location=self.path)

    def _endless(self):
        """A body without an end."""
        self.send_response(200)
        self.end_headers()
        piece = b"<ListBucketResult>" + b" " * 65536
        try:
            while not self.server.store.ended.is_set():
                self.wfile.write(piece)
                self.server.store.sent += len(piece)
        except OSError:
            pass
        self.close_connection = True

    def _headers(self):
        """Headers without an end."""
        self.send_response(200)
        self.flush_headers()
        try:
            while not self.server.store.ended.is_set():
                self.wfile.write(b"X-More: " + b"y" * 8000 + b"\r\n")
        except OSError:
            pass
        self.close_connection = True

    def _nonsense(self):
        self.wfile.write(b"\x00\x01 no HTTP at all\r\n\r\n")
        self._reset()

    def _listed(self):
        """A page of a list that says again and again that it goes on."""
        more = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
        name = "<Contents><Key>d/a</Key></Contents>"
        self._send(200, f"<ListBucketResult>{name}{more}</ListBucketResult>".encode())


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that leaves is what some tests are about


class FaultyStore:
    """`faults`: how the next requests are answered, by names of methods of the handler; then `usual`."""

    def __init__(self):
        self.lock = threading.Lock()
        self.faults, self.requests, self.sent = [], [], 0
        self.usual = "right"
        self.ended = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.store = self
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def stop(self):
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
