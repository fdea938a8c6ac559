// View: what Operation and Tensor of the front-end derive from, a node of a graph or one of its
// outputs as Python sees it.
//
// A view is made when a program asks for it and goes when the program lets go of it; meanwhile a
// graph finds it again, so that the same output is the same object. A program may hold one for
// every node of a large graph. So it is no class of Python's own, with a weak reference and an
// entry of a dictionary beside it: it says itself when it goes, and the table that finds it holds
// pointers.
//
// Guarded by the GIL.
#pragma once

#include "absl/container/flat_hash_map.h"
#include <pybind11/pybind11.h>

#include "millrace/op/endpoint.h"

namespace millrace::python {

// The views of one graph that somebody holds. Does not own them.
class ViewTable {
 public:
  // The output of the endpoint that stands for the node itself.
  static constexpr int32_t kNode = -1;

  // A new reference; null if there is no view of this endpoint.
  PyObject* find(Endpoint endpoint) const;
  // In the place of one that was there.
  void put(Endpoint endpoint, PyObject* view) { views_[endpoint] = view; }
  // Does nothing if another one stands there.
  void remove(Endpoint endpoint, const PyObject* view);

 private:
  absl::flat_hash_map<Endpoint, PyObject*> views_;
};

// Adds the class View(graph, core, node_id, output, dtype): `graph` is the front-end's, `core` the
// GraphCore that finds it from then on; a node has no dtype.
void bind_view(pybind11::module_& module);

}  // namespace millrace::python
