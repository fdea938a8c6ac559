"""The reference of the command: what every verb says of itself."""

import re

from packages.refusal import run


def verbs_in(help_text):
    """The verbs that `millrace --help` lists."""
    listed = help_text.partition("Subcommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\S+)", listed, re.MULTILINE)


def page(command):
    main = run([command, "--help"], "ask the command for its verbs")
    parts = ["# The command", "", _fenced(main)]
    for verb in verbs_in(main):
        said = run([command, verb, "--help"], f"ask `millrace {verb}` for its flags")
        parts += ["", f"## millrace {verb}", "", _fenced(said)]
    return "\n".join(parts) + "\n"


def _fenced(text):
    return f"```text\n{text.strip()}\n```"
