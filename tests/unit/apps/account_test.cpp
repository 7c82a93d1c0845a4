// The totals that are reported for a transfer over several connections.
#include "connect/transfer_observers.hpp"
#include "observe/observer.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

transfer::Progress progress(std::uint64_t done, std::uint64_t sent, std::uint64_t kept, std::uint64_t total) {
    transfer::Progress p;
    p.bytes_done = done;
    p.bytes_sent = sent;
    p.bytes_kept = kept;
    p.bytes_total = total;
    p.totals_final = true;
    return p;
}

/// Adds a connection that is lost after it delivered `files` and `bytes` and sent `sent` of a transfer of `total`
/// bytes.
void lose(Account& account, std::uint64_t files, std::uint64_t bytes, std::uint64_t sent, std::uint64_t total) {
    transfer::Outcome lost;
    lost.files = files;
    lost.bytes = lost.sent_bytes = bytes;
    account.carry(progress(bytes, sent, 0, total), lost);
}

ConnectionStats stats(std::uint64_t received, std::uint64_t in_flight, Duration rtt = 20ms) {
    ConnectionStats s;
    s.paths.resize(1);
    s.paths[0].received_packets = received;
    s.paths[0].in_flight = in_flight;
    s.paths[0].smoothed_rtt = rtt;
    return s;
}

}  // namespace

TEST_CASE("a second connection goes on with the account of the first") {
    Account account;
    // 100 bytes existed before this command, 900 have to be sent, and 400 of them are reported as written.
    auto first = progress(400, 450, 100, 900);
    first.files_done = 4;
    first.files_total = 10;
    CHECK(account.whole(first).bytes_done == 400);
    transfer::Outcome lost;
    lost.files = 4;
    lost.bytes = lost.sent_bytes = 400;
    lost.kept_bytes = 100;
    account.carry(account.whole(first), account.whole(lost));

    // The second connection compares from the start. Until it has finished, the values do not fall.
    auto again = progress(0, 0, 0, 1000);
    again.totals_final = false;
    CHECK(account.whole(again).bytes_done == 400);
    CHECK(account.whole(again).files_done == 4);
    CHECK(account.whole(again).files_total == 10);
    CHECK(account.whole(again).bytes_total == 900);
    CHECK(account.whole(progress(0, 0, 300, 700)).bytes_done == 400);
    CHECK(account.whole(progress(0, 0, 300, 1000)).bytes_total == 900);  // in the middle of a file
    // 520: the first 100, the 400 reported, and 20 that were written but not reported.
    const auto later = account.whole(progress(200, 250, 520, 480));
    CHECK(later.bytes_done == 620);
    CHECK(later.bytes_sent == 670);
    CHECK(later.bytes_kept == 100);
    CHECK(later.bytes_total == 900);

    transfer::Outcome outcome;
    outcome.files = 5;
    outcome.unchanged = 5;  // 4 by this command, 1 before it
    outcome.bytes = outcome.sent_bytes = 480;
    outcome.kept_bytes = 520;
    outcome = account.whole(outcome);
    CHECK(outcome.files == 9);
    CHECK(outcome.unchanged == 1);
    CHECK(outcome.sent_bytes == 900);
    CHECK(outcome.kept_bytes == 100);
}

TEST_CASE("what a later connection finds proven, and counts itself, counts once") {
    Account account;
    lose(account, 4, 400, 560, 1000);

    // 150 more bytes, among them one file, had been written but not reported.
    transfer::Outcome outcome;
    outcome.files = 10;
    outcome.bytes = 1000;
    outcome.kept_files = 5;
    outcome.kept_file_bytes = 500;
    outcome.kept_bytes = 550;
    outcome.sent_bytes = 450;
    outcome = account.whole(outcome);
    CHECK(outcome.files == 10);
    CHECK(outcome.bytes == 1000);
    CHECK(outcome.sent_bytes == 1000);
    CHECK(outcome.kept_bytes == 0);
}

