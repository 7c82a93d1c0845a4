#include "random_lies.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "lies.hpp"
#include "push_lies.hpp"
#include "transfer/message/message_codec.hpp"

namespace udtx::hostile {

using namespace transfer;

namespace {

using Words = std::vector<std::string>;  // messages with their length prefixes

std::string bytes_of(const Message& message) {
    MessageWriter out;
    out.put(message);
    return {reinterpret_cast<const char*>(out.bytes().data()), out.bytes().size()};
}

class Madness {
  public:
    explicit Madness(std::uint64_t seed) : random_(seed) {}

    Speech speak() {
        Words words;
        Speech out;
        below(4) == 0 ? fetch(words) : push(words, out);
        const std::size_t changes = 1 + below(6);
        for (std::size_t i = 0; i < changes; ++i) change(words);
        if (below(16) == 0) words = {noise(below(2000))};
        if (below(8) == 0) out.data = change_bytes(out.data);
        out.ordered_data = below(32) == 0;
        out.end_data = below(8) != 0;
        out.end_control = below(16) == 0;
        out.reset_control = below(64) == 0;
        out.second_stream = below(64) == 0;
        for (const std::string& word : words) {
            const auto bytes = std::as_bytes(std::span(word));
            out.control.insert(out.control.end(), bytes.begin(), bytes.end());
        }
        return out;
    }

  private:
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
    std::string noise(std::size_t bytes) {
        std::string out(bytes, '\0');
        for (char& c : out) c = static_cast<char>(random_());
        return out;
    }

    void push(Words& words, Speech& out) {
        Script script({});
        script.offer([&](message::Offer& m) {
            m.destination = {"s" + std::to_string(below(8))};
            m.transfer = below(4);  // several clients continue the same transfer
            m.preserve = below(2) == 0;
            m.sparse = below(4) == 0;
            m.overwrite = static_cast<Overwrite>(below(3));
            m.mode = below(16) == 0 ? TransferMode::stream : TransferMode::tree;
            m.dry_run = below(16) == 0;
        });
        script.query("a");
        script.directory("d");
        script.file("a");
        script.symlink("l", "../outside");
        script.file("d/b", "honest\n");
        script.hard_link("d/h", "a");
        script.file("c", "");
        script.finish();
        split(script, words);
        out.data = script.data();
    }
    void fetch(Words& words) {
        message::Pull pull;
        pull.what.sources = {below(2) == 0 ? "keep" : "./"};
        if (below(4) == 0) pull.what.names.emplace();
        pull.what.hard_links = pull.what.attributes = below(2) == 0;
        words = {bytes_of(pull), bytes_of(message::Rules{false, {{false, "*.x"}}}), bytes_of(message::Names{{"keep"}}),
                 bytes_of(message::Accept{}), bytes_of(message::Resume{})};
        if (below(2) == 0) words.push_back(bytes_of(message::Confirm{}));
    }
    static void split(const Script& script, Words& words) {
        MessageReader reader;
        reader.feed(script.control());
        for (;;) {
            const auto next = reader.next();
            if (!next || !next->has_value()) return;
            words.push_back(bytes_of(**next));
        }
    }

    void change(Words& words) {
        if (words.empty()) return;
        const std::size_t at = below(words.size());
        const auto place = words.begin() + static_cast<std::ptrdiff_t>(at);
        switch (below(9)) {
            case 0:
                words.erase(place);
                return;
            case 1:
                words.insert(place, std::string(*place));
                return;
            case 2:
                std::swap(*place, words[below(words.size())]);
                return;
            case 3:
                words.insert(place, bytes_of(any_of(senders_messages())));
                return;
            case 4:
                words.insert(place, bytes_of(any_of(receivers_messages())));
                return;
            case 5: {
                std::string body = noise(1 + below(60));
                body.front() = static_cast<char>(below(32));
                words.insert(place, static_cast<char>(body.size()) + body);
                return;
            }
            default:
                // Change only the bytes after the length, so that the server still parses the messages after it.
                if (place->size() > 2) *place = place->substr(0, 1) + change_bytes(place->substr(1));
                return;
        }
    }
    Message any_of(const std::vector<Message>& messages) { return messages[below(messages.size())]; }

    std::string change_bytes(std::string bytes) {
        if (bytes.empty()) return bytes;
        const std::size_t at = below(bytes.size());
        switch (below(4)) {
            case 0:
                bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
                break;
            case 1:
                for (std::size_t i = at; i < std::min(at + 8, bytes.size()); ++i) bytes[i] = '\xff';
                break;
            case 2:
                for (std::size_t i = at; i < std::min(at + 3, bytes.size()); ++i) bytes[i] = "../"[i - at];
                break;
            default:
                bytes[at] = static_cast<char>(random_());
                break;
        }
        return bytes;
    }

    std::mt19937_64 random_;
};

}  // namespace

Speech random_speech(std::uint64_t seed) { return Madness(seed).speak(); }

}  // namespace udtx::hostile
