// Part of families.h: register_clusters.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/philox_numbers.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/multiplier.h"

namespace millrace {
namespace {

Status check_matrix(const Tensor& tensor, std::string_view what) {
  if (tensor.shape().rank() == 2) return {};
  return invalid("Input ", what, " should be a matrix, got shape ", tensor.shape().to_string());
}

Result<int64_t> scalar_of_clusters(const Tensor& tensor, std::string_view what) {
  if (tensor.shape().is_scalar()) return tensor.item<int64_t>();
  return invalid("Input ", what, " should be a scalar, got shape ", tensor.shape().to_string());
}

// That there is room for a few numbers for each of so many points, which may have no dimensions.
Status check_room_for(int64_t points) {
  MR_ASSIGN(const Shape shape, Shape::create(std::array{points, int64_t{8}}));
  return Tensor::allocate(DType::f32, shape).status();
}

float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Points as rows, with half of the square of each one's length.
struct Points {
  const float* values;
  int64_t number, dims;
  std::vector<float> half_squares;

  static Points of(const Tensor& tensor) {
    Points points{tensor.flat<float>().data(), tensor.shape().dim(0), tensor.shape().dim(1), {}};
    points.half_squares.reserve(static_cast<size_t>(points.number));
    for (int64_t i = 0; i < points.number; ++i)
      points.half_squares.push_back(dot(points[i], points[i], points.dims) / 2);
    return points;
  }
  const float* operator[](int64_t i) const { return values + i * dims; }
};

// --- KmeansPlusPlusInitialization ---

// Points that are drawn one after the other, each as likely as the square of its distance to those
// drawn before is large (Arthur and Vassilvitskii, "k-means++", 2007).
class Seeding {
 public:
  Seeding(Points points, Philox numbers, int64_t tries)
      : points_(std::move(points)),
        numbers_(numbers),
        tries_(tries),
        nearest_(static_cast<size_t>(points_.number), std::numeric_limits<float>::infinity()),
        sums_(nearest_.size()) {}

  // The next one: of as many as are tried the one that leaves the others nearest.
  Result<int64_t> next(CancelProbe& probe) {
    if (!drawn_.empty()) std::partial_sum(nearest_.begin(), nearest_.end(), sums_.begin());
    int64_t best = 0;
    std::vector<float> best_nearest;
    float best_sum = 0;
    for (int64_t i = 0; i < tries_; ++i) {
      MR_ASSIGN(const int64_t drawn, draw(probe));
      std::vector<float> nearest = nearest_with(drawn);
      const float sum = std::accumulate(nearest.begin(), nearest.end(), 0.f);
      if (i == 0 || sum < best_sum) {
        best = drawn;
        best_sum = sum;
        best_nearest = std::move(nearest);
      }
      if (!probe.go_on(points_.number * (points_.dims + 1))) return probe.status();
    }
    nearest_ = std::move(best_nearest);
    drawn_.insert(best);
    return best;
  }

 private:
  // One that has not been drawn. Distances are rounded, so that those drawn before may be all that
  // has any: after a while the first of the others is taken.
  Result<int64_t> draw(CancelProbe& probe) {
    const auto number = static_cast<uint64_t>(points_.number);
    if (drawn_.empty()) return static_cast<int64_t>(numbers_.below64(number));
    constexpr int64_t kMostDraws = 1000;
    for (int64_t i = 0; i < kMostDraws; ++i) {
      const float total = sums_.back();
      int64_t drawn = 0;
      if (total > 0) {
        const float wanted = numbers_.real32() * total;
        drawn = std::upper_bound(sums_.begin(), sums_.end(), wanted) - sums_.begin();
        drawn = std::min(drawn, points_.number - 1);
      } else {
        drawn = static_cast<int64_t>(numbers_.below64(number));
      }
      if (!drawn_.contains(drawn)) return drawn;
      if (!probe.go_on(64)) return probe.status();
    }
    for (int64_t i = 0; i < points_.number; ++i)
      if (!drawn_.contains(i)) return i;
    return internal("all ", points_.number, " points have been drawn");
  }

  // Half the square of each point's distance to the nearest one, if `drawn` is one of them.
  std::vector<float> nearest_with(int64_t drawn) const {
    std::vector<float> nearest = nearest_;
    const auto own = static_cast<size_t>(drawn);
    for (size_t i = 0; i < nearest.size(); ++i) {
      const float product = dot(points_[static_cast<int64_t>(i)], points_[drawn], points_.dims);
      nearest[i] =
          std::min(nearest[i], points_.half_squares[i] - product + points_.half_squares[own]);
    }
    return nearest;
  }

