#include "transfer/shard/job_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test/catch.hpp"
#include "test/temporary_directory.hpp"
#include "transfer/names.hpp"

using namespace udtx;
using namespace udtx::transfer;
using namespace udtx::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kJob = 0x1234;
constexpr std::uint64_t kMiB = 1U << 20U;
constexpr HashAlgorithm kJobHash = HashAlgorithm::xxh3_128;

Digest digest_at(std::uint64_t offset) {
    Hasher hasher(kJobHash);
    hasher.update_u64(offset);
    return hasher.finish();
}

std::vector<ProvenPiece> pieces_of(const FileRange& part) {
    std::vector<ProvenPiece> out;
    for (std::uint64_t at = part.offset; at < part.offset + part.length; at += kMiB) {
        out.push_back({at, std::min(kMiB, part.offset + part.length - at), digest_at(at)});
    }
    return out;
}

struct JobRig {
    TemporaryDirectory temp;

    [[nodiscard]] std::string path() const { return (temp / job_file_name(kJob)).string(); }
    Result<std::unique_ptr<JobFile>> open(std::size_t index, std::size_t count, std::uint64_t split = 7,
                                          HashAlgorithm hash = kJobHash) const {
        return open({kJob, index, count, split}, hash);
    }
    Result<std::unique_ptr<JobFile>> open(const JobShard& shard, HashAlgorithm hash = kJobHash) const {
        static std::atomic<std::uint64_t> runs{100};
        return JobFile::open(root(), shard, hash, ++runs);
    }
    ConfinedDir root() const {
        auto root = ConfinedDir::open(temp.path().string());
        REQUIRE(root.ok());
        return std::move(root).value();
    }
    std::unique_ptr<JobFile> shard(std::size_t index, std::size_t count) const {
        auto opened = open(index, count);
        REQUIRE(opened.ok());
        return std::move(*opened);
    }
    /// Both shards of a job of two.
    [[nodiscard]] std::pair<std::unique_ptr<JobFile>, std::unique_ptr<JobFile>> both() const {
        return {shard(0, 2), shard(1, 2)};
    }
    [[nodiscard]] bool exists() const { return fs::exists(path()); }
};

const JobFile::Version kFile{"d/f", 20 * kMiB + 5, {100, 5}};
constexpr FileRange kHead{0, 8 * kMiB};
constexpr FileRange kTail{8 * kMiB, 12 * kMiB + 5};

/// Times of a file that was last written `seconds` after the start.
FileTimes times(std::int64_t seconds) { return {{1000 + seconds, 0}, {1000 + seconds, 7}}; }

Result<void> begin(JobFile& job, const JobFile::Version& version, bool fresh, std::int64_t written = 0) {
    return job.begin(version, [&](bool) -> Result<JobFile::Opened> { return JobFile::Opened{fresh, times(written)}; });
}

Result<bool> fill(JobFile& job, const JobFile::Version& version, const FileRange& part, std::int64_t written = 0) {
    return job.fill(version, part, pieces_of(part), times(written));
}

}  // namespace

TEST_CASE("parts of a file are put together by whoever is last, and the job's file goes with the last shard") {
    const JobRig rig;
    const auto [first, second] = rig.both();
    REQUIRE(begin(*first, kFile, true));
    REQUIRE(begin(*second, kFile, false));
    CHECK(first->temporary_for("d/f") == second->temporary_for("d/f"));
    CHECK(first->temporary_for("d/f") != first->temporary_for("d/g"));
    CHECK(fill(*second, kFile, kTail).value() == false);
    const auto waiting = second->finish();
    REQUIRE(waiting);
    CHECK_FALSE(waiting->complete());
    CHECK(waiting->done == 1);
    CHECK(waiting->waiting == 1);
    CHECK(first->claimed(kFile, kHead).empty());
    CHECK(first->claimed(kFile, kTail) == pieces_of(kTail));
    CHECK(fill(*first, kFile, kHead).value() == true);
    CHECK(first->claimed(kFile, {0, kFile.size}).size() == 21);
    first->named("d/f");
    CHECK(second->claimed(kFile, kTail).empty());
    CHECK(rig.exists());
    const auto last = first->finish();
    REQUIRE(last);
    CHECK(last->complete());
    CHECK(rig.exists());
    first->remove();
    CHECK_FALSE(rig.exists());
    // The next run starts with a new file.
    CHECK_FALSE(rig.shard(1, 2)->has_parts());
    CHECK(rig.exists());
}

