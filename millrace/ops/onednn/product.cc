#include "millrace/ops/onednn/product.h"

#include "millrace/ops/onednn/library.h"

namespace millrace::onednn {

bool can_multiply() { return library() != nullptr; }

Status multiply(const Product& product, const float* a, const float* b, float* c) {
  const Library& lib = *library();
  const OneThread alone(lib);
  return status_of(lib.sgemm(product.a_transposed ? 'T' : 'N', product.b_transposed ? 'T' : 'N',
                             product.rows, product.columns, product.inner, 1.0F, a,
                             product.a_stride, b, product.b_stride, 0.0F, c, product.c_stride),
                   "a product of matrices");
}

}  // namespace millrace::onednn
