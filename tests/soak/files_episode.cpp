#include "soak/files_episode.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <thread>

#include "soak/dice.hpp"
#include "soak/files_rig.hpp"
#include "test/temporary_directory.hpp"

namespace udtx::soak {
namespace {

using std::chrono::seconds;
using test::fs::path;
namespace fs = std::filesystem;

enum class Cut : std::uint8_t { none, outage, sender, receiver };
constexpr Duration kOutage = seconds(600);
constexpr Duration kMost = seconds(3600);  // of one run: virtual time passes while disks take real time

class FilesEpisode {
  public:
    explicit FilesEpisode(std::uint64_t seed) : seed_(seed), dice_(seed) {}
    FilesOutcome run();

  private:
    void make_files();
    void draw_line();
    void grow();
    /// Runs the command once.
    void attempt(unsigned number, Cut cut);
    void check_ends(Cut cut, const FilesRig& rig);
    void check_end(const char* name, Cut cut, bool expected, const transfer::Outcome& outcome);
    void check_finals(bool all);
    void check_last(const transfer::Outcome& received);
    [[nodiscard]] std::uint64_t complete_bytes() const;
    void note(const std::string& line) { out_.history += "  " + line + "\n"; }
    void violation(const std::string& what) {
        constexpr std::size_t kEnough = 10;
        if (out_.violations.size() < kEnough) out_.violations.push_back(what);
    }

