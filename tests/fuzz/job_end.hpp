// A transfer's job at one end of a line in memory, with the directories that it works in. The disk's threads are the
// real ones; nobody waits for a clock.
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

/// BASE/in, where the job may work, and BASE/outside, where nothing may change and nothing is read. In memory where the
/// system has a place for that.
class Place {
  public:
    static constexpr const char* kSecret = "what lies outside is nobody's";

    Place();
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// As before the first input: a file `old`, a directory `sub` with one, and links in and out.
    void reset();
    /// Nothing outside of BASE/in has changed.
    void check() const;
    [[nodiscard]] std::string in() const { return (base_ / "in").string(); }
    /// What stands directly below BASE/in and was not there before.
    [[nodiscard]] std::vector<std::string> new_names() const;

  private:
    std::filesystem::path base_;
    std::filesystem::file_time_type outside_time_;
};

/// Done is whoever has called it.
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
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

    /// Lets the disk's threads and the line work until neither has anything to do.
    void run(Line& line, LineHost& host);
    [[nodiscard]] transfer::Job& job() { return *job_; }

  private:
    std::unique_ptr<transfer::Job> job_;
    std::atomic<bool> woken_{false};
};

/// The other end: says what the input says, and keeps what it hears.
class Peer final : public sim::App {
  public:
    void on_event(Instant now, proto::Connection& connection, const proto::Event& event) override;
    void on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) override;

    void say(proto::Connection& connection, std::span<const std::byte> control);
    void give(proto::Connection& connection, std::span<const std::byte> data, StreamKind kind);
    [[nodiscard]] const std::string& heard() const noexcept { return heard_; }
    /// Whoever dials opens the control stream.
    void dial(proto::Connection& connection);
    [[nodiscard]] bool closed() const noexcept { return closed_; }

  private:
    std::optional<StreamId> control_;
    std::optional<StreamId> data_;
    std::string heard_;
    bool closed_ = false;
};

}  // namespace udtx::fuzz