  const Points points_;
  Philox numbers_;
  const int64_t tries_;
  std::vector<float> nearest_, sums_;
  absl::flat_hash_set<int64_t> drawn_;
};

Result<Tensor> seeded_centers(KernelContext& context) {
  const Tensor& points = context.input(0);
  MR_TRY(check_matrix(points, "points"));
  MR_ASSIGN(const int64_t wanted, scalar_of_clusters(context.input(1), "num_to_sample"));
  MR_ASSIGN(const int64_t seed, scalar_of_clusters(context.input(2), "seed"));
  MR_ASSIGN(int64_t retries, scalar_of_clusters(context.input(3), "num_retries_per_sample"));
  const int64_t number = points.shape().dim(0), dims = points.shape().dim(1);
  if (number <= 0) return invalid("Expected points.rows() > 0.");
  if (wanted <= 0) return invalid("Expected num_to_sample > 0, not ", wanted, ".");
  if (wanted > number)
    return invalid("Expected num_to_sample <= points.rows(). ", wanted, " vs ", number, ".");
  constexpr int64_t kMostRetries = 1000000;
  if (retries > kMostRetries)
    return invalid("num_retries_per_sample is ", retries, ", over ", kMostRetries);
  if (retries < 0) retries = 2 + static_cast<int64_t>(std::log(static_cast<double>(wanted)));
  MR_TRY(check_room_for(number));
  MR_ASSIGN(Tensor made, context.allocate(0, {wanted, dims}));
  Seeding seeding(Points::of(points),
                  Philox(PhiloxBlocks::of_seeds(static_cast<uint64_t>(seed), 0)), 1 + retries);
  CancelProbe probe(context);
  float* to = made.mutable_flat<float>().data();
  for (int64_t i = 0; i < wanted; ++i, to += dims) {
    MR_ASSIGN(const int64_t drawn, seeding.next(probe));
    std::copy_n(points.flat<float>().data() + drawn * dims, dims, to);
  }
  return made;
}

Status infer_seeded(InferContext& context) {
  MR_ASSIGN(const PartialShape points, context.input_of_rank(0, 2));
  for (const int slot : {1, 2, 3}) MR_TRY(context.input_of_rank(slot, 0));
  MR_ASSIGN(const auto wanted, constant_integers(context, 1, "num_to_sample"));
  const int64_t rows = wanted && wanted->front() >= 0 ? wanted->front() : kUnknownDim;
  return context.set_output(0, PartialShape::create(std::array{rows, points.dim(1)}));
}

// --- KMC2ChainInitialization ---

// The last state of a Markov chain through all candidates: it moves on to one with the probability
// of the ratio of distances (Bachem et al., "Approximate k-means++ in sublinear time", 2016).
Result<Tensor> end_of_chain(KernelContext& context) {
  const Tensor& distances = context.input(0);
  if (distances.shape().rank() != 1)
    return invalid("Input distances should be a vector, got shape ", distances.shape().to_string());
  MR_ASSIGN(const int64_t seed, scalar_of_clusters(context.input(1), "seed"));
  const std::span<const float> all = distances.flat<float>();
  if (all.empty()) return invalid("Expected distances_tensor.size() > 0.");
  Philox numbers(PhiloxBlocks::of_seeds(static_cast<uint64_t>(seed), 0));
  CancelProbe probe(context);
  size_t state = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i] > numbers.real32() * all[state]) state = i;
    if (!probe.go_on(8)) return probe.status();
  }
  return Tensor::scalar(static_cast<int64_t>(state));
}

Status infer_chain(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_TRY(context.input_of_rank(1, 0));
  context.set_output(0, PartialShape::scalar());
  return {};
}

// --- NearestNeighbors ---

// A center and how far it is; what is no number is further than anything.
struct Neighbor {
  float distance;
  int64_t center;
  friend bool operator<(const Neighbor& a, const Neighbor& b) {
    if (a.distance < b.distance) return true;
    if (a.distance > b.distance) return false;
    const bool a_is_none = std::isnan(a.distance), b_is_none = std::isnan(b.distance);
    return a_is_none == b_is_none ? a.center < b.center : b_is_none;
  }
};

