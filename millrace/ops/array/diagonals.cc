// Part of families.h: register_diagonals.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// --- which diagonals, and where each of them stands among the packed ones ---

// Diagonal k begins at column k, or at row -k. Packed diagonals stand one below the other, the
// highest first; the shorter ones are padded on the one side or the other.
struct Band {
  int64_t lower = 0, upper = 0;
};

enum class Side : uint8_t { left, right };
struct Alignment {
  Side above = Side::left, below = Side::left;  // of the diagonals above and below the main one

  // Of a node without the attribute, both to the left.
  static Result<Alignment> from(const KernelSpec& spec) {
    if (spec.attrs.find("align") == nullptr) return Alignment();
    MR_ASSIGN(const std::string align, spec.attrs.string("align"));
    Alignment sides;
    if (align.starts_with("RIGHT")) sides.above = Side::right;
    if (align.ends_with("RIGHT")) sides.below = Side::right;
    return sides;
  }
};

struct BoundAlignment {
  Result<Alignment> read(const KernelSpec& spec) const { return Alignment::from(spec); }
};

int64_t diagonal_length(int64_t k, int64_t rows, int64_t columns) {
  return std::min(rows + std::min<int64_t>(k, 0), columns - std::max<int64_t>(k, 0));
}

Result<Band> read_band(const Tensor& k) {
  MR_ASSIGN(const std::vector<int64_t> bounds, read_elements(k, "k"));
  if (k.shape().rank() > 1 || bounds.empty() || bounds.size() > 2) {
    return invalid(
        "diag_index must be a scalar or a vector of one or two elements, received "
        "shape ",
        k.shape().to_string());
  }
  const Band band{bounds.front(), bounds.back()};
  if (band.lower <= band.upper) return band;
  return invalid("lower_diag_index must not be larger than upper_diag_index: ", band.lower, " > ",
                 band.upper);
}

// Matrices, how many diagonals of each, and the length of the longest.
struct Matrices {
  int64_t batch = 1, rows = 0, columns = 0;
  Band band;
  int64_t longest = 0;

  int64_t num_diagonals() const { return band.upper - band.lower + 1; }
};

Status check_band(const Band& band, int64_t rows, int64_t columns) {
  const auto is_good = [&](int64_t k) { return (-rows < k && k < columns) || k == 0; };
  if (!is_good(band.lower)) {
    return invalid("lower_diag_index is out of bound: ", band.lower, ". It must be between ", -rows,
                   " and ", columns);
  }
  if (!is_good(band.upper)) {
    return invalid("upper_diag_index is out of bound: ", band.upper, ". It must be between ", -rows,
                   " and ", columns);
  }
  return {};
}

int64_t longest_of(const Band& band, int64_t rows, int64_t columns) {
  return std::min(rows + std::min<int64_t>(band.upper, 0),
                  columns - std::max<int64_t>(band.lower, 0));
}

// Of a shape of rank 2 or more.
Matrices laid_out(const Shape& shape, const Band& band) {
  const int rank = shape.rank();
  Matrices all{1, shape.dim(rank - 2), shape.dim(rank - 1), band, 0};
  for (int axis = 0; axis < rank - 2; ++axis) all.batch *= shape.dim(axis);
  return all;
}

Result<Matrices> matrices_of(const Shape& shape, const Band& band) {
  if (shape.rank() < 2) {
    return invalid("input must be at least 2-dim, received shape: ", shape.to_string());
  }
  Matrices all = laid_out(shape, band);
  MR_TRY(check_band(band, all.rows, all.columns));
  all.longest = longest_of(band, all.rows, all.columns);
  return all;
}

// The shape of the packed diagonals of matrices of a shape.
std::vector<int64_t> packed_dims(std::span<const int64_t> matrices, const Band& band,
                                 int64_t longest) {
  std::vector<int64_t> dims(matrices.begin(), matrices.end() - 2);
  if (band.lower != band.upper) dims.push_back(band.upper - band.lower + 1);
  dims.push_back(longest);
  return dims;
}

enum class Direction : uint8_t { into_matrices, into_diagonals };

