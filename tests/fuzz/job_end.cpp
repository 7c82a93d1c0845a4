#include "fuzz/job_end.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "fuzz/require.hpp"
#include "transfer/disk_pool.hpp"

namespace udtx::fuzz {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const char* text) { std::ofstream(path, std::ios::binary) << text; }

/// Resets the mode of each directory before it removes it, because an input may have set any mode.
void remove_tree(const fs::path& path) {
    if (fs::symlink_status(path).type() == fs::file_type::directory) {
        ::chmod(path.c_str(), 0700);
        for (const auto& entry : fs::directory_iterator(path)) remove_tree(entry.path());
    }
    fs::remove(path);
}

/// Waits until every task that was ready in the pool has run.
void take_turn(transfer::DiskPool& pool) {
    Done done;
    transfer::DiskTask task(
        pool,
        [call = done.callback()] {
            call();
            return transfer::DiskStep::over();
        },
        [](const Error&) { return transfer::DiskStep::over(); });
    task.wake();
    done.await();
}

const std::array<const char*, 4> kThere{"old", "sub", "link", "out"};

}  // namespace

Place::Place() {
    const bool memory = std::getenv("TMPDIR") == nullptr && ::access("/dev/shm", W_OK) == 0;
    std::string name = (memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "udtx-fuzz-XXXXXX";
    require(::mkdtemp(name.data()) != nullptr, "a directory can be made");
    base_ = name;
    fs::create_directory(base_ / "outside");
    write(base_ / "outside" / "canary", kSecret);
    outside_time_ = fs::last_write_time(base_ / "outside");
    fs::create_directory(base_ / "in");
    // A file of the announced size must not use up the machine's memory, so limit the size of files.
    const rlimit limit{64U << 20U, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::signal(SIGXFSZ, SIG_IGN);
}

Place::~Place() { remove_tree(base_); }

void Place::reset() {
    remove_tree(base_ / "in");
    fs::create_directories(base_ / "in" / "sub");
    write(base_ / "in" / "old", "old content");
    write(base_ / "in" / "sub" / "file", "content");
    fs::create_symlink("../outside", base_ / "in" / "out");
    fs::create_symlink("sub/file", base_ / "in" / "link");
    fs::create_symlink("../../outside/canary", base_ / "in" / "sub" / "leaf");
}

void Place::check() const {
    struct stat status {};
    const fs::path canary = base_ / "outside" / "canary";
    require(::lstat(canary.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1,
            "the file outside is there, and has one name");
    std::ifstream in(canary, std::ios::binary);
    require(std::string(std::istreambuf_iterator<char>(in), {}) == kSecret, "its content is as it was");
    require(fs::last_write_time(base_ / "outside") == outside_time_, "nothing was made beside it");
    const auto names = std::distance(fs::directory_iterator(base_), fs::directory_iterator());
    require(names == 2, "nothing was made above");
}

std::vector<std::string> Place::new_names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(base_ / "in")) {
        const std::string name = entry.path().filename().string();
        if (std::find(kThere.begin(), kThere.end(), name) == kThere.end()) names.push_back(name);
    }
    return names;
}

transfer::DoneCallback Done::callback() {
    return [this] {
        const std::lock_guard lock(mutex_);
        called_ = true;
        changed_.notify_all();
    };
}

void Done::await() {
    std::unique_lock lock(mutex_);
    require(changed_.wait_for(lock, std::chrono::seconds(60), [this] { return called_; }), "it comes to an end");
}

JobEnd::JobEnd(std::unique_ptr<transfer::Job> job) : job_(std::move(job)) {
    job_->set_waker([this] { woken_ = true; });
}

void JobEnd::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    job_->on_event(now, connection, event);
}

void JobEnd::on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    job_->on_piece(id, offset, bytes);
}

void JobEnd::run(Line& line, LineHost& host) {
    constexpr int kMostRounds = 2000;
    for (int rounds = 0;; ++rounds) {
        require(rounds < kMostRounds, "the job comes to rest");
        line.settle(std::chrono::milliseconds(20));
        take_turn(transfer::disk_pools().work);
        take_turn(transfer::disk_pools().sync);
        take_turn(transfer::disk_pools().work);
        if (!woken_.exchange(false)) {
            if (line.waiting() == 0) return;
            continue;
        }
        if (host.sessions().empty() || !host.session().connection) return;
        job_->on_wake(line.now(), *host.session().connection);
        host.pump();
    }
}

void Peer::start(proto::Connection& connection) {
    const auto opened = connection.open_stream(StreamKind::ordered);
    if (opened) control_ = *opened;
}

void Peer::on_event(Instant /*now*/, proto::Connection& connection, const proto::Event& event) {
    if (std::holds_alternative<proto::event::Closed>(event)) closed_ = true;
    if (const auto* opened = std::get_if<proto::event::StreamOpened>(&event)) {
        if (!control_ && opened->id == StreamId::make(0, StreamKind::ordered, Role::client)) control_ = opened->id;
    }
    if (const auto* readable = std::get_if<proto::event::Readable>(&event)) {
        std::array<std::byte, 16384> block{};
        while (const std::size_t n = connection.read(readable->id, block).bytes) {
            heard_.append(reinterpret_cast<const char*>(block.data()), n);
        }
    }
}

void Peer::on_piece(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> bytes) {
    heard_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void Peer::say(proto::Connection& connection, std::span<const std::byte> control) {
    if (control_ && !control.empty()) static_cast<void>(connection.write(*control_, Chunk::copy_of(control)));
}

void Peer::give(proto::Connection& connection, std::span<const std::byte> data, StreamKind kind) {
    if (data.empty()) return;
    if (!data_) {
        const auto opened = connection.open_stream(kind);
        if (!opened) return;
        data_ = *opened;
    }
    static_cast<void>(connection.write(*data_, Chunk::copy_of(data)));
}

}  // namespace udtx::fuzz