TEST_CASE("a shard that fills its part once more when another one has completed the file has delivered it") {
    const JobRig rig;
    const auto [first, second] = rig.both();
    REQUIRE(begin(*first, kFile, true));
    REQUIRE(begin(*second, kFile, false));
    REQUIRE(fill(*first, kFile, kHead));
    REQUIRE(fill(*second, kFile, kTail).value() == true);
    CHECK_FALSE(first->has_name(kFile));
    second->named("d/f");
    CHECK(first->has_name(kFile));
    CHECK(fill(*first, kFile, kHead).value() == false);
    JobFile::Version newer = kFile;
    CHECK_FALSE(first->has_name({"d/f", kFile.size + 1, kFile.mtime}));
    ++newer.mtime.seconds;
    CHECK(fill(*first, newer, kHead).error().code == ErrorCode::refused);
}

TEST_CASE("shards that run again and find what they delivered stay in the earlier run, and leave no job") {
    const JobRig rig;
    const auto again = [&](std::size_t index) { return rig.open({kJob, index, 3, 7, 0, 0, 0, 99}).value(); };
    const auto first = again(0);
    const auto second = again(1);
    CHECK((*first->finish(true)).run == 99);
    first->remove();
    CHECK(rig.exists());  // the second one may have to write
    SECTION("all find it") {
        CHECK((*second->finish(true)).run == 99);
        second->remove();
        CHECK_FALSE(rig.exists());
    }
    SECTION("one delivers something, so that the others have to run in its job") {
        const auto state = second->finish(false);
        CHECK(state->run != 99);
        second->remove();
        CHECK(rig.exists());
        const auto third = again(2);
        const auto last = third->finish(true);
        CHECK(last->run == state->run);
        CHECK(last->complete());
        third->remove();
        CHECK_FALSE(rig.exists());
    }
    SECTION("one delivers something and runs again: what it finds then is of this run of the job") {
        const auto state = second->finish(false);
        CHECK((*(*again(1)).finish(true)).run == state->run);
        CHECK((*(*again(0)).finish(true)).run == state->run);
    }
    SECTION("one is cut off and runs again: it may have delivered something") {
        CHECK((*(*again(1)).finish(true)).run != 99);
    }
    SECTION("a shard that was never there before waits for the others") {
        CHECK((*second->finish(true)).run == 99);
        const auto state = rig.shard(2, 3)->finish(true);
        CHECK(state->run != 99);
        CHECK(state->complete());
    }
}

TEST_CASE("the last shard to end says so when a part of a file is not there any more") {
    const JobRig rig;
    const auto [first, second] = rig.both();
    REQUIRE(begin(*first, kFile, true));
    REQUIRE(fill(*first, kFile, kHead).ok());
    REQUIRE(first->finish());
    // The file changed at the source, so it starts over.
    JobFile::Version newer = kFile;
    ++newer.mtime.seconds;
    REQUIRE(begin(*second, newer, true));
    REQUIRE(fill(*second, newer, kTail).ok());
    const auto finished = second->finish(false, 0ms);
    REQUIRE_FALSE(finished);
    CHECK(finished.error().code == ErrorCode::refused);
    CHECK(finished.error().message.find("bytes 0 to 8388607 are missing") != std::string::npos);
    second->remove();
    CHECK(rig.exists());
    CHECK_FALSE(rig.shard(1, 2)->finish(false, 0ms));  // each end of that shard reports it
    // The first shard runs again.
    const auto again = rig.shard(0, 2);
    REQUIRE(begin(*again, newer, false));
    CHECK(fill(*again, newer, kHead).value());
    again->named("d/f");
    // It is not the last one: the shard that failed has to run again, too, whichever begins first.
    const auto waiting = again->finish(false, 0ms);
    REQUIRE(waiting);
    CHECK_FALSE(waiting->complete());
    again->remove();
    CHECK(rig.exists());
    const auto repeated = rig.shard(1, 2);
    CHECK((*repeated->finish()).complete());
    repeated->remove();
    CHECK_FALSE(rig.exists());
}

