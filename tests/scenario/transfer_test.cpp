// Whole transfers of files and streams over a simulated network, with real files at both ends.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "scenario/transfer_rig.hpp"
#include "sim/check.hpp"
#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/names.hpp"

using namespace udtx;
using namespace udtx::sim;
using namespace udtx::test;
using namespace std::chrono_literals;

namespace {

void make_tree(const fs::path& root) {
    fs::create_directories(root / "a/b");
    fs::create_directories(root / "empty");
    for (std::uint32_t i = 0; i < 300; ++i) write_file(root / "a" / std::to_string(i), random_content(i * 7, i));
    write_file(root / "a/b/large", random_content(3'500'001, 1));
    write_file(root / "zero", "");
    fs::create_symlink("../nowhere", root / "a/link");
    write_file(root / "sparse", "head");
    fs::resize_file(root / "sparse", 20U << 20U);
}

bool same_tree(const fs::path& a, const fs::path& b) {
    std::size_t seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(a)) {
        const fs::path other = b / fs::relative(entry.path(), a);
        ++seen;
        if (entry.is_symlink()) {
            if (fs::read_symlink(entry.path()) != fs::read_symlink(other)) return false;
        } else if (entry.is_directory()) {
            if (!fs::is_directory(other)) return false;
        } else if (read_file(entry.path()) != read_file(other)) {
            return false;
        }
    }
    const fs::recursive_directory_iterator others(b);
    return static_cast<std::size_t>(std::distance(begin(others), end(others))) == seen;
}

/// The reports of both ends of a transfer that succeeded in part.
std::array<transfer::Outcome, 2> partial_at_both_ends(Scenario& s, const TransferRig& rig) {
    std::array<transfer::Outcome, 2> outcomes{rig.sender->job().result(), rig.receiver->job().result()};
    for (const transfer::Outcome& outcome : outcomes) {
        SIM_REQUIRE(s, !outcome.status.ok());
        SIM_CHECK(s, outcome.status.error().code == ErrorCode::partial);
    }
    return outcomes;
}

}  // namespace

TEST_CASE("a tree arrives identical, whatever the line loses") {
    for (const double loss : {0.0, 0.05}) {
        const TemporaryDirectory temp;
        make_tree(temp / "src");
        fs::create_directory(temp / "dst");
        Scenario s(symmetric("tree, loss " + std::to_string(loss), line(loss)));
        TransferRig rig(s, {.what = {.sources = {(temp / "src").string()}, .preserve = true}, .destination = "x/y"},
                        {.directory = (temp / "dst").string()});
        SIM_REQUIRE(s, rig.sender != nullptr);
        SIM_REQUIRE(s, rig.run(s, 600s));
        const transfer::Outcome sent = rig.sender->job().result();
        const transfer::Outcome received = rig.receiver->job().result();
        INFO((sent.status ? std::string() : sent.status.error().message));
        SIM_REQUIRE(s, sent.status.ok());
        SIM_REQUIRE(s, received.status.ok());
        SIM_CHECK(s, sent.files == 303);
        SIM_CHECK(s, received.files == 303);
        SIM_CHECK(s, received.directories == 4);
        SIM_CHECK(s, received.links == 1);
        SIM_CHECK(s, sent.sent_bytes < 5U << 20U);  // the hole was not sent
        SIM_CHECK(s, same_tree(temp / "src", temp / "dst/x/y/src"));
    }
}

TEST_CASE("a long file is begun before the receiver has spoken, and ended if it is there") {
    const TemporaryDirectory temp;
    const std::string content = random_content(3'500'000, 5);
    write_file(temp / "long", content);
    fs::create_directory(temp / "dst");
    // One round trip is long enough for the real disk threads, too.
    LinkParams far = line(0);
    far.delay = 1500ms;
    const auto send = [&](transfer::Overwrite overwrite) {
        Scenario s(symmetric("begun early", far));
        TransferRig rig(s, {.what = {.sources = {(temp / "long").string()}, .overwrite = overwrite}},
                        {.directory = (temp / "dst").string()});
        SIM_REQUIRE(s, rig.run(s, 600s));
        for (const transfer::Outcome& outcome : {rig.sender->job().result(), rig.receiver->job().result()}) {
            SIM_REQUIRE(s, outcome.status.ok());
            SIM_CHECK(s, outcome.failed_count == 0);
        }
        SIM_CHECK(s, std::distance(fs::directory_iterator(temp / "dst"), fs::directory_iterator()) == 1);
        return rig.sender->job().result();
    };
    constexpr std::uint64_t kBlock = 1U << 20U;
    CHECK(send(transfer::Overwrite::diff).sent_bytes == content.size());
    const transfer::Outcome same = send(transfer::Overwrite::diff);
    CHECK(same.unchanged == 1);
    CHECK(same.sent_bytes == 0);

    std::string changed = content;
    changed[3'400'000] = static_cast<char>(~changed[3'400'000]);
    write_file(temp / "long", changed);
    const transfer::Outcome left = send(transfer::Overwrite::never);
    CHECK(left.skipped == 1);
    CHECK(left.sent_bytes == 0);
    CHECK(read_file(temp / "dst/long") == content);
    CHECK(send(transfer::Overwrite::diff).sent_bytes == kBlock + content.size() % kBlock);
    CHECK(read_file(temp / "dst/long") == changed);
}

