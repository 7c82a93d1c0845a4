// What the page shows, as JSON: the figures of now, how they came to be, and what has ended. The object is for the
// script of the page (assets/web), which has the same version: its fields may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/json_writer.hpp"
#include "observe/final_report.hpp"
#include "observe/observer.hpp"
#include "page/history.hpp"

namespace udtx::apps {

/// Which tool this is, and what it does.
struct PageSubject {
    DataEnd end = DataEnd::sender;
    std::string version;
    std::string where;           ///< "to host:7011", "from host", "into /data"
    std::int64_t started_s = 0;  ///< Unix time
    bool one_off = true;         ///< ends with its transfer
};

class PageData {
  public:
    static constexpr std::size_t kMaxTransfers = 40;  ///< shown one by one, fastest first
    static constexpr std::size_t kMaxLines = 8;       ///< drawn at a time
    static constexpr std::size_t kMaxLabels = 32;     ///< of lines that were drawn; the oldest is forgotten first
    static constexpr std::size_t kMaxEnded = 20;
    static constexpr std::size_t kMaxFailures = 100;

    explicit PageData(PageSubject subject) : subject_(std::move(subject)) {}

    /// What is under way now.
    void look(Duration at, std::vector<Observation> transfers);
    /// Takes a sample of it.
    void sample();
    /// One of many has come to its end. `whose`: the peer and what else is known of it.
    void ended(const std::string& peer, const std::string& whose, const FinalReport& report);
    /// There is no more to come.
    void over(const FinalReport& report);

    /// With all samples, or with the newest.
    [[nodiscard]] std::string json(bool with_history) const;

  private:
    /// A path of a peer: its line in the charts, and its counters when the last sample was taken.
    struct Line {
        std::uint32_t id = 0;
        std::uint64_t sent_packets = 0;
        std::uint64_t lost_packets = 0;
    };
    using LineKey = std::pair<std::string, PathId>;
    struct Label {
        std::uint32_t id = 0;
        std::string text;
    };

    [[nodiscard]] bool sends() const noexcept { return subject_.end == DataEnd::sender; }
    void draw(const Observation& seen, const PathStats& path, Line& line);
    [[nodiscard]] Line& new_line(const Observation& seen, const PathStats& path);
    [[nodiscard]] std::string label_of(const Observation& seen, const PathStats& path) const;
    void write_subject(JsonWriter& json) const;
    void write_now(JsonWriter& json) const;
    void write_transfers(JsonWriter& json) const;
    void write_transfer(JsonWriter& json, const Observation& seen) const;
    void write_path(JsonWriter& json, const Observation& seen, const PathStats& path) const;

    PageSubject subject_;
    Duration at_{};
    std::vector<Observation> transfers_;  // fastest first
    std::map<LineKey, Line> lines_;       // of those under way
    std::deque<Label> labels_;
    std::uint32_t next_line_ = 0;
    History history_;
    Sample newest_;
    std::deque<std::string> ended_;  // JSON, newest first
    std::uint64_t ended_count_ = 0;
    std::string over_ = "null";  // JSON
};

}  // namespace udtx::apps
