// The live page: its data as JSON, its two forms, and the server that shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assets/assets.hpp"
#include "common/guarded.hpp"
#include "common/log.hpp"
#include "common/text.hpp"
#include "observe/final_report.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

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

/// The history of a transfer, in as many samples as fit a chart. When they are full, neighbouring samples are merged.
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
    [[nodiscard]] Json json_of(const Observation& seen) const;
    [[nodiscard]] Json json_of(const Observation& seen, const PathStats& path) const;

    PageSubject subject_;
    Duration at_{};
    std::vector<Observation> transfers_;  // fastest first
    std::map<LineKey, Line> lines_;       // of running transfers
    std::deque<Label> labels_;
    std::uint32_t next_line_ = 0;
    History history_;
    Sample newest_;
    std::deque<Json> ended_;  // newest first
    std::uint64_t ended_count_ = 0;
    Json over_ = nullptr;
};

/// The file of the page at this address; 404 if there is none.
[[nodiscard]] HttpReply page_file(const PageAssets& assets, std::string_view target);
/// The page as one file that works anywhere and loads nothing. `nonce` is random, so that only the page's own scripts
/// run.
[[nodiscard]] std::string page_with_data(const PageAssets& assets, std::string_view data, std::string_view nonce);

// The file of --report, written at the end of the run.

class ReportFile {
  public:
    /// Tests at the start whether the file can be written; file_io if not. An earlier report stays until the new one
    /// replaces it. Call it before the process gives up the right to create files.
    static Result<ReportFile> open(const std::string& path);

    /// Creates the file again if it was removed meanwhile.
    [[nodiscard]] Result<void> write(std::string_view text) const;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

  private:
    ReportFile(std::string path, UniqueFd spare);

    std::string path_;
    UniqueFd spare_;  // a file without a name; empty if the file system does not support that
};

// The page that shows a transfer: while it runs (--http), and afterwards (--report).

/// The subject of a run that starts now.
[[nodiscard]] PageSubject page_subject(DataEnd end, std::string where, bool one_off);

/// The page of a run. Use it on one thread.
class LivePage {
  public:
    /// Null if the user asked for neither. Opens only the report file.
    static Result<std::unique_ptr<LivePage>> open(const CommonOptions& options, PageSubject subject, Log& log);

    /// Serves the page at the address of --http, and logs the address. Starts threads.
    [[nodiscard]] Result<void> serve();
    /// True when the next sample is due. Callers may ask at any interval.
    [[nodiscard]] bool due(Duration at) const;
    void tick(Duration at, std::vector<Observation> transfers);
    /// One of several transfers has ended. `whose` names its peer: "to 192.0.2.1:40000 (bob)".
    void ended(const std::string& peer, const std::string& whose, const FinalReport& report);
    /// Sends the final state to visitors and writes the report. A report that could not be written turns success into
    /// file_io.
    void finish(Duration at, std::vector<Observation> transfers, FinalReport& report);

  private:
    LivePage(const CommonOptions& options, PageSubject subject, Log& log);
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;
    [[nodiscard]] Result<void> write_report() const;

    std::optional<HostPort> http_;
    std::optional<ReportFile> report_;
    Log& log_;
    std::optional<Duration> last_;
    Guarded<PageData> data_;
    std::unique_ptr<HttpServer> server_;  // destroyed first, because its thread uses the members above
};

}  // namespace udtx::apps