Status nearest_neighbors(KernelContext& context) {
  const Tensor &points = context.input(0), &centers = context.input(1);
  MR_TRY(check_matrix(points, "points"));
  MR_TRY(check_matrix(centers, "centers"));
  MR_ASSIGN(const int64_t wanted, scalar_of_clusters(context.input(2), "k"));
  const int64_t number = points.shape().dim(0), dims = points.shape().dim(1);
  if (number <= 0) return invalid("Expected points.rows() > 0.");
  if (dims != centers.shape().dim(1)) {
    return invalid("Expected point_dimensions == center_dimensions: ", dims, " vs ",
                   centers.shape().dim(1), ".");
  }
  if (wanted < 0) return invalid("Expected k >= 0, not ", wanted, ".");
  const int64_t k = std::min(wanted, centers.shape().dim(0));
  MR_ASSIGN(const Shape shape, Shape::create(std::array{number, k}));
  MR_ASSIGN(Tensor indices, context.allocate(0, shape));
  MR_ASSIGN(Tensor distances, context.allocate(1, shape));
  // As many points at a time as there is room for products with all centers.
  constexpr int64_t kProducts = int64_t{1} << 20;
  const Multiplier multiplier(Side::as_is, Side::transposed, product_loop_for(DType::f32));
  CancelProbe probe(context);
  if (k > 0) {
    MR_TRY(check_room_for(centers.shape().dim(0)));
    const Points to = Points::of(centers);
    const int64_t some = std::max<int64_t>(1, kProducts / to.number);
    std::vector<Neighbor> neighbors(static_cast<size_t>(to.number));
    int64_t* index = indices.mutable_flat<int64_t>().data();
    float* distance = distances.mutable_flat<float>().data();
    for (int64_t begin = 0; begin < number; begin += some) {
      MR_ASSIGN(const Tensor few, points.rows(begin, std::min(number, begin + some)));
      MR_ASSIGN(const Tensor products, multiplier.run(context, few, centers));
      const Points from = Points::of(few);
      const float* product = products.flat<float>().data();
      for (int64_t i = 0; i < from.number; ++i, product += to.number) {
        for (int64_t j = 0; j < to.number; ++j) {
          const auto at = static_cast<size_t>(j);
          neighbors[at] = {to.half_squares[at] - product[j], j};
        }
        std::partial_sort(neighbors.begin(), neighbors.begin() + k, neighbors.end());
        for (int64_t j = 0; j < k; ++j) {
          const Neighbor& near = neighbors[static_cast<size_t>(j)];
          *index++ = near.center;
          *distance++ = 2 * (from.half_squares[static_cast<size_t>(i)] + near.distance);
        }
        if (!probe.go_on(4 * to.number)) return probe.status();
      }
    }
  }
  context.set_output(0, std::move(indices));
  context.set_output(1, std::move(distances));
  return {};
}

Status infer_neighbors(InferContext& context) {
  MR_ASSIGN(const PartialShape points, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape centers, context.input_of_rank(1, 2));
  MR_TRY(context.input_of_rank(2, 0));
  MR_ASSIGN(const auto wanted, constant_integers(context, 2, "k"));
  const int64_t number = points.dim(0), most = centers.dim(0);
  const bool is_known = wanted && wanted->front() >= 0 && most != kUnknownDim;
  const int64_t k = is_known ? std::min(wanted->front(), most) : kUnknownDim;
  MR_TRY(context.set_output(0, PartialShape::create(std::array{number, k})));
  return context.set_output(1, PartialShape::create(std::array{number, k}));
}

constexpr const char* kChosen = "it chooses, and choices jump";

}  // namespace

Status register_clusters(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "KmeansPlusPlusInitialization",
      .doc = "Points that k-means may begin with, each drawn by the square of its distance to "
             "those before, as the best of a few.",
      .signature = "points: float, num_to_sample: int64, seed: int64, "
                   "num_retries_per_sample: int64 -> samples: float",
      .infer = infer_seeded,
      .cpu = kernel(seeded_centers),
      .not_differentiable = kChosen,
      .cost = Cost::heavy,
      .examples = {"[[1 2] [1 2]], 2, 7, -1 -> [[1 2] [1 2]]", "[[1] [1] [1]], 1, 7, 0 -> [[1]]"},
  }));
  MR_TRY(ops.add({
      .name = "KMC2ChainInitialization",
      .doc = "The number of a point to begin k-means with: the end of a Markov chain through "
             "candidates, of which distances to the centers so far are given.",
      .signature = "distances: float, seed: int64 -> index: int64",
      .infer = infer_chain,
      .cpu = kernel(end_of_chain),
      .not_differentiable = kChosen,
      .examples = {"[0 0 5 0], 3 -> 2", "[0 0], 3 -> 0"},
  }));
  return ops.add({
      .name = "NearestNeighbors",
      .doc = "The k centers that are nearest to each point, the nearest first, and the squares of "
             "their distances.",
      .signature = "points: float, centers: float, k: int64 -> nearest_center_indices: int64, "
                   "nearest_center_distances: float",
      .infer = infer_neighbors,
      .cpu = kernel(nearest_neighbors),
      .not_differentiable = kChosen,
      .cost = Cost::heavy,
      .examples = {"[[100 0] [1 1]], [[100 0] [99 1] [0 0]], 2 -> [[0 1] [2 1]], [[0 2] [2 9604]]",
                   "[[1]], [[5] [5] [2]], 9 -> [[2 0 1]], [[1 16 16]]"},
  });
}

}  // namespace millrace
