#include "observe/http_server.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <future>
#include <list>
#include <system_error>
#include <thread>
#include <unordered_set>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "udtx/lifecycle.hpp"

namespace udtx::apps {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;
/// TCP, or a local stream socket.
using AnyStream = asio::generic::stream_protocol;

constexpr std::size_t kMaxVisitors = 32;
constexpr std::size_t kMostForAMoment = 2 * kMaxVisitors;
constexpr auto kNamesWait = std::chrono::milliseconds(500);
constexpr auto kAgain = std::chrono::milliseconds(10);
/// Pause before the next accept() if one fails, for example because no descriptors are left.
constexpr std::chrono::milliseconds kAcceptAgainAfter{200};
constexpr std::chrono::seconds kPatience{5};
/// A stream's visitor that reads nothing for this time counts as gone.
constexpr std::chrono::seconds kStreamPatience{30};
constexpr std::size_t kMaxRequestBytes = 8192;
constexpr std::size_t kMaxDrained = 256 * 1024;
/// Bytes of a stream that the kernel buffers for a slow visitor.
constexpr int kStreamBuffer = 256 * 1024;

bool equal_names(std::string_view a, std::string_view b) {
    return !a.empty() && beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

/// The host name without port and brackets.
std::string_view name_in(std::string_view host_field) {
    if (host_field.starts_with('[')) return host_field.substr(1, host_field.find(']') - 1);
    return host_field.substr(0, host_field.rfind(':'));
}

std::vector<std::string> short_names() {
    error_code unknown;
    const std::string name = asio::ip::host_name(unknown);
    return {name, name.substr(0, name.find('.'))};
}

/// Collects this host's names. It uses only the host's own resolver and /etc/hosts, so other name servers cannot add a
/// name.
std::vector<std::string> all_names() {
    std::vector<std::string> names = short_names();
    const std::string name = names.front();
    const std::string with_dot = names.back() + '.';
    addrinfo hints{};
    hints.ai_flags = AI_CANONNAME;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) == 0) {
        const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
        // An alias may have any canonical name, so only one that extends this host's short name counts.
        const std::string_view full = found->ai_canonname == nullptr ? "" : found->ai_canonname;
        if (equal_names(full.substr(0, with_dot.size()), with_dot)) names.emplace_back(full);
    }
    return names;
}

/// Looks up the names on a separate thread, because a name server that does not answer must not delay the page or the
/// end of the tool.
const std::shared_future<std::vector<std::string>>& names_being_found() {
    static const std::shared_future<std::vector<std::string>> names = [] {
        std::packaged_task<std::vector<std::string>()> find(all_names);
        auto found = find.get_future().share();
        try {
            std::thread(std::move(find)).detach();
        } catch (const std::system_error&) {
            // Without a thread for the lookup, the short names must suffice.
            std::promise<std::vector<std::string>> known;
            known.set_value(short_names());
            found = known.get_future().share();
        }
        return found;
    }();
    return names;
}

}  // namespace

bool is_own_host(std::string_view host_field, std::string_view own) {
    std::string_view name = name_in(host_field);
    if (name.ends_with('.')) name.remove_suffix(1);  // a trailing dot (the DNS root) is permitted
    error_code not_an_address;
    (void)asio::ip::make_address(std::string(name), not_an_address);
    if (!not_an_address || equal_names(name, "localhost") || equal_names(name, own)) return true;
    const auto& found = names_being_found();
    const bool known_all = found.wait_for(kNamesWait) == std::future_status::ready;
    const std::vector<std::string> names = known_all ? found.get() : short_names();
    return std::any_of(names.begin(), names.end(), [&](const std::string& known) { return equal_names(name, known); });
}

std::string event_text(std::string_view name, std::string_view data) {
    std::string text = "event: ";
    return text.append(name).append("\ndata: ").append(data).append("\n\n");
}

namespace {

/// True if the process at the other end of a local socket belongs to this user.
bool is_ours([[maybe_unused]] int fd) {
#ifdef SO_PEERCRED
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
    return peer.uid == ::geteuid() || peer.uid == 0;
#else
    return true;  // the modes of the socket and of its directory keep other users out
#endif
}

}  // namespace

class HttpVisit;

struct HttpVisitors {
    HttpServer::Handler handler;
    bool local = false;
    std::string own_name{};  ///< see is_own_host
    std::size_t present = 0;
    std::unordered_set<HttpVisit*> streams{};
    std::list<HttpVisit*> others{};  ///< all visits but streams, the oldest first

    /// Ends one of `others`: the oldest whose request is not complete, else the oldest that has its answer,
    /// else the oldest. So visitors who send or read nothing do not keep others out.
    void make_room();
};

