// main() of every room's test program; compiled once, because doctest's implementation is large.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
