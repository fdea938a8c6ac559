// Part of bindings.h: CheckpointFile, a checkpoint that is read outside of any graph.
#include <memory>
#include <string>
#include <utility>

#include "millrace/io/bundle_reader.h"
#include "millrace/io/first_format_reader.h"
#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/machine_files.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/status_binding.h"
#include "millrace/python/unlocked.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// A checkpoint of either format.
class CheckpointFile {
 public:
  CheckpointFile(std::shared_ptr<MachineFiles> files, const std::string& prefix)
      : files_(std::move(files)) {
    const auto opened = [&]() -> Status {
      const Unlocked others_run;
      auto second = io::BundleReader::open(files_->files(), prefix);
      if (second.status().code() == Code::not_found) {
        auto first = io::FirstFormatReader::open(files_->files(), prefix);
        // Nobody looks for the first format where there is none.
        if (!first.ok() && first.status().code() == Code::not_found) return second.status();
        MR_ASSIGN(first_, std::move(first));
        return {};
      }
      MR_ASSIGN(second_, std::move(second));
      return {};
    }();
    check(opened);
  }

  bool has(const std::string& name) const {
    if (first_) return first_->tensors().contains(name);
    const auto entry = second_->entry(name);
    if (entry.status().code() == Code::not_found) return false;
    check(entry.status());
    return true;
  }

  py::dict tensors() const {
    py::dict found;
    const auto add = [&](const auto& tensors) {
      for (const auto& [name, tensor] : tensors) {
        found[py::str(name)] =
            py::make_tuple(static_cast<int>(tensor.dtype), shape_to_python(tensor.shape));
      }
    };
    if (first_) {
      add(first_->tensors());
    } else {
      add(check(second_->tensors()));
    }
    return found;
  }

  py::object read(const std::string& name) const {
    auto tensor = [&] {
      const Unlocked others_run;
      return first_ ? first_->read(name) : second_->read(name);
    }();
    return to_numpy(check(std::move(tensor)));
  }

 private:
  const std::shared_ptr<MachineFiles> files_;  // outlives the readers
  std::unique_ptr<io::BundleReader> second_;   // one of the two
  std::unique_ptr<io::FirstFormatReader> first_;
};

}  // namespace

void bind_checkpoints(py::module_& module) {
  py::class_<CheckpointFile>(module, "CheckpointFile",
                             "A checkpoint in either of TensorFlow's formats, opened for reading.")
      .def(
          py::init<std::shared_ptr<MachineFiles>, const std::string&>(), py::arg("files"),
          py::arg("prefix"),
          "Opens <prefix>.index, or tables whose paths match. Raises NotFoundError, DataLossError.")
      .def("has", &CheckpointFile::has, py::arg("name"), "Whether a tensor of that name is in it.")
      .def("tensors", &CheckpointFile::tensors,
           "Name -> (number of its type, shape) of every tensor, by name.")
      .def("read", &CheckpointFile::read, py::arg("name"),
           "The tensor as NumPy has it, slices put together. Raises NotFoundError, DataLossError.");
}

}  // namespace millrace::python
