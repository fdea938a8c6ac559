// Part of convolution.h and product.h: oneDNN itself, loaded when it is first needed.
//
// Linked, its 40 MB would cost every process some 5 MB of memory and more than a millisecond at
// its start, also those that never convolve. So the library is opened by name at the first call,
// and what we use of it is the table below. Where it is missing there is no table, and kernels go
// through loops of their own.
//
// Each call runs on the thread that calls, alone: oneDNN would otherwise start OpenMP's threads
// beside our pool. OneThread says so for the calling thread as long as it lives, and puts back what
// was said before; other threads and other users of OpenMP in the process notice nothing.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include "millrace/base/status.h"

namespace millrace::onednn {

struct Library {
  // Named as in oneDNN's header, without "dnnl_".
#define MR_DNNL(name) decltype(&dnnl_##name) name = nullptr;
#define MR_DNNL_FUNCTIONS                                 \
  MR_DNNL(dilated_convolution_backward_data_desc_init)    \
  MR_DNNL(dilated_convolution_backward_weights_desc_init) \
  MR_DNNL(dilated_convolution_forward_desc_init)          \
  MR_DNNL(engine_create)                                  \
  MR_DNNL(memory_create)                                  \
  MR_DNNL(memory_desc_get_size)                           \
  MR_DNNL(memory_desc_init_by_strides)                    \
  MR_DNNL(memory_desc_init_by_tag)                        \
  MR_DNNL(memory_destroy)                                 \
  MR_DNNL(memory_set_data_handle)                         \
  MR_DNNL(primitive_attr_create)                          \
  MR_DNNL(primitive_attr_destroy)                         \
  MR_DNNL(primitive_attr_set_scratchpad_mode)             \
  MR_DNNL(primitive_create)                               \
  MR_DNNL(primitive_desc_create)                          \
  MR_DNNL(primitive_desc_destroy)                         \
  MR_DNNL(primitive_desc_query)                           \
  MR_DNNL(primitive_desc_query_md)                        \
  MR_DNNL(primitive_destroy)                              \
  MR_DNNL(primitive_execute)                              \
  MR_DNNL(reorder_primitive_desc_create)                  \
  MR_DNNL(sgemm)                                          \
  MR_DNNL(stream_create)                                  \
  MR_DNNL(stream_destroy)                                 \
  MR_DNNL(stream_wait)
  MR_DNNL_FUNCTIONS
#undef MR_DNNL
  int (*get_max_threads)() = nullptr;  // of OpenMP, for the calling thread
  void (*set_num_threads)(int) = nullptr;
  dnnl_engine_t engine = nullptr;
};

// Null if the library can't be had. Any thread; the first call loads it.
const Library* library();

class OneThread {
 public:
  explicit OneThread(const Library& library)
      : library_(library), before_(library.get_max_threads()) {
    library_.set_num_threads(1);
  }
  ~OneThread() { library_.set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const Library& library_;
  const int before_;
};

// UNIMPLEMENTED where oneDNN lacks it, RESOURCE_EXHAUSTED where memory ran out, else INTERNAL.
Status status_of(dnnl_status_t status, const char* doing);

}  // namespace millrace::onednn
