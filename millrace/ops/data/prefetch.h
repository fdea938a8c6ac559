// An iterator whose elements are made ahead, on the pool.
#pragma once

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// Gives what `input` gives, of which up to `size` elements wait ready. The input itself if size is
// 0 or the host has no pool.
IteratorPtr made_ahead(IteratorPtr input, const HostPtr& host, size_t size);

}  // namespace millrace::data
