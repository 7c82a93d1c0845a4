// The file in which the tools keep the paths of earlier runs.
#include "connect/known_paths_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "test/catch.hpp"
#include "udtx/system.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::apps;

namespace {

/// A state directory of its own.
struct Place {
    Place() {
        char name[] = "/tmp/udtx-paths.XXXXXX";
        directory = ::mkdtemp(name);
        ::setenv("XDG_STATE_HOME", directory.c_str(), 1);
    }
    ~Place() { std::filesystem::remove_all(directory); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    [[nodiscard]] std::filesystem::path file() const { return directory / "udtx/paths"; }
    [[nodiscard]] std::string text() const {
        std::ostringstream all;
        all << std::ifstream(file()).rdbuf();
        return all.str();
    }
    void put(const std::string& text) const {
        std::filesystem::create_directories(file().parent_path());
        std::ofstream(file()) << text;
        ::chmod(file().c_str(), 0600);
    }
    std::filesystem::path directory;
};

Terminal terminal(STDERR_FILENO);
Log quiet("test", terminal, Log::Verbosity::quiet);

Address host(std::uint8_t last) {
    Address address{.family = Address::Family::v4, .port = 0};
    address.ip = {192, 0, 2, last};
    return address;
}

KnownPaths::Entry entry(std::uint8_t remote, double rate) {
    return {
        .peer = {},
        .local = host(1),
        .remote = host(remote),
        .path = {
            .capacity = Rate::bytes_per_second(rate), .base_rtt = 50ms, .jitter = 3ms, .measured = monotonic_now()}};
}

/// One process that measured these.
void run(const std::vector<KnownPaths::Entry>& entries) {
    KnownPaths paths;
    KnownPathsFile file(quiet, paths);
    file.load();
    for (const KnownPaths::Entry& one : entries) paths.note(one);
    file.save();
}

std::vector<KnownPaths::Entry> loaded() {
    KnownPaths paths;
    KnownPathsFile(quiet, paths).load();
    return paths.entries(monotonic_now());
}

}  // namespace

TEST_CASE("known paths file: a later run finds what an earlier one measured") {
    const Place place;
    CHECK(loaded().empty());
    KnownPaths::Entry six = entry(2, 1e7);
    six.remote = {.family = Address::Family::v6, .port = 7000, .ip = {0xfe, 0x80, 1}, .scope = 3};
    run({entry(2, 1e6), six});
    struct stat st {};
    REQUIRE(::stat(place.file().c_str(), &st) == 0);
    CHECK((st.st_mode & 0777) == 0600);
    const auto all = loaded();
    REQUIRE(all.size() == 2);
    CHECK(all[0].path.capacity.bytes_per_second() == Approx(1e6));
    CHECK(all[0].path.base_rtt == 50ms);
    CHECK(all[0].path.jitter == 3ms);
    CHECK(monotonic_now() - all[0].path.measured < 5s);
    CHECK(all[0].remote == host(2));
    CHECK(all[1].remote.scope == 3);
    CHECK(all[1].remote.ip == six.remote.ip);
}

TEST_CASE("known paths file: a run adds to those of others, and takes back what turned out wrong") {
    const Place place;
    run({entry(2, 1e6)});
    run({entry(3, 2e6)});
    CHECK(loaded().size() == 2);
    ::usleep(200'000);  // by the time of day it must be later
    run({entry(2, 0.0)});
    const auto all = loaded();
    REQUIRE(all.size() == 2);
    CHECK(all[0].path.capacity.is_zero());
    CHECK(all[1].path.capacity.bytes_per_second() == Approx(2e6));
    CHECK(std::distance(std::filesystem::directory_iterator(place.file().parent_path()), {}) == 1);
}

TEST_CASE("known paths file: what another run adds meanwhile stays") {
    const Place place;
    KnownPaths paths;
    KnownPathsFile file(quiet, paths);
    file.load();
    run({entry(2, 1e6)});
    paths.note(entry(3, 2e6));
    file.save();
    CHECK(loaded().size() == 2);
}

TEST_CASE("known paths file: a run that measured nothing leaves the file alone") {
    const Place place;
    run({});
    CHECK_FALSE(std::filesystem::exists(place.file()));
    run({entry(2, 1e6)});
    const std::string before = place.text();
    run({});
    CHECK(place.text() == before);
}

TEST_CASE("known paths file: foreign content, other owners' rights and old lines are ignored") {
    const Place place;
    run({entry(2, 1e6)});
    const std::string good = place.text();
    const std::string line = good.substr(good.find('\n') + 1);
    const std::string stem = line.substr(0, line.rfind(' '));
    for (const std::string& text :
         {std::string("something else\n") + line, "udtx-paths 1\n" + line.substr(1), "udtx-paths 1\n" + stem + " 1\n",
          "udtx-paths 1\n" + stem + " 99999999999999\n", "udtx-paths 1\n" + stem + " x\n", "udtx-paths 1\n" + stem,
          std::string(1'000'000, 'x'), std::string("\0\n\0", 3)}) {
        place.put(text);
        INFO(text.substr(0, 200));
        CHECK(loaded().empty());
    }
    place.put("udtx-paths 1\nnonsense\n" + line);
    CHECK(loaded().size() == 1);
    place.put("udtx-paths 1\n" + stem + " 1\n");
    run({entry(3, 1e6)});
    CHECK(std::ranges::count(place.text(), '\n') == 2);  // the old line is gone
    ::chmod(place.file().c_str(), 0660);
    CHECK(loaded().empty());
    place.put(good);
    std::filesystem::rename(place.file(), place.directory / "elsewhere");
    std::filesystem::create_symlink(place.directory / "elsewhere", place.file());
    CHECK(loaded().empty());
    std::filesystem::remove(place.file());
    std::filesystem::create_directory(place.file());
    CHECK(loaded().empty());
    run({entry(2, 1e6)});  // it cannot be replaced, and nothing ends because of that
}

TEST_CASE("known paths file: its size is bounded") {
    const Place place;
    std::vector<KnownPaths::Entry> many;
    for (unsigned n = 0; n < 200; ++n) many.push_back(entry(static_cast<std::uint8_t>(n), 1e6));
    run(many);
    for (KnownPaths::Entry& one : many) one.peer.bytes[0] = std::byte{1};
    run(many);
    CHECK(std::ranges::count(place.text(), '\n') == KnownPaths::kMost + 1);
    CHECK(loaded().size() == KnownPaths::kMost);
}

TEST_CASE("known paths file: without a directory for it nothing is kept") {
    ::setenv("XDG_STATE_HOME", "/proc/none", 1);
    run({entry(2, 1e6)});
    CHECK(loaded().empty());
    ::unsetenv("XDG_STATE_HOME");
    ::setenv("HOME", "/nonexistent", 1);
    run({entry(2, 1e6)});
    CHECK(loaded().empty());
}
