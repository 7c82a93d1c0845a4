#include "ssh/bootstrap_fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "common/url.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kGreeting = "udtx-bootstrap ";
constexpr std::string_view kEnd = "end";
// Limits a peer that never ends its block. Thousands of sources fit.
constexpr std::size_t kMaxBytes = 16U << 20U;

std::string percent_encode(std::string_view text) {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte > ' ' && byte < 0x7F && byte != '%') {
            out += c;
        } else {
            out += '%';
            out += kDigits[byte >> 4U];
            out += kDigits[byte & 15U];
        }
    }
    return out;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Removes the first word from `text` and returns it.
std::string_view take_word(std::string_view& text) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    return word;
}

}  // namespace

std::string to_line(const BootstrapGreeting& greeting) {
    return std::string(kGreeting) + std::to_string(greeting.bootstrap) + ' ' + greeting.program + ' ' +
           std::to_string(greeting.transfer) + '\n';
}

std::optional<BootstrapGreeting> parse_greeting(std::string_view line) {
    if (!line.starts_with(kGreeting)) return std::nullopt;
    line.remove_prefix(kGreeting.size());
    BootstrapGreeting greeting;
    const auto bootstrap = parse_number(take_word(line));
    greeting.program = take_word(line);
    const auto transfer = parse_number(take_word(line));
    if (!bootstrap || greeting.program.empty()) return std::nullopt;
    greeting.bootstrap = *bootstrap;
    greeting.transfer = transfer.value_or(0);
    return greeting;
}

std::string BootstrapFields::get(std::string_view name) const {
    const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const auto& f) { return f.first == name; });
    return found == fields_.end() ? std::string() : found->second;
}

std::vector<std::string> BootstrapFields::all(std::string_view name) const {
    std::vector<std::string> out;
    for (const auto& [key, value] : fields_) {
        if (key == name) out.push_back(value);
    }
    return out;
}

std::optional<std::uint64_t> BootstrapFields::number(std::string_view name) const { return parse_number(get(name)); }

std::string BootstrapFields::to_text() const {
    std::string out;
    for (const auto& [name, value] : fields_) out += name + ' ' + percent_encode(value) + '\n';
    return out.append(kEnd) + '\n';
}

Result<std::optional<BootstrapFields>> BootstrapFieldReader::feed(std::string_view line) {
    if (line == kEnd) return std::optional(std::exchange(fields_, {}));
    bytes_ += line.size() + sizeof(std::pair<std::string, std::string>);
    const std::string_view name = take_word(line);
    if (name.empty() || bytes_ > kMaxBytes) {
        return Error{ErrorCode::protocol, "the other end sent something unexpected over ssh"};
    }
    fields_.add(std::string(name), percent_decode(line));
    return std::optional<BootstrapFields>();
}

}  // namespace udtx::apps
