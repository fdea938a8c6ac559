// Network: what lies between the simulated processes. It carries bytes and knows no message.
//
// A connection keeps the order of what is sent on it, in each direction, as TCP does; connections
// overtake each other as the delays are drawn. A cut holds everything back, in one direction or in
// both, and what was held goes on when it is healed; an end whose bytes are not acknowledged for
// kUnacknowledged, or that hears nothing for as long as its keepalive has patience, breaks. What an
// end that broke could not get through is sent no more, and the other end, if a cut is between
// them, finds out when it sends something or when its keepalive asks. A process that dies closes
// its connections, which the others learn as soon as that gets through; after kUnacknowledged its
// system no longer tries, either.
//
// Every message and byte is counted. Sites are names ("worker:1"): a task that is restarted is at
// the same one. Owned by the simulation; one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/world.h"

namespace millrace::simulation {

struct Delays {
  Clock::Duration least = std::chrono::milliseconds(1);
  Clock::Duration most = std::chrono::milliseconds(1);
};

// What went through one site.
struct Traffic {
  uint64_t messages_sent = 0, messages_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  uint64_t connections_made = 0, connections_taken = 0;
};

enum class Side : uint8_t { caller, called };
constexpr Side other(Side side) { return side == Side::caller ? Side::called : Side::caller; }

class Network;
class Serving;

// One connection. Both ends hold it; the network forgets it when both are closed.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Why an end is closed, in the words of gRPC.
  using Closed = std::function<void(std::string_view symptom)>;

  Connection(Network& network, std::string caller, std::string called);

  // What an end does when it breaks, or hears that the other one is closed. Set before anything is
  // sent.
  void on_closed(Side side, Closed closed) { end(side).closed = std::move(closed); }
  // Sends from one end; `arrive` is called at the other one, unless that is closed.
  void send(Side from, size_t bytes, std::function<void()> arrive);
  // The process at this end is done with it. Its Closed is not called.
  void close(Side side);
  // Who serves what comes through it.
  void take(std::weak_ptr<Serving> serving) { serving_ = std::move(serving); }
  const std::weak_ptr<Serving>& taken_by() const { return serving_; }
  bool is_open(Side side) const { return ends_[index(side)].is_open; }

 private:
  friend class Network;
  struct Message {
    size_t bytes = 0;  // 0: a word between the two systems, not a message
    std::function<void()> arrive;
  };
  struct End {
    std::string site;
    bool is_open = true;
    bool is_watched = false;     // something may turn out not to be acknowledged
    Clock::Time last_arrival{};  // of what is sent to this end
    std::deque<Message> held;    // what a cut keeps from this end
    Closed closed;
  };
  static size_t index(Side side) { return static_cast<size_t>(side); }
  End& end(Side side) { return ends_[index(side)]; }

  void carry(Side to, Message message);
  void arrived(Side to, const Message& message);
  void watch_for_acknowledgement(Side from);
  void break_end(Side side, std::string_view symptom);
  // Its system no longer tries to get through what is held.
  void give_up(Side side);
  void tell_other_end(Side side, std::string_view symptom);
  void flush(Side to);

  Network& network_;
  std::array<End, 2> ends_;
  std::weak_ptr<Serving> serving_;
};

class Network {
 public:
  // TCP gives up what is not acknowledged, and gRPC's keepalive a silent connection, after so long.
  static constexpr std::chrono::seconds kUnacknowledged{20};
  static constexpr std::chrono::seconds kServerKeepalive{40};
  static constexpr std::chrono::seconds kClientKeepalive{330};
  static constexpr std::chrono::seconds keepalive(Side side) {
    return side == Side::called ? kServerKeepalive : kClientKeepalive;
  }
  // Who is not answered for so long has not connected.
  static constexpr std::chrono::seconds kConnectTimeout{10};

  Network(World& world, Delays delays) : world_(world), delays_(delays), actor_(world) {}

  // Accepts connections at `address`, in the name of a site. `accept` gets each one.
  using Accept = std::function<void(std::shared_ptr<Connection>)>;
  void listen(const std::string& address, const std::string& site, Accept accept);
  void stop_listening(const std::string& address);

  // Answers once: with a connection, or with null and gRPC's word for why there is none.
  using Connected = std::function<void(std::shared_ptr<Connection>, std::string_view symptom)>;
  void connect(const std::string& from_site, const std::string& address, Connected connected);

  // Keeps back what goes from one site to another, in this direction.
  void cut(const std::string& from, const std::string& to);
  void heal(const std::string& from, const std::string& to);
  void heal_all();
  bool is_cut(const std::string& from, const std::string& to) const {
    return cuts_.contains({from, to});
  }
  // Breaks every connection between two sites, whose processes live on.
  void break_connections(const std::string& a, const std::string& b);
  // The process at `site` is frozen: its system goes on, its keepalive does not.
  void frozen(const std::string& site);
  void thawed(const std::string& site) { frozen_.erase(site); }
  // Delays of one site's connections, both ways.
  void slow_down(const std::string& site, Clock::Duration by) { slow_[site] = by; }

  // By site.
  const std::map<std::string, Traffic>& traffic() const { return traffic_; }
  size_t num_connections() const { return connections_.size(); }

 private:
  friend class Connection;
  struct Listening {
    std::string site;
    Accept accept;
  };

  Clock::Duration delay(const std::string& from, const std::string& to);
  Clock::Duration slowness(const std::string& site) const;
  // True if one direction has been cut since `since`, so that no acknowledgement came.
  bool is_cut_since(const std::string& a, const std::string& b, Clock::Time since) const;
  void later(Clock::Duration delay, World::Kind kind, Task task);
  void watch_keepalives(const std::function<bool(const Connection&)>& concerned,
                        const std::function<bool(const Connection&, Clock::Time)>& still_silent);
  void forget_closed();

  World& world_;
  const Delays delays_;
  World::Actor actor_;
  std::map<std::string, Listening> listening_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::map<std::pair<std::string, std::string>, Clock::Time> cuts_;  // since when
  std::map<std::string, Clock::Time> frozen_;
  std::map<std::string, Clock::Duration> slow_;
  std::map<std::string, Traffic> traffic_;
};

}  // namespace millrace::simulation
