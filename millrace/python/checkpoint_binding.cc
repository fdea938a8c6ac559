// Part of bindings.h: CheckpointFile, a checkpoint that is read outside of any graph.
#include <memory>
#include <string>

#include "millrace/io/bundle_reader.h"
#include "millrace/io/local_files.h"
#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

class CheckpointFile {
 public:
  explicit CheckpointFile(const std::string& prefix) {
    auto opened = [&] {
      const py::gil_scoped_release others_run;
      return io::BundleReader::open(files_, prefix);
    }();
    reader_ = check(std::move(opened));
  }

  bool has(const std::string& name) const {
    const auto entry = reader_->entry(name);
    if (entry.status().code() == Code::not_found) return false;
    check(entry.status());
    return true;
  }

  py::dict tensors() const {
    py::dict found;
    for (const auto& [name, entry] : check(reader_->tensors())) {
      found[py::str(name)] =
          py::make_tuple(static_cast<int>(entry.dtype), shape_to_python(entry.shape));
    }
    return found;
  }

  py::object read(const std::string& name) const {
    auto tensor = [&] {
      const py::gil_scoped_release others_run;
      return reader_->read(name);
    }();
    return to_numpy(check(std::move(tensor)));
  }

 private:
  LocalFiles files_;
  std::unique_ptr<io::BundleReader> reader_;
};

}  // namespace

void bind_checkpoints(py::module_& module) {
  py::class_<CheckpointFile>(module, "CheckpointFile",
                             "A checkpoint in TensorFlow's second format, opened for reading.")
      .def(py::init<const std::string&>(), py::arg("prefix"),
           "Opens <prefix>.index. Raises NotFoundError or DataLossError.")
      .def("has", &CheckpointFile::has, py::arg("name"), "Whether a tensor of that name is in it.")
      .def("tensors", &CheckpointFile::tensors,
           "Name -> (number of its type, shape) of every tensor, by name.")
      .def("read", &CheckpointFile::read, py::arg("name"),
           "The tensor as NumPy has it, slices put together. Raises NotFoundError, DataLossError.");
}

}  // namespace millrace::python