/// One request and its answer, on the server's thread. Lives as long as one of its operations is pending. A stream
/// always has a read pending.
class HttpVisit : public std::enable_shared_from_this<HttpVisit> {
  public:
    enum class Stage {
        asks,
        is_answered,
        has_answer,
        streams,  ///< the answer is a stream
        ends,     ///< the stream ends after everything offered is sent
    };

    HttpVisit(AnyStream::socket socket, std::shared_ptr<HttpVisitors> visitors)
        : stream_(std::move(socket)), visitors_(std::move(visitors)) {
        ++visitors_->present;
        place_ = visitors_->others.insert(visitors_->others.end(), this);
        parser_.header_limit(kMaxRequestBytes);
        parser_.body_limit(kMaxRequestBytes);
    }
    ~HttpVisit() {
        --visitors_->present;
        visitors_->streams.erase(this);
        if (place_ != visitors_->others.end()) visitors_->others.erase(place_);
    }
    HttpVisit(const HttpVisit&) = delete;
    HttpVisit& operator=(const HttpVisit&) = delete;

    void begin() {
        stream_.expires_after(kPatience);
        http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](error_code error, std::size_t) {
            error ? self->refuse(error) : self->answer();
        });
    }
    /// Sends the next event of a stream.
    void offer(std::shared_ptr<const std::string> text) {
        if (stage_ == Stage::ends) return;
        if (writing_) {
            next_ = std::move(text);
        } else {
            write(std::move(text));
        }
    }
    /// Ends a stream after everything offered is sent.
    void finish() {
        if (stage_ == Stage::streams) stage_.enter(Stage::ends);
        if (writing_) return;
        visitors_->streams.erase(this);
        close();
    }
    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    /// Ends the visit at once.
    void leave() {
        visitors_->streams.erase(this);
        if (place_ != visitors_->others.end()) {
            visitors_->others.erase(std::exchange(place_, visitors_->others.end()));  // not to be chosen once more
        }
        stream_.close();
    }

  private:
    static constexpr Step<Stage> kSteps[] = {{Stage::asks, Stage::is_answered},
                                             {Stage::is_answered, Stage::has_answer},
                                             {Stage::asks, Stage::streams},
                                             {Stage::streams, Stage::ends}};

    /// Answers an invalid request; no answer if the visitor has gone.
    void refuse(error_code error) {
        const bool spoken = error.category() == http::make_error_code(http::error::bad_value).category();
        if (!spoken || error == http::error::end_of_stream || error == http::error::partial_message) return;
        HttpReply reply{.status = 400, .body = "not a request\n"};
        if (error == http::error::body_limit) reply = {.status = 413, .body = "the body is too long\n"};
        // If the first line has no end, the target is empty.
        if (error == http::error::header_limit && parser_.get().target().empty())
            reply = {.status = 414, .body = "the address is too long\n"};
        else if (error == http::error::header_limit)
            reply = {.status = 431, .body = "the header is too long\n"};
        send(std::move(reply), true);
    }

    [[nodiscard]] HttpReply reply_to(bool head) const {
        const auto& request = parser_.get();
        if (visitors_->local) {
            if (request.method() != http::verb::post) return {.status = 405, .body = "only POST\n"};
        } else if (!head && request.method() != http::verb::get) {
            return {.status = 405, .body = "only GET and HEAD\n"};
        } else if (!is_own_host(std::string(request[http::field::host]), visitors_->own_name)) {
            return {.status = 421,
                    .body =
                        "use an address, localhost or a name of this host; --http NAME:PORT or --metrics NAME:PORT "
                        "allow another name\n"};
        }
        return visitors_->handler({std::string(request.target()), request.body()});
    }

    void answer() {
        const bool head = parser_.get().method() == http::verb::head;
        HttpReply reply = reply_to(head);
        if (!reply.events || head) return send(std::move(reply), !head);
        if (visitors_->streams.size() < HttpServer::kMaxStreams) return open_stream(std::move(reply));
        send({.status = 503, .body = "too many visitors\n"}, true);
    }

    template <class Response>
    void set_head(Response& response, const HttpReply& reply) const {
        response.version(parser_.get().version());
        response.result(reply.status);
        response.set(http::field::content_type, reply.type);
        response.set(http::field::cache_control, "no-store");
        for (const auto& [name, value] : reply.fields) response.set(name, value);
        response.keep_alive(false);
    }

    void send(HttpReply reply, bool with_body) {
        stage_.enter(Stage::is_answered);
        set_head(response_, reply);
        const std::size_t size = reply.body.size();
        if (with_body) response_.body() = std::move(reply.body);
        response_.content_length(size);
        stream_.expires_after(kPatience);
        http::async_write(stream_, response_, [self = shared_from_this()](error_code error, std::size_t) {
            self->close();
            self->stage_.enter(Stage::has_answer);
            if (!error) self->drain();
        });
    }

    /// Reads and drops the rest of the visitor's data. Closing the socket with unread data would discard the answer.
    void drain() {
        stream_.async_read_some(asio::buffer(ignored_), [self = shared_from_this()](error_code error, std::size_t n) {
            self->drained_ += n;
            if (!error && self->drained_ < kMaxDrained) self->drain();
        });
    }

    void open_stream(HttpReply reply) {
        stage_.enter(Stage::streams);
        visitors_->streams.insert(this);
        visitors_->others.erase(std::exchange(place_, visitors_->others.end()));
        error_code ignored;
        stream_.socket().set_option(asio::socket_base::send_buffer_size(kStreamBuffer), ignored);
        stream_.expires_never();
        notice_departure();
        set_head(head_, reply);
        writing_ = std::make_shared<const std::string>(std::move(reply.body));
        stream_.expires_after(kStreamPatience);  // applies to writes only, because the read has already started
        http::async_write_header(stream_, head_writer_, [self = shared_from_this()](error_code error, std::size_t) {
            if (error) return self->leave();
            self->write(self->writing_);
        });
    }

    void notice_departure() {
        stream_.async_read_some(asio::buffer(ignored_), [self = shared_from_this()](error_code error, std::size_t) {
            if (error) return self->leave();
            self->notice_departure();
        });
    }

    void write(std::shared_ptr<const std::string> text) {
        writing_ = std::move(text);
        stream_.expires_after(kStreamPatience);
        asio::async_write(stream_, asio::buffer(*writing_),
                          [self = shared_from_this()](error_code error, std::size_t) { self->written(error); });
    }

    void written(error_code error) {
        writing_.reset();
        if (error) return leave();
        if (next_) return write(std::exchange(next_, nullptr));
        if (stage_ == Stage::ends) finish();
    }

    void close() {
        error_code ignored;
        stream_.socket().shutdown(asio::socket_base::shutdown_send, ignored);
    }

    beast::basic_stream<AnyStream> stream_;
    std::shared_ptr<HttpVisitors> visitors_;
    beast::flat_buffer buffer_;
    http::request_parser<http::string_body> parser_;
    http::response<http::string_body> response_;
    // used by a stream
    http::response<http::empty_body> head_;
    http::response_serializer<http::empty_body> head_writer_{head_};
    std::array<char, 4096> ignored_{};  // bytes after the request, which are ignored
    std::size_t drained_ = 0;
    std::shared_ptr<const std::string> writing_;  // null: nothing is being written
    std::shared_ptr<const std::string> next_;
    Lifecycle<kSteps> stage_{Stage::asks};
    std::list<HttpVisit*>::iterator place_;  // in HttpVisitors::others; its end for a stream
};

