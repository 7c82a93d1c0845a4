// The golden files of the tools: plan, exchange over ssh, known paths, records of jobs, keys.
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/state_access.hpp"
#include "compat/fixed_random.hpp"
#include "compat/golden.hpp"
#include "connect/job_record.hpp"
#include "connect/known_paths_file.hpp"
#include "openssl/credentials.hpp"
#include "ssh/bootstrap.hpp"
#include "test/bytes.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/shard.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::apps;

TEST_CASE("a plan of 0.2 is read and written") {
    const std::string golden = test::golden_text("plan.txt");
    const auto split = transfer::Split::parse(golden);
    REQUIRE(split);
    CHECK(split->count() == 4);
    CHECK(split->part(1) == transfer::PathRange{"a/b\tc", "big", 0, transfer::kCutBytes});
    CHECK(split->content(3) == transfer::ShardContent{9, 1U << 20U, 7});
    CHECK(split->to_text() == golden);
    const auto made = transfer::Split::create(
        {{"a/b\tc", 0}, {"big", transfer::kCutBytes}, {"big", transfer::kCutBytes}},
        {{3, 100, ~0ULL}, {2, transfer::kCutBytes, 5}, {0, 0, 0}, {9, 1U << 20U, 7}}, 0x0123456789abcdef);
    REQUIRE(made);
    CHECK(made->to_text() == golden);
}

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

const std::string kGreeting = to_line({3, "0.2.0", 13});

}  // namespace

TEST_CASE("a request over ssh of 0.2 is read and written") {
    const std::string golden = test::golden_text("bootstrap-request.txt");
    BootstrapRequestReader reader;
    std::optional<BootstrapFields> request;
    for (const std::string& line : lines_of(golden)) {
        REQUIRE_FALSE(request);
        auto fed = reader.feed(line);
        REQUIRE(fed);
        request = std::move(*fed);
    }
    REQUIRE(request);
    const auto key = parse_key(request->get("key"));
    REQUIRE(key);
    CHECK(*key == test::counting_secret());
    CHECK(request->number("transfer") == 0x0123456789abcdef);
    CHECK(request->all("argument") == std::vector<std::string>{"--timeout=30", "--streams", "2"});
    CHECK(request->get("destination") == "a b%/\xC3\xA4\n");
    CHECK(request->all("name") == std::vector<std::string>{"photos", "notes.txt"});
    CHECK(kGreeting + request->to_text() == golden);
}

TEST_CASE("answers over ssh of 0.2 are read and written") {
    const std::string golden = test::golden_text("bootstrap-answers.txt");
    const auto lines = lines_of(golden);
    const auto greeting = parse_greeting(lines.front());
    REQUIRE(greeting);
    CHECK((greeting->bootstrap == 3 && greeting->program == "0.2.0" && greeting->transfer == 13));
    CHECK(check_greeting(*greeting));
    BootstrapFieldReader reader;
    std::vector<BootstrapFields> blocks;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        auto block = reader.feed(lines[i]);
        REQUIRE(block);
        if (*block) blocks.push_back(**block);
    }
    REQUIRE(blocks.size() == 4);
    CHECK(blocks[0].number("port") == 60001);
    CHECK(blocks[0].all("own") == std::vector<std::string>{"198.51.100.7", "2001:db8::7"});
    CHECK(blocks[0].get("advice").empty());
    CHECK(blocks[1].get("reason") == "No such file or directory");
    CHECK(blocks[2].get("heard") == "1");
    CHECK(blocks[3].number("error") == 11);
    std::string written = to_line(*greeting);
    for (const BootstrapFields& block : blocks) written += block.to_text();
    CHECK(written == golden);
}

namespace {

/// A state directory of its own.
struct State {
    State() { ::setenv("XDG_STATE_HOME", directory.path().c_str(), 1); }
    ~State() { ::unsetenv("XDG_STATE_HOME"); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    test::TemporaryDirectory directory;
};

Terminal terminal(STDERR_FILENO);
Log quiet("test", terminal, Log::Verbosity::quiet);

PublicKey key_from(std::uint8_t first) {
    PublicKey key;
    for (std::size_t i = 0; i < key.bytes.size(); ++i) key.bytes[i] = static_cast<std::byte>(first + i);
    return key;
}

std::vector<KnownPaths::Entry> known_paths(Instant now) {
    Address link_local{.family = Address::Family::v6, .port = 0};
    link_local.ip = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    link_local.scope = 3;
    Address six{.family = Address::Family::v6, .port = 0};
    six.ip = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
    Address here{.family = Address::Family::v4, .port = 0};
    here.ip = {192, 0, 2, 1};
    Address there = here;
    there.ip[3] = 2;
    return {
        {.peer = key_from(0),
         .local = here,
         .remote = there,
         .path = {.capacity = Rate::bits_per_second(1e8), .base_rtt = 50ms, .jitter = 3ms, .measured = now - 50s}},
        {.peer = key_from(32),
         .local = link_local,
         .remote = six,
         .path = {.capacity = Rate::bits_per_second(1e10), .base_rtt = 200us, .jitter = {}, .measured = now - 60s}}};
}

/// Puts `time` in place of the word TIME, or TIME in place of the last word of each line but the first.
std::string with_times(const std::string& golden, std::int64_t time) {
    std::string out = golden;
    for (std::size_t at = out.find("TIME"); at != std::string::npos; at = out.find("TIME")) {
        out.replace(at, 4, std::to_string(time));
    }
    return out;
}
std::string without_times(const std::string& text) {
    const auto lines = lines_of(text);
    std::string out = lines.front() + '\n';
    for (std::size_t i = 1; i < lines.size(); ++i) out += lines[i].substr(0, lines[i].rfind(' ')) + " TIME\n";
    return out;
}

}  // namespace

TEST_CASE("a file of known paths of 0.2 is read and written") {
    const std::string golden = test::golden_text("known-paths.txt");
    const State state;
    const auto file = state.directory.path() / "udtx/paths";
    const Instant now = monotonic_now();
    const auto today = std::chrono::system_clock::now().time_since_epoch();
    test::fs::create_directories(file.parent_path());
    test::write_file(file,
                     with_times(golden, std::chrono::duration_cast<std::chrono::milliseconds>(today - 55s).count()));
    ::chmod(file.c_str(), 0600);
    const auto expected = known_paths(now);
    KnownPaths read;
    KnownPathsFile(quiet, read).load();
    auto entries = read.entries(now);
    REQUIRE(entries.size() == 2);
    if (entries[0].peer != expected[0].peer) std::swap(entries[0], entries[1]);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        CHECK(entries[i].peer == expected[i].peer);
        CHECK(entries[i].local == expected[i].local);
        CHECK(entries[i].remote == expected[i].remote);
        CHECK(entries[i].path.capacity == expected[i].path.capacity);
        CHECK(entries[i].path.base_rtt == expected[i].path.base_rtt);
        CHECK(entries[i].path.jitter == expected[i].path.jitter);
        CHECK(now - entries[i].path.measured > 54s);
        CHECK(now - entries[i].path.measured < 60s);
    }
    test::fs::remove(file);
    KnownPaths measured;
    for (const KnownPaths::Entry& entry : expected) measured.note(entry);
    KnownPathsFile(quiet, measured).save();
    CHECK(without_times(test::read_file(file)) == golden);
}

