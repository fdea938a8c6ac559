#include "millrace/ops/image/bmp.h"

#include <cstdint>
#include <cstring>

namespace millrace {
namespace {

// The fields that are read end here.
constexpr size_t kBmpHeader = 34;

// Little-endian; `at` + sizeof(T) must not be beyond the bytes.
template <class T>
T number_at(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;)
    value = static_cast<T>(value << 8 | static_cast<uint8_t>(bytes[at + i]));
  return value;
}

struct BmpLayout {
  uint64_t pixels_at = 0, width = 0, height = 0, row_bytes = 0;
  size_t inside = 0;    // channels in the file
  size_t channels = 0;  // of the image that is made
  bool is_top_first = false;
};

Result<BmpLayout> read_bmp_layout(std::string_view bytes, int channels) {
  if (!bytes.starts_with("BM")) return invalid("Unknown image file format: it is no BMP");
  if (bytes.size() < kBmpHeader) {
    return invalid("Incomplete bmp content, requires at least ", kBmpHeader,
                   " bytes to find the header size, width, height, and bpp, got ", bytes.size(),
                   " bytes");
  }
  const int64_t width = static_cast<int32_t>(number_at<uint32_t>(bytes, 18));
  const int64_t height = static_cast<int32_t>(number_at<uint32_t>(bytes, 22));
  const int bits = number_at<uint16_t>(bytes, 28);
  const auto packing = number_at<uint32_t>(bytes, 30);
  if (width <= 0 || height == 0)
    return invalid("a BMP has a positive width and a height, not ", width, " x ", height);
  if (bits != 8 && bits != 24 && bits != 32) {
    return invalid("Number of channels inherent in the image must be 1, 3 or 4, was ", bits / 8,
                   ": it has ", bits, " bits a pixel");
  }
  // Bit fields (3) lie as plain pixels do; what is run-length encoded does not.
  if (packing != 0 && packing != 3)
    return invalid("the BMP is packed (", packing, "); only plain pixels are read");
  if (channels == 1) return invalid("`channels` must be 0, 3 or 4 for BMP, but got 1");
  BmpLayout layout{.pixels_at = number_at<uint32_t>(bytes, 10),
                   .width = static_cast<uint64_t>(width),
                   .height = static_cast<uint64_t>(height < 0 ? -height : height),
                   .inside = static_cast<size_t>(bits) / 8,
                   .channels = static_cast<size_t>(channels == 0 ? bits / 8 : channels),
                   .is_top_first = height < 0};
  layout.row_bytes = (layout.width * layout.inside + 3) / 4 * 4;
  const uint64_t there = bytes.size() < layout.pixels_at ? 0 : bytes.size() - layout.pixels_at;
  // Rows are so many that what they take together may be more than 64 bits tell.
  if (there / layout.row_bytes != layout.height || there % layout.row_bytes != 0) {
    return invalid("Incomplete bmp content: ", there, " bytes of pixels are not ", layout.height,
                   " rows of ", layout.row_bytes, " bytes");
  }
  return layout;
}

// From gray, or blue, green, red, to gray, or red, green, blue.
void copy_row(const uint8_t* from, uint8_t* to, const BmpLayout& layout) {
  if (layout.channels == 1) {
    std::memcpy(to, from, layout.width);
    return;
  }
  const bool is_gray = layout.inside == 1;
  for (uint64_t x = 0; x < layout.width; ++x, from += layout.inside, to += layout.channels) {
    for (size_t c = 0; c < 3; ++c) to[c] = is_gray ? from[0] : from[2 - c];
    if (layout.channels == 4) to[3] = layout.inside == 4 ? from[3] : 255;
  }
}

}  // namespace

Result<Tensor> decode_bmp(std::string_view bytes, int channels, CancelProbe& probe) {
  MR_ASSIGN(const BmpLayout layout, read_bmp_layout(bytes, channels));
  const Shape shape = {static_cast<int64_t>(layout.height), static_cast<int64_t>(layout.width),
                       static_cast<int64_t>(layout.channels)};
  MR_ASSIGN(Tensor image, Tensor::allocate(DType::u8, shape));
  uint8_t* const pixels = image.mutable_flat<uint8_t>().data();
  const uint64_t of_row = layout.width * layout.channels;
  for (uint64_t y = 0; y < layout.height; ++y) {
    const uint64_t at = layout.is_top_first ? y : layout.height - 1 - y;
    const char* const row = bytes.data() + layout.pixels_at + at * layout.row_bytes;
    copy_row(reinterpret_cast<const uint8_t*>(row), pixels + y * of_row, layout);
    if (!probe.go_on(static_cast<int64_t>(of_row))) return probe.status();
  }
  return image;
}

}  // namespace millrace
