#include "page/page.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "common/process.hpp"
#include "common/units.hpp"
#include "udtx/system.hpp"

namespace udtx::apps {
namespace {

/// Mean of the values that are known.
class Mean {
  public:
    void add(double value) {
        if (std::isnan(value)) return;
        sum_ += value;
        ++count_;
    }
    [[nodiscard]] double value() const { return count_ == 0 ? std::nan("") : sum_ / count_; }

  private:
    double sum_ = 0.0;
    int count_ = 0;
};

template <class Item, class Field>
double mean_of(const std::vector<const Item*>& items, Field Item::*field) {
    Mean mean;
    for (const Item* item : items) mean.add(item->*field);
    return mean.value();
}

LineSample merged_line(std::uint32_t line, std::span<const Sample> samples) {
    std::vector<const LineSample*> same;
    for (const Sample& sample : samples) {
        for (const LineSample& candidate : sample.lines) {
            if (candidate.line == line) same.push_back(&candidate);
        }
    }
    return {.line = line,
            .rate_bps = mean_of(same, &LineSample::rate_bps),
            .rtt_ms = mean_of(same, &LineSample::rtt_ms),
            .loss = mean_of(same, &LineSample::loss),
            .congestion = mean_of(same, &LineSample::congestion),
            .in_flight = mean_of(same, &LineSample::in_flight)};
}

}  // namespace

Sample merged(std::span<const Sample> samples) {
    std::vector<const Sample*> all;
    std::vector<std::uint32_t> lines;
    for (const Sample& sample : samples) {
        all.push_back(&sample);
        for (const LineSample& line : sample.lines) {
            if (std::find(lines.begin(), lines.end(), line.line) == lines.end()) lines.push_back(line.line);
        }
    }
    Sample out;
    out.at = samples.back().at;
    out.rate_bps = mean_of(all, &Sample::rate_bps);
    out.cap_bps = mean_of(all, &Sample::cap_bps);
    out.done = samples.back().done;
    out.queued = mean_of(all, &Sample::queued);
    for (const std::uint32_t line : lines) out.lines.push_back(merged_line(line, samples));
    return out;
}

void History::add(Sample sample) {
    waiting_.push_back(std::move(sample));
    if (waiting_.size() < stride_) return;
    samples_.push_back(merged(waiting_));
    waiting_.clear();
    if (samples_.size() < kMost) return;
    for (std::size_t i = 0; i < kMost / 2; ++i) samples_[i] = merged(std::span(samples_).subspan(2 * i, 2));
    samples_.resize(kMost / 2);
    stride_ *= 2;
}

std::vector<Sample> History::samples() const {
    std::vector<Sample> out = samples_;
    if (!waiting_.empty()) out.push_back(merged(waiting_));
    return out;
}

namespace {

std::uint64_t grown(std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; }

/// Calls `action` for each path in use.
template <class Transfers, class Do>
void for_each_path(Transfers& transfers, const Do& action) {
    for (const Observation& seen : transfers) {
        if (!seen.stats) continue;
        for (const PathStats& path : seen.stats->paths) {
            if (path.state != PathState::closed) action(seen, path);
        }
    }
}

Json json_of(Limit limit) { return Json::object({{"name", name_of(limit)}, {"text", text_of(limit)}}); }

/// Adds the fields that a transfer and the sum of all transfers share.
Json& add_progress(Json& json, const Observation& seen) {
    const transfer::Progress& progress = seen.progress;
    return json.add({{"phase", transfer::to_string(progress.phase)},
                     {"silent", to_seconds(seen.silent.value_or(Duration()))},
                     {"streaming", seen.streaming},
                     {"rate", seen.rate.bps()},
                     {"cap", seen.cap.bps()},
                     {"bytes_done", progress.bytes_done},
                     {"bytes_sent", progress.bytes_sent},
                     {"bytes_total", std::max(progress.bytes_total, progress.bytes_done)},
                     {"bytes_kept", progress.bytes_kept},
                     {"files_done", progress.files_done},
                     {"files_total", progress.files_total},
                     {"totals_final", progress.totals_final},
                     {"name", progress.current_name},
                     {"limited_by", seen.limited_by ? json_of(*seen.limited_by) : Json(nullptr)},
                     {"limits", Json::array(seen.limits, [](const LimitShare& share) {
                          return json_of(share.limit).add({{"share", share.share}});
                      })}});
}

/// Writes arrays, because there are many samples: [at, rate, cap, done, queued, [[line, rate, rtt, loss, cd,
/// in_flight], ...]].
Json json_of(const Sample& sample) {
    const auto same = [](const Json& item) { return item; };
    const Json lines = Json::array(sample.lines, [&](const LineSample& line) {
        return Json::array(std::initializer_list<Json>{line.line, std::round(line.rate_bps), line.rtt_ms, line.loss,
                                                       line.congestion, std::round(line.in_flight)},
                           same);
    });
    return Json::array(std::initializer_list<Json>{sample.at, std::round(sample.rate_bps), sample.cap_bps,
                                                   std::round(sample.done), std::round(sample.queued), lines},
                       same);
}

}  // namespace

void PageData::look(Duration at, std::vector<Observation> transfers) {
    at_ = at;
    transfers_ = std::move(transfers);
    std::stable_sort(transfers_.begin(), transfers_.end(),
                     [](const auto& a, const auto& b) { return a.rate > b.rate; });
    std::map<LineKey, Line> still;
    for_each_path(transfers_, [&](const Observation& seen, const PathStats& path) {
        const auto line = lines_.find({seen.peer, path.id});
        if (line != lines_.end()) still.insert(*line);
    });
    // A transfer that reconnects keeps its lines: the new connection continues them.
    for (const Observation& seen : transfers_) {
        if (seen.stats) continue;
        for (const auto& line : lines_) {
            if (line.first.first == seen.peer) still.insert(line);
        }
    }
    lines_ = std::move(still);
}

void PageData::sample() {
    const Observation sum = sum_of(transfers_);
    newest_ = {};
    newest_.at = to_seconds(at_);
    newest_.rate_bps = sum.rate.bps();
    newest_.cap_bps = sum.cap.is_infinite() ? std::nan("") : sum.cap.bps();
    newest_.done = static_cast<double>(sum.progress.bytes_done);
    newest_.queued =
        sends() ? static_cast<double>(grown(sum.progress.bytes_done, sum.progress.bytes_sent)) : std::nan("");
    // A line in the chart continues although other paths are faster. Free lines go to the fastest paths.
    const auto drawn = lines_;
    for_each_path(transfers_, [&](const Observation& seen, const PathStats& path) {
        if (drawn.contains({seen.peer, path.id})) draw(seen, path, lines_.at({seen.peer, path.id}));
    });
    for_each_path(transfers_, [&](const Observation& seen, const PathStats& path) {
        if (lines_.size() < kMaxLines && !lines_.contains({seen.peer, path.id})) draw(seen, path, new_line(seen, path));
    });
    history_.add(newest_);
}

void PageData::draw(const Observation& seen, const PathStats& path, Line& line) {
    LineSample sample;
    sample.line = line.id;
    sample.rate_bps = seen.rate_of(path.id).bps();
    sample.rtt_ms = path.smoothed_rtt > Duration::zero() ? in_milliseconds(path.smoothed_rtt) : std::nan("");
    // Only the data's sender knows these values: a receiver sends only acknowledgements.
    sample.loss = sample.congestion = sample.in_flight = std::nan("");
    if (seen.sends) {
        const auto sent = static_cast<double>(grown(line.sent_packets, path.sent_packets));
        const auto lost = static_cast<double>(grown(line.lost_packets, path.lost_packets));
        sample.loss = std::min(lost / std::max(sent, 1.0), 1.0);
        sample.congestion = path.congestion.congestion_degree;
        sample.in_flight = static_cast<double>(path.in_flight);
    }
    line.sent_packets = path.sent_packets;
    line.lost_packets = path.lost_packets;
    newest_.lines.push_back(sample);
}

PageData::Line& PageData::new_line(const Observation& seen, const PathStats& path) {
    Line& line = lines_[{seen.peer, path.id}];
    line.id = next_line_++;
    labels_.push_back({line.id, label_of(seen, path)});
    if (labels_.size() > kMaxLabels) labels_.pop_front();
    return line;
}

std::string PageData::label_of(const Observation& seen, const PathStats& path) const {
    const std::string number = "path " + std::to_string(path.id.value);
    if (sends()) return number + ", " + host_text(path.local) + " to " + to_string(path.remote);
    return to_string(path.remote) + (seen.stats->paths.size() > 1 ? ", " + number : "");
}

void PageData::ended(const std::string& peer, const std::string& whose, const FinalReport& report) {
    ++ended_count_;
    ended_.push_front(Json::object({{"peer", peer},
                                    {"whose", whose},
                                    {"code", static_cast<int>(report.code)},
                                    {"reason", to_string(report.code)},
                                    {"error", report.error},
                                    {"at", to_seconds(at_)},
                                    {"seconds", to_seconds(report.elapsed)},
                                    {"files", report.outcome.files},
                                    {"bytes", report.outcome.bytes},
                                    {"rate", goodput(report).bps()},
                                    {"limits", limit_line(report.limits)}}));
    if (ended_.size() > kMaxEnded) ended_.pop_back();
}

void PageData::over(const FinalReport& report) {
    const transfer::Outcome& outcome = report.outcome;
    const std::span failed(outcome.failed.data(), std::min(outcome.failed.size(), kMaxFailures));
    over_ = Json::object({{"code", static_cast<int>(report.code)},
                          {"reason", to_string(report.code)},
                          {"error", report.error},
                          {"summary", summary_line(report)},
                          {"transport", transport_line(report)},
                          {"seconds", to_seconds(report.elapsed)},
                          {"files", outcome.files},
                          {"bytes", outcome.bytes},
                          {"rate", goodput(report).bps()},
                          {"failed_count", outcome.failed_count},
                          {"failed", Json::array(failed, [](const transfer::FailedFile& file) {
                               return Json::object({{"path", file.path}, {"reason", file.reason}});
                           })}});
}

Json PageData::json_of(const Observation& seen) const {
    Json json = Json::object({{"peer", seen.peer}, {"sends", seen.sends}});
    return add_progress(json, seen)
        .add({{"cc", seen.stats ? seen.stats->congestion : ""},
              {"paths", Json::array(seen.stats ? seen.stats->paths : std::vector<PathStats>(),
                                    [&](const PathStats& path) { return json_of(seen, path); })}});
}

Json PageData::json_of(const Observation& seen, const PathStats& path) const {
    const auto line = lines_.find({seen.peer, path.id});
    Json json = Json::object({{"id", path.id.value},
                              {"line", line == lines_.end() ? Json(nullptr) : Json(line->second.id)},
                              {"local", host_text(path.local)},
                              {"remote", to_string(path.remote)},
                              {"state", to_string(path.state)},
                              {"standby", path.standby},
                              {"rate", seen.rate_of(path.id).bps()},
                              {"rtt", in_milliseconds(path.smoothed_rtt)},
                              {"min_rtt", in_milliseconds(path.min_rtt)},
                              {"datagram", path.datagram_bytes},
                              {"packets_sent", path.sent_packets},
                              {"packets_received", path.received_packets}});
    if (!seen.sends) return json;
    return json.add({{"packets_lost", path.lost_packets},
                     {"cd", path.congestion.congestion_degree},
                     {"mtr", path.congestion.mtr.bps()},
                     {"window", path.window},
                     {"in_flight", path.in_flight},
                     {"reinjected", path.reinjected_bytes}});
}

std::string PageData::json(bool with_history) const {
    Json now = Json::object({{"at", to_seconds(at_)}, {"active", transfers_.size()}});
    add_progress(now, sum_of(transfers_));
    Json labels = Json::object({});
    for (const Label& label : labels_) labels.add({{std::to_string(label.id), label.text}});
    const std::span shown(transfers_.data(), std::min(transfers_.size(), kMaxTransfers));
    Json json =
        Json::object({{"subject", Json::object({{"tool", sends() ? "udtx-send" : "udtx-recv"},
                                                {"role", sends() ? "sender" : "receiver"},
                                                {"version", subject_.version},
                                                {"where", subject_.where},
                                                {"started", subject_.started_s},
                                                {"one_off", subject_.one_off}})},
                      {"now", now},
                      {"jobs", Json::array(jobs_of(transfers_), job_json)},
                      {"transfers", Json::array(shown, [this](const Observation& seen) { return json_of(seen); })},
                      {"labels", labels},
                      {"ended_count", ended_count_},
                      {"ended", Json::array(ended_, [](const Json& transfer) { return transfer; })},
                      {"over", over_}});
    const auto sample = [](const Sample& one) { return apps::json_of(one); };
    json.add({with_history ? Json::Member{"history", Json::array(history_.samples(), sample)}
                           : Json::Member{"sample", sample(newest_)}});
    return json.text();
}

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
    return failed_call(ErrorCode::file_io, "--report: cannot write " + path, error);
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
    return to_hex(std::span<const std::byte>(bytes));
}

}  // namespace

