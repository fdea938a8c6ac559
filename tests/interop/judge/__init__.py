"""A judge that is not ours: TensorFlow's own test modules, run with Millrace behind their sessions.

    command.py   the command line, and one host process for each module
    host.py      forks a process for each attempt at a test, several at once, with a time limit
    module.py    loads a module from a file and lists its tests
    stand_ins.py imports that TensorFlow's repository resolves and its wheel does not
    attempt.py   one test, once, in a process of its own
    redirect.py  where that test's sessions and servers really go
    verdict.py   what the attempts prove: pure
    report.py    what people and programs read

TensorFlow is imported once; everything else is forked from that process, which itself never opens a
session, so each test finds a TensorFlow as fresh as its servers.
"""
