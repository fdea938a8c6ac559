"""A program of ours starts soon because little is loaded before it begins (tools/cmake/taken_in.cmake)."""

import re
import shutil
import subprocess

import pytest

# In programs themselves, or loaded when they are first called.
TAKEN_IN = r"lib(stdc\+\+|gcc_s|absl_|grpc|gpr|upb|protobuf|re2|leveldb|snappy|farmhash|yaml-cpp|spdlog|fmt|ssl|crypto|curl|dnnl)"


@pytest.mark.parametrize("program", ["millrace", "word_count"])
def test_a_program_is_bound_to_no_library_of_cpp_and_not_to_openssl(program):
    asked = subprocess.run(["ldd", shutil.which(program)], capture_output=True, text=True)
    loaded = re.findall(r"^\s*(lib\S+) =>", asked.stdout, re.MULTILINE)
    assert "libc.so.6" in loaded, asked.stdout + asked.stderr
    if any(re.match("lib(a|t|ub)san", name) for name in loaded):
        pytest.skip(
            "this build is for a sanitizer, which looks into shared libraries: build without"
        )
    assert [name for name in loaded if re.match(TAKEN_IN, name)] == []


def test_the_command_has_no_more_of_openssl_inside_than_a_digest():
    asked = subprocess.run(["nm", shutil.which("millrace")], capture_output=True, text=True)
    names = set(re.findall(r" [tT] (\w+)$", asked.stdout, re.MULTILINE))
    if not names:
        pytest.skip("this command has no names of its functions: it is stripped")
    # What base/late_openssl.cc does not name would come from the archive, with all that it needs.
    assert "OPENSSL_init_crypto" not in names
