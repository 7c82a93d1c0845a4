// The history of a transfer, in as many samples as fit a chart. When they are full, neighbouring samples are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/text.hpp"
#include "observe/final_report.hpp"
#include "observe/observer.hpp"

namespace udtx::apps {

/// One path in one interval. A value that this end does not know is NaN.
struct LineSample {
    std::uint32_t line = 0;   ///< see PageData
    double rate_bps = 0.0;    ///< carried by the path
    double rtt_ms = 0.0;      ///< smoothed
    double loss = 0.0;        ///< share of this interval's packets, 0 to 1
    double congestion = 0.0;  ///< congestion degree, 0 to 1
    double in_flight = 0.0;   ///< bytes
};

struct Sample {
    double at = 0.0;        ///< seconds since the start
    double rate_bps = 0.0;  ///< file bytes done
    double cap_bps = 0.0;   ///< NaN: there is no cap
    double done = 0.0;      ///< file bytes
    double queued = 0.0;    ///< file bytes handed to the transport, without confirmation that they are written
    std::vector<LineSample> lines{};
};

/// Merges consecutive samples: means, and the last value of growing counters.
[[nodiscard]] Sample merged(std::span<const Sample> samples);

class History {
  public:
    static constexpr std::size_t kMost = 600;

    void add(Sample sample);
    /// At most kMost + 1, oldest first.
    [[nodiscard]] std::vector<Sample> samples() const;

  private:
    std::vector<Sample> samples_;
    std::vector<Sample> waiting_;  ///< fewer than stride_ samples
    std::size_t stride_ = 1;       ///< input samples per element of samples_
};

// The data of the page, as JSON: current figures, their history, and ended transfers. The page's script (assets/web)
// has the same version, so the object's fields may change.

/// Describes the tool and its task.
struct PageSubject {
    DataEnd end = DataEnd::sender;
    std::string version;
    std::string where;           ///< "to host:7011", "from host", "into /data"
    std::int64_t started_s = 0;  ///< Unix time
    bool one_off = true;         ///< the process ends with its transfer
};

class PageData {
  public:
    static constexpr std::size_t kMaxTransfers = 40;  ///< shown singly, fastest first
    static constexpr std::size_t kMaxLines = 8;       ///< drawn at the same time
    static constexpr std::size_t kMaxLabels = 32;     ///< labels of lines that were drawn; the oldest is dropped first
    static constexpr std::size_t kMaxEnded = 20;
    static constexpr std::size_t kMaxFailures = 100;

    explicit PageData(PageSubject subject) : subject_(std::move(subject)) {}

    /// Takes the running transfers.
    void look(Duration at, std::vector<Observation> transfers);
    /// Adds a sample of the latest look() to the history.
    void sample();
    /// One of several transfers has ended. `whose`: the peer and other facts about it.
    void ended(const std::string& peer, const std::string& whose, const FinalReport& report);
    /// The run has ended.
    void over(const FinalReport& report);

    /// With all samples, or with the newest only.
    [[nodiscard]] std::string json(bool with_history) const;

  private:
    /// A path of a peer: its line in the charts, and its counters at the last sample.
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
    std::map<LineKey, Line> lines_;       // of running transfers
    std::deque<Label> labels_;
    std::uint32_t next_line_ = 0;
    History history_;
    Sample newest_;
    std::deque<std::string> ended_;  // JSON, newest first
    std::uint64_t ended_count_ = 0;
    std::string over_ = "null";  // JSON
};

}  // namespace udtx::apps
