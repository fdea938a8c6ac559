#include "millrace/io/slice.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace millrace::io {
namespace {

bool read_number(std::string_view text, int64_t* number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return problem == std::errc() && end == text.data() + text.size();
}

// What comes before `mark`, taken off `text` with the mark; all of it if there is no mark.
std::string_view take_until(std::string_view* text, char mark) {
  const size_t at = text->find(mark);
  const std::string_view before = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return before;
}

Result<Extent> parse_extent(std::string_view text) {
  if (text == "-") return Extent();
  std::string_view rest = text;
  const std::string_view start = take_until(&rest, ',');
  Extent extent;
  if (!read_number(start, &extent.start) || !read_number(rest, &extent.length) ||
      extent.start < 0 || extent.length <= 0) {
    return invalid("Expected a pair of numbers or '-' but got '", text, "'");
  }
  return extent;
}

// Numbers whose bytes sort as they do: how many bytes, then the bytes, highest first.
void put_ordered(std::string* out, uint64_t number) {
  const int bytes = (std::bit_width(number) + 7) / 8;
  *out += static_cast<char>(bytes);
  for (int i = bytes - 1; i >= 0; --i) *out += static_cast<char>(number >> (8 * i));
}

// Texts whose bytes sort as they do, and that nothing inside can end: a zero is followed by 0xff,
// 0xff by a zero, the end is zero and one.
void put_ordered(std::string* out, std::string_view text) {
  for (const char c : text) {
    *out += c;
    if (c == '\0') *out += '\xff';
    if (c == '\xff') *out += '\0';
  }
  *out += std::string_view("\0\1", 2);
}

// Signed numbers: as many ones as there are bytes stand first (zeros for a negative number), so
// that longer numbers sort outside shorter ones; then the number, highest bit first, its sign
// repeated.
void put_ordered_signed(std::string* out, int64_t number) {
  const auto magnitude = static_cast<uint64_t>(number < 0 ? ~number : number);
  // A byte holds seven bits of number and sign beside its share of the length.
  const int bytes = std::bit_width(magnitude) / 7 + 1;
  const char sign = number < 0 ? '\xff' : '\0';
  char digits[10];
  std::fill_n(digits, 10, sign);
  for (int i = 0; i < std::min(bytes, 8); ++i)
    digits[9 - i] = static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  char* const begin = digits + 10 - bytes;
  for (int bit = 0; bit < bytes; ++bit) begin[bit / 8] ^= static_cast<char>(0x80 >> (bit % 8));
  out->append(begin, static_cast<size_t>(bytes));
}

}  // namespace

Result<Slice> Slice::parse(std::string_view text) {
  Slice slice;
  if (text.empty()) return slice;
  for (std::string_view rest = text;;) {
    const bool is_last = rest.find(':') == std::string_view::npos;
    MR_ASSIGN(const Extent extent,
              parse_extent(take_until(&rest, ':')).with("slice '" + std::string(text) + "'"));
    slice.extents.push_back(extent);
    if (is_last) return slice;
  }
}

bool Slice::is_whole() const {
  return std::all_of(extents.begin(), extents.end(), [](const Extent& e) { return e.is_whole(); });
}

Result<Slice> Slice::within(const Shape& shape) const {
  if (static_cast<int>(extents.size()) != shape.rank())
    return internal("slice '", to_string(), "' has ", extents.size(), " axes; the tensor is ",
                    shape.to_string());
  Slice found = *this;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    Extent& extent = found.extents[static_cast<size_t>(axis)];
    if (extent.is_whole()) extent = {0, shape.dim(axis)};
    if (extent.start > shape.dim(axis) || extent.length > shape.dim(axis) - extent.start) {
      return internal("slice '", to_string(), "' passes the end of axis ", axis,
                      " of a tensor of shape ", shape.to_string());
    }
  }
  return found;
}

Result<Shape> Slice::shape() const {
  Shape::Dims dims;
  for (const Extent& extent : extents) dims.push_back(extent.length);
  return Shape::create(dims);
}

std::string Slice::to_string() const {
  std::string text;
  for (const Extent& extent : extents) {
    if (!text.empty()) text += ':';
    if (extent.is_whole()) {
      text += '-';
    } else {
      str_append(&text, extent.start, ",", extent.length);
    }
  }
  return text;
}

Result<SliceOfShape> parse_slice_of_shape(std::string_view text) {
  const auto wrong = [&](const auto&... why) {
    return invalid("Expected 'dims... slice' like '20 30 0,10:-' but got '", text, "'", why...);
  };
  std::vector<int64_t> dims;
  std::string_view rest = text;
  // What follows the last space is the slice.
  while (rest.find(' ') != std::string_view::npos) {
    int64_t dim = 0;
    if (!read_number(take_until(&rest, ' '), &dim)) return wrong(": a dim is no number");
    dims.push_back(dim);
  }
  if (dims.empty() && text.find(' ') == std::string_view::npos && !rest.empty()) return wrong();
  MR_ASSIGN(Shape whole, Shape::create(dims));
  MR_ASSIGN(Slice spelled, Slice::parse(rest));
  MR_ASSIGN(Slice slice, spelled.within(whole));
  return SliceOfShape{std::move(whole), std::move(slice), std::move(spelled)};
}

Slice common_part(const Slice& a, const Slice& b) {
  Slice part;
  for (size_t axis = 0; axis < a.extents.size(); ++axis) {
    const Extent &x = a.extents[axis], &y = b.extents[axis];
    const int64_t start = std::max(x.start, y.start);
    const int64_t end = std::min(x.start + x.length, y.start + y.length);
    part.extents.push_back({start, std::max<int64_t>(0, end - start)});
  }
  return part;
}

void copy_part(const Slice& part, const Slice& from_box, const char* from, const Slice& to_box,
               char* to, size_t size) {
  const size_t rank = part.extents.size();
  // Bytes from one element to the next along each axis.
  std::vector<int64_t> from_step(rank), to_step(rank);
  auto from_bytes = static_cast<int64_t>(size), to_bytes = static_cast<int64_t>(size);
  for (size_t axis = rank; axis-- > 0;) {
    const int64_t start = part.extents[axis].start;
    if (part.extents[axis].length == 0) return;
    from_step[axis] = from_bytes;
    to_step[axis] = to_bytes;
    from += (start - from_box.extents[axis].start) * from_bytes;
    to += (start - to_box.extents[axis].start) * to_bytes;
    from_bytes *= from_box.extents[axis].length;
    to_bytes *= to_box.extents[axis].length;
  }
  if (rank == 0) {
    std::memcpy(to, from, size);
    return;
  }
  const size_t last = rank - 1;
  const size_t run = static_cast<size_t>(part.extents[last].length) * size;
  std::vector<int64_t> at(rank, 0);
  for (;;) {
    std::memcpy(to, from, run);
    size_t axis = last;
    for (;;) {
      if (axis == 0) return;
      --axis;
      from += from_step[axis];
      to += to_step[axis];
      if (++at[axis] < part.extents[axis].length) break;
      from -= from_step[axis] * at[axis];
      to -= to_step[axis] * at[axis];
      at[axis] = 0;
    }
  }
}

std::string slice_key(std::string_view name, const Slice& slice) {
  std::string key;
  put_ordered(&key, uint64_t{0});
  put_ordered(&key, name);
  put_ordered(&key, static_cast<uint64_t>(slice.extents.size()));
  for (const Extent& extent : slice.extents) {
    put_ordered_signed(&key, extent.start);
    put_ordered_signed(&key, extent.length);
  }
  return key;
}

}  // namespace millrace::io
