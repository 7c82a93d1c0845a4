// The page that shows a transfer while it runs (--http), and after it (--report).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "observe/http_server.hpp"
#include "observe/page.hpp"
#include "page/page_data.hpp"
#include "page/report_file.hpp"

namespace udtx::apps {

class LivePage final : public Page {
  public:
    static Result<std::unique_ptr<Page>> open(const ObservingOptions& options, PageSubject subject, Log& log);

    [[nodiscard]] Result<void> serve() override;
    [[nodiscard]] bool due(Duration at) const override;
    void tick(Duration at, std::vector<Observation> transfers) override;
    void ended(const std::string& peer, const std::string& whose, const FinalReport& report) override;
    void finish(Duration at, std::vector<Observation> transfers, FinalReport& report) override;

  private:
    LivePage(const ObservingOptions& options, PageSubject subject, Log& log);
    [[nodiscard]] HttpReply answer(const HttpRequest& request) const;
    [[nodiscard]] std::string json(bool with_history) const;
    [[nodiscard]] Result<void> write_report() const;

    std::optional<io::HostPort> http_;
    std::optional<ReportFile> report_;
    Log& log_;
    std::optional<Duration> last_;
    mutable std::mutex mutex_;  // guards data_
    PageData data_;
    std::unique_ptr<HttpServer> server_;  // goes first: its thread asks for what is above
};

}  // namespace udtx::apps
