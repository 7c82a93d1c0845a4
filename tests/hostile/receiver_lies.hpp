// What a lying receiver answers to a push, one lie a line.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "transfer/message/messages.hpp"

namespace udtx::hostile {

/// What there is to answer to.
struct Heard {
    std::vector<transfer::message::Query> queries;
    std::uint64_t entries = 0;
    transfer::message::Finish finish;
};
struct Answers {
    std::vector<transfer::Message> messages;
    bool second_stream = false;
    bool close_orderly = false;  ///< with code 0
};

/// When a lie is told.
enum class When : std::uint8_t { at_offer, at_query, at_finish };

struct ReceiverLie {
    std::string_view name;
    std::string_view codes;  ///< exit codes of udtx-send, as a pattern
    std::string_view named;  ///< what its error has to have
    When when;
    std::function<void(const Heard&, Answers&)> tell;
};

/// A receiver that has been asked nothing answers nothing: it says that it has nothing, and takes what comes.
[[nodiscard]] const std::vector<ReceiverLie>& receiver_lies();

}  // namespace udtx::hostile
