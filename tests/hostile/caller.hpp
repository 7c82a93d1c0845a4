// A client with a valid key that connects to a server, sends what a script contains, and records the answers.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/driver.hpp"
#include "proto/application.hpp"
#include "transfer/message/message_codec.hpp"

namespace udtx::hostile {

/// What the client sends: the control stream's messages, and its data, streams and their ends.
struct Speech {
    std::vector<std::byte> control{};
    std::string data{};
    bool ordered_data = false;  ///< send the tree's data on an ordered stream, as a pipe's data is sent
    bool end_data = true;
    bool end_control = false;
    bool reset_control = false;
    bool second_stream = false;
};

/// How a transfer ended.
struct Ending {
    bool connected = false;
    bool over = false;       ///< false: the server waits for more
    std::uint64_t code = 0;  ///< of STOPPED or of the close; 0: the server confirmed
    std::string reason{};
    bool confirmed = false;
    transfer::message::Totals totals{};
    std::vector<transfer::message::FileFailed> failed{};
    std::string data{};             ///< the data that arrived
    std::optional<int> far_code{};  ///< the exit code of the server, if it was the client's own
};

class Caller final : public proto::ConnectionHandler {
  public:
    explicit Caller(Speech speech) : speech_(std::move(speech)) {}

    /// Connects, waits for the end for at most `patience` from then on, then closes the connection.
    static Ending call(io::Driver& driver, const Address& server, Speech speech, Duration patience);

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    void speak(proto::Connection& connection);
    void read(Instant now, proto::Connection& connection);
    void hear(const transfer::Message& message);

    Speech speech_;
    std::optional<StreamId> control_;
    transfer::MessageReader reader_;
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    Ending ending_;
    bool closed_ = false;
};

}  // namespace udtx::hostile
