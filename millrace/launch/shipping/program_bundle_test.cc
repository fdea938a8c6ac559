#include "millrace/launch/shipping/program_bundle.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a program's libraries go along, but for those of the C library") {
  const NeededLibraries needs = parse_ldd(
      "\tlinux-vdso.so.1 (0x00007ffd3d5f2000)\n"
      "\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f2d8b000000)\n"
      "\tlibstdc++.so.6 => /usr/lib/libstdc++.so.6 (0x00007f2d8a000000)\n"
      "\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f2d89000000)\n"
      "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f2d88000000)\n"
      "\t/lib64/ld-linux-x86-64.so.2 (0x00007f2d8c000000)\n");
  CHECK(needs.loader == "/lib64/ld-linux-x86-64.so.2");
  CHECK(needs.libraries ==
        std::vector<std::string>{"/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/libstdc++.so.6"});
  CHECK(needs.missing.empty());
}

TEST_CASE("a library that is missing is named, and a program that needs none needs no loader") {
  CHECK(parse_ldd("\tlibfoo.so.3 => not found\n").missing ==
        std::vector<std::string>{"libfoo.so.3"});
  CHECK(parse_ldd("\tstatically linked\n").loader.empty());
  CHECK(parse_ldd("").libraries.empty());
}

TEST_CASE("a library is loaded by its first number") {
  CHECK(loaded_name("/usr/lib/libcurl.so.4.8.0") == "libcurl.so.4");
  CHECK(loaded_name("/usr/lib/libcurl.so.4") == "libcurl.so.4");
  CHECK(loaded_name("libcurl.so") == "libcurl.so");
}

}  // namespace
}  // namespace millrace
