// Dials a server with a valid key, says what a script has, and keeps what comes back.
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
#include "transfer/message/message_reader.hpp"

namespace udtx::hostile {

/// What is said beside the control stream's messages.
struct Speech {
    std::vector<std::byte> control{};
    std::string data{};
    bool ordered_data = false;  ///< the data of a tree on the stream of a pipe
    bool end_data = true;
    bool end_control = false;
    bool reset_control = false;
    bool second_stream = false;
};

/// How it ended.
struct Ending {
    bool over = false;       ///< else the server waits for more
    std::uint64_t code = 0;  ///< of STOPPED, or of the close; 0: it confirmed
    std::string reason{};
    bool confirmed = false;
    transfer::message::Totals totals{};
    std::vector<transfer::message::FileFailed> failed{};
    std::string placed{};  ///< what came as data
};

class Caller final : public proto::ConnectionHandler {
  public:
    explicit Caller(Speech speech) : speech_(std::move(speech)) {}

    /// Dials; waits for the end for so long, and then leaves.
    static Ending call(io::Driver& driver, const Address& server, Speech speech, Duration patience);

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_wake(Instant now, proto::Connection& connection) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

  private:
    void speak(proto::Connection& connection);
    void read(Instant now, proto::Connection& connection);
    void hear(const transfer::Message& message);

    Speech speech_;
    std::optional<StreamId> control_;
    transfer::MessageReader reader_;
    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    Ending ending_;
    bool closed_ = false;
};

}  // namespace udtx::hostile