// Moves each diagonal of all matrices at once.
Status move_diagonals(const Matrices& all, const Alignment& sides, Direction direction,
                      const Tensor& from, Tensor& to, CancelProbe probe) {
  const int64_t packed = all.num_diagonals() * all.longest;
  const int64_t in_matrix[2] = {all.rows * all.columns, all.columns + 1};
  const int64_t in_packed[2] = {packed, 1};
  for (int64_t k = all.band.upper; k >= all.band.lower; --k) {
    const int64_t length = diagonal_length(k, all.rows, all.columns);
    if (length <= 0 || all.batch == 0) continue;
    const Side side = k > 0                                                    ? sides.above
                      : k < 0                                                  ? sides.below
                      : sides.above == Side::left || sides.below == Side::left ? Side::left
                                                                               : Side::right;
    const int64_t padding = side == Side::left ? 0 : all.longest - length;
    const BoxLayout matrix{k >= 0 ? k : -k * all.columns, in_matrix};
    const BoxLayout diagonal{(all.band.upper - k) * all.longest + padding, in_packed};
    const int64_t box[2] = {all.batch, length};
    if (direction == Direction::into_matrices) {
      MR_TRY(copy_box(box, from, diagonal, to, matrix, probe));
    } else {
      MR_TRY(copy_box(box, from, matrix, to, diagonal, probe));
    }
  }
  return {};
}

// A tensor of a shape that is one value everywhere.
Result<Tensor> filled_with(const Shape& shape, const Tensor& value, CancelProbe probe) {
  if (value.num_elements() != 1)
    return invalid("padding_value must be a scalar, got shape ", value.shape().to_string());
  const Strides everywhere(shape.rank(), 0);
  return copied_box(shape, value, {0, everywhere}, probe);
}

// --- MatrixDiag ---

// The sizes of matrices for diagonals of a length: what is not said is as small as can be.
Result<std::pair<int64_t, int64_t>> matrix_sizes(const Band& band, int64_t longest, int64_t rows,
                                                 int64_t columns) {
  const int64_t least_rows = longest - std::min<int64_t>(band.upper, 0);
  const int64_t least_columns = longest + std::max<int64_t>(band.lower, 0);
  if (rows == -1 && columns == -1) rows = columns = std::max(least_rows, least_columns);
  if (rows == -1) rows = least_rows;
  if (columns == -1) columns = least_columns;
  if (rows < least_rows)
    return invalid("The number of rows is too small: ", rows, " < ", least_rows);
  if (columns < least_columns)
    return invalid("The number of columns is too small: ", columns, " < ", least_columns);
  if (rows != least_rows && columns != least_columns) {
    return invalid(
        "The number of rows or columns is not consistent with the specified d_lower, "
        "d_upper, and diagonal: ",
        rows, " and ", columns, ", ", band.lower, ", ", band.upper, ", ", longest);
  }
  return std::pair(rows, columns);
}

Status not_packed() { return invalid("diagonal must be at least 1-dim, received shape: []"); }

Status check_packed(const PartialShape& diagonal, const Band& band) {
  if (diagonal.rank() < 1) return not_packed();
  if (band.lower == band.upper) return {};
  if (diagonal.rank() < 2) {
    return invalid("diagonal must be at least 2-dim for ", band.upper - band.lower + 1,
                   " diagonals, received shape: ", diagonal.to_string());
  }
  const int64_t number = diagonal.dim(diagonal.rank() - 2);
  if (number == kUnknownDim || number == band.upper - band.lower + 1) return {};
  return invalid(
      "The number of diagonals provided in the input does not match the lower_diag_index "
      "and upper_diag_index range: ",
      number, " diagonals, k from ", band.lower, " to ", band.upper);
}

struct MatrixDiagArguments {
  Band band;
  int64_t rows = -1, columns = -1;
};

Result<MatrixDiagArguments> matrix_diag_arguments(KernelContext& context) {
  MatrixDiagArguments said;
  if (context.num_inputs() == 1) return said;
  MR_ASSIGN(said.band, read_band(context.input(1)));
  MR_ASSIGN(said.rows, read_integer(context.input(2), "num_rows"));
  MR_ASSIGN(said.columns, read_integer(context.input(3), "num_cols"));
  return said;
}

Result<PartialShape> matrix_diag_shape(const PartialShape& diagonal,
                                       const MatrixDiagArguments& said) {
  MR_TRY(check_packed(diagonal, said.band));
  std::vector<int64_t> dims(diagonal.dims().begin(), diagonal.dims().end());
  const int64_t longest = dims.back();
  dims.resize(dims.size() - (said.band.lower == said.band.upper ? 1 : 2));
  std::pair<int64_t, int64_t> sizes = {kUnknownDim, kUnknownDim};
  if (longest != kUnknownDim) {
    MR_ASSIGN(sizes, matrix_sizes(said.band, longest, said.rows, said.columns));
  }
  dims.insert(dims.end(), {sizes.first, sizes.second});
  return PartialShape::create(dims);
}

