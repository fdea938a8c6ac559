#include "millrace/master/testing/play.h"

#include "millrace/graph/import.h"
#include "millrace/graph/text.h"
#include "millrace/ops/all.h"

namespace millrace::testing {

Play::Play() : ops(), random(7), timers(), graph(ops) {
  CHECK(register_all_ops(ops).ok());
  graph = Graph(ops);
}

template <class T>
void PlayedWorker::answer(const std::string& method, Call call, Done<T> done, Outcome<T> outcome) {
  if (!held[method]) {
    done(std::move(outcome));
    return;
  }
  auto shared = std::make_shared<Done<T>>(std::move(done));
  Play::Held call_held{name_, method, [shared, outcome](const Status& status, float value) mutable {
                         if (!status.ok()) {
                           (*shared)(status);
                           return;
                         }
                         if constexpr (std::is_same_v<T, RunGraphReply>) {
                           for (Delivery& delivery : outcome->values)
                             delivery.tensor = Tensor::scalar(value);
                         }
                         (*shared)(std::move(outcome));
                       }};
  if (call.cancellation != nullptr) {
    call_held.registration = call.cancellation->on_cancel([this, method](const Status& why) {
      play_.say(str_cat("master -> ", name_, " cancel ", method, ": ", why.to_string()));
    });
  }
  play_.calls.push_back(std::move(call_held));
}

void PlayedWorker::get_status(WhenDown when, Call call, Done<GetStatusReply> done) {
  held["GetStatus"] = is_down;
  if (when == WhenDown::fail && is_down) {
    play_.say(str_cat("master -> ", name_, " are you there?"));
    done(unavailable("connection refused"));
    return;
  }
  GetStatusReply reply;
  reply.devices.push_back(
      {.name = DeviceName::on({name_, 0, 0}).to_string(), .type = "CPU", .incarnation = 17});
  answer<GetStatusReply>("GetStatus", call, std::move(done), std::move(reply));
}
void PlayedWorker::farewell(EndedTask ended, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " Farewell of ", ended.task.to_string()));
  answer<void>("Farewell", call, std::move(done), Status());
}
void PlayedWorker::create_worker_session(CreateWorkerSessionRequest, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " CreateWorkerSession"));
  answer<void>("CreateWorkerSession", call, std::move(done), Status());
}
void PlayedWorker::delete_worker_session(DeleteWorkerSessionRequest, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " DeleteWorkerSession"));
  answer<void>("DeleteWorkerSession", call, std::move(done), Status());
}
void PlayedWorker::register_graph(RegisterGraphRequest request, Call call,
                                  Done<RegisterGraphReply> done) {
  play_.say(str_cat("master -> ", name_, " RegisterGraph nodes=", request.graph->size()));
  answer<RegisterGraphReply>("RegisterGraph", call, std::move(done),
                             RegisterGraphReply{str_cat(name_, ++graphs_)});
}
void PlayedWorker::deregister_graph(DeregisterGraphRequest request, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " DeregisterGraph ", request.graph_handle));
  answer<void>("DeregisterGraph", call, std::move(done), Status());
}
void PlayedWorker::run_graph(RunGraphRequest request, Call call, Done<RunGraphReply> done) {
  std::string text = str_cat("master -> ", name_, " RunGraph ", request.graph_handle,
                             " step=", play_.step(request.step_id));
  for (size_t i = 0; i < request.values.size(); ++i)
    str_append(&text, " send=", request.values[i].to_string());
  if (!request.keys->receive.empty()) str_append(&text, " receive=", request.keys->receive.size());
  if (request.is_partial) str_append(&text, request.is_last_partial_run ? " last leg" : " leg");
  play_.say(text);
  held["RunGraph"] = true;
  RunGraphReply reply;
  reply.values.resize(request.keys->receive.size());
  answer<RunGraphReply>("RunGraph", call, std::move(done), std::move(reply));
}
void PlayedWorker::cleanup_graph(CleanupGraphRequest request, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " CleanupGraph step=", play_.step(request.step_id)));
  answer<void>("CleanupGraph", call, std::move(done), Status());
}
void PlayedWorker::cleanup_all(CleanupAllRequest, Call call, Done<void> done) {
  play_.say(str_cat("master -> ", name_, " CleanupAll"));
  answer<void>("CleanupAll", call, std::move(done), Status());
}

namespace {

Code code_from(const std::string& name) {
  for (int code = 0; code <= 16; ++code)
    if (code_name(static_cast<Code>(code)) == name) return static_cast<Code>(code);
  FAIL("no such code: " << name);
  return Code::ok;
}

// "f:0=3" -> a feed of the float 3
NamedTensor feed_from(const std::string& word) {
  const size_t at = word.find('=');
  return {word.substr(0, at), Tensor::scalar(std::stof(word.substr(at + 1)))};
}

}  // namespace

