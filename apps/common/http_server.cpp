#include "common/http_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

namespace udtx::apps {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using beast::error_code;

constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMaxRequestBytes = 8192;
constexpr std::size_t kMaxVisitors = 32;

using Visitors = std::shared_ptr<std::size_t>;  // of the server's one thread

/// One request and its answer. Lives as long as one of its operations is under way.
class Visit : public std::enable_shared_from_this<Visit> {
  public:
    Visit(tcp::socket socket, const HttpServer::Handler& handler, Visitors visitors)
        : stream_(std::move(socket)), handler_(handler), visitors_(std::move(visitors)) {
        ++*visitors_;
        parser_.header_limit(kMaxRequestBytes);
        parser_.body_limit(kMaxRequestBytes);
    }
    ~Visit() { --*visitors_; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    void begin() {
        stream_.expires_after(kPatience);
        http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](error_code error, std::size_t) {
            if (!error) self->answer();
        });
    }

  private:
    void answer() {
        const auto& request = parser_.get();
        const bool head = request.method() == http::verb::head;
        HttpReply reply{405, "text/plain; charset=utf-8", "only GET and HEAD\n"};
        if (head || request.method() == http::verb::get) reply = handler_(std::string(request.target()));
        response_.version(request.version());
        response_.result(reply.status);
        response_.set(http::field::content_type, reply.type);
        response_.set(http::field::cache_control, "no-store");
        response_.keep_alive(false);
        const std::size_t size = reply.body.size();
        if (!head) response_.body() = std::move(reply.body);
        response_.content_length(size);
        stream_.expires_after(kPatience);
        http::async_write(stream_, response_, [self = shared_from_this()](error_code, std::size_t) {
            error_code ignored;
            self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        });
    }

    beast::tcp_stream stream_;
    const HttpServer::Handler& handler_;
    Visitors visitors_;
    beast::flat_buffer buffer_;
    http::request_parser<http::string_body> parser_;
    http::response<http::string_body> response_;
};

}  // namespace

class HttpServer::Impl {
  public:
    explicit Impl(Handler handler) : handler_(std::move(handler)) {}
    ~Impl() {
        context_.stop();
        if (thread_.joinable()) thread_.join();
    }

    Result<void> open(const io::HostPort& where) {
        const auto addresses = io::resolve(where.host.empty() ? "127.0.0.1" : where.host, where.port);
        if (!addresses) return addresses.error();
        const Address& address = addresses->front();
        error_code error;
        const auto ip = asio::ip::make_address(host_of(address), error);
        const tcp::endpoint endpoint(ip, where.port);
        if (!error) acceptor_.open(endpoint.protocol(), error);
        if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
        if (!error) acceptor_.bind(endpoint, error);
        if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
        if (!error) local_ = acceptor_.local_endpoint(error);
        if (error)
            return Error{ErrorCode::network, "cannot listen on " + to_string(address) + "/tcp: " + error.message()};
        accept();
        thread_ = std::thread([this] { context_.run(); });
        return {};
    }
    [[nodiscard]] std::string address() const {
        const std::string host = local_.address().to_string();
        return (local_.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(local_.port());
    }

  private:
    static std::string host_of(const Address& address) {
        std::string text = to_string(address);
        text.resize(text.rfind(':'));
        return text.starts_with('[') ? text.substr(1, text.size() - 2) : text;
    }

    void accept() {
        acceptor_.async_accept([this](error_code error, tcp::socket socket) {
            if (error == asio::error::operation_aborted) return;
            if (!error && *visitors_ < kMaxVisitors) {
                std::make_shared<Visit>(std::move(socket), handler_, visitors_)->begin();
            }
            if (error) return retry_later();  // no descriptors left, for one
            accept();
        });
    }

    void retry_later() {
        pause_.expires_after(std::chrono::milliseconds(200));
        pause_.async_wait([this](error_code error) {
            if (!error) accept();
        });
    }

    Handler handler_;
    Visitors visitors_ = std::make_shared<std::size_t>(0);
    asio::io_context context_{1};
    asio::steady_timer pause_{context_};
    tcp::acceptor acceptor_{context_};
    tcp::endpoint local_;
    std::thread thread_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::start(const io::HostPort& where, Handler handler) {
    auto impl = std::make_unique<Impl>(std::move(handler));
    if (auto opened = impl->open(where); !opened) return opened.error();
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::string HttpServer::address() const { return impl_->address(); }

}  // namespace udtx::apps
