// What those who watch a transfer need of the page that shows it. The room `page` makes it; nothing here knows how.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/log.hpp"
#include "observe/observer.hpp"
#include "observe/observing_options.hpp"
#include "report/final_report.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

/// Which tool this is, and what it does.
struct PageSubject {
    DataEnd end = DataEnd::sender;
    std::string version;
    std::string where;           ///< "to host:7011", "from host", "into /data"
    std::int64_t started_s = 0;  ///< Unix time
    bool one_off = true;         ///< ends with its transfer
};

/// Of a run that begins now.
[[nodiscard]] PageSubject page_subject(DataEnd end, std::string where, bool one_off);

/// The page of a run: --http and --report. One thread.
class Page {
  public:
    Page() = default;
    virtual ~Page() = default;
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    /// Shows it where --http says, which takes threads, and says in the log where.
    [[nodiscard]] virtual Result<void> serve() = 0;
    /// As often as one likes: true when the next sample is due.
    [[nodiscard]] virtual bool due(Duration at) const = 0;
    virtual void tick(Duration at, std::vector<Observation> transfers) = 0;
    /// One of many has come to its end. `whose`: "to 192.0.2.1:40000 (bob)", of that peer.
    virtual void ended(const std::string& peer, const std::string& whose, const FinalReport& report) = 0;
    /// The last that visitors hear; writes the report. A report that could not be written turns success into file_io.
    virtual void finish(Duration at, std::vector<Observation> transfers, FinalReport& report) = 0;
};

/// Null where the user asked for neither. Opens the report, and nothing else yet.
Result<std::unique_ptr<Page>> open_page(const ObservingOptions& options, PageSubject subject, Log& log);
/// Without the chart library these tools were built without it.
[[nodiscard]] bool page_is_built() noexcept;

}  // namespace udtx::apps
