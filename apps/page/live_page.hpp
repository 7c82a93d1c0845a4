// The page that shows a transfer while it runs (--http), and after it (--report).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/http_server.hpp"
#include "common/log.hpp"
#include "common/observing_options.hpp"
#include "page/page_data.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

class LivePage {
  public:
    /// Null where the user asked for neither. Says in the log where the page is.
    static Result<std::unique_ptr<LivePage>> start(const ObservingOptions& options, PageSubject subject, Log& log);

    // --- one thread
    /// As often as one likes: true when the next sample is due.
    [[nodiscard]] bool due(Duration at) const;
    void tick(Duration at, std::vector<Observation> transfers);
    /// One of many has come to its end.
    void ended(const std::string& peer, const FinalReport& report);
    /// The last that visitors hear; writes the report. A report that could not be written turns success into file_io.
    void finish(Duration at, std::vector<Observation> transfers, FinalReport& report);

  private:
    LivePage(const ObservingOptions& options, PageSubject subject, Log& log);
    [[nodiscard]] Result<void> serve(const io::HostPort& where);
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;
    [[nodiscard]] std::string json(bool with_history) const;
    [[nodiscard]] Result<void> write_report() const;

    std::string report_path_;
    Log& log_;
    std::optional<Duration> last_;
    mutable std::mutex mutex_;  // guards data_
    PageData data_;
    std::unique_ptr<HttpServer> server_;  // goes first: its thread asks for what is above
};

}  // namespace udtx::apps
