// write_wrappers FILE: writes the Python module of op wrappers. The build runs it.
#include <cstdio>
#include <fstream>

#include "millrace/ops/all.h"
#include "millrace/python/wrapper_writer.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  millrace::OpRegistry ops;
  if (const millrace::Status status = millrace::register_all_ops(ops); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.to_string().c_str());
    return 1;
  }
  std::ofstream file(argv[1]);
  file << millrace::python::wrapper_module(ops);
  file.close();
  if (!file) {
    std::fprintf(stderr, "%s: cannot write it\n", argv[1]);
    return 1;
  }
  return 0;
}
