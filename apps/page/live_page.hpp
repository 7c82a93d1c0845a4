// The page in two forms: served as several files, or as one file with everything in it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assets/assets.hpp"
#include "common/log.hpp"
#include "observe/final_report.hpp"
#include "observe/http_server.hpp"
#include "observe/observer.hpp"
#include "options/common_options.hpp"
#include "page/page_data.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

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
