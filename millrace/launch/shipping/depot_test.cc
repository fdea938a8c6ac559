#include "millrace/launch/shipping/depot.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/launch/shipping/depot_stream.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// A launcher with train.py, and a depot's folder; what goes between them goes through files.
class Trade {
 public:
  Trade()
      : shipment_([this] {
          std::ofstream(path("train.py")) << "print(1)\n";
          const JobSpec job{.roles = {{"map", 2}}, .command = {"c"}, .files = {"train.py"}};
          return Shipment::make(job, {.directory = path(""), .scratch = path("")}, Clock::real())
              .value();
        }()) {}

  const Shipment& shipment() const { return shipment_; }
  std::string path(const std::string& name) const { return here_.path(name); }
  std::string depot() const { return path("depot"); }
  DepotShelf shelf() const { return {depot(), shipment_.digest()}; }

  std::string told() const {
    std::string all;
    const Status sent = send_to_depot(shipment_, [&](std::string_view bytes) {
      all.append(bytes);
      return Status();
    });
    REQUIRE(sent.ok());
    return all;
  }

  Status fill(std::string_view bytes) const {
    const Descriptor pipe = nameless_file(path("")).value();
    REQUIRE(write_all(pipe.number(), bytes).ok());
    REQUIRE(lseek(pipe.number(), 0, SEEK_SET) == 0);
    return fill_depot(depot(), pipe.number());
  }

  // What a task has made.
  void keep(const std::string& name, std::string_view text) const {
    const std::string file = str_cat(depot_outputs(depot()), "/", name);
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << text;
  }

  std::string given() const {
    const Descriptor pipe(open(path("given").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
    REQUIRE(give_outputs(depot(), pipe.number()).ok());
    return content_of(path("given"));
  }

 private:
  const testing::ScratchDirectory here_;
  const Shipment shipment_;
};

TEST_CASE("a depot has what the launcher has copied, and then says so") {
  const Trade trade;
  const DepotShelf shelf = trade.shelf();
  const std::string digest = trade.shipment().manifest().files[0].digest;
  CHECK(shelf.find(digest).status().code() == Code::unavailable);
  CHECK(!shelf.is_filled());
  REQUIRE(trade.fill(trade.told()).ok());
  CHECK(shelf.is_filled());
  CHECK(shelf.find(digest)->size == 9);
  CHECK(shelf.find(trade.shipment().digest()).ok());
  CHECK(shelf.find(std::string(64, '0')).status().code() == Code::not_found);
}

TEST_CASE("a depot that was cut off is not filled, and takes the same once more") {
  const Trade trade;
  const std::string told = trade.told();
  CHECK(trade.fill(told.substr(0, told.size() - 20)).message().find("it breaks off") !=
        std::string::npos);
  CHECK(!trade.shelf().is_filled());
  CHECK(trade.fill(told).ok());
  CHECK(trade.shelf().is_filled());
}

TEST_CASE("what is not what it was announced as is not kept") {
  const Trade trade;
  std::string told = trade.told();
  told[told.find("print")] = 'P';
  CHECK(trade.fill(told).code() == Code::data_loss);
  CHECK(trade.shelf().num_bytes() == 0);
  CHECK(trade.fill("blob x y\n").code() == Code::invalid_argument);
  CHECK(trade.fill("blob 5 ../../etc/passwd\n").code() == Code::invalid_argument);
}

TEST_CASE("what tasks have made comes out as it went in, but for what still gathers") {
  const Trade trade;
  trade.keep("map_0/model/weights", "1 2 3");
  trade.keep("map_0/empty", "");
  trade.keep("map_1/log", "done\nend\n");
  trade.keep(".map_2.x1y2z3/log", "half");
  OutputReader reader(trade.path("out"));
  // Bytes come as they come.
  for (const char byte : trade.given()) REQUIRE(reader.feed({&byte, 1}).ok());
  CHECK(reader.is_over());
  CHECK(content_of(trade.path("out/map_0/model/weights")) == "1 2 3");
  CHECK(content_of(trade.path("out/map_0/empty")).empty());
  CHECK(fs::exists(trade.path("out/map_0/empty")));
  CHECK(content_of(trade.path("out/map_1/log")) == "done\nend\n");
  CHECK(!fs::exists(trade.path("out/map_2")));
  CHECK(reader.notes()[1] ==
        str_cat("outputs of map_1 are in ", trade.path("out"), "/map_1: 1 file, 0.0 KiB"));
}

TEST_CASE("outputs that break off are not there at all, and lies are refused") {
  const Trade trade;
  trade.keep("map_0/log", "all of it");
  const std::string given = trade.given();
  {
    OutputReader reader(trade.path("out"));
    REQUIRE(reader.feed(given.substr(0, given.size() - 10)).ok());
    CHECK(!reader.is_over());
  }
  CHECK(!fs::exists(trade.path("out/map_0")));
  for (const char* lie : {"outputs ../x\n", "file 3 0 x\n", "outputs a\nfile 3 0 ../x\n", "hello\n",
                          "done\n", "end\nend\n"})
    CHECK(OutputReader(trade.path("out")).feed(lie).code() == Code::invalid_argument);
}

TEST_CASE("a depot with nothing in it gives nothing") {
  const Trade trade;
  CHECK(trade.given() == "end\n");
}

}  // namespace
}  // namespace millrace
