// Part of bindings.h: MachineFiles, ReadFile and WrittenFile: remote files, which Python's own
// functions do not reach.
#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

#include <pybind11/stl.h>

#include "millrace/io/glob.h"
#include "millrace/python/bindings.h"
#include "millrace/python/machine_files.h"
#include "millrace/python/status_binding.h"
#include "millrace/python/unlocked.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// An open file, and what keeps its store alive.
template <class File>
struct OpenFile {
  std::shared_ptr<MachineFiles> files;
  std::unique_ptr<File> file;

  ~OpenFile() {
    const Unlocked others_run;
    file.reset();
  }
};
using ReadFile = OpenFile<ReadableFile>;
using WrittenFile = OpenFile<WritableFile>;

// What `work` gives, made while others run.
template <class Work>
auto released(Work work) {
  auto made = [&] {
    const Unlocked others_run;
    return work();
  }();
  if constexpr (std::is_same_v<decltype(made), Status>) {
    check(made);
  } else {
    return check(std::move(made));
  }
}

py::bytes read_at(const ReadFile& self, uint64_t offset, size_t count) {
  auto bytes = released([&]() -> Result<std::string> {
    MR_ASSIGN(const uint64_t size, self.file->size());
    // As much as there is: what is asked for may be more than memory.
    std::string into(offset < size ? std::min<uint64_t>(count, size - offset) : 0, '\0');
    MR_ASSIGN(const size_t done, self.file->read(offset, into));
    into.resize(done);
    return into;
  });
  return py::bytes(bytes);
}

template <class File, class Open>
std::unique_ptr<OpenFile<File>> opened(std::shared_ptr<MachineFiles> files, Open open) {
  auto file = released([&] { return open(files->files()); });
  return std::unique_ptr<OpenFile<File>>(
      new OpenFile<File>{.files = std::move(files), .file = std::move(file)});
}

}  // namespace

void bind_files(py::module_& module) {
  py::class_<ReadFile>(module, "ReadFile", "A file that is read.")
      .def("read", &read_at, py::arg("offset"), py::arg("count"),
           "Bytes from `offset` on, fewer than `count` only at the end.")
      .def("size",
           [](const ReadFile& self) { return released([&] { return self.file->size(); }); });
  py::class_<WrittenFile>(module, "WrittenFile", "A file that grows at its end.")
      .def("append",
           [](const WrittenFile& self, const py::buffer& given) {
             const py::buffer_info bytes = given.request();
             released([&] {
               return self.file->append({static_cast<const char*>(bytes.ptr),
                                         static_cast<size_t>(bytes.size * bytes.itemsize)});
             });
           })
      .def(
          "flush", [](const WrittenFile& self) { released([&] { return self.file->flush(); }); },
          "Returns when others see what was appended.")
      .def("close", [](const WrittenFile& self) { released([&] { return self.file->close(); }); });

  py::class_<MachineFiles, std::shared_ptr<MachineFiles>>(
      module, "MachineFiles", "The disk, and remote stores. All raise errors of `errors`.")
      .def(py::init<std::shared_ptr<OpLibrary>>())
      .def("open",
           [](std::shared_ptr<MachineFiles> self, const std::string& path) {
             return opened<ReadableFile>(std::move(self),
                                         [&](Files& files) { return files.open(path); });
           })
      .def("create",
           [](std::shared_ptr<MachineFiles> self, const std::string& path) {
             return opened<WritableFile>(std::move(self),
                                         [&](Files& files) { return files.create(path); });
           })
      .def("append_to",
           [](std::shared_ptr<MachineFiles> self, const std::string& path) {
             return opened<WritableFile>(std::move(self),
                                         [&](Files& files) { return files.append_to(path); });
           })
      .def(
          "facts",
          [](const MachineFiles& self, const std::string& path) {
            const FileFacts facts = released([&] { return self.files().facts(path); });
            return py::make_tuple(facts.size, facts.is_directory, facts.changed_micros);
          },
          "(bytes, whether it is a directory, microseconds since 1970)")
      .def("list",
           [](const MachineFiles& self, const std::string& path) {
             return released([&] { return self.files().list(path); });
           })
      .def(
          "matching",
          [](const MachineFiles& self, const std::string& pattern) {
            return released([&] { return io::find_matching(self.files(), pattern); });
          },
          "Paths of what is there, sorted.")
      .def("make_directories",
           [](const MachineFiles& self, const std::string& path) {
             released([&] { return self.files().make_directories(path); });
           })
      .def("remove",
           [](const MachineFiles& self, const std::string& path) {
             released([&] { return self.files().remove(path); });
           })
      .def("remove_directory",
           [](const MachineFiles& self, const std::string& path) {
             released([&] { return self.files().remove_directory(path); });
           })
      .def("rename", [](const MachineFiles& self, const std::string& from, const std::string& to) {
        released([&] { return self.files().rename(from, to); });
      });
}

}  // namespace millrace::python
