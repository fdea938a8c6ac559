#include "millrace/io/remote/xml_text.h"

#include <expat.h>

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/base/result.h"

namespace millrace::remote {
namespace {

using See = std::function<Status(std::string_view path, std::string&& inside)>;

constexpr size_t kDeepest = 16;

Status no_answer(std::string_view why) {
  return error(Code::data_loss, "an answer in XML is damaged: ", why);
}

class Walk {
 public:
  explicit Walk(const See& see) : see_(see), parser_(XML_ParserCreate("UTF-8")) {
    if (parser_ == nullptr) return;
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), begin, end);
    XML_SetCharacterDataHandler(parser_.get(), text);
    XML_SetStartDoctypeDeclHandler(parser_.get(), declaration);
  }

  Status run(std::string_view document) {
    if (parser_ == nullptr) return error(Code::resource_exhausted, "no memory to read XML with");
    if (document.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
      return no_answer("it is longer than any");
    const auto outcome =
        XML_Parse(parser_.get(), document.data(), static_cast<int>(document.size()), XML_TRUE);
    if (outcome == XML_STATUS_ERROR && status_.ok())
      status_ = no_answer(XML_ErrorString(XML_GetErrorCode(parser_.get())));
    return std::move(status_);
  }

 private:
  struct Element {
    std::string inside = {};
    size_t path_before;  // letters of path_
  };
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  static Walk& of(void* self) { return *static_cast<Walk*>(self); }

  static void begin(void* self, const XML_Char* name, const XML_Char**) {
    Walk& walk = of(self);
    if (walk.open_.size() == kDeepest) return walk.stop(no_answer("its elements are too deep"));
    walk.open_.push_back({.path_before = walk.path_.size()});
    if (!walk.path_.empty()) walk.path_ += '/';
    walk.path_ += name;
  }

  static void end(void* self, const XML_Char*) {
    Walk& walk = of(self);
    // The end of an empty element comes even if its beginning has stopped the walk.
    if (!walk.status_.ok()) return;
    Element ended = std::move(walk.open_.back());
    walk.open_.pop_back();
    Status said = walk.see_(walk.path_, std::move(ended.inside));
    walk.path_.resize(ended.path_before);
    if (!said.ok()) walk.stop(std::move(said));
  }

  static void text(void* self, const XML_Char* letters, int count) {
    Walk& walk = of(self);
    if (walk.status_.ok()) walk.open_.back().inside.append(letters, static_cast<size_t>(count));
  }

  static void declaration(void* self, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    of(self).stop(no_answer("it has a declaration"));
  }

  void stop(Status why) {
    status_ = std::move(why);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  const See& see_;
  const std::unique_ptr<XML_ParserStruct, Free> parser_;
  std::vector<Element> open_;
  std::string path_;
  Status status_;
};

}  // namespace

Status walk_xml(std::string_view text, const See& see) { return Walk(see).run(text); }

}  // namespace millrace::remote
