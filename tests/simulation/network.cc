#include "tests/simulation/network.h"

#include <algorithm>
#include <utility>

namespace millrace::simulation {

// ---- Connection
// ----------------------------------------------------------------------------------

Connection::Connection(Network& network, std::string caller, std::string called)
    : network_(network) {
  end(Side::caller).site = std::move(caller);
  end(Side::called).site = std::move(called);
}

void Connection::send(Side from, size_t bytes, std::function<void()> arrive) {
  if (!end(from).is_open) return;
  Traffic& traffic = network_.traffic_[end(from).site];
  ++traffic.messages_sent;
  traffic.bytes_sent += bytes;
  carry(other(from), {bytes, std::move(arrive)});
  watch_for_acknowledgement(from);
}

void Connection::carry(Side to, Message message) {
  End& receiver = end(to);
  const std::string& sender = end(other(to)).site;
  if (network_.is_cut(sender, receiver.site)) {
    receiver.held.push_back(std::move(message));
    return;
  }
  const Clock::Time now = network_.world_.now();
  receiver.last_arrival =
      std::max(receiver.last_arrival, now + network_.delay(sender, receiver.site));
  network_.later(receiver.last_arrival - now, World::Kind::under_way,
                 [self = shared_from_this(), to, message = std::move(message)] {
                   self->arrived(to, message);
                 });
}

void Connection::arrived(Side to, const Message& message) {
  if (!end(to).is_open) {
    // The system says that nobody is there any more.
    if (message.bytes > 0) tell_other_end(to, "Connection reset by peer");
    return;
  }
  if (message.bytes > 0) {
    Traffic& traffic = network_.traffic_[end(to).site];
    ++traffic.messages_received;
    traffic.bytes_received += message.bytes;
  }
  message.arrive();
}

void Connection::watch_for_acknowledgement(Side from) {
  const Clock::Time sent = network_.world_.now();
  const std::string &a = end(from).site, &b = end(other(from)).site;
  if (end(from).is_watched || !network_.is_cut_since(a, b, sent)) return;
  end(from).is_watched = true;
  network_.later(Network::kUnacknowledged, World::Kind::timer,
                 [self = shared_from_this(), from, sent] {
                   End& end = self->end(from);
                   end.is_watched = false;
                   if (!self->network_.is_cut_since(end.site, self->end(other(from)).site, sent))
                     return;
                   if (end.is_open) return self->break_end(from, "Connection timed out");
                   self->give_up(from);
                 });
}

void Connection::close(Side side) {
  if (!std::exchange(end(side).is_open, false)) return;
  tell_other_end(side, "Socket closed");
  watch_for_acknowledgement(side);
  network_.forget_closed();
}

void Connection::break_end(Side side, std::string_view symptom) {
  if (!std::exchange(end(side).is_open, false)) return;
  if (network_.is_cut(end(side).site, end(other(side)).site)) {
    give_up(side);
  } else {
    tell_other_end(side, "Connection reset by peer");
  }
  if (end(side).closed) end(side).closed(symptom);
  network_.forget_closed();
}

void Connection::give_up(Side side) {
  const Side there = other(side);
  end(there).held.clear();
  if (!end(there).is_open) return;
  network_.later(Network::keepalive(there), World::Kind::timer, [self = shared_from_this(), there] {
    self->break_end(there, "Connection reset by peer");
  });
}

void Connection::tell_other_end(Side side, std::string_view symptom) {
  if (!end(other(side)).is_open) return;
  // The connection has its messages, not they the connection: what a cut holds for ever would keep
  // itself.
  carry(other(side), {0, [this, side, symptom] { break_end(other(side), symptom); }});
}

void Connection::flush(Side to) {
  for (Message& message : std::exchange(end(to).held, {})) carry(to, std::move(message));
}

// ---- Network
// -------------------------------------------------------------------------------------

void Network::listen(const std::string& address, const std::string& site, Accept accept) {
  listening_[address] = {site, std::move(accept)};
}
void Network::stop_listening(const std::string& address) { listening_.erase(address); }

void Network::connect(const std::string& from_site, const std::string& address,
                      Connected connected) {
  const auto found = listening_.find(address);
  // A host is known by its address even if nobody listens there.
  const std::string site = found != listening_.end() ? found->second.site : address;
  if (is_cut(from_site, site) || is_cut(site, from_site) || frozen_.contains(site)) {
    later(kConnectTimeout, World::Kind::timer, [connected = std::move(connected)] {
      connected(nullptr, "Timeout occurred: FD shutdown");
    });
    return;
  }
  const Clock::Duration there = delay(from_site, site), back = delay(site, from_site);
  later(there + back, World::Kind::under_way,
        [this, from_site, address, connected = std::move(connected)] {
          const auto listening = listening_.find(address);
          if (listening == listening_.end()) return connected(nullptr, "Connection refused");
          auto made = std::make_shared<Connection>(*this, from_site, listening->second.site);
          connections_.push_back(made);
          ++traffic_[from_site].connections_made;
          ++traffic_[listening->second.site].connections_taken;
          listening->second.accept(made);
          connected(made, {});
        });
}

void Network::cut(const std::string& from, const std::string& to) {
  if (!cuts_.try_emplace({from, to}, world_.now()).second) return;
  const auto concerned = [from, to](const Connection& connection) {
    const auto& [a, b] = connection.ends_;
    return (a.site == from && b.site == to) || (a.site == to && b.site == from);
  };
  watch_keepalives(concerned, [this](const Connection& connection, Clock::Time since) {
    return is_cut_since(connection.ends_[0].site, connection.ends_[1].site, since);
  });
}

void Network::frozen(const std::string& site) {
  if (!frozen_.try_emplace(site, world_.now()).second) return;
  const auto concerned = [site](const Connection& connection) {
    return connection.ends_[0].site == site || connection.ends_[1].site == site;
  };
  watch_keepalives(concerned, [this, site](const Connection&, Clock::Time since) {
    const auto found = frozen_.find(site);
    return found != frozen_.end() && found->second <= since;
  });
}

void Network::watch_keepalives(
    const std::function<bool(const Connection&)>& concerned,
    const std::function<bool(const Connection&, Clock::Time)>& still_silent) {
  const Clock::Time since = world_.now();
  for (const auto& connection : connections_) {
    if (!concerned(*connection)) continue;
    for (const Side side : {Side::called, Side::caller}) {
      if (frozen_.contains(connection->end(side).site)) continue;
      later(keepalive(side), World::Kind::timer,
            [weak = std::weak_ptr(connection), side, since, still_silent] {
              const auto held = weak.lock();
              if (held && still_silent(*held, since))
                held->break_end(side, "keepalive watchdog timeout");
            });
    }
  }
}

void Network::heal(const std::string& from, const std::string& to) {
  if (cuts_.erase({from, to}) == 0) return;
  const auto connections = connections_;
  for (const auto& connection : connections) {
    for (const Side to_side : {Side::caller, Side::called}) {
      if (connection->end(to_side).site == to && connection->end(other(to_side)).site == from)
        connection->flush(to_side);
    }
  }
}

void Network::heal_all() {
  while (!cuts_.empty()) {
    const auto [from, to] = cuts_.begin()->first;
    heal(from, to);
  }
}

void Network::break_connections(const std::string& a, const std::string& b) {
  const auto connections = connections_;
  for (const auto& connection : connections) {
    const std::string &from = connection->ends_[0].site, &to = connection->ends_[1].site;
    if ((from != a || to != b) && (from != b || to != a)) continue;
    connection->break_end(Side::caller, "Connection reset by peer");
    connection->break_end(Side::called, "Connection reset by peer");
  }
}

bool Network::is_cut_since(const std::string& a, const std::string& b, Clock::Time since) const {
  for (const auto& direction : {std::pair(a, b), std::pair(b, a)}) {
    const auto found = cuts_.find(direction);
    if (found != cuts_.end() && found->second <= since) return true;
  }
  return false;
}

Clock::Duration Network::slowness(const std::string& site) const {
  const auto found = slow_.find(site);
  return found == slow_.end() ? Clock::Duration::zero() : found->second;
}

Clock::Duration Network::delay(const std::string& from, const std::string& to) {
  return world_.between(delays_.least, delays_.most) + slowness(from) + slowness(to);
}

void Network::later(Clock::Duration delay, World::Kind kind, Task task) {
  actor_.at(world_.now() + delay, kind, std::move(task));
}

void Network::forget_closed() {
  std::erase_if(connections_, [](const std::shared_ptr<Connection>& connection) {
    return !connection->is_open(Side::caller) && !connection->is_open(Side::called);
  });
}

}  // namespace millrace::simulation