TEST_CASE("files that an earlier connection sent are known by name, whatever the receiver makes of them") {
    Account account;
    lose(account, 38, 3800, 4100, 4200);  // reported; 40 had been delivered

    // Among the 40 files, 30 are proven, 6 are found unchanged, and 4 are sent again.
    transfer::Outcome outcome;
    outcome.files = 36;
    outcome.bytes = 3600;
    outcome.kept_files = 30;
    outcome.kept_file_bytes = outcome.kept_bytes = 3000;
    outcome.unchanged = 6;
    outcome.sent_bytes = 600;
    outcome.sent_earlier = {.files = 40, .bytes = 4000, .stood_files = 6, .stood_bytes = 600, .stood_data = 550};
    outcome = account.whole(outcome);
    CHECK(outcome.files == 42);
    CHECK(outcome.bytes == 4200);
    CHECK(outcome.unchanged == 0);
    CHECK(outcome.kept_bytes == 0);
    CHECK(outcome.sent_bytes == 4150);
}

TEST_CASE("what a crash of the receiver took back is not counted twice") {
    Account account;
    account.carry(progress(400, 450, 0, 1000), {});
    // Only 340 were found again: 60 have to arrive again before anything counts as new.
    CHECK(account.whole(progress(50, 60, 340, 660)).bytes_done == 400);
    CHECK(account.whole(progress(100, 110, 340, 660)).bytes_done == 440);
    CHECK(account.whole(progress(660, 660, 340, 660)).bytes_done == 1000);
    CHECK(account.whole(progress(660, 660, 340, 660)).bytes_total == 1000);
}

TEST_CASE("silence counts from what is not answered, and becomes an outage") {
    Silence silence;
    silence.look(0s, stats(10, 0));
    silence.look(20s, stats(10, 0));  // an idle pipe: no packet waits for an answer
    CHECK(silence.unanswered() == 0s);
    silence.look(21s, stats(10, 5000));
    silence.look(23s, stats(10, 5000));
    CHECK(silence.unanswered() == 2s);
    CHECK_FALSE(silence.outage());
    silence.look(24s, stats(10, 0));  // the sender stopped waiting for those packets, still without an answer
    CHECK(silence.outage());
    silence.lost(25s);
    silence.look(40s, std::nullopt);
    CHECK(silence.outage());
    CHECK(silence.unanswered() == 19s);
    silence.look(41s, stats(2, 1000));  // on the next connection
    CHECK_FALSE(silence.outage());
    CHECK(silence.unanswered() == 0s);
}

TEST_CASE("a line with a long round trip is not taken for an outage") {
    Silence silence;
    silence.look(0s, stats(10, 5000, 2s));
    silence.look(7s, stats(10, 5000, 2s));
    CHECK_FALSE(silence.outage());
    silence.look(8s, stats(10, 5000, 2s));
    CHECK(silence.outage());
}

TEST_CASE("a missing answer counts after a second, though nobody is told yet") {
    Silence silence;
    silence.look(0s, stats(10, 5000));
    silence.look(900ms, stats(10, 5000));
    CHECK_FALSE(silence.overdue());
    silence.look(1s, stats(10, 5000));
    CHECK(silence.overdue());
    CHECK_FALSE(silence.outage());
    silence.look(1100ms, stats(11, 5000));
    CHECK_FALSE(silence.overdue());
    silence.look(2s, stats(12, 5000, 500ms));
    silence.look(3900ms, stats(12, 5000, 500ms));  // an answer may take four round trips
    CHECK_FALSE(silence.overdue());
    silence.look(4s, stats(12, 5000, 500ms));
    CHECK(silence.overdue());
}

TEST_CASE("a receiver's outage began with the last packet, if the connection is lost") {
    Silence silence(true);
    silence.look(0s, stats(10, 0));
    silence.look(500ms, stats(11, 0));
    CHECK_FALSE(silence.quiet());
    silence.look(20s, stats(11, 0));  // perhaps the sender's disk is slow
    CHECK(silence.quiet());
    CHECK_FALSE(silence.overdue());
    silence.lost(30s);
    CHECK(silence.outage());
    CHECK(silence.unanswered() == 29500ms);
    Silence sender;
    sender.look(0s, stats(10, 0));
    sender.look(20s, stats(10, 0));
    CHECK_FALSE(sender.quiet());
}
