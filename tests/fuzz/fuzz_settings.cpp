// Files that a user writes: settings by host, authorized keys, public keys. Each line is parsed or named in the error.
#include <array>
#include <filesystem>
#include <string>

#include "config/settings.hpp"
#include "fuzz/require.hpp"
#include "serve/access.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "each line of settings and authorized keys is valid or reported; no key leaves its directory"}};

using namespace udtx;
using namespace udtx::apps;
using udtx::fuzz::require;

namespace {

void check_settings(std::string_view text) {
    const auto file = parse_config(text, "file");
    if (!file) {
        require(file.error().code == ErrorCode::invalid_argument, "a bad file is told as such");
        return require(file.error().message.starts_with("file:"), "with its line");
    }
    require(!file->blocks.empty() && file->blocks.front().patterns.empty(), "what comes first is for all hosts");
    require(file->blocks.front().applies_to(""), "and for none");
    for (const HostBlock& block : file->blocks) {
        for (const std::string_view host : {"host", "a.example", ""}) static_cast<void>(block.applies_to(host));
        for (const Setting& setting : block.settings) {
            require(!setting.key.empty() && setting.line > 0, "a setting has a name and a line");
            require(setting.value.find('\n') == std::string::npos, "and a value in one line");
        }
    }
}

void check_keys(std::string_view text) {
    const auto keys = AuthorizedKeys::parse(text, "keys");
    if (!keys) {
        require(keys.error().code == ErrorCode::malformed, "a bad list is told as such");
        return require(keys.error().message.starts_with("keys, line "), "with its line");
    }
    for (const auto& [key, rights] : keys->all()) {
        require(keys->find(key) == &rights, "a key is found");
        const std::filesystem::path directory(rights.directory);
        require(!directory.is_absolute(), "its directory lies below the server's");
        for (const auto& part : directory) require(part != "..", "and does not lead out of it");
        require(rights.read || rights.write, "a key is good for something");
        const auto again = PublicKey::parse(key.to_string());
        require(again && *again == key, "a key is written to the same");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check_settings(text);
    check_keys(text);
    // Append a valid key, because few inputs contain one.
    check_keys(text + " udtx-ed25519 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= name\n");
    return 0;
}
