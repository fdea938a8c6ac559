"""Objects of others' kinds that we write, as a real API server takes them by their own definitions. Those are not ours to
keep here: MILLRACE_JOBSET_CRD and MILLRACE_PODGROUP_CRD name the files."""

import os
import subprocess
from pathlib import Path

import pytest

from managed import until

EXPORTED = Path(__file__).parents[2] / "millrace" / "launch" / "foreign" / "testdata"
DEFINITIONS = {
    "MILLRACE_JOBSET_CRD": (
        "jobsets.jobset.x-k8s.io",
        "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml of kubernetes-sigs/jobset",
    ),
    "MILLRACE_PODGROUP_CRD": (
        "podgroups.scheduling.volcano.sh",
        "config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml of volcano-sh/volcano",
    ),
}


@pytest.fixture
def definition(shell, request):
    """The cluster knows the kind."""
    variable = request.param
    name, where = DEFINITIONS[variable]
    path = os.environ.get(variable)
    if path is None:
        pytest.skip(f"LEFT OUT, {name}: set {variable} to a file: {where}")
    # The definition is too large for what `apply` would keep of it.
    shell.kubectl("apply", "--server-side", "-f", path)
    established = "jsonpath={.status.conditions[?(@.type=='Established')].status}"
    until(lambda: shell.kubectl("get", "crd", name, "-o", established) == "True", name)
    yield name
    subprocess.run(
        ["kubectl", "delete", "crd", name], env=shell.environment, check=True, timeout=60
    )


@pytest.mark.parametrize("definition", ["MILLRACE_JOBSET_CRD"], indirect=True)
def test_exported_job_sets_are_some(shell, definition):
    for name in ("digits", "words"):
        path = str(EXPORTED / f"{name}.jobset.yaml")
        answer = shell.kubectl("create", "--dry-run=server", "--validate=strict", "-f", path)
        assert answer == f"jobset.jobset.x-k8s.io/{name} created (server dry run)\n"


@pytest.mark.parametrize("definition", ["MILLRACE_PODGROUP_CRD"], indirect=True)
def test_the_group_of_a_job_on_volcano_is_one(shell, definition):
    job = shell.job(
        "true", queue="team", kubernetes="{scheduler: volcano, priority: high, service_account: x}"
    )
    objects = shell.folder / "objects.yaml"
    objects.write_text(shell.run("millrace", "explain", job, "--on", "k8s").stdout)
    answer = shell.kubectl("create", "--dry-run=server", "--validate=strict", "-f", str(objects))
    assert "podgroup.scheduling.volcano.sh/words created (server dry run)" in answer
