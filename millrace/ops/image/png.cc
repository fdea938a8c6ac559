#include "millrace/ops/image/png.h"

#include <png.h>

#include <array>
#include <bit>
#include <csetjmp>
#include <cstring>
#include <vector>

namespace millrace {
namespace {

// Where libpng is, what it reads or writes, and how it ended.
struct Session {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view input;
  std::string* output = nullptr;
  std::jmp_buf back;
  char message[160] = "";
};

[[noreturn]] void jump(png_structp png, png_const_charp why) {
  Session& session = *static_cast<Session*>(png_get_error_ptr(png));
  std::strncpy(session.message, why, sizeof session.message - 1);
  std::longjmp(session.back, 1);
}

void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep to, png_size_t count) {
  Session& session = *static_cast<Session*>(png_get_io_ptr(png));
  if (count > session.input.size()) png_error(png, "it is cut off");
  std::memcpy(to, session.input.data(), count);
  session.input.remove_prefix(count);
}

void write_bytes(png_structp png, png_bytep from, png_size_t count) {
  static_cast<Session*>(png_get_io_ptr(png))
      ->output->append(reinterpret_cast<const char*>(from), count);
}

void flush(png_structp) {}

// Deflate makes at most so many bytes of one.
constexpr uint64_t kMostUnpacked = 1032;

// The image after all that libpng is asked to change.
struct Layout {
  uint64_t unpacked = 0;  // bytes of its rows before that
  png_uint_32 width = 0, height = 0;
  int channels = 0, bits = 0, passes = 1;
  size_t row_bytes = 0;
};

// What jumps: false, and the session says why.

bool begin_reading(Session& session, int channels, bool is_wide, Layout& layout) {
  if (setjmp(session.back) != 0) return false;
  png_structp png = session.png;
  png_infop info = session.info;
  png_set_read_fn(png, &session, read_bytes);
  png_read_info(png, info);
  layout.unpacked = uint64_t{png_get_rowbytes(png, info)} * png_get_image_height(png, info);
  const int color = png_get_color_type(png, info);
  const int depth = png_get_bit_depth(png, info);
  const bool is_palette = color == PNG_COLOR_TYPE_PALETTE;
  const bool is_color = (color & PNG_COLOR_MASK_COLOR) != 0;
  const bool has_marks = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
  const bool is_marked = (color & PNG_COLOR_MASK_ALPHA) != 0;
  const bool has_alpha = is_marked || has_marks;
  const bool wants_color = channels == 0 ? is_color : channels >= 3;
  // A colour that is not seen makes a channel only where one is asked for, as in TensorFlow; those
  // of a palette do.
  const bool wants_alpha =
      channels == 0 ? is_marked || (is_palette && has_marks) : channels % 2 == 0;
  if (is_palette) png_set_palette_to_rgb(png);
  if (color == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (has_marks && (wants_alpha || is_palette)) png_set_tRNS_to_alpha(png);
  if (depth == 16 && !is_wide) png_set_strip_16(png);
  if (is_wide && std::endian::native == std::endian::little) png_set_swap(png);
  if (wants_color && !is_color) png_set_gray_to_rgb(png);
  if (!wants_color && is_color) png_set_rgb_to_gray(png, 1, 0.299, 0.587);
  if (has_alpha && !wants_alpha) png_set_strip_alpha(png);
  if (!has_alpha && wants_alpha)
    png_set_add_alpha(png, depth == 16 && is_wide ? 0xffff : 0xff, PNG_FILLER_AFTER);
  layout.passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  layout.width = png_get_image_width(png, info);
  layout.height = png_get_image_height(png, info);
  layout.channels = png_get_channels(png, info);
  layout.bits = png_get_bit_depth(png, info);
  layout.row_bytes = png_get_rowbytes(png, info);
  return true;
}

bool read_png_row(Session& session, unsigned char* row) {
  if (setjmp(session.back) != 0) return false;
  png_read_row(session.png, row, nullptr);
  return true;
}

// What follows the pixels: one that is cut off there is refused, too.
bool finish_reading(Session& session) {
  if (setjmp(session.back) != 0) return false;
  png_read_end(session.png, nullptr);
  return true;
}

struct Reading : Session {
  Reading() {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<Session*>(this), jump, ignore);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~Reading() { png_destroy_read_struct(&png, &info, nullptr); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
};

struct Writing : Session {
  Writing() {
    png = png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<Session*>(this), jump, ignore);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~Writing() { png_destroy_write_struct(&png, &info); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
};

bool write_png_image(Session& session, const unsigned char* pixels, size_t row_bytes,
                     png_uint_32 width, png_uint_32 height, int channels, int bits,
                     int compression) {
  if (setjmp(session.back) != 0) return false;
  png_structp png = session.png;
  constexpr int kColors[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                             PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_write_fn(png, &session, write_bytes, flush);
  if (compression >= 0) png_set_compression_level(png, compression);
  png_set_IHDR(png, session.info, width, height, bits, kColors[channels - 1], PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, session.info);
  if (bits == 16 && std::endian::native == std::endian::little) png_set_swap(png);
  for (png_uint_32 y = 0; y < height; ++y)
    png_write_row(png, const_cast<unsigned char*>(pixels) + y * row_bytes);
  png_write_end(png, nullptr);
  return true;
}

// uint16 pixels of an image that has only 8 bits: 255 becomes 65535.
void widen(const std::vector<unsigned char>& narrow, std::span<uint16_t> wide) {
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<uint16_t>(narrow[i] * 257);
}

}  // namespace

Result<Tensor> decode_png(std::string_view bytes, int channels, DType dtype, CancelProbe& probe) {
  Reading reading;
  if (reading.info == nullptr) return error(Code::resource_exhausted, "no memory for a PNG");
  reading.input = bytes;
  Layout layout;
  const bool is_wide = dtype == DType::u16;
  if (!begin_reading(reading, channels, is_wide, layout))
    return invalid("Invalid PNG data, size ", bytes.size(), ": ", reading.message);
  // A header of a few bytes can ask for a terabyte of pixels.
  if (layout.unpacked / kMostUnpacked > bytes.size()) {
    return invalid("Invalid PNG data, size ", bytes.size(), ": so few bytes can't hold ",
                   layout.height, " x ", layout.width, " pixels; it is cut off, or damaged");
  }
  MR_ASSIGN(const Shape shape, Shape::create(std::array{static_cast<int64_t>(layout.height),
                                                        static_cast<int64_t>(layout.width),
                                                        static_cast<int64_t>(layout.channels)}));
  MR_ASSIGN(Tensor image, Tensor::zeros(dtype, shape));
  const bool widens = is_wide && layout.bits == 8;
  std::vector<unsigned char> narrow(widens ? layout.row_bytes : 0);
  const size_t row_bytes = layout.row_bytes * (widens ? 2 : 1);
  if (row_bytes * layout.height != image.num_bytes())
    return invalid("Invalid PNG data, size ", bytes.size(), ": rows of another length");
  // Interlaced images come in several passes over the same rows, which widening must not touch.
  if (widens && layout.passes > 1)
    return unimplemented("an interlaced PNG of 8 bits can't be decoded to uint16; ask for uint8");
  for (int pass = 0; pass < layout.passes; ++pass) {
    auto* row = static_cast<unsigned char*>(image.mutable_data());
    for (png_uint_32 y = 0; y < layout.height; ++y, row += row_bytes) {
      if (!read_png_row(reading, widens ? narrow.data() : row))
        return invalid("Invalid PNG data, size ", bytes.size(), ": ", reading.message);
      if (widens) widen(narrow, {reinterpret_cast<uint16_t*>(row), row_bytes / sizeof(uint16_t)});
      if (!probe.go_on(static_cast<int64_t>(row_bytes))) return probe.status();
    }
  }
  if (!finish_reading(reading))
    return invalid("Invalid PNG data, size ", bytes.size(), ": ", reading.message);
  return image;
}

Result<std::string> encode_png(const Tensor& image, int compression) {
  Writing writing;
  if (writing.info == nullptr) return error(Code::resource_exhausted, "no memory for a PNG");
  std::string bytes;
  writing.output = &bytes;
  const Shape& shape = image.shape();
  const size_t size = dtype_size(image.dtype());
  const size_t row_bytes = static_cast<size_t>(shape.dim(1) * shape.dim(2)) * size;
  if (!write_png_image(writing, static_cast<const unsigned char*>(image.data()), row_bytes,
                       static_cast<png_uint_32>(shape.dim(1)),
                       static_cast<png_uint_32>(shape.dim(0)), static_cast<int>(shape.dim(2)),
                       static_cast<int>(8 * size), compression))
    return invalid("PNG encoding failed: ", writing.message);
  return bytes;
}

}  // namespace millrace
