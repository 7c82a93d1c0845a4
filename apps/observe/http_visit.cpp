#include "observe/http_visit.hpp"

#include <algorithm>
#include <boost/asio/write.hpp>
#include <chrono>
#include <utility>

namespace udtx::apps {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::chrono::seconds kPatience{5};
/// A stream's visitor that reads nothing for this time counts as gone.
constexpr std::chrono::seconds kStreamPatience{30};
constexpr std::size_t kMaxRequestBytes = 8192;
constexpr std::size_t kMaxDrained = 256 * 1024;
/// Bytes of a stream that the kernel buffers for a slow visitor.
constexpr int kStreamBuffer = 256 * 1024;

template <class Response>
void set_head(Response& response, const HttpReply& reply, unsigned version) {
    response.version(version);
    response.result(reply.status);
    response.set(http::field::content_type, reply.type);
    response.set(http::field::cache_control, "no-store");
    for (const auto& [name, value] : reply.fields) response.set(name, value);
    response.keep_alive(false);
}

}  // namespace

HttpVisit::HttpVisit(Socket socket, std::shared_ptr<HttpVisitors> visitors)
    : stream_(std::move(socket)), visitors_(std::move(visitors)) {
    ++visitors_->present;
    place_ = visitors_->others.insert(visitors_->others.end(), this);
    parser_.header_limit(kMaxRequestBytes);
    parser_.body_limit(kMaxRequestBytes);
}

HttpVisit::~HttpVisit() {
    --visitors_->present;
    visitors_->streams.erase(this);
    if (place_ != visitors_->others.end()) visitors_->others.erase(place_);
}

void HttpVisitors::make_room() {
    using Stage = HttpVisit::Stage;
    for (const Stage stage : {Stage::asks, Stage::has_answer, Stage::is_answered}) {
        const auto oldest =
            std::ranges::find_if(others, [&](const HttpVisit* visit) { return visit->stage() == stage; });
        if (oldest == others.end()) continue;
        HttpVisit& visit = **oldest;
        return visit.leave();
    }
}

void HttpVisit::begin() {
    stream_.expires_after(kPatience);
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](Error error, std::size_t) {
        error ? self->refuse(error) : self->answer();
    });
}

void HttpVisit::refuse(Error error) {
    const bool spoken = error.category() == http::make_error_code(http::error::bad_value).category();
    if (!spoken || error == http::error::end_of_stream || error == http::error::partial_message) return;
    HttpReply reply{400, "text/plain; charset=utf-8", "not a request\n"};
    if (error == http::error::body_limit) reply = {413, reply.type, "the body is too long\n"};
    // If the first line has no end, the target is empty.
    if (error == http::error::header_limit && parser_.get().target().empty())
        reply = {414, reply.type, "the address is too long\n"};
    else if (error == http::error::header_limit)
        reply = {431, reply.type, "the header is too long\n"};
    send(std::move(reply), true);
}

HttpReply HttpVisit::reply_to(bool head) const {
    const auto& request = parser_.get();
    constexpr const char* kText = "text/plain; charset=utf-8";
    if (!head && request.method() != http::verb::get) return {405, kText, "only GET and HEAD\n"};
    const std::string host(request[http::field::host]);
    if (!is_own_host(host, visitors_->own_name)) {
        return {421, kText,
                "use an address, localhost or a name of this host; --http NAME:PORT or --metrics NAME:PORT allow "
                "another name\n"};
    }
    return visitors_->handler({std::string(request.target()), host});
}

void HttpVisit::answer() {
    const bool head = parser_.get().method() == http::verb::head;
    HttpReply reply = reply_to(head);
    if (!reply.events || head) return send(std::move(reply), !head);
    if (visitors_->streams.size() < HttpServer::kMaxStreams) return open_stream(std::move(reply));
    send({503, "text/plain; charset=utf-8", "too many visitors\n"}, true);
}

void HttpVisit::send(HttpReply reply, bool with_body) {
    stage_ = Stage::is_answered;
    set_head(response_, reply, parser_.get().version());
    const std::size_t size = reply.body.size();
    if (with_body) response_.body() = std::move(reply.body);
    response_.content_length(size);
    stream_.expires_after(kPatience);
    http::async_write(stream_, response_, [self = shared_from_this()](Error error, std::size_t) {
        self->close();
        self->stage_ = Stage::has_answer;
        if (!error) self->drain();
    });
}

void HttpVisit::drain() {
    stream_.async_read_some(asio::buffer(ignored_), [self = shared_from_this()](Error error, std::size_t bytes) {
        self->drained_ += bytes;
        if (!error && self->drained_ < kMaxDrained) self->drain();
    });
}

void HttpVisit::open_stream(HttpReply reply) {
    visitors_->streams.insert(this);
    visitors_->others.erase(std::exchange(place_, visitors_->others.end()));
    Error ignored;
    stream_.socket().set_option(asio::socket_base::send_buffer_size(kStreamBuffer), ignored);
    stream_.expires_never();
    notice_departure();
    set_head(head_, reply, parser_.get().version());
    writing_ = std::make_shared<const std::string>(std::move(reply.body));
    stream_.expires_after(kStreamPatience);  // applies to writes only, because the read has already started
    http::async_write_header(stream_, head_writer_, [self = shared_from_this()](Error error, std::size_t) {
        if (error) return self->leave();
        self->write(self->writing_);
    });
}

void HttpVisit::notice_departure() {
    stream_.async_read_some(asio::buffer(ignored_), [self = shared_from_this()](Error error, std::size_t) {
        if (error) return self->leave();
        self->notice_departure();
    });
}

void HttpVisit::offer(Text text) {
    if (finishing_) return;
    if (writing_) {
        next_ = std::move(text);
    } else {
        write(std::move(text));
    }
}

void HttpVisit::write(Text text) {
    writing_ = std::move(text);
    stream_.expires_after(kStreamPatience);
    asio::async_write(stream_, asio::buffer(*writing_),
                      [self = shared_from_this()](Error error, std::size_t) { self->written(error); });
}

void HttpVisit::written(Error error) {
    writing_.reset();
    if (error) return leave();
    if (next_) return write(std::exchange(next_, nullptr));
    if (finishing_) finish();
}

void HttpVisit::leave() {
    visitors_->streams.erase(this);
    if (place_ != visitors_->others.end()) {
        visitors_->others.erase(std::exchange(place_, visitors_->others.end()));  // not to be chosen once more
    }
    stream_.close();
}

void HttpVisit::finish() {
    finishing_ = true;
    if (writing_) return;
    visitors_->streams.erase(this);
    close();
}

void HttpVisit::close() {
    Error ignored;
    stream_.socket().shutdown(Socket::shutdown_send, ignored);
}

}  // namespace udtx::apps
