// What a lying receiver answers to a push: one lie per entry.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "transfer/message/messages.hpp"

namespace udtx::hostile {

/// What the liar has received so far and can answer.
struct Heard {
    std::vector<transfer::message::Query> queries;
    std::uint64_t entries = 0;
    transfer::message::Finish finish;
};
struct Answers {
    std::vector<transfer::Message> messages;
    bool second_stream = false;
    bool close_orderly = false;  ///< close the connection with code 0
};

/// The point at which the receiver lies.
enum class When : std::uint8_t { at_offer, at_query, at_finish };

struct ReceiverLie {
    std::string_view name;
    std::string_view codes;  ///< the allowed exit codes of udtx-send, as a pattern
    std::string_view named;  ///< what the error of udtx-send has to contain
    When when;
    std::function<void(const Heard&, Answers&)> tell;
};

/// The lies. A liar that received no query says that it has no files, and accepts what is sent.
[[nodiscard]] const std::vector<ReceiverLie>& receiver_lies();

}  // namespace udtx::hostile