    std::uint64_t seed_;
    Dice dice_;
    test::TemporaryDirectory temp_;
    std::uint64_t total_ = 0;
    bool grows_ = false;
    bool grew_ = false;  ///< in this run or an earlier one; the file under its final name may be older
    bool pull_ = false;
    Line line_;
    TransportConfig config_;
    std::uint64_t complete_before_ = 0;
    FilesOutcome out_;
};

void FilesEpisode::make_files() {
    const path source = temp_ / "src";
    fs::create_directories(source / "sub/deep");
    fs::create_directories(source / "empty");
    fs::create_directory(temp_ / "dst");
    const std::uint64_t small = dice_.chance(0.6) ? dice_.below(150) : 0;
    const auto write = [&](const path& where, std::uint64_t bytes) {
        total_ += bytes;
        test::write_file(where, test::random_content(bytes, static_cast<std::uint32_t>(dice_.below(1U << 31U))));
    };
    for (std::uint64_t i = 0; i < small; ++i) write(source / "sub" / std::to_string(i), dice_.below(30'000));
    const std::uint64_t large = small == 0 ? 1 + dice_.below(4) : dice_.below(3);
    for (std::uint64_t i = 0; i < large; ++i) {
        write(source / "sub/deep" / ("large" + std::to_string(i)),
              static_cast<std::uint64_t>(dice_.magnitude(1e5, 6e6)));
    }
    write(source / "nothing", 0);
    fs::create_symlink("sub/nowhere", source / "link");
    grows_ = dice_.chance(0.3);
    if (grows_) write(source / "grows", 200'000);
    note(std::to_string(small) + " small files, " + std::to_string(large) + " large ones, " + std::to_string(total_) +
         " bytes" + (grows_ ? ", one grows" : ""));
}

void FilesEpisode::draw_line() {
    const double rate = dice_.magnitude(2e6, 3e8);
    const Duration rtt = dice_.time(0.0002, 0.3);
    line_.up.bits_per_second = line_.down.bits_per_second = static_cast<std::uint64_t>(rate);
    line_.up.delay = line_.down.delay = rtt / 2;
    line_.up.queue_bytes = line_.down.queue_bytes = std::max<std::uint64_t>(
        20'000, static_cast<std::uint64_t>(rate / 8.0 * to_seconds(rtt) * dice_.magnitude(0.3, 3.0)));
    const double loss = dice_.one_of(std::array{0.0, 0.0, 0.001, 0.02, 0.1});
    line_.up.loss = line_.down.loss = loss;
    if (dice_.chance(0.3)) line_.up.duplicate = line_.down.duplicate = 0.2;
    if (dice_.chance(0.3)) line_.up.corrupt = line_.down.corrupt = 0.02;
    pull_ = dice_.chance(0.5);
    config_.idle_timeout = seconds(20);
    char text[200];
    std::snprintf(text, sizeof text, "%s over %.3g Mbit/s, %.2f ms, loss %.3g, %s", pull_ ? "pull" : "push", rate / 1e6,
                  to_seconds(rtt) * 1e3, loss, line_.up.corrupt > 0.0 ? "corruption" : "none corrupted");
    note(text);
}

void FilesEpisode::grow() {
    if (!grows_) return;
    grew_ = true;
    std::ofstream(temp_ / "src/grows", std::ios::binary | std::ios::app) << test::random_content(50'000, 5);
    total_ += 50'000;
}

std::uint64_t FilesEpisode::complete_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(temp_ / "dst")) {
        const bool ours = entry.path().filename().string().starts_with(".udtx-");
        if (entry.is_regular_file() && !ours && entry.path().filename() != "grows") bytes += entry.file_size();
    }
    return bytes;
}

/// Checks that each file under a final name equals its source. `all`: all files are present, and no other files are.
void FilesEpisode::check_finals(bool all) {
    const path to = temp_ / "dst/src";
    for (const auto& entry : fs::recursive_directory_iterator(temp_ / "dst")) {
        const path below = fs::relative(entry.path(), temp_ / "dst");
        const path source = temp_.path() / below;
        if (entry.path().filename().string().starts_with(".udtx-")) {
            if (all) violation("left behind: " + below.string());
        } else if (!fs::exists(fs::symlink_status(source))) {
            violation("nobody sent " + below.string());
        } else if (entry.is_regular_file() && !entry.is_symlink()) {
            const std::string there = test::read_file(entry.path());
            const std::string here = test::read_file(source);
            const bool older = grew_ && below.filename() == "grows" && here.starts_with(there);
            if (there != here && !older) violation("wrong under its final name: " + below.string());
        }
    }
    if (!all) return;
    for (const auto& entry : fs::recursive_directory_iterator(temp_ / "src")) {
        const path below = fs::relative(entry.path(), temp_ / "src");
        if (!fs::exists(fs::symlink_status(to / below))) violation("called done, and missing: " + below.string());
    }
}

/// `expected`: the user interrupted this end.
void FilesEpisode::check_end(const char* name, Cut cut, bool expected, const transfer::Outcome& outcome) {
    if (outcome.status.ok()) return;
    const ErrorCode code = outcome.status.error().code;
    const std::string what = std::string(name) + " ended with: " + outcome.status.error().message;
    note(what);
    const bool changed = code == ErrorCode::partial && grows_;
    const bool silence = code == ErrorCode::timeout || code == ErrorCode::udp_blocked || code == ErrorCode::network;
    const bool stopped = code == ErrorCode::interrupted;
    const bool fits = (cut == Cut::outage && silence) || (cut >= Cut::sender && stopped);
    if (!fits && !changed) violation(what + (expected ? " (it was interrupted)" : ""));
}

void FilesEpisode::check_ends(Cut cut, const FilesRig& rig) {
    const transfer::Outcome sent = rig.sent();
    const transfer::Outcome received = rig.received();
    const bool sender_done = rig.began(true) && sent.status.ok();
    const bool receiver_done = rig.began(false) && received.status.ok();
    if (rig.began(true)) check_end("the sender", cut, cut == Cut::sender, sent);
    if (rig.began(false)) check_end("the receiver", cut, cut == Cut::receiver, received);
    if (sender_done && !receiver_done && received.status.error().code == ErrorCode::partial) {
        violation("the sender says done, the receiver names failures");
    }
    check_finals(sender_done || receiver_done);
    if (cut == Cut::outage && rig.began(false) && !receiver_done) ++out_.outages;
    if (cut == Cut::none && !(sender_done && receiver_done))
        violation("the last run, which nobody disturbs, has failed");
}

void FilesEpisode::attempt(unsigned number, Cut cut) {
    sim::ScenarioSetup setup;
    setup.name = "files";
    setup.seed = seed_ + number;
    setup.up = line_.up;
    setup.down = line_.down;
    setup.client = setup.server = config_;
    const double expected = static_cast<double>(total_) * 8.0 / static_cast<double>(line_.up.bits_per_second) + 0.2;
    // Most handshakes are complete by then.
    const double begun = 0.02 + 6.0 * to_seconds(line_.up.delay);
    const Duration when = Dice::seconds(dice_.between(begun, begun + expected));
    if (cut == Cut::outage) {
        setup.up.blackouts = setup.down.blackouts = {{.from = when, .length = kOutage}};
    }
    complete_before_ = complete_bytes();
    sim::Scenario s(std::move(setup));
    FilesRig rig(s, {(temp_ / "src").string(), (temp_ / "dst").string(), pull_, seed_ + 1});
    if (!rig.ok()) return violation("no transfer could be begun");
    if (cut >= Cut::sender) rig.abort_at(cut == Cut::sender, sim::kStart + when);
    if (cut != Cut::none && dice_.chance(0.5)) s.at(when / 2, "a file grows", [this] { grow(); });
    const auto closed = [&s] {
        const auto gone = [](const auto& session) { return session->closed.has_value(); };
        return std::ranges::all_of(s.client().sessions(), gone) && std::ranges::all_of(s.server().sessions(), gone);
    };
    (void)s.run_until([&] { return rig.over() || closed(); }, kMost);
    // The disk threads clean up in real time, on a machine that may be busy.
    for (int i = 0; i < 60'000 && !rig.over(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    out_.lasted += s.elapsed();
    out_.events += s.events().processed();
    constexpr std::array kNames{"not interrupted", "an outage of 10 min", "the sender's user ends it",
                                "the receiver's user ends it"};
    note("run " + std::to_string(number) + ", " + kNames.at(static_cast<std::size_t>(cut)) + " at " +
         std::to_string(to_seconds(when)) + " s; over at " + std::to_string(to_seconds(s.elapsed())) + " s");
    if (!rig.over()) return violation("not over in time\n" + s.history());
    const transfer::Outcome received = rig.received();
    out_.bytes += received.sent_bytes;
    check_ends(cut, rig);
    if (cut == Cut::none) check_last(received);
}

void FilesEpisode::check_last(const transfer::Outcome& received) {
    note(std::to_string(complete_before_) + " of " + std::to_string(total_) + " bytes were complete, " +
         std::to_string(received.sent_bytes) + " were sent");
    // The sender does not wait for the first answers: small files of these many bytes together may come in vain.
    constexpr std::uint64_t kAhead = 64U << 10U;
    if (received.sent_bytes > total_ - complete_before_ + kAhead) violation("what was complete was sent again");
}

FilesOutcome FilesEpisode::run() {
    make_files();
    draw_line();
    const auto cuts = static_cast<unsigned>(1 + dice_.below(3));
    for (unsigned i = 0; i < cuts && out_.violations.empty(); ++i) {
        attempt(i, dice_.one_of(std::array{Cut::outage, Cut::outage, Cut::sender, Cut::receiver}));
    }
    grew_ = false;
    if (out_.violations.empty()) attempt(cuts, Cut::none);
    return std::move(out_);
}

}  // namespace

FilesOutcome run_files(std::uint64_t seed) { return FilesEpisode(seed).run(); }

}  // namespace udtx::soak