namespace {

const JobRecord::Job kJob{.name = "night", .sources = {"/"}, .place = "dest"};

transfer::JobShard shard(std::size_t index, std::uint64_t split) {
    transfer::JobShard made;
    made.index = index;
    made.count = 3;
    made.split = split;
    return made;
}

/// A shard begins, and ends well in this run of its job, as the one that is `done`.
void deliver(std::size_t index, std::uint64_t split, std::uint64_t run, std::size_t done) {
    auto record = JobRecord::open(kJob, shard(index, split), false);
    REQUIRE(record);
    FinalReport report;
    report.outcome.job = transfer::JobState{.run = run, .index = index, .count = 3, .done = done, .waiting = 0};
    record->judge(report);
    CHECK(report.code == ExitCode::ok);
}

std::uint64_t delivered_run(std::size_t index, std::uint64_t split) {
    auto record = JobRecord::open(kJob, shard(index, split), false);
    REQUIRE(record);
    transfer::JobShard described = shard(index, split);
    record->describe(described);
    return described.delivered_run;
}

}  // namespace

TEST_CASE("the record of a job of 0.2 is read and written") {
    const std::string golden = test::golden_text("job-record.txt");
    const State state;
    deliver(0, 0x2a, 0x0123456789abcdef, 3);
    deliver(0, 0x20, 0xfedcba9876543210, 1);
    deliver(1, 0x20, 7, 1);
    const auto directory = test::fs::directory_iterator(state.directory.path() / "udtx/jobs");
    const test::fs::path file = directory->path();
    CHECK(test::read_file(file) == golden);
    for (const auto& [index, split, run] : {std::tuple{std::size_t{0}, 0x20U, 0xfedcba9876543210U},
                                            {1, 0x20U, 7U},
                                            {2, 0x2aU, 0x0123456789abcdefU},
                                            {2, 0x20U, 0U}}) {
        INFO("shard " << index << ", split " << split);
        test::write_file(file, golden);
        CHECK(delivered_run(index, split) == run);
    }
}

TEST_CASE("key files of 0.2 are read and written") {
    const test::TemporaryDirectory directory;
    const auto put = [&](const std::string& name, mode_t mode) {
        const auto path = directory / name;
        test::write_file(path, test::golden_text(name));
        ::chmod(path.c_str(), mode);
        return path;
    };
    const auto shared = Credentials::from_psk_file(put("key-psk.txt", 0600));
    REQUIRE(shared);
    CHECK(StateAccess::of(*shared)->psk == test::counting_secret());
    const std::string text = test::golden_text("key-public.txt");
    auto own = Credentials::from_identity_file(put("key-identity.txt", 0600));
    REQUIRE(own);
    const auto key = own->public_key();
    REQUIRE(key);
    CHECK(key->to_string() + "\n" == text);
    // RFC 8032, section 7.1, test 1
    CHECK(test::to_hex(key->bytes) == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    REQUIRE(own->trust_file(put("key-public.txt", 0644)));
    CHECK(own->trusts(*key));
    {
        const test::FixedRandom fixed([](std::span<std::byte> out) {
            REQUIRE(out.size() == 32);
            std::ranges::copy(test::counting_secret(), out.begin());
        });
        REQUIRE(Credentials::write_psk_file(directory / "psk"));
    }
    CHECK(test::read_file(directory / "psk") == test::golden_text("key-psk.txt"));
    {
        const test::FixedRandom fixed([](std::span<std::byte> out) {
            REQUIRE(out.size() == 32);
            std::ranges::copy(test::from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
                              out.begin());
        });
        REQUIRE(Credentials::write_identity(directory / "id"));
    }
    CHECK(test::read_file(directory / "id") == test::golden_text("key-identity.txt"));
    CHECK(test::read_file(directory / "id.pub") == text);
}