Result<Tensor> matrix_diag(KernelContext& context, const Alignment& sides) {
  const Tensor& diagonal = context.input(0);
  MR_ASSIGN(const MatrixDiagArguments said, matrix_diag_arguments(context));
  MR_ASSIGN(const PartialShape known, matrix_diag_shape(diagonal.shape(), said));
  const Shape shape = *known.to_shape();
  // Matrices may be too small for the outermost diagonals, which are then not in them.
  Matrices all = laid_out(shape, said.band);
  all.longest = diagonal.shape().dim(diagonal.shape().rank() - 1);
  MR_ASSIGN(Tensor made, context.num_inputs() == 1
                             ? Tensor::zeros(diagonal.dtype(), shape)
                             : filled_with(shape, context.input(4), CancelProbe(context)));
  MR_TRY(
      move_diagonals(all, sides, Direction::into_matrices, diagonal, made, CancelProbe(context)));
  return made;
}

Status infer_matrix_diag(InferContext& context) {
  if (!context.input(0).has_rank()) return {};
  MatrixDiagArguments said;
  if (context.num_inputs() > 1) {
    const Tensor* k = context.constant(1);
    if (k == nullptr) return {};
    MR_ASSIGN(said.band, read_band(*k));
    MR_ASSIGN(const auto rows, constant_integers(context, 2, "num_rows"));
    MR_ASSIGN(const auto columns, constant_integers(context, 3, "num_cols"));
    if (!rows || !columns || rows->size() != 1 || columns->size() != 1) {
      MR_TRY(check_packed(context.input(0), said.band));
      const int axes = said.band.lower == said.band.upper ? 1 : 0;
      context.set_output(0, PartialShape::of_rank(context.input(0).rank() + axes));
      return {};
    }
    said.rows = rows->front();
    said.columns = columns->front();
  }
  return context.set_output(0, matrix_diag_shape(context.input(0), said));
}

// --- MatrixDiagPart ---

Result<Tensor> matrix_diag_part(KernelContext& context, const Alignment& sides) {
  const Tensor& input = context.input(0);
  Band band;
  if (context.num_inputs() > 1) {
    MR_ASSIGN(band, read_band(context.input(1)));
  }
  MR_ASSIGN(const Matrices all, matrices_of(input.shape(), band));
  MR_ASSIGN(const Shape shape, Shape::create(packed_dims(input.shape().dims(), band, all.longest)));
  MR_ASSIGN(Tensor made, context.num_inputs() == 1
                             ? Tensor::zeros(input.dtype(), shape)
                             : filled_with(shape, context.input(2), CancelProbe(context)));
  MR_TRY(move_diagonals(all, sides, Direction::into_diagonals, input, made, CancelProbe(context)));
  return made;
}

// The shape of the diagonals of a matrix's shape, or none if it is not known.
Result<PartialShape> packed_shape(const PartialShape& matrices, const Band& band) {
  if (!matrices.has_rank()) return PartialShape::unknown();
  const int rank = matrices.rank();
  if (rank < 2)
    return invalid("input must be at least 2-dim, received shape: ", matrices.to_string());
  const int64_t rows = matrices.dim(rank - 2), columns = matrices.dim(rank - 1);
  int64_t longest = kUnknownDim;
  if (rows != kUnknownDim && columns != kUnknownDim) {
    MR_TRY(check_band(band, rows, columns));
    longest = longest_of(band, rows, columns);
  }
  return PartialShape::create(packed_dims(matrices.dims(), band, longest));
}

Result<std::optional<Band>> known_band(const InferContext& context, int slot) {
  if (context.num_inputs() <= slot) return std::optional<Band>(Band());
  const Tensor* k = context.constant(slot);
  if (k == nullptr) return std::optional<Band>();
  MR_ASSIGN(const Band band, read_band(*k));
  return std::optional<Band>(band);
}

Status infer_matrix_diag_part(InferContext& context) {
  MR_ASSIGN(const std::optional<Band> band, known_band(context, 1));
  if (!band) return {};
  return context.set_output(0, packed_shape(context.input(0), *band));
}

// --- MatrixSetDiag ---

Result<Tensor> matrix_set_diag(KernelContext& context, const Alignment& sides) {
  const Tensor& diagonal = context.input(1);
  Band band;
  if (context.num_inputs() > 2) {
    MR_ASSIGN(band, read_band(context.input(2)));
  }
  MR_ASSIGN(const Matrices all, matrices_of(context.input(0).shape(), band));
  if (diagonal.shape().is_scalar()) return not_packed();
  MR_ASSIGN(const Shape expected,
            Shape::create(packed_dims(context.input(0).shape().dims(), band, all.longest)));
  if (diagonal.shape() != expected) {
    return invalid(
        "Either first dimensions of diagonal don't match input.shape[:-2], or the "
        "number of diagonals or their length do not match k: expected shape ",
        expected.to_string(), ", got ", diagonal.shape().to_string());
  }
  Tensor made = context.take_input(0);
  if (!made.is_sole_owner()) {
    MR_ASSIGN(made, made.clone());
  }
  MR_TRY(
      move_diagonals(all, sides, Direction::into_matrices, diagonal, made, CancelProbe(context)));
  return made;
}

