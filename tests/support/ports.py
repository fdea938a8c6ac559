"""Ports for tasks that tests start."""

import pathlib
import random
import socket

_CHANCE = random.SystemRandom()  # a test may have seeded the module's own, like its neighbours


def free_ports(count):
    """Ports nobody listens on now, of the range that outgoing connections don't use."""
    limits = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    first_outgoing = int(limits.split()[0])
    ports = set()
    while len(ports) < count:
        port = _CHANCE.randrange(10_000, first_outgoing)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.add(port)
    return list(ports)


def free_port():
    return free_ports(1)[0]
