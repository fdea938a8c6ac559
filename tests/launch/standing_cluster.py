"""A cluster's API that answers as a test says, and a kubectl that leads to it: no Kubernetes is needed.

tests/managers has the real ones.
"""

import collections
import http.server
import json
import os
import socketserver
import threading

KINDS = {
    "configmaps": "ConfigMap",
    "events": "Event",
    "jobs": "Job",
    "nodes": "Node",
    "pods": "Pod",
    "secrets": "Secret",
    "services": "Service",
}

Question = collections.namedtuple("Question", "method path query body")

# `kubectl proxy` leads to the test's server; all else it is asked is the test's.
KUBECTL = """#!/bin/sh
case "$*" in
  *config*) printf default; exit 0;;
  *proxy*)
    echo proxy >> {folder}/kubectl-asked
    for word; do case "$word" in --unix-socket=*) ln -s {socket} "${{word#*=}}";; esac; done
    echo "Starting to serve on it"
    exec sleep 600;;
esac
echo "$@" >> {folder}/kubectl-asked
{script}
"""


def listed(objects):
    """answer(question) that lists those of the kind that is asked for, makes what is to be made, and agrees to all else."""

    def answer(question):
        if question.method == "POST":
            made = json.loads(question.body)
            made["metadata"]["uid"] = "u"
            return 201, made
        kind = KINDS.get(question.path.split("/")[-1])
        if question.method == "GET" and kind:
            found = [each for each in objects if each["kind"] == kind]
            _, root, *rest = question.path.split("/")
            api = "/".join(rest[: 2 if root == "apis" else 1])
            return 200, {"kind": f"{kind}List", "apiVersion": api, "items": found}
        return 200, {"kind": "Status", "status": "Success"}

    return answer


def refusal(code, reason, message):
    """What the API answers instead."""
    return code, {"kind": "Status", "code": code, "reason": reason, "message": message}


class StandingCluster:
    """`answer`: a function of a Question that returns an HTTP code and an object, or text; `asked`: all questions so far."""

    def __init__(self, folder, answer, script="exit 1"):
        self.folder = folder
        self.asked = []
        self.answer = answer
        socket = folder / "s"
        kubectl = folder / "kubectl"
        kubectl.write_text(KUBECTL.format(folder=folder, socket=socket, script=script))
        kubectl.chmod(0o755)
        self._server = socketserver.ThreadingUnixStreamServer(str(socket), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def of_kubectl(self):
        """What kubectl was started for, beside its namespace."""
        asked = self.folder / "kubectl-asked"
        return asked.read_text().splitlines() if asked.exists() else []

    def changes(self):
        return [question for question in self.asked if question.method != "GET"]

    def _handler(cluster):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                question = Question(self.command, path, query, body)
                cluster.asked.append(question)
                code, told = cluster.answer(question)
                text = (told if isinstance(told, str) else json.dumps(told)).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_one

            def address_string(self):
                return "millrace"

            def log_message(self, *_):
                pass

        return Handler
