#include "transfer/names.hpp"

#include <algorithm>
#include <span>

#include "base/text.hpp"
#include "transfer/checksum.hpp"

namespace udtx::transfer {

namespace {

constexpr char kDigits[] = "0123456789abcdef";

Error refused(std::string_view name, const char* why) {
    return {ErrorCode::refused, "name '" + escape_name(name) + "' refused: " + why};
}

/// Why no file can have that name; null: a file can.
const char* no_name(std::string_view component) {
    if (component.empty()) return "it is empty";
    if (component == "." || component == "..") return "it leads to another directory";
    if (component.find('/') != std::string_view::npos) return "it contains a slash";
    if (component.find('\0') != std::string_view::npos) return "it contains a NUL";
    return nullptr;
}

/// Characters after a backslash in a field, and what they stand for.
constexpr std::string_view kCodes = "tnr\\";
constexpr std::string_view kMeant = "\t\n\r\\";

constexpr std::string_view kMark = ".udtx-";
constexpr std::size_t kNumber = 16;

std::string hex(std::uint64_t number) {
    std::string digits;
    for (unsigned shift = 64; shift > 0; shift -= 4) digits += kDigits[(number >> (shift - 4)) & 15U];
    return digits;
}

}  // namespace

Result<void> check_component(std::string_view component) {
    if (const char* why = no_name(component)) return refused(component, why);
    if (component.size() > kMaxComponentBytes)
        return refused(std::string(component.substr(0, 40)) + "...", "it has more than 255 bytes");
    return {};
}

Result<void> check_path(const std::vector<std::string>& components) {
    if (components.empty()) return refused("", "the path is empty");
    if (components.size() > kMaxDepth) return refused(components.back(), "it lies more than 128 levels deep");
    std::size_t total = components.size() - 1;
    for (const std::string& component : components) {
        if (auto checked = check_component(component); !checked) return checked;
        total += component.size();
    }
    if (total > kMaxPathBytes) return refused(components.back(), "its path has more than 4,095 bytes");
    return {};
}

Result<void> check_sent_path(const std::vector<std::string>& components) {
    auto checked = check_path(components);
    if (checked) return checked;
    const bool lie = components.empty() || std::ranges::any_of(components, no_name);
    return lie ? Error{ErrorCode::protocol, checked.error().message} : checked.error();
}

bool is_plain_path(std::string_view path) {
    const auto components = split_path(path);
    return check_path(components).ok() && join_path(components) == path;
}

std::vector<std::string> split_path(std::string_view path) {
    std::vector<std::string> parts;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        if (!part.empty()) parts.emplace_back(part);
        path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    }
    return parts;
}

std::string join_path(const std::vector<std::string>& components) {
    std::string out;
    for (const std::string& component : components) {
        if (!out.empty()) out += '/';
        out += component;
    }
    return out;
}

std::string escape_name(std::string_view name) {
    return escape(name, [](unsigned char u) {
        return is_control(u) || u == 0x5c || u == 0x27 || u == 0x22;  // backslash and quotes
    });
}

std::string escape_line(std::string_view line) { return escape_controls(line); }

// Also accepts the names of an older version, ".NAME.udtx-<16 hex digits>.part".
bool is_transfer_file(std::string_view given) {
    // A file system that folds case may change them to capitals. It may also drop invisible characters, or dots at the
    // end.
    std::string small = in_lower_case(given);
    std::erase_if(small, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    small.resize(small.find_last_not_of(". ") + 1);
    const std::string_view name = small;
    const std::size_t mark = name.rfind(kMark);
    if (mark == std::string_view::npos || name.front() != '.') return false;
    const std::string_view rest = name.substr(mark + kMark.size());
    const std::size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
    const std::string_view end = rest.substr(digits);
    return digits == kNumber &&
           (end == ".part" || (mark == 0 && (end == ".journal" || end == ".job" || end == ".shards")));
}

std::string temp_name(std::uint64_t unique) { return std::string(kMark) + hex(unique) + ".part"; }

std::string journal_name(std::uint64_t transfer) { return std::string(kMark) + hex(transfer) + ".journal"; }

std::string job_file_name(std::uint64_t job) { return std::string(kMark) + hex(job) + ".job"; }

std::string shard_slots_name(std::uint64_t job) { return std::string(kMark) + hex(job) + ".shards"; }

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    }
    return out;
}

std::string path_in(const std::string& directory, const std::string& leaf) {
    return directory.empty() ? leaf : directory + '/' + leaf;
}

std::uint64_t key_of(std::initializer_list<std::uint64_t> numbers) noexcept {
    return short_hash(std::as_bytes(std::span(numbers.begin(), numbers.size())));
}

std::string escape_field(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const std::size_t code = kMeant.find(c);
        if (code != std::string_view::npos) out += '\\';
        out += code != std::string_view::npos ? kCodes[code] : c;
    }
    return out;
}

std::optional<std::string> unescape_field(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        const std::size_t code = ++i == text.size() ? std::string_view::npos : kCodes.find(text[i]);
        if (code == std::string_view::npos) return std::nullopt;
        out += kMeant[code];
    }
    return out;
}

std::uint64_t path_key(std::string_view path) noexcept { return short_hash(std::as_bytes(std::span(path))); }

}  // namespace udtx::transfer
