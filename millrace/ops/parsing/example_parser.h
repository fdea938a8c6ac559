// ExampleParser: tf.train.Example messages into tensors, a column per feature that is asked for.
//
//   dense    of one shape in each example, or of a length that varies along the first axis: then
//            padded to the longest of the batch
//   sparse   any number of values, as a sparse matrix with a row per example
//   ragged   the same as values and where rows end
//
// A value type that is read only after it is made: any thread may parse.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/parsing/features.h"

namespace millrace {

struct DenseColumn {
  std::string key;
  DType dtype = DType::invalid;
  PartialShape shape;  // of one example; the first dim alone may be unknown
  Tensor fallback;     // without elements: the feature must be there

  bool is_variable() const { return shape.rank() > 0 && shape.dim(0) == kUnknownDim; }
  // Elements of one example, or of one step along the axis that varies.
  int64_t stride() const;
};

// Sparse or ragged.
struct ListColumn {
  std::string key;
  DType dtype = DType::invalid;
};

struct ParsedList {
  FeatureValues values;
  std::vector<int64_t> row_ends;  // one for each example
  int64_t longest = 0;
};

// The three outputs of a sparse column: places, values, shape. Without a batch there is one axis.
struct SparseOutputs {
  Tensor indices, values, shape;
};
Result<SparseOutputs> sparse_outputs(const ParsedList& list, bool has_batch);

// The keys that an attribute lists. Errors: INVALID_ARGUMENT if it is no list of strings.
Result<std::vector<std::string>> keys_of(const AttrView& attrs, std::string_view name);

// A 0, and where each row ends, as a vector of int32 or int64.
Result<Tensor> row_splits(DType dtype, std::span<const int64_t> ends);
// How many splits there are of that many rows, where a shape rule knows them.
inline int64_t splits_of(int64_t rows) {
  return rows < 0 || rows == std::numeric_limits<int64_t>::max() ? kUnknownDim : rows + 1;
}

struct ParsedExamples {
  std::vector<Tensor> dense;
  std::vector<ParsedList> lists;
};

// Sets outputs from slot 0 on: places, values and shapes of the sparse columns, the dense ones,
// values and splits of the ragged ones, which are the last lists and have splits of these types.
// Gives the slot behind them.
Result<int> set_parsed(KernelContext& context, ParsedExamples parsed,
                       std::span<const DType> split_types, bool has_batch);

class ExampleParser {
 public:
  // Errors: INVALID_ARGUMENT for types that no feature has, shapes that are not known, defaults of
  // another shape.
  static Result<ExampleParser> create(std::vector<DenseColumn> dense,
                                      std::vector<ListColumn> lists);

  // `names` are for messages: one each, or none. Many are shared with the threads of the step.
  // Errors, of the first example that has one: INVALID_ARGUMENT, with the name and the key, for
  // bytes that are no Example, features of another type or size, required ones that are missing;
  // CANCELLED if the step ends meanwhile.
  Result<ParsedExamples> parse(KernelContext& context, std::span<const std::string> serialized,
                               std::span<const std::string> names) const;
  // The same without names, on this thread alone.
  Result<ParsedExamples> parse(std::span<const std::string> serialized, CancelProbe& probe) const;
  // As parse(), of one example: dense tensors have no axis for the batch.
  Result<ParsedExamples> parse_one(const std::string& serialized, CancelProbe& probe) const;
  // Of the Features message of a sequence's context.
  Result<ParsedExamples> parse_features(std::span<const std::string_view> features,
                                        std::string_view name, CancelProbe& probe) const;

 private:
  // What becomes of the dense columns, an element each: of those of one shape the tensor, into
  // which examples are written; of others none.
  using Fixed = std::vector<Tensor>;
  // A dense column that varies.
  struct DenseBuild {
    FeatureValues values;
    std::vector<size_t> counts;  // elements of each example
  };
  struct Build {
    std::vector<DenseBuild> dense;
    std::vector<ParsedList> lists;
    std::vector<std::optional<Feature>> found;  // in the example that is being read
  };
  struct Where {
    std::string_view name;
    size_t index;
  };

  // For that many examples of so many bytes in all; without a number, for one that is no batch.
  Result<Fixed> fixed(std::optional<size_t> count, size_t bytes) const;
  Build begin() const;
  // Of the examples [from, to).
  Status add_examples(std::span<const std::string> serialized, std::span<const std::string> names,
                      size_t from, size_t to, CancelProbe& probe, Fixed& fixed, Build& build) const;
  static void append(Build& build, Build&& more);
  Status add(std::span<const std::string_view> features, const Where& where, Fixed& fixed,
             Build& build) const;
  Status add_fixed(const DenseColumn& column, const std::optional<Feature>& feature,
                   const Where& where, Tensor& target) const;
  Status add_variable(const DenseColumn& column, const std::optional<Feature>& feature,
                      const Where& where, DenseBuild& build) const;
  Status add_list(const ListColumn& column, const std::optional<Feature>& feature,
                  const Where& where, ParsedList& build) const;
  Result<Tensor> padded(const DenseColumn& column, const DenseBuild& build, bool has_batch) const;
  Result<ParsedExamples> finish(Build build, Fixed fixed, bool has_batch) const;

  std::vector<DenseColumn> dense_;
  std::vector<ListColumn> lists_;
  // Which columns a key fills: those of dense_, and behind them those of lists_.
  absl::flat_hash_map<std::string, std::vector<size_t>> columns_;
};

}  // namespace millrace
