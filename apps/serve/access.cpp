#include "serve/access.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include <CLI/CLI.hpp>

#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "control/control.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kKeyWord = "udtx-ed25519";

Error bad(std::string message) { return {ErrorCode::malformed, std::move(message)}; }

/// "name" or "name=\"value\"". take_option() removes it from the front of `text`. In the value, \" is a quotation mark.
struct Option {
    std::string name;
    std::optional<std::string> value;
};
Result<Option> take_option(std::string_view& text) {
    Option option;
    const std::size_t end = std::min(text.find_first_of(std::string(kBlanks) + ",="), text.size());
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
    rights.quota = parse_number<std::uint64_t>(bytes).value_or(0);
    return rights.quota > 0 ? Result<void>() : bad(wrong);
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
        if (line.empty() || kBlanks.find(line.front()) == std::string_view::npos) {
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
    line = trim(line.substr(std::min(line.find_first_of(kBlanks), line.size())));
    return std::string(trim(line.substr(std::min(line.find_first_of(kBlanks), line.size()))));
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

namespace {

/// The directory of a file, after links in the path are resolved.
std::string home_of(const std::string& file) {
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::weakly_canonical(file, ignored);
    return real.has_parent_path() ? real.parent_path().string() : ".";
}

}  // namespace

std::string directory_of(const RecvCommand& command, const KeyRights& rights) {
    return rights.directory.empty() ? command.directory : command.directory + "/" + rights.directory;
}

Result<Credentials> receiver_credentials(const RecvCommand& command, AuthorizedKeys& keys) {
    auto credentials = load_credentials(command.common);
    if (!credentials || command.authorized_keys.empty()) return credentials;
    auto loaded = AuthorizedKeys::load(command.authorized_keys);
    if (!loaded) return key_error(loaded.error(), "--authorized-keys");
    keys = std::move(*loaded);
    for (const auto& [key, rights] : keys.all()) {
        const auto good = transfer::check_served(command.directory, rights.directory, rights.write);
        if (!good) return key_error(good.error(), "--authorized-keys");
        if (const auto trusted = credentials->trust(key); !trusted) return trusted.error();
    }
    return credentials;
}

SandboxPlaces places_of(const RecvCommand& command, const AuthorizedKeys& keys) {
    SandboxPlaces places;
    if (!command.streaming && command.authorized_keys.empty()) places.trees.push_back(command.directory);
    for (const auto& [key, rights] : keys.all()) {
        if (rights.write) places.trees.push_back(directory_of(command, rights));
    }
    if (const std::string& report = command.common.report; !report.empty()) {
        places.files.push_back(report);
        std::error_code unknown;
        // A report that is removed meanwhile is created again, but only a regular file. Devices, pipes and targets of
        // broken links are not created again.
        const bool free = !exists(std::filesystem::symlink_status(report, unknown));
        if (free || std::filesystem::is_regular_file(report, unknown)) places.links.push_back(home_of(report));
    }
    // The receipt is written beside the file that a link leads to, and replaces it at the end.
    if (const std::string& receipt = command.common.receipt; !receipt.empty()) {
        places.renames.push_back(home_of(receipt));
    }
    if (auto runtime = runtime_directory()) places.runtime.push_back(std::move(*runtime));
    return places;
}

void KnownPlaces::note(const std::vector<std::string>& directories) {
    noted_ = true;
    for (const std::string& directory : directories) {
        struct stat st {};
        if (::stat(directory.c_str(), &st) == 0) known_[directory] = {st.st_dev, st.st_ino};
    }
}

Result<void> KnownPlaces::check(const std::string& directory) const {
    const auto at = known_.find(directory);
    struct stat st {};
    const auto holds = [&](const auto& known) { return directory.starts_with(known.first + "/"); };
    if (noted_ && at == known_.end() && std::ranges::none_of(known_, holds)) {
        return Error{ErrorCode::refused,
                     "the sandbox of the server forbids writing there, because no key could write there at the start: "
                     "start the server again"};
    }
    if (at == known_.end() || ::stat(directory.c_str(), &st) != 0) return {};
    if (at->second == std::pair(st.st_dev, st.st_ino)) return {};
    return Error{ErrorCode::refused,
                 "the directory was replaced or mounted again after the start, and the sandbox of the server forbids "
                 "writing there: start the server again"};
}

namespace {

/// The key was removed after the handshake.
Error removed() { return {ErrorCode::authentication, "the server no longer accepts the key of this client"}; }

}  // namespace

Access::Access(const RecvCommand& command, const AuthorizedKeys& keys) : command_(command) { set_keys(keys); }

void Access::set_keys(const AuthorizedKeys& keys) {
    auto next = std::make_shared<Grants>();
    const auto grants = grants_.lock();
    const Grants none;
    const Grants& earlier = *grants ? **grants : none;
    for (const auto& [key, rights] : keys.all()) {
        Grant grant{rights};
        const auto before = earlier.find(key);
        const bool same = before != earlier.end() && before->second.rights.quota == rights.quota &&
                          before->second.rights.directory == rights.directory;
        if (same) {
            grant.quota = before->second.quota;
        } else if (rights.quota > 0) {
            grant.quota.emplace(rights.quota);
        }
        next->emplace(key, std::move(grant));
    }
    *grants = std::move(next);
}

std::shared_ptr<const Access::Grant> Access::grant_of(const transfer::Client& client) const {
    if (!client.key) return nullptr;
    auto all = *grants_.lock();
    const auto found = all->find(*client.key);
    if (found == all->end()) return nullptr;
    return {std::move(all), &found->second};
}

std::string Access::name_of(const transfer::Client& client) const {
    if (!client.key) return {};
    const auto grant = grant_of(client);
    return " (" + (!grant || grant->rights.name.empty() ? client.key->to_string() : grant->rights.name) + ")";
}

std::string Access::place_of(const transfer::Client& client) const {
    if (command_.streaming) return {};
    const auto grant = grant_of(client);
    if (client.key && !grant) return {};
    return seen_from_elsewhere(grant ? directory_of(command_, grant->rights) : command_.directory);
}

Rate Access::rate_of(const transfer::Client& client) const {
    const auto grant = grant_of(client);
    return grant ? grant->rights.rate : Rate::infinite();
}

Result<transfer::LandingOptions> Access::push(const transfer::Client& client) const {
    const auto grant = grant_of(client);
    if (client.key && !grant) return removed();
    const KeyRights* const rights = grant ? &grant->rights : nullptr;
    if (rights != nullptr && !rights->write) {
        return Error{ErrorCode::refused, "this key may not write here: it lacks the right 'write'"};
    }
    transfer::LandingOptions options;
    options.directory = command_.directory;
    if (rights != nullptr) {
        options.below = rights->directory;
        options.whose = client.identity;
    }
    const std::string place = rights == nullptr ? options.directory : directory_of(command_, *rights);
    if (command_.streaming) {
        options.stream_fd = STDOUT_FILENO;
    } else if (const auto same = places_.check(place); !same) {
        return same.error();
    }
    options.resume = !command_.common.no_resume;
    options.receipt = receipt_;
    options.allow_erase = command_.allow_delete;
    options.allow_set_id = command_.allow_set_id;
    options.keep_base = true;
    options.min_free = command_.min_free;
    if (grant) options.quota = grant->quota;
    options.overwrite = command_.tree.overwrite.value_or(transfer::Overwrite::always);
    return options;
}

Result<transfer::OfferOptions> Access::pull(const transfer::Client& client) const {
    const auto grant = grant_of(client);
    if (client.key && !grant) return removed();
    const KeyRights* const rights = grant ? &grant->rights : nullptr;
    if (rights != nullptr && !rights->read) {
        return Error{ErrorCode::refused, "this key may not read here: it lacks the right 'read'"};
    }
    if (rights == nullptr && !command_.allow_read) {
        return Error{ErrorCode::refused, "the server does not send files: start it with --allow-read"};
    }
    if (command_.streaming) return Error{ErrorCode::refused, "this receiver has no directory to fetch from"};
    return transfer::OfferOptions{command_.directory, rights == nullptr ? std::string() : rights->directory};
}

}  // namespace udtx::apps