Status infer_matrix_set_diag(InferContext& context) {
  context.set_output(0, context.input(0));
  MR_ASSIGN(const std::optional<Band> band, known_band(context, 2));
  if (!band || !context.input(0).has_rank()) return {};
  MR_ASSIGN(const PartialShape packed, packed_shape(context.input(0), *band));
  return packed.merge(context.input(1)).status();
}

// --- MatrixBandPart ---

// How many diagonals are kept on a side; negative: all of them.
Result<int64_t> read_kept(const Tensor& number, std::string_view what, int64_t most) {
  if (!number.shape().is_scalar())
    return invalid(what, " must be scalar, got shape ", number.shape().to_string());
  MR_ASSIGN(const int64_t wanted, read_integer(number, what));
  if (wanted <= most) return wanted < 0 ? most : wanted;
  return invalid(what, " must be negative or less or equal to number of ",
                 what == "num_lower" ? "rows" : "columns", " (", most, ") got: ", wanted);
}

Result<Tensor> matrix_band_part(KernelContext& context) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const Matrices all, matrices_of(input.shape(), Band()));
  MR_ASSIGN(const int64_t lower, read_kept(context.input(1), "num_lower", all.rows));
  MR_ASSIGN(const int64_t upper, read_kept(context.input(2), "num_upper", all.columns));
  MR_ASSIGN(Tensor made, Tensor::zeros(input.dtype(), input.shape()));
  const int64_t bytes = static_cast<int64_t>(dtype_size(input.dtype()));
  const char* from = static_cast<const char*>(input.data());
  char* to = static_cast<char*>(made.mutable_data());
  if (made.num_elements() == 0) return made;  // of any number of rows
  CancelProbe probe(context);
  for (int64_t i = 0; i < all.batch * all.rows; ++i) {
    const int64_t row = i % all.rows;
    const int64_t begin = std::clamp<int64_t>(row - lower, 0, all.columns);
    const int64_t end = std::clamp<int64_t>(row + upper + 1, begin, all.columns);
    const int64_t at = (i * all.columns + begin) * bytes;
    copy_elements(input.dtype(), from + at, to + at, end - begin);
    if (!probe.go_on(all.columns)) return probe.status();
  }
  return made;
}

// --- the ops: each version of one by the same code ---

constexpr std::string_view kAlign =
    ", align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'";

struct DiagonalOp {
  std::string name, doc, signature;
  InferFn infer;
  Result<Tensor> (*run)(KernelContext&, const Alignment&);
  GradFn gradient;
  std::vector<std::string> examples;
};

Status add_diagonal(OpRegistry& ops, DiagonalOp row) {
  return ops.add({
      .name = std::move(row.name),
      .doc = std::move(row.doc),
      .signature = std::move(row.signature),
      .infer = std::move(row.infer),
      .cpu = kernel_with(row.run, BoundAlignment()),
      .grad = row.gradient,
      .examples = std::move(row.examples),
  });
}

Status register_matrix_diag(OpRegistry& ops) {
  const std::string doc = "Matrices whose main diagonals are the rows of the input.";
  const std::string docs =
      "Matrices that are padding_value but for some diagonals, packed with "
      "the highest first.";
  for (const char* name : {"MatrixDiag", "BatchMatrixDiag"}) {
    MR_TRY(add_diagonal(ops, {name,
                              doc,
                              "diagonal: T -> output: T | T: type",
                              infer_matrix_diag,
                              matrix_diag,
                              grad::matrix_diag,
                              {"[1 1] -> [[1 0] [0 1]] | T = float"}}));
  }
  const std::string signature =
      "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T | "
      "T: type";
  MR_TRY(add_diagonal(ops, {"MatrixDiagV2",
                            docs,
                            signature,
                            infer_matrix_diag,
                            matrix_diag,
                            grad::matrix_diag,
                            {"[1 2], 1, -1, -1, 0 -> [[0 1 0] [0 0 2] [0 0 0]]",
                             "[[1 0] [2 3]], [0 1], 2, 2, 9 -> [[2 1] [9 3]]"}}));
  return add_diagonal(ops,
                      {"MatrixDiagV3",
                       docs,
                       str_cat(signature, kAlign),
                       infer_matrix_diag,
                       matrix_diag,
                       grad::matrix_diag,
                       {"[[0 1] [2 3]], [0 1], 2, 2, 9 -> [[2 1] [9 3]]",
                        "[[1 0] [2 3]], [0 1], 2, 2, 9 -> [[2 1] [9 3]] | align = 'LEFT_RIGHT'"}});
}

