#include "serve/authorized_keys.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <optional>

#include "common/read_file.hpp"
#include "common/units.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr std::string_view kKeyWord = "udtx-ed25519";

Error bad(std::string message) { return {ErrorCode::malformed, std::move(message)}; }

std::string_view trim(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
    const std::size_t last = text.find_last_not_of(kBlank);
    return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

/// "name" or "name=\"value\"". take_option() removes it from the front of `text`. In the value, \" is a quotation mark.
struct Option {
    std::string name;
    std::optional<std::string> value;
};
Result<Option> take_option(std::string_view& text) {
    Option option;
    const std::size_t end = std::min(text.find_first_of(std::string(kBlank) + ",="), text.size());
    option.name = text.substr(0, end);
    text.remove_prefix(end);
    if (!text.starts_with('=')) return option;
    if (!text.starts_with("=\"")) return bad("the value of '" + option.name + "' must be in quotation marks");
    text.remove_prefix(2);
    option.value.emplace();
    while (!text.empty() && text.front() != '"') {
        if (text.starts_with("\\\"")) text.remove_prefix(1);
        *option.value += text.front();
        text.remove_prefix(1);
    }
    if (text.empty()) return bad("the value of '" + option.name + "' has no closing quotation mark");
    text.remove_prefix(1);
    return option;
}

Result<void> set_directory(KeyRights& rights, const std::string& value) {
    const std::filesystem::path path(value);
    const bool up = std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
    if (value.empty() || path.is_absolute() || up) {
        return bad("dir=\"" + value + "\" must lie below the directory of --dir, without '..'");
    }
    std::filesystem::path clean;
    for (const auto& part : path) {
        if (!part.empty() && part != ".") clean /= part;
    }
    rights.directory = clean.string();
    return {};
}

/// Takes a size in the format of --min-free.
Result<void> set_quota(KeyRights& rights, const std::string& value) {
    const std::string wrong = "quota=\"" + value + "\" is not a size above 0: write it as in quota=\"100G\"";
    std::string bytes = value;
    try {
        if (!CLI::AsSizeValue(true)(bytes).empty()) return bad(wrong);
    } catch (const CLI::ValidationError&) {
        return bad(wrong);
    }
    const auto read = std::from_chars(bytes.data(), bytes.data() + bytes.size(), rights.quota);
    const bool all = read.ec == std::errc() && read.ptr == bytes.data() + bytes.size();
    return all && rights.quota > 0 ? Result<void>() : bad(wrong);
}

/// The rights that the options of one line have set so far.
struct Seen {
    bool read = false;
    bool write = false;
};
Result<void> apply(const Option& option, KeyRights& rights, Seen& seen) {
    if (option.name == "read" && !option.value) {
        seen.read = true;
    } else if (option.name == "write" && !option.value) {
        seen.write = true;
    } else if (option.name == "dir" && option.value) {
        return set_directory(rights, *option.value);
    } else if (option.name == "rate" && option.value) {
        const auto rate = parse_rate(*option.value);
        if (!rate) return bad(rate.error().message);
        rights.rate = *rate;
    } else if (option.name == "quota" && option.value) {
        return set_quota(rights, *option.value);
    } else {
        return bad("the option '" + option.name +
                   "' is unknown; use dir=\"DIR\", read, write, rate=\"RATE\", quota=\"SIZE\"");
    }
    return {};
}

Result<KeyRights> parse_options(std::string_view& line) {
    KeyRights rights;
    Seen seen;
    while (!line.starts_with(kKeyWord)) {
        const auto option = take_option(line);
        if (!option) return option.error();
        if (const auto applied = apply(*option, rights, seen); !applied) return applied.error();
        if (line.starts_with(',')) {
            line.remove_prefix(1);
            continue;
        }
        if (line.empty() || kBlank.find(line.front()) == std::string_view::npos) {
            return bad("a blank between the options and the key is missing");
        }
        line = trim(line);
        break;
    }
    if (seen.read || seen.write) {
        rights.read = seen.read;
        rights.write = seen.write;
    }
    return rights;
}

/// The comment after the key.
std::string comment_of(std::string_view line) {
    line = trim(line.substr(std::min(line.find_first_of(kBlank), line.size())));
    return std::string(trim(line.substr(std::min(line.find_first_of(kBlank), line.size()))));
}

}  // namespace

Result<AuthorizedKeys> AuthorizedKeys::parse(std::string_view text, const std::string& name) {
    AuthorizedKeys out;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty() || line.front() == '#') continue;
        const std::string where = name + ", line " + std::to_string(number) + ": ";
        if (line.starts_with("-----BEGIN") || line.starts_with("udtx-psk-1") || line.starts_with("ssh-")) {
            return bad(where + "this is not a public key of udtx: list the lines of the FILE.pub that keygen made");
        }
        auto rights = parse_options(line);
        if (!rights) return bad(where + rights.error().message);
        const auto key = PublicKey::parse(line);
        if (!key) return bad(where + key.error().message);
        rights->name = comment_of(line);
        if (!out.keys_.emplace(*key, std::move(*rights)).second) return bad(where + "this key is listed twice");
    }
    return out;
}

Result<AuthorizedKeys> AuthorizedKeys::load(const std::filesystem::path& path) {
    const auto text = read_file(path.string());
    if (!text) return text.error();
    return parse(*text, path.string());
}

const KeyRights* AuthorizedKeys::find(const PublicKey& key) const {
    const auto found = keys_.find(key);
    return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace udtx::apps
