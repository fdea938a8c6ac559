#include "millrace/mapreduce/piece.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::mapreduce {

namespace {

using Json = nlohmann::json;

constexpr int64_t kMost = int64_t{1} << 53;  // what other readers of JSON hold exactly

// Paths are UTF-8 already; what a program's own error says need not be.
std::string text_of_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status damaged(std::string_view what, std::string_view why) {
  return error(Code::data_loss, what, " of a MapReduce: ", why);
}

Result<Json> object_of(std::string_view what, std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) return damaged(what, "it is no JSON object");
  return json;
}

// The fields of an object; the first one that is not as it must be is kept as the error.
class Fields {
 public:
  Fields(std::string_view what, const Json& json) : what_(what), json_(json) {}

  bool has(const char* name) const { return json_.contains(name); }
  std::string text(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end() || !found->is_string()) return lack(name, "a text"), std::string();
    return found->get<std::string>();
  }
  int64_t number(const char* name, int64_t most = kMost) {
    const auto found = json_.find(name);
    return found == json_.end() ? (lack(name, "a number"), 0) : whole(*found, name, most);
  }
  int64_t whole(const Json& value, const char* name, int64_t most = kMost) {
    if (!value.is_number_integer()) return lack(name, "a number"), 0;
    const auto number = value.get<int64_t>();
    if ((value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most)) ||
        number < 0 || number > most)
      return lack(name, "a number from 0 on, of a sensible size"), 0;
    return number;
  }
  void lack(const char* name, std::string_view kind) {
    if (status_.ok()) status_ = damaged(what_, str_cat("'", name, "' is not ", kind));
  }
  const Json& operator[](const char* name) {
    static const Json kNone;
    const auto found = json_.find(name);
    return found == json_.end() ? kNone : *found;
  }
  const Status& status() const { return status_; }

 private:
  const std::string_view what_;
  const Json& json_;
  Status status_;
};

std::vector<Segment> segments_of(Fields& fields, const Json& json, const std::string& path) {
  std::vector<Segment> made;
  if (!json.is_array()) fields.lack("segments", "a list");
  for (const Json& each : json) {
    if (!each.is_array() || each.size() != 2) {
      fields.lack("segments", "a list of pairs");
      break;
    }
    made.push_back({path, static_cast<uint64_t>(fields.whole(each[0], "segments")),
                    static_cast<uint64_t>(fields.whole(each[1], "segments"))});
  }
  return made;
}

Json json_of(const std::vector<Segment>& segments) {
  Json list = Json::array();
  for (const Segment& each : segments) list.push_back({each.offset, each.length});
  return list;
}

const char* name_of(PieceKind kind) {
  if (kind == PieceKind::publish) return "publish";
  return kind == PieceKind::map ? "split" : "partition";
}

PieceKind kind_of(const Fields& fields) {
  if (fields.has("publish")) return PieceKind::publish;
  return fields.has("partition") ? PieceKind::reduce : PieceKind::map;
}

}  // namespace

std::string Piece::name() const {
  if (kind == PieceKind::reduce) return str_cat("reducing partition ", number);
  if (kind == PieceKind::publish) return str_cat("putting partition ", number, " into the queue");
  return str_cat("mapping ", split.path, " from ", split.begin);
}

std::string encode(const Piece& piece) {
  if (piece.is_over) return R"({"over":true})";
  Json json = {{name_of(piece.kind), piece.number}};
  if (piece.kind == PieceKind::publish) {
    json["path"] = piece.split.path;
    return text_of_json(json);
  }
  json["work"] = piece.work;
  if (piece.kind == PieceKind::map) {
    json["path"] = piece.split.path;
    json["begin"] = piece.split.begin;
    json["end"] = piece.split.end;
    json["partitions"] = piece.partitions;
  } else {
    json["plan"] = piece.plan;
  }
  return text_of_json(json);
}

