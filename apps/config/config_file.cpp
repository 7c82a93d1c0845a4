#include "config/config_file.hpp"

#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/command_line.hpp"
#include "common/read_file.hpp"
#include "common/text.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string normal_key(std::string_view typed) {
    std::string key(typed);
    std::transform(key.begin(), key.end(), key.begin(),
                   [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
    return std::string(flag_meant_by(key));
}

std::vector<std::string> words(std::string_view text) {
    std::vector<std::string> out;
    while (!(text = trim(text)).empty()) {
        const std::size_t end = std::min(text.find_first_of(kBlank), text.size());
        out.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return out;
}

bool matches(const std::string& pattern, const std::string& host) {
    return fnmatch(pattern.c_str(), host.c_str(), FNM_CASEFOLD) == 0;
}

Error at(const std::string& name, int line, const std::string& what) {
    return {ErrorCode::invalid_argument, name + ":" + std::to_string(line) + ": " + what};
}

/// Parses "key value" or "key = value". Double quotes preserve blanks at the ends of the value.
Result<Setting> parse_line(std::string_view text, const std::string& name, int line) {
    const std::size_t end = std::min(text.find_first_of(" \t="), text.size());
    Setting setting{.key = normal_key(text.substr(0, end)), .value = {}, .line = line};
    std::string_view value = trim(text.substr(end));
    if (value.starts_with('=')) value = trim(value.substr(1));
    if (value.starts_with('"')) {
        if (value.size() < 2 || !value.ends_with('"')) return at(name, line, "the closing quote is missing");
        value = value.substr(1, value.size() - 2);
    }
    if (setting.key.empty()) return at(name, line, "a line is 'key value', 'Host PATTERN...' or '# comment'");
    if (value.empty()) return at(name, line, "'" + setting.key + "' has no value");
    setting.value = std::string(value);
    return setting;
}

}  // namespace

bool HostBlock::applies_to(std::string_view host) const {
    if (patterns.empty()) return true;
    if (host.empty()) return false;
    const std::string name(host);
    bool wanted = false;
    for (const std::string& pattern : patterns) {
        const bool negated = pattern.starts_with('!');
        if (!matches(negated ? pattern.substr(1) : pattern, name)) continue;
        if (negated) return false;
        wanted = true;
    }
    return wanted;
}

Result<ConfigFile> parse_config(std::string_view text, std::string name) {
    ConfigFile file{.name = std::move(name), .blocks = {HostBlock{}}};
    int number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = trim(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        if (line.empty() || line.starts_with('#')) continue;
        auto setting = parse_line(line, file.name, number);
        if (!setting) return setting.error();
        if (setting->key == "host") {
            file.blocks.push_back(HostBlock{.patterns = words(setting->value), .settings = {}});
        } else {
            file.blocks.back().settings.push_back(std::move(*setting));
        }
    }
    return file;
}

Result<std::optional<ConfigFile>> read_config(const std::string& path, std::string* foreign) {
    const auto left_out = [&](std::string why) {
        *foreign = std::move(why);
        return std::optional<ConfigFile>();
    };
    struct stat status {};
    const auto closed = [&] { return "cannot read '" + escape_for_terminal(path) + "': " + std::strerror(errno); };
    if (::stat(path.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR) return std::optional<ConfigFile>();
        if (errno == EACCES && foreign != nullptr) return left_out(closed());
        return Error{ErrorCode::file_io, closed()};
    }
    const bool theirs = status.st_uid != 0 && status.st_uid != ::geteuid();
    if (theirs && foreign != nullptr) return left_out(path + " belongs to another user and is not read");
    if (foreign != nullptr && ::access(path.c_str(), R_OK) != 0 && errno == EACCES) return left_out(closed());
    if (theirs || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return Error{
            ErrorCode::invalid_argument,
            path + " can be changed by others and is not read: chown it to yourself and 'chmod go-w " + path + "'"};
    }
    if (!S_ISREG(status.st_mode)) return Error{ErrorCode::file_io, "cannot read " + path + ": it is not a file"};
    const auto text = read_file(path);
    if (!text) return text.error();
    auto parsed = parse_config(*text, path);
    if (!parsed) return parsed.error();
    return std::optional<ConfigFile>(std::move(*parsed));
}

}  // namespace udtx::apps
