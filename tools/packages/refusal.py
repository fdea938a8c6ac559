"""How the tools that pack end when they can't go on."""

import subprocess


class Refused(Exception):
    """Says what is wrong and what to do about it: an error message, without the program's name."""


class OutOfReach(Refused):
    """What a trial needs of the network can't be had; nothing is known to be wrong with a package."""


def run(command, what, timeout=600, fault=Refused, **options):
    """The output of a command that must succeed; `fault` with what it was to do and its last words."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            **options,
        )
    except FileNotFoundError:
        raise Refused(
            f"can't {what}: there is no '{command[0]}' here; tools/setup dist brings it"
        ) from None
    except subprocess.TimeoutExpired as late:
        raise fault(
            f"can't {what}: {command[0]} took over {timeout} s; it had said:\n{_end(late.output)}"
        ) from None
    if done.returncode != 0:
        raise fault(
            f"can't {what}: {command[0]} ended with {done.returncode}, saying:\n{_end(done.stdout)}"
        )
    return done.stdout


def _end(output):
    if isinstance(output, bytes):
        output = output.decode(errors="replace")
    return "\n".join(f"  {line}" for line in (output or "nothing").splitlines()[-15:])
