// A transfer job at one end of a link in memory, and the directories that it uses. The disk threads are real; nothing
// waits for wall-clock time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/ends.hpp"
#include "transfer/job/job.hpp"

namespace udtx::fuzz {

/// BASE/in, where the job may work, and BASE/outside, where it may change and read nothing. Both are on a memory file
/// system if the machine has one.
class Place {
  public:
    static constexpr const char* kSecret = "what lies outside is nobody's";

    Place();
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// Restores the state before the first input: a file `old`, a directory `sub` with a file, and links that lead in
    /// and out.
    void reset();
    /// Requires that nothing outside BASE/in has changed.
    void check() const;
    [[nodiscard]] std::string in() const { return (base_ / "in").string(); }
    /// The names directly below BASE/in that reset() did not create.
    [[nodiscard]] std::vector<std::string> new_names() const;

  private:
    std::filesystem::path base_;
    std::filesystem::file_time_type outside_time_;
};

/// A callback that records that it was called, and a wait for the call.
class Done {
  public:
    [[nodiscard]] transfer::DoneCallback callback();
    [[nodiscard]] bool called() const { return called_; }
    void await();

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool called_ = false;
};

class JobEnd final : public sim::App {
  public:
    explicit JobEnd(std::unique_ptr<transfer::Job> job);

    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

    /// Runs the disk threads and the link until both are idle.
    void run(Line& line, LineHost& host);
    [[nodiscard]] transfer::Job& job() { return *job_; }

  private:
    std::unique_ptr<transfer::Job> job_;
    std::atomic<bool> woken_{false};
};

/// The other end: sends what the input contains, and stores what it receives.
class Peer final : public sim::App {
  public:
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_piece(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

    void say(proto::Connection& connection, std::span<const std::byte> control);
    void give(proto::Connection& connection, std::span<const std::byte> data, StreamKind kind);
    [[nodiscard]] const std::string& heard() const noexcept { return heard_; }
    /// Opens the control stream. The side that connects calls it.
    void start(proto::Connection& connection);
    [[nodiscard]] bool closed() const noexcept { return closed_; }

  private:
    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    std::string heard_;
    bool closed_ = false;
};

}  // namespace udtx::fuzz
