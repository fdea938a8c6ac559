// Finds lines of texts that are alike: k-means on vectors of the words in them, one MapReduce a
// round.
//
//   millrace run --job files=1 --job worker=2 --until files --
//       build/bin/kmeans_text 'texts/*.txt' clusters 3 5
//
// finds 3 centres in 5 rounds. How is told in kmeans_text.py, whose twin this is: it finds the same
// centres, to the byte.
#include <millrace/io/glob.h>
#include <millrace/io/local_files.h>
#include <millrace/millrace.h>
#include <zlib.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

using namespace millrace;

constexpr size_t kKinds = 64, kSample = 200;  // kinds of words, lines to begin with
constexpr int64_t kOne = 1'000'000;           // the length of a vector
using Vector = std::array<int64_t, kKinds>;

// False for a line without words.
bool vector_of(std::string_view line, Vector* made) {
  made->fill(0);
  for (const std::string_view word : mapreduce::words_of(line))
    ++(*made)[crc32_z(0, reinterpret_cast<const Bytef*>(word.data()), word.size()) % kKinds];
  int64_t square = 0;
  for (const int64_t count : *made) square += count * count;
  const double length = std::sqrt(static_cast<double>(square));
  for (int64_t& each : *made)
    each = static_cast<int64_t>(std::floor(static_cast<double>(each * kOne) / length + 0.5));
  return square != 0;
}

int64_t distance(const Vector& a, const Vector& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < kKinds; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

struct Nearest {
  size_t at = 0;
  int64_t distance = 0;
};
Nearest nearest(const std::vector<Vector>& centres, const Vector& vector) {
  Nearest found{0, distance(centres[0], vector)};
  for (size_t i = 1; i < centres.size(); ++i)
    if (const int64_t d = distance(centres[i], vector); d < found.distance) found = {i, d};
  return found;
}

std::vector<std::string> first_lines(const std::string& path, size_t count) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; lines.size() < count && std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Of the first lines: the first one, then always the one that is farthest from those.
std::vector<Vector> first_centres(const std::string& text, size_t k) {
  std::vector<Vector> vectors, centres;
  for (const std::string& line : first_lines(text, kSample))
    if (Vector vector; vector_of(line, &vector)) vectors.push_back(vector);
  while (!vectors.empty() && centres.size() < k) {
    size_t far = 0;
    for (size_t i = 1; !centres.empty() && i < vectors.size(); ++i)
      if (nearest(centres, vectors[i]).distance > nearest(centres, vectors[far]).distance) far = i;
    centres.push_back(vectors[far]);
  }
  return centres;
}

// What a round begins with. A centre that no line is near to stays where it was.
std::vector<Vector> centres_of(std::vector<Vector> centres, const std::string& folder, int round) {
  LocalFiles files;
  for (int before = 0; before < round; ++before) {
    std::map<std::string, int64_t> sums;
    const auto parts = io::find_matching(files, str_cat(folder, "/round-", before, "/part-*"));
    for (const std::string& path : parts.value()) {
      std::ifstream file(path);
      int64_t number = 0;
      for (std::string key; file >> key >> number;) sums[key] = number;
    }
    for (size_t i = 0; i < centres.size(); ++i)
      if (const int64_t lines = sums[str_cat(i, "/lines")]; lines != 0)
        for (size_t j = 0; j < kKinds; ++j) centres[i][j] = sums[str_cat(i, "/", j)] / lines;
  }
  return centres;
}

Status run(const std::string& texts, const std::string& folder, size_t k, int rounds) {
  LocalFiles files;
  MR_ASSIGN(const auto task, mapreduce::Task::create());
  MR_ASSIGN(const std::vector<std::string> paths, io::find_matching(files, texts));
  if (paths.empty()) return not_found("there are no texts '", texts, "'");
  const std::vector<Vector> first = first_centres(paths.front(), k);
  if (first.size() < k || k == 0) return invalid("fewer than ", k, " lines with words");
  bool is_publisher = false;
  for (int round = 0; round < rounds; ++round) {
    std::once_flag once;
    std::vector<Vector> centres;
    const auto near = [&](std::string_view line, mapreduce::Pairs& pairs) {
      // Who has a record knows that the rounds before are published, and nobody else does.
      std::call_once(once, [&] { centres = centres_of(first, folder, round); });
      Vector vector;
      if (!vector_of(line, &vector)) return;
      const size_t at = nearest(centres, vector).at;
      pairs.add(str_cat(at, "/lines"), 1);
      for (size_t j = 0; j < kKinds; ++j)
        if (vector[j] != 0) pairs.add(str_cat(at, "/", j), vector[j]);
    };
    MR_ASSIGN(const mapreduce::Made made, task->run({.input = texts,
                                                     .map = near,
                                                     .reduce = mapreduce::sum(),
                                                     .output = str_cat(folder, "/round-", round),
                                                     .name = str_cat("round-", round),
                                                     .say = nullptr}));
    is_publisher = made.is_published;
  }
  if (is_publisher) {
    const std::vector<Vector> centres = centres_of(first, folder, rounds);
    for (const std::string& line : first_lines(paths.front(), 10))
      if (Vector vector; vector_of(line, &vector))
        std::printf("%zu: %.60s\n", nearest(centres, vector).at, line.c_str());
  }
  task->end({});
  return {};
}

int main(int argc, char** argv) {
  const Status status = argc < 5 ? invalid("usage: ", argv[0], " TEXTS FOLDER K ROUNDS")
                                 : run(argv[1], argv[2], std::stoul(argv[3]), std::stoi(argv[4]));
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}
