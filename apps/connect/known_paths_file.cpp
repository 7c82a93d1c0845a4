#include "connect/known_paths_file.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "common/text.hpp"
#include "connect/state_directory.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kFormat = "udtx-paths 1";
constexpr std::size_t kMostFileBytes = 256U * KnownPaths::kMost;  // each line: a key, two addresses, numbers
constexpr double kMostCapacity = 1e12;                            // bytes/s: no path is faster
constexpr std::int64_t kMostTime = 60'000'000'000;                // ns: no round trip is longer

using Key = std::tuple<PublicKey, Address, Address>;

std::int64_t time_of_day() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

std::int64_t milliseconds(Duration time) { return std::chrono::duration_cast<std::chrono::milliseconds>(time).count(); }

std::string file_path() {
    const std::string directory = state_directory();
    return directory.empty() ? std::string() : directory + "/paths";
}

// An address without names, so that reading it asks no name server.
std::string number_of(const Address& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool six = address.family == Address::Family::v6;
    ::inet_ntop(six ? AF_INET6 : AF_INET, address.ip.data(), text.data(), text.size());
    return std::string(text.data()) + (address.scope == 0 ? "" : "%" + std::to_string(address.scope));
}

std::optional<Address> address_from(const std::string& text) {
    const std::size_t end = std::min(text.find('%'), text.size());
    Address address;
    if (end < text.size()) {
        const auto scope = parse_number<std::uint32_t>(std::string_view(text).substr(end + 1));
        if (!scope) return std::nullopt;
        address.scope = *scope;
    }
    const std::string host = text.substr(0, end);
    const bool six = host.find(':') != std::string::npos;
    address.family = six ? Address::Family::v6 : Address::Family::v4;
    if (::inet_pton(six ? AF_INET6 : AF_INET, host.c_str(), address.ip.data()) != 1) return std::nullopt;
    return address;
}

std::optional<std::int64_t> number_from(std::istringstream& words, std::int64_t least, double most) {
    std::string word;
    words >> word;
    const auto number = parse_number<std::int64_t>(word);
    if (!number || *number < least || static_cast<double>(*number) > most) return std::nullopt;
    return number;
}

std::optional<KnownPaths::Entry> entry_from(std::istringstream& words) {
    std::string kind, key, local, remote;
    words >> kind >> key >> local >> remote;
    const auto peer = PublicKey::parse(kind + ' ' + key);
    const auto here = address_from(local);
    const auto there = address_from(remote);
    const auto capacity = number_from(words, 0, kMostCapacity);
    const auto rtt = number_from(words, 0, kMostTime);
    const auto jitter = number_from(words, 0, kMostTime);
    if (!peer || !here || !there || !capacity || !rtt || !jitter) return std::nullopt;
    return KnownPaths::Entry{.peer = *peer,
                             .local = *here,
                             .remote = *there,
                             .path = {.capacity = Rate::bytes_per_second(static_cast<double>(*capacity)),
                                      .base_rtt = Duration(*rtt),
                                      .jitter = Duration(*jitter)}};
}

std::string line_of(const KnownPaths::Entry& entry, std::int64_t measured) {
    std::ostringstream line;
    line << entry.peer.to_string() << ' ' << number_of(entry.local) << ' ' << number_of(entry.remote) << ' '
         << std::llround(entry.path.capacity.bytes_per_second()) << ' ' << entry.path.base_rtt.count() << ' '
         << entry.path.jitter.count() << ' ' << measured << '\n';
    return line.str();
}

}  // namespace

void KnownPathsFile::cannot(const char* what, int error) {
    log_.detail(std::string("cannot ") + what + " the known paths, '" + file_path() +
                "': " + std::generic_category().message(error));
}

