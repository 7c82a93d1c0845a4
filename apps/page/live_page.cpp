#include "page/live_page.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/descriptors.hpp"
#include "common/process.hpp"
#include "page/document.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/system_rng.hpp"

namespace udtx::apps {
namespace {

constexpr Duration kInterval = std::chrono::seconds(1);
/// Visitors should see how the transfer ended, but a sleeping browser must not delay the end.
constexpr Duration kFarewell = std::chrono::milliseconds(300);
constexpr const char* kEvent = "state";

std::string fresh_nonce() {
    std::array<std::byte, 16> bytes{};
    SystemRng().fill(bytes);
    return to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

PageSubject page_subject(DataEnd end, std::string where, bool one_off) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {end, program_version(), std::move(where), std::chrono::duration_cast<std::chrono::seconds>(now).count(),
            one_off};
}

Result<std::unique_ptr<LivePage>> LivePage::open(const ObservingOptions& options, PageSubject subject, Log& log) {
    if (!options.http && options.report.empty()) return std::unique_ptr<LivePage>();
    std::unique_ptr<LivePage> page(new LivePage(options, std::move(subject), log));
    if (options.report.empty()) return page;
    auto report = ReportFile::open(options.report);
    if (!report) return report.error();
    page->report_.emplace(std::move(*report));
    return page;
}

LivePage::LivePage(const ObservingOptions& options, PageSubject subject, Log& log)
    : http_(options.http), log_(log), data_(std::move(subject)) {}

Result<void> LivePage::serve() {
    if (!http_) return {};
    auto server = HttpServer::start(*http_, [this](const HttpRequest& request) { return answer(request); });
    if (!server) return Error{server.error().code, "--http: " + server.error().message};
    server_ = std::move(*server);
    log_.info("page on http://" + server_->address() + "/");
    if (!server_->on_loopback()) {
        log_.warn("--http: everyone who reaches " + server_->address() +
                  " may see names of files and addresses; there is no password and no encryption");
    }
    return {};
}

HttpReply LivePage::answer(const HttpRequest& request) const {
    HttpReply reply = page_file(*page_assets(), request.target);
    if (request.target != "/events") return reply;
    reply.status = 200;
    reply.type = kEventsType;
    reply.body = event_text(kEvent, json(true));
    reply.events = true;
    return reply;
}

std::string LivePage::json(bool with_history) const {
    const std::lock_guard lock(mutex_);
    return data_.json(with_history);
}

bool LivePage::due(Duration at) const { return !last_ || at - *last_ >= kInterval; }

void LivePage::tick(Duration at, std::vector<Observation> transfers) {
    if (!due(at)) return;
    last_ = at;
    {
        const std::lock_guard lock(mutex_);
        data_.look(at, std::move(transfers));
        data_.sample();
    }
    if (server_) server_->publish(event_text(kEvent, json(false)));
}

void LivePage::ended(const std::string& peer, const std::string& whose, const FinalReport& report) {
    const std::lock_guard lock(mutex_);
    data_.ended(peer, whose, report);
}

void LivePage::finish(Duration at, std::vector<Observation> transfers, FinalReport& report) {
    {
        const std::lock_guard lock(mutex_);
        data_.look(at, std::move(transfers));
        data_.sample();
        data_.over(report);
    }
    if (server_) {
        server_->publish(event_text(kEvent, json(false)));
        server_->end_streams(kFarewell);
    }
    const auto written = write_report();
    if (written || report.code != ExitCode::ok) return;
    report.code = ExitCode::file_io;
    report.error = written.error().message;
}

Result<void> LivePage::write_report() const {
    if (!report_) return {};
    const auto written = report_->write(page_with_data(*page_assets(), json(true), fresh_nonce()));
    if (written) log_.detail("report in " + report_->path());
    return written;
}

}  // namespace udtx::apps
