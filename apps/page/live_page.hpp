// The page that shows a transfer while it runs (--http), and after it (--report).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "options/observing_options.hpp"
#include "page/page_data.hpp"
#include "page/report_file.hpp"

namespace udtx::apps {

/// Of a run that begins now.
[[nodiscard]] PageSubject page_subject(DataEnd end, std::string where, bool one_off);

/// The page of a run. One thread.
class LivePage {
  public:
    /// Null where the user asked for neither. Opens the report, and nothing else yet.
    static Result<std::unique_ptr<LivePage>> open(const ObservingOptions& options, PageSubject subject, Log& log);

    /// Shows it where --http says, which takes threads, and says in the log where.
    [[nodiscard]] Result<void> serve();
    /// As often as one likes: true when the next sample is due.
    [[nodiscard]] bool due(Duration at) const;
    void tick(Duration at, std::vector<Observation> transfers);
    /// One of many has come to its end. `whose`: "to 192.0.2.1:40000 (bob)", of that peer.
    void ended(const std::string& peer, const std::string& whose, const FinalReport& report);
    /// The last that visitors hear; writes the report. A report that could not be written turns success into file_io.
    void finish(Duration at, std::vector<Observation> transfers, FinalReport& report);

  private:
    LivePage(const ObservingOptions& options, PageSubject subject, Log& log);
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;
    [[nodiscard]] std::string json(bool with_history) const;
    [[nodiscard]] Result<void> write_report() const;

    std::optional<HostPort> http_;
    std::optional<ReportFile> report_;
    Log& log_;
    std::optional<Duration> last_;
    mutable std::mutex mutex_;  // guards data_
    PageData data_;
    std::unique_ptr<HttpServer> server_;  // goes first: its thread asks for what is above
};

}  // namespace udtx::apps
