#include "page/live_page.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/process.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/output_file.hpp"
#include "udtx/system_rng.hpp"

namespace udtx::apps {
namespace {

constexpr std::string_view kHeadMark = "<!-- head -->";
constexpr std::string_view kScriptsMark = "<!-- scripts -->";

// Content security policy: the page loads nothing from other hosts and sends nothing to them, whatever a peer's file
// names contain.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

std::string assemble(std::string_view html, std::string_view head, std::string_view scripts) {
    const std::size_t head_at = html.find(kHeadMark);
    const std::size_t scripts_at = html.find(kScriptsMark, head_at);
    std::string out(html.substr(0, head_at));
    out.append(head);
    const std::size_t middle = head_at + kHeadMark.size();
    out.append(html.substr(middle, scripts_at - middle));
    out.append(scripts);
    return out.append(html.substr(scripts_at + kScriptsMark.size()));
}

/// JSON that cannot end the script element around it.
std::string inside_script(std::string_view json) {
    std::string out;
    for (const char c : json) {
        if (c == '<') {
            out += "\\u003c";
        } else {
            out += c;
        }
    }
    return out;
}

std::string script_element(std::string_view nonce, std::string_view text) {
    return std::string("<script nonce=\"").append(nonce).append("\">").append(text).append("</script>\n");
}

}  // namespace

HttpReply page_file(const PageAssets& assets, std::string_view target) {
    HttpReply reply;
    reply.fields = {{"Content-Security-Policy", kPolicy},
                    {"X-Content-Type-Options", "nosniff"},
                    {"X-Frame-Options", "DENY"},
                    {"Referrer-Policy", "no-referrer"},
                    {"Cross-Origin-Resource-Policy", "same-origin"},
                    {"Cross-Origin-Opener-Policy", "same-origin"}};
    if (target == "/") {
        reply.type = "text/html; charset=utf-8";
        reply.body = assemble(assets.html, "<link rel=\"stylesheet\" href=\"page.css\">",
                              "<script src=\"chart.js\"></script>\n<script src=\"page.js\"></script>");
    } else if (target == "/page.css") {
        reply.type = "text/css; charset=utf-8";
        reply.body = assets.style;
    } else if (target == "/page.js" || target == "/chart.js") {
        reply.type = "text/javascript; charset=utf-8";
        reply.body = target == "/page.js" ? assets.script : assets.chart;
    } else {
        reply.status = 404;
        reply.body = "the page is at /\n";
    }
    return reply;
}

std::string page_with_data(const PageAssets& assets, std::string_view data, std::string_view nonce) {
    std::string head = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; ";
    head.append("script-src 'nonce-").append(nonce).append("'; style-src 'nonce-").append(nonce).append("'\">\n");
    head.append("<style nonce=\"").append(nonce).append("\">").append(assets.style).append("</style>");
    std::string scripts = "<script type=\"application/json\" id=\"data\">" + inside_script(data) + "</script>\n";
    scripts += script_element(nonce, assets.chart) + script_element(nonce, assets.script);
    return assemble(assets.html, head, scripts);
}

namespace {

Error file_error(const std::string& path, const std::string& why) {
    return {ErrorCode::file_io, "--report: cannot write " + path + ": " + why};
}
Error file_error(const std::string& path, int error) {
    return file_error(path, std::generic_category().message(error));
}

std::string directory_of(const std::string& path) {
    const auto directory = std::filesystem::path(path).parent_path();
    return directory.empty() ? "." : directory.string();
}

UniqueFd nameless_in([[maybe_unused]] const std::string& directory) {
#ifdef O_TMPFILE
    return UniqueFd(open_file(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
#else
    return {};
#endif
}

/// Gives the open file the name `path`. Returns 0 or an errno.
int give_name([[maybe_unused]] int fd, [[maybe_unused]] const std::string& path) {
#ifdef O_TMPFILE
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd);
    return ::linkat(AT_FDCWD, by_descriptor.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
#else
    return ENOTSUP;
#endif
}

}  // namespace

ReportFile::ReportFile(std::string path, UniqueFd spare) : path_(std::move(path)), spare_(std::move(spare)) {}

Result<ReportFile> ReportFile::open(const std::string& path) {
    const bool there = ::access(path.c_str(), F_OK) == 0;
    const int failed = there ? ::access(path.c_str(), W_OK) : ::access(directory_of(path).c_str(), W_OK | X_OK);
    if (failed != 0) return file_error(path, errno);
    auto place = OutputPlace::find(path);
    if (!place) return file_error(path, place.error().message);
    std::error_code unknown;
    if (std::filesystem::is_directory(path, unknown)) return file_error(path, EISDIR);
    UniqueFd spare = nameless_in(directory_of(place->path));
    return ReportFile(std::move(place->path), std::move(spare));
}

Result<void> ReportFile::write(std::string_view text) const {
    const int making = spare_ ? 0 : O_CREAT;
    auto file = open_output(path_, O_WRONLY | making | O_TRUNC);
    const bool removed = !file && spare_ && file.error().system_error == ENOENT;
    if (!file && !removed) return file_error(path_, file.error().message);
    if (const int failed = write_all(removed ? spare_.get() : file->get(), text); failed != 0) {
        return file_error(path_, failed);
    }
    const int failed = removed ? give_name(spare_.get(), path_) : file->close();
    return failed == 0 ? Result<void>() : file_error(path_, failed);
}

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