void HttpVisitors::make_room() {
    using Stage = HttpVisit::Stage;
    for (const Stage stage : {Stage::asks, Stage::has_answer, Stage::is_answered}) {
        const auto oldest = std::ranges::find(others, stage, &HttpVisit::stage);
        if (oldest == others.end()) continue;
        HttpVisit& visit = **oldest;
        return visit.leave();
    }
}

namespace {

class AsioHttpServer final : public HttpServer {
  public:
    explicit AsioHttpServer(Handler handler) { visitors_->handler = std::move(handler); }
    ~AsioHttpServer() override {
        context_.stop();
        if (thread_.joinable()) thread_.join();
        if (visitors_->local) ::unlink(address_.c_str());
    }

    Result<void> open(const HostPort& where) {
        const auto addresses = resolve(where.host.empty() ? "127.0.0.1" : where.host, where.port);
        if (!addresses) return addresses.error();
        visitors_->own_name = where.host;
        const Address& address = addresses->front();
        std::string host = host_text(address);
        if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
        error_code error;
        const tcp::endpoint endpoint(asio::ip::make_address(host, error), where.port);
        tcp::acceptor acceptor(context_);
        if (!error) acceptor.open(endpoint.protocol(), error);
        if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor.bind(endpoint, error);
        tcp::endpoint bound;
        if (!error) bound = acceptor.local_endpoint(error);
        if (!error) take(endpoint.protocol(), acceptor, error);
        if (error)
            return Error{ErrorCode::network, "cannot listen on " + to_string(address) + "/tcp: " + error.message()};
        host = bound.address().to_string();
        address_ = (bound.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(bound.port());
        on_loopback_ = bound.address().is_loopback();
        (void)names_being_found();  // starts the lookup
        return start(ErrorCode::no_resources, "cannot start the thread of the page and the metrics: ");
    }

    Result<void> open(const std::string& path) {
        using Local = asio::local::stream_protocol;
        error_code error;
        Local::acceptor acceptor(context_);
        acceptor.open(Local(), error);
        if (!error) acceptor.bind(Local::endpoint(path), error);
        if (!error && ::chmod(path.c_str(), 0600) != 0) error = {errno, boost::system::system_category()};
        if (!error) take(Local(), acceptor, error);
        if (error) return Error{ErrorCode::file_io, "cannot listen on " + path + ": " + error.message()};
        address_ = path;
        on_loopback_ = visitors_->local = true;
        return start(ErrorCode::no_resources, "cannot start the thread of the control socket: ");
    }

    [[nodiscard]] const std::string& address() const noexcept override { return address_; }
    [[nodiscard]] bool on_loopback() const noexcept override { return on_loopback_; }

    void publish(std::string text) override {
        asio::post(context_, [this, event = std::make_shared<const std::string>(std::move(text))] {
            for (HttpVisit* visit : visitors_->streams) visit->offer(event);
        });
    }
    void end_streams(Duration at_most) override {
        std::promise<void> over;
        asio::post(context_, [&] {
            // finish() removes a visit from the set at once if it has nothing left to write. Therefore iterate over a
            // copy.
            const auto streams = visitors_->streams;
            for (HttpVisit* visit : streams) visit->finish();
            deadline_.expires_after(at_most);
            wait_for_streams(over);
        });
        over.get_future().wait();
    }

  private:
    /// Listens on the bound socket of `acceptor`. Programs that this process starts must not inherit it.
    template <class Protocol>
    void take(const Protocol& protocol, asio::basic_socket_acceptor<Protocol>& acceptor, error_code& error) {
        ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
        acceptor.listen(asio::socket_base::max_listen_connections, error);
        if (!error) acceptor_.assign(AnyStream(protocol), acceptor.release(), error);
    }

    Result<void> start(ErrorCode code, const char* what) {
        accept();
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error& failed) {
            return Error{code, std::string(what) + failed.what()};
        }
        return {};
    }

