// Part of bindings.h: totals by key for MapReduce's mappers in Python, in the table that those in
// C++ have.
//
//   _millrace.Totals(memory, when_full)     of str keys; when_full([(key's bytes, total), ...])
//     .count([str, ...])        each is one more; how many, or -1 if any is no str: none counts
//     .add([(str, int), ...])   likewise, for tuples of two, and ints of up to 32 bits
//     .take()                   what there is; forgets it
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/mapreduce/key_table.h"
#include "millrace/python/bindings.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// Keys lie in blocks, of which one is always there.
size_t block_of(size_t memory) { return std::clamp<size_t>(memory / 8, 64, 256 << 10); }

class Totals {
 public:
  // `memory` in bytes; `when_full` is called when it holds more.
  Totals(size_t memory, py::object when_full)
      : memory_(memory), when_full_(std::move(when_full)), table_(block_of(memory)) {}

  py::ssize_t count(const py::list& keys) {
    return add_all(keys, [](PyObject* key, std::string_view* text) -> std::optional<int64_t> {
      if (!as_text(key, text)) return std::nullopt;
      return 1;
    });
  }
  py::ssize_t add(const py::list& pairs) {
    return add_all(pairs, [](PyObject* pair, std::string_view* text) -> std::optional<int64_t> {
      if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) return std::nullopt;
      PyObject* const value = PyTuple_GET_ITEM(pair, 1);
      if (!PyLong_CheckExact(value) || !as_text(PyTuple_GET_ITEM(pair, 0), text))
        return std::nullopt;
      int is_beyond = 0;
      const int64_t number = PyLong_AsLongLongAndOverflow(value, &is_beyond);
      if (is_beyond != 0 || number != static_cast<int32_t>(number)) return std::nullopt;
      return number;
    });
  }
  // As keys.py has the bytes of a str: 06, then its UTF-8.
  py::list take() {
    py::list made(table_.size());
    size_t at = 0;
    table_.for_each([&](const auto& slot) {
      std::string key = "\x06";
      key += slot.text();
      made[at++] = py::make_tuple(py::bytes(key), slot.value);
    });
    table_.clear();
    additions_ = 0;
    return made;
  }

 private:
  // So many additions of 32 bits don't overflow a total.
  static constexpr size_t kMostAdditions = size_t{1} << 31;

  // Whether it is a str that is UTF-8; what lies there belongs to the object. No subclass: those
  // may compare as they like.
  static bool as_text(PyObject* key, std::string_view* text) {
    if (!PyUnicode_CheckExact(key)) return false;
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(key, &size);
    if (data == nullptr) {
      PyErr_Clear();  // a lone surrogate
      return false;
    }
    *text = {data, static_cast<size_t>(size)};
    return text->size() < std::numeric_limits<uint32_t>::max();
  }

  // All, or nothing of it.
  template <class F>
  py::ssize_t add_all(const py::list& items, const F& plain) {
    std::string_view text;
    const Py_ssize_t size = PyList_GET_SIZE(items.ptr());
    for (Py_ssize_t i = 0; i < size; ++i)
      if (!plain(PyList_GET_ITEM(items.ptr(), i), &text)) return -1;
    for (Py_ssize_t i = 0; i < size; ++i) {
      const int64_t by = *plain(PyList_GET_ITEM(items.ptr(), i), &text);
      const mapreduce::HashedKey key(text);
      int64_t* total = table_.find(key);
      if (total == nullptr) {
        if (table_.bytes_grown() + text.size() > memory_) give_all();
        total = table_.add(key);
      }
      *total += by;
    }
    additions_ += static_cast<size_t>(size);
    if (additions_ > kMostAdditions) give_all();
    return size;
  }
  void give_all() {
    if (table_.size() != 0) when_full_(take());
  }

  const size_t memory_;
  const py::object when_full_;
  mapreduce::KeyTable<int64_t> table_;
  size_t additions_ = 0;
};

}  // namespace

void bind_totals(py::module_& module) {
  py::class_<Totals>(module, "Totals", "Totals by key, within a bound of memory.")
      .def(py::init<size_t, py::object>())
      .def("count", &Totals::count)
      .def("add", &Totals::add)
      .def("take", &Totals::take);
}

}  // namespace millrace::python
