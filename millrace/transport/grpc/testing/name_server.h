// NameServer: answers questions for names (RFC 1035) on the loopback, as a test says.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/transport/sockets/file_descriptor.h"

namespace millrace::testing {

// Knows no name until all are 127.0.0.1.
class NameServer {
 public:
  NameServer() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&here);
    REQUIRE(::bind(socket_.get(), address, sizeof(here)) == 0);
    socklen_t size = sizeof(here);
    REQUIRE(::getsockname(socket_.get(), address, &size) == 0);
    port_ = ntohs(here.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~NameServer() {
    is_over_ = true;
    thread_.join();
  }
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void know_all() { knows_ = true; }
  // Questions for addresses of IPv4, one for each time that a name is looked up.
  int num_questions() const { return num_questions_; }

 private:
  static constexpr size_t kHeader = 12;
  static constexpr uint8_t kIPv4 = 1;        // the type of the question
  static constexpr uint8_t kNoSuchName = 3;  // the code of the answer

  void serve() {
    std::array<uint8_t, 512> bytes{};
    while (!is_over_) {
      pollfd waited{socket_.get(), POLLIN, 0};
      if (::poll(&waited, 1, 10) <= 0) continue;
      sockaddr_in from{};
      socklen_t size = sizeof(from);
      const ssize_t length = ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0,
                                        reinterpret_cast<sockaddr*>(&from), &size);
      if (length < static_cast<ssize_t>(kHeader)) continue;
      const std::string answer =
          answer_to({reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(length)});
      ::sendto(socket_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from),
               size);
    }
  }

  std::string answer_to(std::string_view question) {
    // The name, as lengths and labels, ends with a zero; type and class follow.
    const size_t end = question.find('\0', kHeader) + 5;
    const bool is_ipv4 = question[end - 3] == kIPv4;
    if (is_ipv4) ++num_questions_;
    const bool is_told = knows_ && is_ipv4;
    std::string answer(question.substr(0, end));
    answer[2] = static_cast<char>(0x81);  // an answer, recursion desired
    answer[3] = static_cast<char>(0x80 | (knows_ ? 0 : kNoSuchName));  // recursion available
    answer[7] = is_told ? 1 : 0;                                       // answers
    answer[9] = answer[11] = 0;                                        // other records
    if (is_told) answer += std::string("\xC0\x0C\0\1\0\1\0\0\0\0\0\4\x7F\0\0\1", 16);
    return answer;
  }

  const transport::FileDescriptor socket_;
  int port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> knows_ = false;
  std::atomic<int> num_questions_ = 0;
  std::thread thread_;
};

}  // namespace millrace::testing