    /// If a visit runs out of a resource, its exception ends that visit; the other visits continue.
    void run() {
        for (;;) {
            try {
                context_.run();
                return;
            } catch (const std::exception&) {
                std::this_thread::sleep_for(kAgain);
            }
        }
    }

    void wait_for_streams(std::promise<void>& over) {
        if (visitors_->streams.empty() || deadline_.expiry() <= asio::steady_timer::clock_type::now()) {
            return over.set_value();
        }
        pause_.expires_after(kAgain);
        pause_.async_wait([this, &over](error_code) { wait_for_streams(over); });
    }

    void accept() {
        acceptor_.async_accept([this](error_code error, AnyStream::socket socket) {
            if (error == asio::error::operation_aborted) return;
            if (error) return retry_later();  // for example, no descriptors are left
            accept();
            receive(std::move(socket));
        });
    }

    void receive(AnyStream::socket socket) {
        ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
        if (visitors_->local && !is_ours(socket.native_handle())) return;
        // A visit that made room ends at the next turn, so that there may be a few more for a moment.
        if (visitors_->present >= kMaxVisitors) visitors_->make_room();
        if (visitors_->present < kMostForAMoment) std::make_shared<HttpVisit>(std::move(socket), visitors_)->begin();
    }

    void retry_later() {
        retry_.expires_after(kAcceptAgainAfter);
        retry_.async_wait([this](error_code error) {
            if (!error) accept();
        });
    }

    std::shared_ptr<HttpVisitors> visitors_ = std::make_shared<HttpVisitors>();
    std::string address_;
    bool on_loopback_ = false;
    asio::io_context context_{1};
    asio::steady_timer retry_{context_};
    asio::steady_timer pause_{context_};
    asio::steady_timer deadline_{context_};
    asio::basic_socket_acceptor<AnyStream> acceptor_{context_};
    std::thread thread_;
};

template <class Where>
Result<std::unique_ptr<HttpServer>> open_server(const Where& where, HttpServer::Handler handler) {
    auto server = std::make_unique<AsioHttpServer>(std::move(handler));
    if (auto opened = server->open(where); !opened) return opened.error();
    return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HostPort& where, Handler handler) {
    return open_server(where, std::move(handler));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start_local(const std::string& path, Handler handler) {
    return open_server(path, std::move(handler));
}

}  // namespace udtx::apps