Status register_matrix_diag_part(OpRegistry& ops) {
  const std::string doc = "The main diagonals of matrices.";
  const std::string docs =
      "Diagonals of matrices, packed with the highest first; the shorter ones "
      "are filled up with padding_value.";
  for (const char* name : {"MatrixDiagPart", "BatchMatrixDiagPart"}) {
    MR_TRY(add_diagonal(ops, {name,
                              doc,
                              "input: T -> diagonal: T | T: type",
                              infer_matrix_diag_part,
                              matrix_diag_part,
                              grad::matrix_diag_part,
                              {"[[1 2 3] [4 5 6]] -> [1 5]"}}));
  }
  const std::string signature = "input: T, k: int32, padding_value: T -> diagonal: T | T: type";
  MR_TRY(add_diagonal(
      ops, {"MatrixDiagPartV2",
            docs,
            signature,
            infer_matrix_diag_part,
            matrix_diag_part,
            grad::matrix_diag_part,
            {"[[1 2] [3 4]], [-1 1], 0 -> [[2 0] [1 4] [3 0]]", "[[1 2] [3 4]], 1, 0 -> [2]"}}));
  return add_diagonal(ops, {"MatrixDiagPartV3",
                            docs,
                            str_cat(signature, kAlign),
                            infer_matrix_diag_part,
                            matrix_diag_part,
                            grad::matrix_diag_part,
                            {"[[1 2] [3 4]], [-1 1], 0 -> [[0 2] [1 4] [3 0]]"}});
}

Status register_matrix_set_diag(OpRegistry& ops) {
  const std::string doc = "The matrices with other diagonals.";
  for (const char* name : {"MatrixSetDiag", "BatchMatrixSetDiag"}) {
    MR_TRY(add_diagonal(ops, {name,
                              doc,
                              "input: T, diagonal: T -> output: T | T: type",
                              infer_matrix_set_diag,
                              matrix_set_diag,
                              grad::matrix_set_diag,
                              {"[[1 2] [3 4]], [8 9] -> [[8 2] [3 9]]"}}));
  }
  const std::string signature = "input: T, diagonal: T, k: int32 -> output: T | T: type";
  MR_TRY(add_diagonal(ops, {"MatrixSetDiagV2",
                            doc,
                            signature,
                            infer_matrix_set_diag,
                            matrix_set_diag,
                            grad::matrix_set_diag,
                            {"[[1 2] [3 4]], [9], 1 -> [[1 9] [3 4]]"}}));
  return add_diagonal(ops, {"MatrixSetDiagV3",
                            doc,
                            str_cat(signature, kAlign),
                            infer_matrix_set_diag,
                            matrix_set_diag,
                            grad::matrix_set_diag,
                            {"[[1 2] [3 4]], [[0 7] [8 9]], [0 1] -> [[8 7] [3 9]]"}});
}

Status register_band_parts(OpRegistry& ops) {
  for (const char* name : {"MatrixBandPart", "BatchMatrixBandPart"}) {
    const bool is_old = std::string_view(name).starts_with("Batch");
    MR_TRY(ops.add({
        .name = name,
        .doc = "The matrices with zeros but for num_lower diagonals below the main one, num_upper "
               "above it and itself; a negative number keeps all.",
        .signature = is_old ? "input: T, num_lower: int64, num_upper: int64 -> band: T | T: type"
                            : "input: T, num_lower: Tindex, num_upper: Tindex -> band: T | "
                              "T: type, Tindex: {int32, int64} = int64",
        .infer = infer::same_as_input,
        .cpu = kernel(matrix_band_part),
        .grad = grad::matrix_band_part,
        .examples = {"[[1 2 3] [4 5 6] [7 8 9]], 0, 1 -> [[1 2 0] [0 5 6] [0 0 9]] | T = float",
                     "[[1 2] [3 4]], -1, 0 -> [[1 0] [3 4]] | T = float"},
    }));
  }
  return {};
}

}  // namespace

Status register_diagonals(OpRegistry& ops) {
  MR_TRY(register_matrix_diag(ops));
  MR_TRY(register_matrix_diag_part(ops));
  MR_TRY(register_matrix_set_diag(ops));
  return register_band_parts(ops);
}

}  // namespace millrace
