// The page that shows a transfer: while it runs (--http), and afterwards (--report).
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

/// The subject of a run that starts now.
[[nodiscard]] PageSubject page_subject(DataEnd end, std::string where, bool one_off);

/// The page of a run. Use it on one thread.
class LivePage {
  public:
    /// Null if the user asked for neither. Opens only the report file.
    static Result<std::unique_ptr<LivePage>> open(const ObservingOptions& options, PageSubject subject, Log& log);

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
    std::unique_ptr<HttpServer> server_;  // destroyed first, because its thread uses the members above
};

}  // namespace udtx::apps
