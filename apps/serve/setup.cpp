#include "serve/setup.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/runtime_dir.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::apps {
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
    if (!command.to_stdout && command.authorized_keys.empty()) places.trees.push_back(command.directory);
    for (const auto& [key, rights] : keys.all()) {
        if (rights.write) places.trees.push_back(directory_of(command, rights));
    }
    if (const std::string& report = command.common.observing.report; !report.empty()) {
        places.files.push_back(report);
        std::error_code unknown;
        // A report that is removed meanwhile is created again, but only a regular file. Devices, pipes and targets of
        // broken links are not created again.
        const bool free = !exists(std::filesystem::symlink_status(report, unknown));
        if (free || std::filesystem::is_regular_file(report, unknown)) places.links.push_back(home_of(report));
    }
    // The receipt is written beside the file that a link leads to, and replaces it at the end.
    if (const std::string& receipt = command.common.receipt_text; !receipt.empty()) {
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

}  // namespace udtx::apps
