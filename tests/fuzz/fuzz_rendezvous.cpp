// What the relay and an end read from each other: a stream of messages, and datagrams on the relay's port; and the code
// that a person types. What parses can be written again and parses to the same.
#include <algorithm>
#include <string_view>

#include "fuzz/require.hpp"
#include "rendezvous/code.hpp"
#include "rendezvous/messages.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {4, "bytes before any authentication: messages of the relay and its datagrams"}};

using namespace udtx;
using namespace udtx::apps;
using udtx::fuzz::require;

namespace {

/// Feeds the stream in pieces of `step` bytes. Returns the messages, written again.
std::vector<std::byte> read_and_write(std::span<const std::byte> stream, std::size_t step) {
    std::vector<std::byte> out;
    MessageReader reader;
    for (std::size_t at = 0; at < stream.size(); at += step) {
        reader.feed(stream.subspan(at, std::min(step, stream.size() - at)));
        for (;;) {
            const auto message = reader.next();
            if (!message) {
                require(!reader.next(), "a stream stays wrong");
                return out;
            }
            if (!message->has_value()) break;
            require(!name_of(**message).empty(), "a message has a name");
            const auto written = encode(**message);
            out.insert(out.end(), written.begin(), written.end());
        }
        require(reader.pending() < 2 + 65536, "less than a message is kept");
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto written = read_and_write(bytes, std::max<std::size_t>(size, 1));
    require(read_and_write(bytes, 1) == written, "pieces do not matter");
    require(read_and_write(written, 7) == written, "messages are written to the same");

    const auto bind = parse_bind(bytes);
    if (bind) {
        const auto again = parse_bind(encode(*bind));
        require(again && again->token == bind->token, "BIND is written to the same");
    }
    if (const auto answer = parse_bind_answer(bytes)) {
        require(!bind, "an answer is not BIND");
        const auto again = parse_bind_answer(encode(*answer));
        require(again && again->observed == answer->observed, "an answer is written to the same");
    }

    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto code = parse_code(text)) {
        const auto again = parse_code(to_text(*code));
        require(again.ok() && *again == *code, "a code is written to the same");
    }
    return 0;
}
