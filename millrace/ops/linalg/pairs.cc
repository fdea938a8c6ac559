#include "millrace/ops/linalg/pairs.h"

namespace millrace {
namespace {

// Which matrix of `leading` goes with each of `whole`, to which it broadcasts.
std::vector<int64_t> places_in(const std::vector<int64_t>& leading,
                               const std::vector<int64_t>& whole, int64_t count) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = i, place = 0, step = 1;
    for (size_t axis = 0; axis < whole.size(); ++axis) {
      const int64_t size = whole[whole.size() - 1 - axis];
      if (axis < leading.size()) {
        const int64_t own = leading[leading.size() - 1 - axis];
        if (own > 1) place += left % size * step;
        step *= own;
      }
      left /= size;
    }
    places[static_cast<size_t>(i)] = place;
  }
  return places;
}

}  // namespace

Result<Pairs> Pairs::of(const Tensor& a, const Tensor& b) {
  Pairs made;
  MR_ASSIGN(made.a, batch_of(a, 0));
  MR_ASSIGN(made.b, batch_of(b, 1));
  MR_ASSIGN(const Shape leading_a, Shape::create(made.a.leading));
  MR_ASSIGN(const Shape leading_b, Shape::create(made.b.leading));
  MR_ASSIGN(const Shape whole, broadcast_shapes(leading_a, leading_b));
  made.leading_.assign(whole.dims().begin(), whole.dims().end());
  made.count = whole.num_elements();
  made.a_is_whole_ = made.a.leading == made.leading_;
  made.b_is_whole_ = made.b.leading == made.leading_;
  // A list of places is as long as there are results; those must fit first.
  if (!made.a_is_whole_ || !made.b_is_whole_) {
    MR_TRY(Tensor::allocate(DType::i64, whole).status());
  }
  if (!made.a_is_whole_) made.places_a_ = places_in(made.a.leading, made.leading_, made.count);
  if (!made.b_is_whole_) made.places_b_ = places_in(made.b.leading, made.leading_, made.count);
  return made;
}

Result<Shape> Pairs::shape(int64_t rows, int64_t columns) const {
  std::vector<int64_t> dims = leading_;
  dims.insert(dims.end(), {rows, columns});
  return Shape::create(dims);
}

}  // namespace millrace