Result<Piece> decode_piece(std::string_view text) {
  constexpr std::string_view kWhat = "a piece of work";
  MR_ASSIGN(const Json json, object_of(kWhat, text));
  Fields fields(kWhat, json);
  Piece piece;
  if (fields.has("over")) {
    piece.is_over = true;
    return piece;
  }
  piece.kind = kind_of(fields);
  piece.number = fields.number(name_of(piece.kind));
  if (piece.kind == PieceKind::publish) {
    piece.split.path = fields.text("path");
    MR_TRY(fields.status());
    return piece;
  }
  piece.work = fields.text("work");
  if (piece.kind == PieceKind::map) {
    piece.split.path = fields.text("path");
    piece.split.begin = static_cast<uint64_t>(fields.number("begin"));
    piece.split.end = static_cast<uint64_t>(fields.number("end"));
    piece.partitions = static_cast<int>(fields.number("partitions", 1 << 20));
    if (piece.partitions < 1) fields.lack("partitions", "at least 1");
  } else {
    piece.plan = fields.text("plan");
  }
  MR_TRY(fields.status());
  return piece;
}

std::string encode(const Report& report) {
  if (!report.bye.empty()) return text_of_json({{"bye", report.bye}});
  Json json = {{name_of(report.kind), report.number}};
  if (!report.failure.ok()) {
    json["failed"] = report.failure.message();
    json["code"] = static_cast<int>(report.failure.code());
    return text_of_json(json);
  }
  json["file"] = report.file;
  json["counters"] = report.counters;
  json["bad"] = report.num_bad;
  json["aside"] = report.aside;
  json["seconds"] = report.seconds;
  if (report.kind == PieceKind::map) json["segments"] = json_of(report.segments);
  return text_of_json(json);
}

Result<Report> decode_report(std::string_view text) {
  constexpr std::string_view kWhat = "a report";
  MR_ASSIGN(const Json json, object_of(kWhat, text));
  Fields fields(kWhat, json);
  Report report;
  if (fields.has("bye")) {
    report.bye = fields.text("bye");
    MR_TRY(fields.status());
    return report;
  }
  report.kind = kind_of(fields);
  report.number = fields.number(name_of(report.kind));
  if (fields.has("failed")) {
    const auto code = static_cast<Code>(fields.number("code", 16));
    report.failure = Status(code == Code::ok ? Code::unknown : code, fields.text("failed"));
    MR_TRY(fields.status());
    return report;
  }
  report.file = fields.text("file");
  report.num_bad = fields.number("bad");
  report.aside = fields.text("aside");
  const Json& seconds = fields["seconds"];
  if (!seconds.is_number() || !(seconds.get<double>() >= 0)) fields.lack("seconds", "seconds");
  if (seconds.is_number()) report.seconds = seconds.get<double>();
  const Json& counters = fields["counters"];
  if (!counters.is_object()) fields.lack("counters", "an object");
  for (const auto& [name, number] : counters.items()) {
    if (!number.is_number_integer())
      fields.lack("counters", "an object of numbers");
    else
      report.counters[name] = number.get<int64_t>();
  }
  if (report.kind == PieceKind::map)
    report.segments = segments_of(fields, fields["segments"], report.file);
  MR_TRY(fields.status());
  return report;
}

std::string encode_plan(const std::vector<const Report*>& mapped) {
  Json list = Json::array();
  for (const Report* report : mapped)
    list.push_back(Json::array({report->file, json_of(report->segments)}));
  return text_of_json(list);
}

Result<std::vector<Segment>> decode_plan(std::string_view text, int64_t partition) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_array()) return damaged("the plan", "it is no JSON list");
  Fields fields("the plan", json);
  std::vector<Segment> made;
  for (const Json& each : json) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_array() ||
        partition < 0 || static_cast<size_t>(partition) >= each[1].size())
      return damaged("the plan", str_cat("a file without partition ", partition));
    const std::vector<Segment> own = segments_of(
        fields, Json::array({each[1][static_cast<size_t>(partition)]}), each[0].get<std::string>());
    MR_TRY(fields.status());
    made.push_back(own.front());
  }
  return made;
}

}  // namespace millrace::mapreduce