TEST_CASE("a long file with little data, sent before the receiver has spoken, counts once if it is there") {
    const TemporaryDirectory temp;
    const std::uint64_t data = GENERATE(0U, 500'000U);
    write_file(temp / "long", random_content(data, 5));
    fs::resize_file(temp / "long", 3'500'000);
    fs::create_directory(temp / "dst");
    LinkParams far = line(0);
    far.delay = 1500ms;
    for (const std::uint64_t unchanged : {0U, 1U}) {
        Scenario s(symmetric("holes begun early", far));
        TransferRig rig(s, {.what = {.sources = {(temp / "long").string()}}}, {.directory = (temp / "dst").string()});
        SIM_REQUIRE(s, rig.run(s, 600s));
        for (const transfer::Outcome& outcome : {rig.sender->job().result(), rig.receiver->job().result()}) {
            SIM_REQUIRE(s, outcome.status.ok());
            SIM_CHECK(s, outcome.unchanged == unchanged);
            SIM_CHECK(s, outcome.files == 1 - unchanged);
        }
    }
    CHECK(read_file(temp / "dst/long") == read_file(temp / "long"));
}

TEST_CASE("SHA-256 instead of XXH3 works the same") {
    const TemporaryDirectory temp;
    write_file(temp / "f", random_content(2'500'000, 3));
    fs::create_directory(temp / "dst");
    Scenario s(symmetric("sha-256", line(0)));
    TransferRig rig(s, {.what = {.sources = {(temp / "f").string()}, .hash = transfer::HashAlgorithm::sha256}},
                    {.directory = (temp / "dst").string()});
    SIM_REQUIRE(s, rig.run(s, 600s));
    SIM_CHECK(s, rig.sender->job().result().status.ok());
    SIM_CHECK(s, read_file(temp / "dst/f") == read_file(temp / "f"));
}

TEST_CASE("an entry that cannot be written fails alone and both ends say so") {
    const TemporaryDirectory temp;
    fs::create_directory(temp / "src");
    write_file(temp / "src/blocked", "x");
    write_file(temp / "src/fine", "y");
    fs::create_directories(temp / "dst/src/blocked/full");
    Scenario s(symmetric("one entry fails", line(0)));
    TransferRig rig(s, {.what = {.sources = {(temp / "src").string()}}}, {.directory = (temp / "dst").string()});
    SIM_REQUIRE(s, rig.run(s, 600s));
    for (const transfer::Outcome& outcome : partial_at_both_ends(s, rig)) {
        SIM_REQUIRE(s, outcome.failed.size() == 1);
        SIM_CHECK(s, outcome.failed.front().path == "src/blocked");
        SIM_CHECK(s, outcome.files == 1);
    }
    SIM_CHECK(s, read_file(temp / "dst/src/fine") == "y");
}

TEST_CASE("what the sender cannot read is counted at both ends") {
    const TemporaryDirectory temp;
    fs::path deep = temp / "src";
    for (std::size_t level = 0; level < transfer::kMaxDepth; ++level) deep /= "d";
    fs::create_directories(deep);
    write_file(deep / "far", "x");
    write_file(temp / "src/near", "y");
    fs::create_directory(temp / "dst");
    Scenario s(symmetric("too deep", line(0)));
    TransferRig rig(s, {.what = {.sources = {(temp / "src").string()}}}, {.directory = (temp / "dst").string()});
    SIM_REQUIRE(s, rig.run(s, 600s));
    for (const transfer::Outcome& outcome : partial_at_both_ends(s, rig)) {
        SIM_CHECK(s, outcome.failed_count == 2);  // the last directory and the file in it
        SIM_CHECK(s, outcome.files == 1);
    }
}

TEST_CASE("an interrupted transfer leaves only complete files") {
    for (const bool sender_ends : {true, false}) {
        const TemporaryDirectory temp;
        fs::create_directory(temp / "src");
        for (std::uint32_t i = 0; i < 40; ++i) {
            write_file(temp / "src" / std::to_string(i), random_content(1'000'000, i));
        }
        fs::create_directory(temp / "dst");
        Scenario s(symmetric("interrupted", line(0)));
        TransferRig rig(s, {.what = {.sources = {(temp / "src").string()}}}, {.directory = (temp / "dst").string()});
        const Instant when = Instant{} + (s.events().now() - Instant{}) + 800ms;
        if (sender_ends) {
            rig.sender->abort_at(when);
        } else {
            rig.receiver->abort_at(when);
        }
        SIM_REQUIRE(s, rig.run(s, 600s));
        const transfer::Outcome sent = rig.sender->job().result();
        const transfer::Outcome received = rig.receiver->job().result();
        SIM_REQUIRE(s, !sent.status.ok());
        SIM_REQUIRE(s, !received.status.ok());
        SIM_CHECK(s, sent.status.error().code == ErrorCode::interrupted);
        SIM_CHECK(s, received.status.error().code == ErrorCode::interrupted);
        SIM_CHECK(s, received.files < 40);
        std::size_t complete = 0;
        for (const auto& entry : fs::directory_iterator(temp / "dst/src")) {
            ++complete;
            SIM_CHECK(s, read_file(entry.path()) == read_file(temp / "src" / entry.path().filename().string()));
        }
        SIM_CHECK(s, complete == received.files);
        // The sender's figures are the receiver's final report, not its state at the interruption.
        SIM_CHECK(s, sent.exact);
        SIM_CHECK(s, sent.files == received.files);
        SIM_CHECK(s, sent.directories == received.directories);
        SIM_CHECK(s, sent.bytes == received.bytes);
        SIM_CHECK(s, sent.sent_bytes == received.sent_bytes);
        SIM_CHECK(s, sent.bytes == complete * 1'000'000);
    }
}

TEST_CASE("a destination through a symbolic link is refused, nothing lands outside") {
    const TemporaryDirectory temp;
    fs::create_directories(temp / "outside");
    fs::create_directories(temp / "dst");
    fs::create_symlink("../outside", temp / "dst/link");
    write_file(temp / "f", "x");
    Scenario s(symmetric("refused", line(0)));
    TransferRig rig(s, {.what = {.sources = {(temp / "f").string()}}, .destination = "link"},
                    {.directory = (temp / "dst").string()});
    SIM_REQUIRE(s, rig.run(s, 600s));
    SIM_CHECK(s, !rig.sender->job().result().status.ok());
    SIM_CHECK(s, !rig.receiver->job().result().status.ok());
    SIM_CHECK(s, fs::is_empty(temp / "outside"));
}

TEST_CASE("a stream goes from a pipe to a file and from a file to a pipe") {
    const std::string content = random_content(5'000'003, 9);
    for (const bool to_pipe : {false, true}) {
        const TemporaryDirectory temp;
        fs::create_directory(temp / "dst");
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        std::string collected;
        std::thread other;
        int in = ends[0];
        if (to_pipe) {
            write_file(temp / "in", content);
            in = ::open((temp / "in").c_str(), O_RDONLY);
            other = std::thread([&] {
                std::array<char, 8192> block{};
                ssize_t n = 0;
                while ((n = ::read(ends[0], block.data(), block.size())) > 0) {
                    collected.append(block.data(), static_cast<std::size_t>(n));
                }
            });
        } else {
            other = std::thread([&] {
                for (std::size_t at = 0; at < content.size();) {
                    const ssize_t n = ::write(ends[1], content.data() + at, content.size() - at);
                    if (n <= 0) break;
                    at += static_cast<std::size_t>(n);
                }
                ::close(ends[1]);
            });
        }
        Scenario s(symmetric("stream", line(0.02)));
        transfer::LandingOptions receive{.directory = (temp / "dst").string()};
        if (to_pipe) receive = {.stream_fd = ends[1]};
        TransferRig rig(s, {.what = {.sources = {"-"}}, .destination = "d/name", .stream_fd = in}, receive);
        const bool ended = rig.run(s, 600s);
        if (to_pipe) {
            ::close(ends[1]);
            ::close(in);
        }
        other.join();
        ::close(ends[0]);
        SIM_REQUIRE(s, ended);
        SIM_CHECK(s, rig.sender->job().result().status.ok());
        SIM_CHECK(s, rig.receiver->job().result().status.ok());
        const std::string arrived = to_pipe ? collected : read_file(temp / "dst/d/name");
        SIM_CHECK(s, arrived == content);
    }
}

TEST_CASE("no flush is told of while bytes are on the way, and no verification while files are missing") {
    const TemporaryDirectory temp;
    constexpr std::size_t kBytes = 8'000'000;
    write_file(temp / "f", random_content(kBytes, 3));
    fs::create_directory(temp / "dst");
    Scenario s(symmetric("phases", line(0.01)));
    TransferRig rig(s, {.what = {.sources = {(temp / "f").string()}}}, {.directory = (temp / "dst").string()});
    rig.receiver->slow_disk(100ms);
    std::uint64_t flushing = 0;
    bool early = false;
    const auto over = [&] {
        const transfer::Progress progress = rig.sender->job().progress();
        const bool flush = progress.phase == transfer::Phase::flush || progress.phase == transfer::Phase::verify;
        flushing += flush ? 1 : 0;
        early = early || (flush && s.server().session().stats().stream_bytes_received < kBytes);
        early = early || (progress.phase == transfer::Phase::verify && progress.files_done < 1);
        return progress.phase == transfer::Phase::done;
    };
    SIM_REQUIRE(s, s.run_until(over, 600s));
    SIM_CHECK(s, flushing > 0);
    SIM_CHECK(s, !early);
    SIM_CHECK(s, rig.sender->job().result().status.ok());
}
