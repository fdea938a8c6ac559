#include "tests/simulation/speaker.h"

#include <map>
#include <utility>

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"

namespace millrace::simulation {
namespace {

// "f:0=3" -> a feed of the float 3
NamedTensor feed_of(const std::string& word) {
  const size_t at = word.find('=');
  return {word.substr(0, at), Tensor::scalar(std::stof(word.substr(at + 1)))};
}

void show(const std::vector<Tensor>& tensors, std::string* text) {
  for (const Tensor& tensor : tensors) str_append(text, " ", tensor.to_string());
}

}  // namespace

Speaker::Speaker(Fleet& fleet, const OpRegistry& ops, std::string name, const std::string& site)
    : fleet_(fleet),
      ops_(ops),
      name_(std::move(name)),
      client_(std::make_unique<SimClient>(fleet, name_, site)),
      graph_(ops) {}

bool Speaker::say(const std::string& verb, Words& words) {
  using Verb = void (Speaker::*)(Words&);
  static const std::map<std::string, Verb> kVerbs = {
      {"graph", &Speaker::add_nodes}, {"session", &Speaker::create}, {"handle", &Speaker::adopt},
      {"extend", &Speaker::extend},   {"run", &Speaker::run},        {"setup", &Speaker::set_up},
      {"leg", &Speaker::run_leg},     {"callable", &Speaker::make},  {"call", &Speaker::call},
      {"forget", &Speaker::release},  {"list", &Speaker::list},      {"close", &Speaker::close},
      {"reset", &Speaker::reset},     {"cancel", &Speaker::cancel},  {"gone", &Speaker::go},
  };
  const auto found = kVerbs.find(verb);
  if (found == kVerbs.end()) return false;
  (this->*found->second)(words);
  return true;
}

template <class Reply>
Done<Reply> Speaker::answer(const std::string& what) {
  return Done<Reply>([this, what, keep = cancellation_](Outcome<Reply> outcome) {
    std::string text = str_cat(name_, " <- ", what, " ");
    if constexpr (std::is_void_v<Reply>) {
      fleet_.stage()->say(str_cat(text, outcome.to_string()));
    } else {
      str_append(&text, outcome.status().to_string());
      if (outcome.ok()) take(*outcome, &text);
      fleet_.stage()->say(text);
    }
  });
}
void Speaker::take(const CreateSessionReply& reply, std::string*) {
  session_ = reply.session_handle;
}
void Speaker::take(const ExtendSessionReply& reply, std::string* text) {
  str_append(text, " version=", reply.new_graph_version);
}
void Speaker::take(const RunStepReply& reply, std::string* text) { show(reply.tensors, text); }
void Speaker::take(const RunCallableReply& reply, std::string* text) { show(reply.tensors, text); }
void Speaker::take(const PartialRunSetupReply& reply, std::string*) {
  partial_ = reply.partial_run_handle;
}
void Speaker::take(const MakeCallableReply& reply, std::string*) { callable_ = reply.handle; }
void Speaker::take(const ListDevicesReply& reply, std::string* text) {
  for (const auto* list : {&reply.local, &reply.remote})
    for (const DeviceAttributes& device : *list) str_append(text, " ", device.name);
}

void Speaker::add_nodes(Words& words) {
  // Parsed together with what is there, so that inputs are found.
  auto all = parse_graph(to_text(graph_) + rest_of(words), ops_);
  if (!all.ok()) return fleet_.stage()->say(str_cat("? ", all.status().to_string()));
  graph_ = std::move(all).value();
}
void Speaker::create(Words& words) {
  CreateSessionRequest request;
  request.graph = export_graph(graph_);
  request.target = client_->target();
  num_sent_ = graph_.size();
  for (std::string word; words >> word;) {
    if (word.starts_with("timeout=")) {
      request.options.operation_timeout = duration_of(word.substr(8));
    } else {
      request.options.device_filters.push_back(word);
    }
  }
  master().create_session(std::move(request), context(), answer<CreateSessionReply>("session"));
}
void Speaker::adopt(Words& words) { words >> session_; }
void Speaker::extend(Words& words) {
  ExtendSessionRequest request{session_,
                               export_graph(graph_, {.first = static_cast<NodeId>(num_sent_)}), 0};
  words >> request.current_graph_version;
  num_sent_ = graph_.size();
  master().extend_session(std::move(request), context(), answer<ExtendSessionReply>("extended"));
}
void Speaker::run(Words& words) {
  RunStepRequest request;
  request.session_handle = session_;
  for (std::string word; words >> word;) {
    if (word.starts_with("timeout=")) {
      request.options.timeout = duration_of(word.substr(8));
    } else if (word.find('=') != std::string::npos) {
      request.feeds.push_back(feed_of(word));
    } else if (word.starts_with("!")) {
      request.targets.push_back(word.substr(1));
    } else {
      request.fetches.push_back(word);
    }
  }
  master().run_step(std::move(request), context(), answer<RunStepReply>("step"));
}
void Speaker::set_up(Words& words) {
  PartialRunSetupRequest request{session_, {}, {}, {}};
  auto* list = &request.fetches;
  for (std::string word; words >> word;) {
    if (word == "<-") {
      list = &request.feeds;
    } else {
      list->push_back(word);
    }
  }
  master().partial_run_setup(std::move(request), context(), answer<PartialRunSetupReply>("setup"));
}
void Speaker::run_leg(Words& words) {
  RunStepRequest request;
  request.session_handle = session_;
  request.partial_run_handle = partial_;
  for (std::string word; words >> word;) {
    if (word.find('=') != std::string::npos) {
      request.feeds.push_back(feed_of(word));
    } else if (word != "->") {
      request.fetches.push_back(word);
    }
  }
  master().run_step(std::move(request), context(), answer<RunStepReply>("leg"));
}
void Speaker::make(Words& words) {
  MakeCallableRequest request{session_, {}, {}, {}, {}};
  auto* list = &request.feeds;
  for (std::string word; words >> word;) {
    if (word == "->") {
      list = &request.fetches;
    } else {
      list->push_back(word);
    }
  }
  master().make_callable(std::move(request), context(), answer<MakeCallableReply>("callable"));
}
int64_t Speaker::which(Words& words) {
  if ((words >> std::ws).peek() != '#') return callable_;
  int64_t number = 0;
  words.ignore() >> number;
  return number;
}
void Speaker::call(Words& words) {
  RunCallableRequest request{session_, which(words), {}};
  for (float value = 0; words >> value;) request.feeds.push_back(Tensor::scalar(value));
  master().run_callable(std::move(request), context(), answer<RunCallableReply>("values"));
}
void Speaker::release(Words& words) {
  master().release_callable({session_, which(words)}, context(), answer<void>("released"));
}
void Speaker::list(Words&) {
  master().list_devices({session_}, context(), answer<ListDevicesReply>("devices"));
}
void Speaker::close(Words&) { master().close_session({session_}, {}, answer<void>("closed")); }
void Speaker::reset(Words&) { master().reset({}, {}, answer<void>("reset")); }
void Speaker::cancel(Words&) {
  std::exchange(cancellation_, std::make_shared<Cancellation>())
      ->cancel(cancelled("client went away"));
}
void Speaker::go(Words&) {
  fleet_.stage()->mute();
  client_->end();
  fleet_.stage()->unmute();
}

}  // namespace millrace::simulation
