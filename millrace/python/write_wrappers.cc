// write_wrappers FOLDER: writes the Python modules of op wrappers, one per room of ops, and one
// that tells which has what. The build runs it.
#include <cstdio>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "millrace/ops/all.h"
#include "millrace/python/wrapper_writer.h"

namespace {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "%s: cannot write it\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  std::deque<millrace::OpRegistry> registries;
  std::vector<millrace::python::WrapperRoom> rooms;
  for (const millrace::OpRoom& room : millrace::op_rooms()) {
    millrace::OpRegistry& ops = registries.emplace_back();
    if (const millrace::Status status = room.add(ops); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.to_string().c_str());
      return 1;
    }
    if (!write(folder + std::string(room.name) + ".py", millrace::python::wrapper_module(ops)))
      return 1;
    rooms.push_back({room.name, &ops});
  }
  return write(folder + "index.py", millrace::python::wrapper_index(rooms)) ? 0 : 1;
}
