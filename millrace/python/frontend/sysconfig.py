"""tf.sysconfig: where what programs in C++ need is installed, and what compilers are told."""

from millrace._files.installed import headers_folder as get_include
from millrace._files.installed import libraries_folder as get_lib

# The standard library that Millrace is compiled with has strings of C++11.
CXX11_ABI_FLAG = 1
# All of it is in the module _millrace: there is no library of a framework beside it.
MONOLITHIC_BUILD = 1


def get_compile_flags():
    """What a compiler needs for Millrace's headers: a list of strings.

    Raises:
      FileNotFoundError: if they are not installed.
    """
    return [f"-I{get_include()}", f"-D_GLIBCXX_USE_CXX11_ABI={CXX11_ABI_FLAG}", "-std=c++20"]


def get_link_flags():
    """NotImplementedError: Millrace is many static libraries, and CMake knows what those need."""
    raise NotImplementedError(
        "there is no one library to link: find_package(Millrace) in CMake has the target Millrace::millrace, which "
        "stands for all of them and what they need"
    )