std::vector<KnownPathsFile::Line> KnownPathsFile::read() {
    const std::string path = file_path();
    if (path.empty()) return {};
    const UniqueFd file(open_file(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat st {};
    if (!file || ::fstat(file.get(), &st) != 0) {
        if (errno != ENOENT) cannot("read", errno);
        return {};
    }
    // What others may write could make this process flood a path.
    const bool own = S_ISREG(st.st_mode) && st.st_uid == ::geteuid() && (st.st_mode & 022) == 0;
    std::string text(kMostFileBytes + 1, '\0');
    const ssize_t count = own ? again([&] { return ::read(file.get(), text.data(), text.size()); }) : -1;
    if (count < 0 || static_cast<std::size_t>(count) > kMostFileBytes) {
        cannot("read", count > 0 ? EFBIG : own ? errno : EPERM);
        return {};
    }
    text.resize(static_cast<std::size_t>(count));
    std::istringstream lines(text);
    std::string line;
    std::vector<Line> known;
    if (!std::getline(lines, line) || line != kFormat) {
        cannot("read", EINVAL);
        return {};
    }
    const std::int64_t now = time_of_day();
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        auto entry = entry_from(words);
        const auto measured = number_from(words, 0, static_cast<double>(now));
        if (!entry || !measured || now - *measured > milliseconds(KnownPath::kLife)) continue;
        entry->path.measured = monotonic_now() - std::chrono::milliseconds(now - *measured);
        known.push_back({std::move(*entry), *measured});
    }
    return known;
}

void KnownPathsFile::load() {
    const std::vector<Line> lines = read();
    for (const Line& line : lines) paths_.note(line.entry);
    if (lines.empty()) return;
    log_.detail("knows " + std::to_string(lines.size()) + (lines.size() == 1 ? " path" : " paths") +
                " of earlier runs");
}

void KnownPathsFile::save() {
    const Instant now = monotonic_now();
    const std::vector<KnownPaths::Entry> measured = paths_.entries(now);
    std::map<Key, Line> lines;
    for (Line& line : read()) {
        const Key key{line.entry.peer, line.entry.local, line.entry.remote};
        lines.insert_or_assign(key, std::move(line));
    }
    bool changed = false;
    for (const KnownPaths::Entry& entry : measured) {
        const std::int64_t time = time_of_day() - milliseconds(now - entry.path.measured);
        const auto [at, added] = lines.try_emplace({entry.peer, entry.local, entry.remote}, Line{entry, time});
        // The two clocks tell the age of what load() took from the file within some milliseconds.
        constexpr std::int64_t kSame = 100;
        if (!added && time <= at->second.measured + kSame) continue;
        at->second = {entry, time};
        changed = true;
    }
    if (!changed) return;
    std::vector<const Line*> newest;
    for (const auto& [key, line] : lines) newest.push_back(&line);
    std::ranges::sort(newest, std::ranges::greater(), &Line::measured);
    if (newest.size() > KnownPaths::kMost) newest.resize(KnownPaths::kMost);
    std::string text(kFormat);
    text += '\n';
    for (const Line* line : newest) text += line_of(line->entry, line->measured);
    if (!write(text)) cannot("write", errno);
}

bool KnownPathsFile::write(const std::string& text) {
    const std::string path = file_path();
    if (path.empty()) return true;
    std::error_code failed;
    std::filesystem::create_directories(state_directory(), failed);
    if (failed) {
        errno = failed.value();
        return false;
    }
    // Another process that replaces the file has another name for its new content.
    std::string fresh = path + ".XXXXXX";
    const UniqueFd file(::mkostemp(fresh.data(), O_CLOEXEC));
    if (!file) return false;
    const ssize_t written = again([&] { return ::write(file.get(), text.data(), text.size()); });
    if (written == static_cast<ssize_t>(text.size()) && ::rename(fresh.c_str(), path.c_str()) == 0) return true;
    const int error = written >= 0 && written < static_cast<ssize_t>(text.size()) ? ENOSPC : errno;
    ::unlink(fresh.c_str());
    errno = error;
    return false;
}

}  // namespace udtx::apps
