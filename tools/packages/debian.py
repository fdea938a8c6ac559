"""The Debian packages: cpack makes them by the rules in tools/cmake/packages.cmake."""

import os
import shutil

from packages.refusal import Refused, run

NAMES = ("millrace", "python3-millrace", "libmillrace-dev")


def make(build, output):
    """Writes the packages of a build into `output`; returns their paths."""
    config = build.folder / "CPackConfig.cmake"
    if not shutil.which("dpkg-shlibdeps") or not config.exists():
        raise Refused(
            "Debian packages are made on Debian, with dpkg-dev: run tools/setup dist, then make build"
        )
    # Kept apart until it is done: cpack installs everything there first.
    scratch = build.folder / "packages"
    if scratch.exists():
        shutil.rmtree(scratch)
    said = run(
        ["cpack", "--config", config, "-B", scratch],
        "make Debian packages",
        env={**os.environ, "SOURCE_DATE_EPOCH": str(build.epoch)},
    )
    made = []
    for name in NAMES:
        found = list(scratch.glob(f"{name}_{build.version}_*.deb"))
        if len(found) != 1:
            raise Refused(f"cpack made no {name}_{build.version}; it said:\n{said}")
        output.mkdir(parents=True, exist_ok=True)
        for old in output.glob(f"{name}_*.deb"):
            old.unlink()
        made.append(output / found[0].name)
        os.replace(found[0], made[-1])
    shutil.rmtree(scratch)
    return made