TEST_CASE("the last shard fails again if only it runs again") {
    const JobRig rig;
    const auto [first, second] = rig.both();
    REQUIRE(begin(*first, kFile, true));
    REQUIRE(first->finish());
    REQUIRE_FALSE(second->finish(false, 0ms));
    CHECK_FALSE(rig.shard(1, 2)->finish(false, 0ms));
    // Other shards that run again wait for it, also if it begins later than they end.
    CHECK(rig.shard(0, 2)->finish(false, 0ms));
}

TEST_CASE("of many that fill a file at a time one sees that nothing is missing") {
    const JobRig rig;
    constexpr std::size_t kShards = 8;
    const JobFile::Version file{"f", kShards * kCutBytes, {1, 2}};
    std::atomic<int> last{0};
    std::atomic<std::size_t> ended{0};
    std::vector<std::unique_ptr<JobFile>> jobs;
    for (std::size_t i = 0; i < kShards; ++i) jobs.push_back(rig.shard(i, kShards));
    REQUIRE(begin(*jobs[0], file, true));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kShards; ++i) {
        threads.emplace_back([&, i] {
            const FileRange part{i * kCutBytes, kCutBytes};
            const auto whole = fill(*jobs[i], file, part);
            if (whole && *whole) {
                ++last;
                jobs[i]->named("f");
            }
            ended += jobs[i]->finish() ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(last == 1);
    CHECK(ended == kShards);
}

TEST_CASE("shards that cut the tree otherwise are refused, with the way out") {
    const JobRig rig;
    const auto first = rig.shard(0, 2);
    const auto other = rig.open(1, 2, 8);
    REQUIRE_FALSE(other);
    CHECK(other.error().code == ErrorCode::refused);
    CHECK(other.error().message.find("--plan") != std::string::npos);
    CHECK(rig.open(1, 2, 7, HashAlgorithm::sha256).error().code == ErrorCode::refused);
    CHECK(rig.open(1, 2).ok());
}

TEST_CASE("all shards of a run of a job get its number, and another run is refused to those that have met it") {
    const JobRig rig;
    const auto first = rig.shard(0, 2);
    const std::uint64_t run = (*first->state()).run;
    CHECK(run != 0);
    CHECK((*(*rig.shard(1, 2)).state()).run == run);
    CHECK(rig.open(JobShard{kJob, 1, 2, 7, 0, 0, run}).ok());
    CHECK(rig.open(JobShard{kJob, 1, 2, 7, 0, 0, run + 1}).error().code == ErrorCode::refused);
    // Somebody removes the job's file: a shard that runs cannot say that it is done, and later ones see a new run.
    fs::remove(rig.path());
    const auto finished = first->finish();
    REQUIRE_FALSE(finished);
    CHECK(finished.error().message.find("was removed while this shard was running") != std::string::npos);
    const auto again = rig.open(JobShard{kJob, 1, 2, 7, 0, 0, run});
    REQUIRE_FALSE(again);
    CHECK(again.error().code == ErrorCode::refused);
    CHECK(again.error().message.find("Run all shards again") != std::string::npos);
    CHECK((*(*rig.shard(1, 2)).state()).run != run);
}

TEST_CASE("a job begins again when a directory that its shards delivered into was removed") {
    const JobRig rig;
    fs::create_directory(rig.temp / "d");
    std::uint64_t run = 0;
    {
        const auto first = rig.shard(0, 2);
        run = (*first->state()).run;
        first->add_tops({"d", "missing"});
        REQUIRE(first->finish());
    }
    struct statx facts = {};
    if (::statx(AT_FDCWD, (rig.temp / "d").c_str(), 0, STATX_BTIME, &facts) != 0 ||
        (facts.stx_mask & STATX_BTIME) == 0) {
        WARN("this disk does not know when a directory was made");
        return;
    }
    CHECK((*(*rig.shard(1, 2)).state()).run == run);
    CHECK((*(*rig.shard(1, 2)).state()).done == 1);
    fs::remove(rig.temp / "d");
    std::this_thread::sleep_for(20ms);  // the disk's clock has ticks
    fs::create_directory(rig.temp / "d");
    CHECK(rig.open(JobShard{kJob, 1, 2, 7, 0, 0, run}).error().code == ErrorCode::refused);
    CHECK((*(*rig.shard(1, 2)).state()).done == 0);
    CHECK((*(*rig.shard(1, 2)).state()).run != run);
}

TEST_CASE("a shard that the others refuse is refused before it changes anything") {
    const JobRig rig;
    CHECK(JobFile::check(rig.root(), {kJob, 0, 2, 7}, kJobHash).ok());
    CHECK_FALSE(rig.exists());
    const auto first = rig.shard(0, 2);
    const auto size = fs::file_size(rig.path());
    CHECK(JobFile::check(rig.root(), {kJob, 0, 2, 7}, kJobHash).ok());
    CHECK(JobFile::check(rig.root(), {kJob, 0, 2, 8}, kJobHash).error().code == ErrorCode::refused);
    CHECK(JobFile::check(rig.root(), {kJob, 0, 2, 7, 0, 1}, kJobHash).error().message.find("--exclude") !=
          std::string::npos);
    CHECK(fs::file_size(rig.path()) == size);
}

TEST_CASE("a foreign file at the name of a job's file keeps its content and bars the shard") {
    const JobRig rig;
    const fs::path victim = rig.temp / "victim";
    const auto put = [&](std::size_t bytes) { write_file(victim, std::string(bytes, 'v')); };
    std::size_t bytes = 0;
    SECTION("a hard link") {
        bytes = GENERATE(1U, 28U, 127U, 128U, 129U, 5000U);
        put(bytes);
        fs::create_hard_link(victim, rig.path());
    }
    SECTION("another user's file") {
        if (::geteuid() != 0) return;
        bytes = 28;
        put(bytes);
        fs::rename(victim, rig.path());
        REQUIRE(::chown(rig.path().c_str(), 65534, 65534) == 0);
        fs::create_symlink(rig.path(), victim);
    }
    SECTION("a symbolic link") {
        put(bytes = 28);
        fs::create_symlink(victim, rig.path());
    }
    SECTION("a directory") {
        put(bytes = 28);
        fs::create_directory(rig.path());
    }
    SECTION("a FIFO") {
        put(bytes = 28);
        REQUIRE(::mkfifo(rig.path().c_str(), 0600) == 0);
    }
    const JobShard shard{kJob, 0, 2, 7};
    const auto checked = JobFile::check(rig.root(), shard, kJobHash);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().message.find("delete it") != std::string::npos);
    CHECK_FALSE(rig.open(shard));
    CHECK(read_file(victim) == std::string(bytes, 'v'));
}

TEST_CASE("a torn end of a job's file is only looked over until a shard joins") {
    const JobRig rig;
    { const auto first = rig.shard(0, 2); }
    const auto size = fs::file_size(rig.path());
    std::ofstream(rig.path(), std::ios::app) << "torn";
    CHECK(JobFile::check(rig.root(), {kJob, 1, 2, 7}, kJobHash).ok());
    CHECK_FALSE(JobFile::check(rig.root(), {kJob, 1, 2, 8}, kJobHash));
    CHECK(fs::file_size(rig.path()) == size + 4);
}

TEST_CASE("a job's file without its head is not taken for a new one") {
    const JobRig rig;
    {
        const auto first = rig.shard(0, 2);
        REQUIRE(begin(*first, kFile, true));
        CHECK(fill(*first, kFile, kHead).ok());
        REQUIRE(first->finish());
    }
    std::ifstream in(rig.path(), std::ios::binary);
    std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    all[9] = static_cast<char>(all[9] ^ 1);
    write_file(rig.path(), all);
    const auto opened = rig.open(1, 2);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().message.find("damaged or of another version") != std::string::npos);
    CHECK(fs::file_size(rig.path()) == all.size());
}