PageSubject page_subject(DataEnd end, std::string where, bool one_off) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {.end = end,
            .version = program_version(),
            .where = std::move(where),
            .started_s = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
            .one_off = one_off};
}

Result<std::unique_ptr<LivePage>> LivePage::open(const CommonOptions& options, PageSubject subject, Log& log) {
    if (!options.http && options.report.empty()) return std::unique_ptr<LivePage>();
    std::unique_ptr<LivePage> page(new LivePage(options, std::move(subject), log));
    if (options.report.empty()) return page;
    auto report = ReportFile::open(options.report);
    if (!report) return report.error();
    page->report_.emplace(std::move(*report));
    return page;
}

LivePage::LivePage(const CommonOptions& options, PageSubject subject, Log& log)
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
    reply.body = event_text(kEvent, data_.lock()->json(true));
    reply.events = true;
    return reply;
}

bool LivePage::due(Duration at) const { return !last_ || at - *last_ >= kInterval; }

void LivePage::tick(Duration at, std::vector<Observation> transfers) {
    if (!due(at)) return;
    last_ = at;
    {
        const auto data = data_.lock();
        data->look(at, std::move(transfers));
        data->sample();
    }
    if (server_) server_->publish(event_text(kEvent, data_.lock()->json(false)));
}

void LivePage::ended(const std::string& peer, const std::string& whose, const FinalReport& report) {
    data_.lock()->ended(peer, whose, report);
}

void LivePage::finish(Duration at, std::vector<Observation> transfers, FinalReport& report) {
    {
        const auto data = data_.lock();
        data->look(at, std::move(transfers));
        data->sample();
        data->over(report);
    }
    if (server_) {
        server_->publish(event_text(kEvent, data_.lock()->json(false)));
        server_->end_streams(kFarewell);
    }
    const auto written = write_report();
    if (written || report.code != ExitCode::ok) return;
    report.code = ExitCode::file_io;
    report.error = written.error().message;
}

Result<void> LivePage::write_report() const {
    if (!report_) return {};
    const auto written = report_->write(page_with_data(*page_assets(), data_.lock()->json(true), fresh_nonce()));
    if (written) log_.detail("report in " + report_->path());
    return written;
}

}  // namespace udtx::apps
