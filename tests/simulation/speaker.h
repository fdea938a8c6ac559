// Speaker: one client of a play: what it has (a graph, a session, a partial run, a callable), and
// what it asks its master for when the script says so. The words are those of play.h.
//
// Owned by the play; what it is answered goes to the stage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/client.h"
#include "tests/simulation/words.h"

#include "millrace/graph/graph.h"

namespace millrace::simulation {

class Speaker {
 public:
  // Dials the master at `site`.
  Speaker(Fleet& fleet, const OpRegistry& ops, std::string name, const std::string& site);

  // False if it knows no such word.
  bool say(const std::string& verb, Words& words);

 private:
  MasterService& master() { return client_->master(); }
  Call context() { return {.cancellation = cancellation_.get()}; }

  // Says what comes of it, and keeps what it brings.
  template <class Reply>
  Done<Reply> answer(const std::string& what);
  void take(const CreateSessionReply& reply, std::string* text);
  void take(const ExtendSessionReply& reply, std::string* text);
  void take(const RunStepReply& reply, std::string* text);
  void take(const RunCallableReply& reply, std::string* text);
  void take(const PartialRunSetupReply& reply, std::string* text);
  void take(const MakeCallableReply& reply, std::string* text);
  void take(const ListDevicesReply& reply, std::string* text);

  void add_nodes(Words& words);
  void create(Words& words);
  void adopt(Words& words);
  void extend(Words& words);
  void run(Words& words);
  void set_up(Words& words);
  void run_leg(Words& words);
  void make(Words& words);
  // The number after "#", or else the last callable.
  int64_t which(Words& words);
  void call(Words& words);
  void release(Words& words);
  void list(Words&);
  void close(Words&);
  void reset(Words&);
  void cancel(Words&);
  void go(Words&);

  Fleet& fleet_;
  const OpRegistry& ops_;
  const std::string name_;
  std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  std::unique_ptr<SimClient> client_;
  Graph graph_;
  size_t num_sent_ = 0;
  std::string session_, partial_;
  int64_t callable_ = 0;
};

}  // namespace millrace::simulation
