#include "millrace/ops/summary/png.h"

#include <png.h>

#include <csetjmp>
#include <memory>
#include <vector>

namespace millrace::summary {
namespace {

// libpng's own bound for each side.
constexpr int64_t kMaxSide = 1'000'000;

struct Target {
  std::string file;
  std::string problem;
};

void append(png_structp png, png_bytep bytes, png_size_t size) {
  static_cast<Target*>(png_get_io_ptr(png))
      ->file.append(reinterpret_cast<const char*>(bytes), size);
}

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  static_cast<Target*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

// libpng leaves by a jump: nothing in here has a destructor.
bool write(png_structp png, png_infop info, const Picture& picture, const png_bytep* rows,
           int colour) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width),
               static_cast<png_uint_32>(picture.height), 8, colour, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  png_write_image(png, const_cast<png_bytepp>(rows));
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

Result<std::string> encode_png(const Picture& picture) {
  if (picture.width < 1 || picture.height < 1 || picture.width > kMaxSide ||
      picture.height > kMaxSide) {
    return invalid("a PNG can't have ", picture.width, " x ", picture.height,
                   " pixels: sides are 1 to ", kMaxSide);
  }
  constexpr int kColours[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                              PNG_COLOR_TYPE_RGB_ALPHA};
  if (picture.channels < 1 || picture.channels > 4)
    return invalid("a PNG has 1 to 4 channels, not ", picture.channels);
  std::vector<png_bytep> rows(static_cast<size_t>(picture.height));
  const auto stride = static_cast<size_t>(picture.width * picture.channels);
  for (size_t row = 0; row < rows.size(); ++row)
    rows[row] = const_cast<png_bytep>(picture.pixels.data() + row * stride);

  Target target;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &target, fail,
                                            [](png_structp, png_const_charp) {});
  if (png == nullptr) return internal("libpng has no memory for a picture");
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &target, append, [](png_structp) {});
  const bool is_written =
      info != nullptr && write(png, info, picture, rows.data(), kColours[picture.channels - 1]);
  png_destroy_write_struct(&png, &info);
  if (!is_written) return internal("libpng could not write a picture: ", target.problem);
  return std::move(target.file);
}

}  // namespace millrace::summary