void perform(Play& play, std::istringstream& words, const std::string& verb) {
  const auto rest = [&] {
    std::string text;
    std::getline(words >> std::ws, text);
    return text;
  };
  const Call call{.cancellation = &play.cancellation};
  std::string name, word;
  if (verb == "tasks") {
    while (words >> name) {
      CHECK(play.cluster.add_job(name, {str_cat("host-", name, ":1")}).ok());
      play.workers[name] = std::make_shared<PlayedWorker>(play, name);
    }
  } else if (verb == "down") {
    words >> name;
    play.workers[name]->is_down = true;
  } else if (verb == "up") {
    words >> name;
    play.answer(name, "GetStatus", {}, 0);
  } else if (verb == "ended") {
    uint64_t life = 0;
    words >> name >> life;
    play.start_master();
    CHECK(play.departures->note({{name, 0, 0}, life}).ok());
  } else if (verb == "farewell") {
    play.start_master();
    play.master->say_farewell(17, {}, play.client<void>("farewell"));
  } else if (verb == "hold") {
    words >> name >> word;
    play.workers[name]->held[word] = true;
  } else if (verb == "graph") {
    // Parsed together with what is there, so that inputs are found.
    auto all = parse_graph(to_text(play.graph) + rest(), play.ops);
    REQUIRE_MESSAGE(all.ok(), all.status().to_string());
    play.graph = std::move(all).value();
  } else if (verb == "create") {
    CreateSessionRequest request;
    request.graph = export_graph(play.graph);
    play.num_sent = play.graph.size();
    while (words >> word) request.options.device_filters.push_back(word);
    play.master->create_session(std::move(request), call,
                                play.client<CreateSessionReply>("session"));
  } else if (verb == "extend") {
    ExtendSessionRequest request{
        play.handle, export_graph(play.graph, {.first = static_cast<NodeId>(play.num_sent)}), 0};
    words >> request.current_graph_version;
    play.num_sent = play.graph.size();
    play.master->extend_session(std::move(request), call,
                                play.client<ExtendSessionReply>("extended"));
  } else if (verb == "run") {
    RunStepRequest request;
    request.session_handle = play.handle;
    while (words >> word) {
      if (word.find('=') != std::string::npos) {
        request.feeds.push_back(feed_from(word));
      } else if (word.starts_with("!")) {
        request.targets.push_back(word.substr(1));
      } else {
        request.fetches.push_back(word);
      }
    }
    play.master->run_step(std::move(request), call, play.client<RunStepReply>("step"));
  } else if (verb == "setup") {
    PartialRunSetupRequest request{play.handle, {}, {}, {}};
    auto* list = &request.fetches;
    while (words >> word) {
      if (word == "<-") {
        list = &request.feeds;
      } else {
        list->push_back(word);
      }
    }
    play.master->partial_run_setup(std::move(request), call,
                                   play.client<PartialRunSetupReply>("setup"));
  } else if (verb == "leg") {
    RunStepRequest request;
    request.session_handle = play.handle;
    request.partial_run_handle = play.partial_handle;
    while (words >> word) {
      if (word.find('=') != std::string::npos) {
        request.feeds.push_back(feed_from(word));
      } else if (word != "->") {
        request.fetches.push_back(word);
      }
    }
    play.master->run_step(std::move(request), call, play.client<RunStepReply>("leg"));
  } else if (verb == "call") {
    MakeCallableRequest request{play.handle, {}, {}, {}, {}};
    std::vector<Tensor> feeds;
    while (words >> word) {
      if (word.find('=') != std::string::npos) {
        NamedTensor feed = feed_from(word);
        request.feeds.push_back(feed.name);
        feeds.push_back(feed.tensor);
      } else if (word != "->") {
        request.fetches.push_back(word);
      }
    }
    play.master->make_callable(std::move(request), call,
                               play.client<MakeCallableReply>("callable"));
    play.pool.run_all();
    play.master->run_callable({play.handle, play.callable, std::move(feeds)}, call,
                              play.client<RunCallableReply>("values"));
  } else if (verb == "again") {
    RunCallableRequest request{play.handle, 0, {}};
    words >> request.handle;
    while (words >> word) request.feeds.push_back(feed_from(word).tensor);
    play.master->run_callable(std::move(request), call, play.client<RunCallableReply>("values"));
  } else if (verb == "release") {
    ReleaseCallableRequest request{play.handle, 0};
    words >> request.handle;
    play.master->release_callable(request, call, play.client<void>("released"));
  } else if (verb == "keep") {
    words >> play.kept_steps;
  } else if (verb == "answer") {
    std::string code, text;
    words >> name >> word >> code;
    text = rest();
    if (code == "OK") {
      play.answer(name, word, {}, text.empty() ? 0 : std::stof(text));
    } else {
      const bool is_consequence = code.starts_with("~");
      const Status status(code_from(code.substr(is_consequence)), text);
      play.answer(name, word, is_consequence ? status.as_consequence() : status, 0);
    }
  } else if (verb == "cancel") {
    play.cancellation.cancel(cancelled("client went away"));
  } else if (verb == "close") {
    play.master->close_session({play.handle}, {}, play.client<void>("closed"));
  } else if (verb == "reset") {
    play.master->reset({}, {}, play.client<void>("reset"));
  } else if (verb == "stop") {
    play.master->stop(unavailable("server stopped"));
  } else {
    FAIL("what is " << verb);
  }
}

std::string run(const std::string& script) {
  Play play;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string verb;
    if (!(words >> verb)) continue;
    if (verb != "tasks" && verb != "keep") play.start_master();
    perform(play, words, verb);
    play.pool.run_all();
  }
  std::string text = play.out.str();
  // Whatever the script left open ends with the master.
  for (auto& [name, worker] : play.workers) worker->held.clear();
  play.master->stop(unavailable("end of play"));
  play.pool.run_all();
  while (!play.calls.empty()) {
    play.answer(play.calls.front().worker, play.calls.front().method,
                cancelled("end").as_consequence(), 0);
    play.pool.run_all();
  }
  return text;
}

}  // namespace millrace::testing