TEST_CASE("a newer version of a file begins anew, an older one is refused") {
    const JobRig rig;
    const auto [first, second] = rig.both();
    JobFile::Version newer = kFile;
    newer.mtime.seconds += 1;
    REQUIRE(begin(*first, kFile, true));
    CHECK(fill(*first, kFile, kHead).value() == false);
    REQUIRE(begin(*second, newer, false));
    CHECK(first->claimed(kFile, kHead).empty());
    CHECK(fill(*first, kFile, kHead).error().code == ErrorCode::refused);
    CHECK(fill(*second, newer, kTail).value() == false);
    const auto older = begin(*first, kFile, false);
    REQUIRE_FALSE(older);
    CHECK(older.error().code == ErrorCode::refused);
    // A file whose temporary file is missing starts over, too.
    REQUIRE(begin(*first, newer, true));
    CHECK(second->claimed(newer, kTail).empty());
    CHECK(fill(*first, newer, kHead).value() == false);
}

TEST_CASE("of a job's file that was cut or altered no more is believed than is whole") {
    const JobRig rig;
    {
        const auto first = rig.shard(0, 2);
        REQUIRE(begin(*first, kFile, true));
        CHECK(fill(*first, kFile, kHead).value() == false);
    }
    std::ifstream in(rig.path(), std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    for (std::size_t n = 0; n <= all.size(); n += n + 40 < all.size() && n > 90 ? 37 : 1) {
        CAPTURE(n);
        write_file(rig.path(), all.substr(0, n));
        const auto again = rig.open(1, 2);
        REQUIRE(again.ok());
        CHECK((*again)->claimed(kFile, kHead).size() == (n == all.size() ? 8 : 0));
        REQUIRE(begin(**again, kFile, false));
        CHECK(fill(**again, kFile, kHead).value() == false);
        CHECK((*again)->claimed(kFile, kHead) == pieces_of(kHead));
    }
    std::string altered = all;
    altered[altered.size() - 3] = static_cast<char>(altered[altered.size() - 3] ^ 1);
    write_file(rig.path(), altered);
    CHECK(rig.shard(1, 2)->claimed(kFile, kHead).empty());
}

namespace {

/// Three shards of a job, of which the first has filled its part at time 3.
struct DoubtRig : JobRig {
    std::unique_ptr<JobFile> first = shard(0, 3);
    std::unique_ptr<JobFile> second = shard(1, 3);
    std::unique_ptr<JobFile> third = shard(2, 3);
    FileRange middle{8 * kMiB, 8 * kMiB};
    FileRange end{16 * kMiB, 4 * kMiB + 5};
    std::uint64_t beats_ = 0;

    DoubtRig() {
        REQUIRE(begin(*first, kFile, true));
        REQUIRE(fill(*first, kFile, kHead, 3).value() == false);
    }
    /// A report of a shard that has received so many bytes.
    void beats(JobFile& job, std::size_t index, std::uint64_t bytes,
               ShardSlot::State state = ShardSlot::State::running) {
        REQUIRE(job.exchange([&](std::vector<ShardSlot>& slots) {
            slots[index].run = 5 + index;
            slots[index].beat = ++beats_;
            slots[index].bytes_done = bytes;
            slots[index].state = state;
        }));
    }
    [[nodiscard]] std::size_t doubted_by(JobFile& job, const FileRange& own) const {
        const auto parts = job.doubtful(kFile, own);
        REQUIRE(parts);
        for (const JobFile::FilledPart& filled : *parts) CHECK(filled.pieces == pieces_of(filled.part));
        return parts->size();
    }
};

}  // namespace

TEST_CASE("parts that others filled are believed if nothing changed the file since then") {
    DoubtRig rig;
    REQUIRE(begin(*rig.second, kFile, false, 3));
    CHECK(rig.doubted_by(*rig.second, rig.middle) == 0);
    // A shard that leaves the file tells its times.
    rig.second->leave(kFile, times(4));
    REQUIRE(begin(*rig.third, kFile, false, 4));
    CHECK(rig.doubted_by(*rig.third, rig.end) == 0);
}

TEST_CASE("times in whole seconds prove nothing") {
    DoubtRig rig;
    const FileTimes whole{{1000, 0}, {1000, 0}};
    REQUIRE(begin(*rig.second, kFile, false, 3));
    REQUIRE(rig.second->fill(kFile, rig.middle, pieces_of(rig.middle), whole).ok());
    REQUIRE(rig.third->begin(kFile, [&](bool) -> Result<JobFile::Opened> { return JobFile::Opened{false, whole}; }));
    CHECK(rig.doubted_by(*rig.third, rig.end) == 2);
}

TEST_CASE("parts that others filled are read again if the file changed while no shard wrote it") {
    DoubtRig rig;
    const auto state = GENERATE(ShardSlot::State::none, ShardSlot::State::done, ShardSlot::State::failed);
    rig.beats(*rig.first, 0, 9, state);
    REQUIRE(begin(*rig.second, kFile, false, 4));
    CHECK(rig.doubted_by(*rig.second, rig.middle) == 1);
    SECTION("and they hold") {
        REQUIRE(rig.second->judge(kFile, {}));
        CHECK(rig.doubted_by(*rig.second, rig.middle) == 0);
        CHECK(fill(*rig.second, kFile, rig.middle, 5).value() == false);
        REQUIRE(begin(*rig.third, kFile, false, 5));
        CHECK(rig.doubted_by(*rig.third, rig.end) == 0);
        CHECK(fill(*rig.third, kFile, rig.end, 6).value() == true);
    }
    SECTION("and one does not: only its shard has to run again") {
        REQUIRE(rig.second->judge(kFile, {kHead.offset}));
        CHECK(fill(*rig.second, kFile, rig.middle, 5).value() == false);
        CHECK(rig.second->claimed(kFile, kHead).empty());
        CHECK(rig.second->claimed(kFile, rig.middle) == pieces_of(rig.middle));
        REQUIRE(begin(*rig.third, kFile, false, 5));
        CHECK(fill(*rig.third, kFile, rig.end, 6).value() == false);
        for (const auto& shard : {rig.first.get(), rig.second.get()}) REQUIRE(shard->finish());
        const auto last = rig.third->finish(false, 0ms);
        REQUIRE_FALSE(last);
        CHECK(last.error().message.find("bytes 0 to 8388607 are missing") != std::string::npos);
        const auto again = rig.shard(0, 3);
        REQUIRE(begin(*again, kFile, false, 6));
        CHECK(fill(*again, kFile, kHead, 7).value() == true);
    }
    SECTION("and another version is sent meanwhile") {
        JobFile::Version newer = kFile;
        ++newer.mtime.seconds;
        REQUIRE(begin(*rig.third, newer, false, 4));
        CHECK(rig.second->judge(kFile, {kHead.offset}).error().code == ErrorCode::refused);
    }
}

TEST_CASE("a shard that writes the file explains its times, unless it has begun with other times itself") {
    DoubtRig rig;
    SECTION("it writes") {
        REQUIRE(begin(*rig.second, kFile, false, 3));
        rig.beats(*rig.second, 1, 1);
        REQUIRE(begin(*rig.third, kFile, false, 4));
        rig.beats(*rig.second, 1, 2);
        rig.beats(*rig.third, 2, 1);
        rig.beats(*rig.second, 1, 3, GENERATE(ShardSlot::State::running, ShardSlot::State::failed));
        CHECK(rig.doubted_by(*rig.third, rig.end) == 0);
    }
    SECTION("its sender was killed") {
        REQUIRE(begin(*rig.second, kFile, false, 3));
        rig.beats(*rig.second, 1, 1);
        REQUIRE(begin(*rig.third, kFile, false, 4));
        // The first report also covers earlier data.
        rig.beats(*rig.second, 1, 2);
        rig.beats(*rig.third, 2, 1);
        rig.beats(*rig.second, 1, 2);
        CHECK(rig.doubted_by(*rig.third, rig.end) == 1);
    }
    SECTION("it was killed") {
        REQUIRE(begin(*rig.second, kFile, false, 3));
        rig.beats(*rig.second, 1, 1);
        REQUIRE(begin(*rig.third, kFile, false, 4));
        CHECK(rig.doubted_by(*rig.third, rig.end) == 1);
    }
    SECTION("both begin after somebody else has written") {
        rig.beats(*rig.second, 1, 1);
        rig.beats(*rig.third, 2, 1);
        REQUIRE(begin(*rig.second, kFile, false, 4));
        REQUIRE(begin(*rig.third, kFile, false, 4));
        for (const std::uint64_t bytes : {2U, 3U, 4U}) {
            rig.beats(*rig.second, 1, bytes);
            rig.beats(*rig.third, 2, bytes);
        }
        CHECK(rig.doubted_by(*rig.second, rig.middle) == 1);
        CHECK(rig.doubted_by(*rig.third, rig.end) == 1);
        // One of them may fail and come back.
        rig.second->leave(kFile, times(5));
        const auto again = rig.shard(1, 3);
        REQUIRE(begin(*again, kFile, false, 5));
        CHECK(rig.doubted_by(*again, rig.middle) == 1);
    }
    SECTION("it runs, but writes other files") {
        rig.beats(*rig.second, 1, 1);
        REQUIRE(begin(*rig.third, kFile, false, 4));
        for (const std::uint64_t bytes : {2U, 3U}) {
            rig.beats(*rig.second, 1, bytes);
            rig.beats(*rig.third, 2, bytes);
        }
        CHECK(rig.doubted_by(*rig.third, rig.end) == 1);
    }
}

TEST_CASE("what is no file of this user's is not used for a job") {
    const JobRig rig;
    fs::create_directory(rig.path());
    CHECK(rig.open(0, 2).error().code == ErrorCode::file_io);
    fs::remove(rig.path());
    write_file(rig.temp / "elsewhere", "");
    fs::create_symlink("elsewhere", rig.path());
    CHECK(rig.open(0, 2).error().code == ErrorCode::file_io);
    CHECK(fs::file_size(rig.temp / "elsewhere") == 0);
    fs::remove(rig.path());
    write_file(rig.temp / "elsewhere", "precious");
    fs::create_hard_link(rig.temp / "elsewhere", rig.path());
    const auto linked = rig.open(0, 2);
    REQUIRE_FALSE(linked);
    CHECK(linked.error().message.find("second name") != std::string::npos);
    fs::remove(rig.path());
    const auto job = rig.shard(0, 2);
    fs::create_hard_link(rig.temp / "elsewhere", rig.temp / shard_slots_name(kJob));
    CHECK_FALSE(job->exchange([](std::vector<ShardSlot>&) {}));
    CHECK(read_file(rig.temp / "elsewhere") == "precious");
}
