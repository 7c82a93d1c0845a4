// A small HTTP server on its own thread, for observers of a transfer. It answers one GET or HEAD request per
// connection. Some answers are event streams that last until the visitor leaves.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

struct HttpRequest {
    std::string target;  ///< the target after GET
    std::string host;    ///< the Host field
};

struct HttpReply {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body{};
    std::vector<std::pair<std::string, std::string>> fields{};
    bool events = false;  ///< the body is the start of a stream, publish() sends the rest
};

class HttpServer {
  public:
    /// Runs on the server's thread.
    using Handler = std::function<HttpReply(const HttpRequest& request)>;
    /// Most streams at a time. A further visitor gets 503.
    static constexpr std::size_t kMaxStreams = 16;

    /// Without a host, listens only on the loopback address. Port 0 picks a free port.
    static Result<std::unique_ptr<HttpServer>> start(const HostPort& where, Handler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// "127.0.0.1:9100"
    [[nodiscard]] std::string address() const;
    [[nodiscard]] bool on_loopback() const;

    /// Any thread. Sends `text` to all streams. A visitor that still receives an earlier text gets the newest one next,
    /// and misses those in between.
    void publish(std::string text);
    /// Ends the streams. Waits for at most `at_most` until the visitors have received everything published.
    void end_streams(Duration at_most);

  private:
    class Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Protects against DNS rebinding: a script from another site could read the page if the owner of that site's name
/// pointed the name at this host. Therefore the Host field must be an address, localhost, a name of this host, or
/// `own`, the name that the user gave. This host's names include those from its resolver if it answers in time. The
/// server answers other requests with 421.
[[nodiscard]] bool is_own_host(std::string_view host_field, std::string_view own);

/// Formats a server-sent event (HTML Living Standard 9.2) with that name. `data` must have no line breaks.
inline constexpr const char* kEventsType = "text/event-stream";
[[nodiscard]] std::string event_text(std::string_view name, std::string_view data);

// One visit to the HTTP server: a request and its answer. Use it only on the server's thread.

class HttpVisit;

struct HttpVisitors {
    HttpServer::Handler handler;
    std::string own_name{};  ///< see is_own_host
    std::size_t present = 0;
    std::unordered_set<HttpVisit*> streams{};
    std::list<HttpVisit*> others{};  ///< all visits but streams, the oldest first

    /// Ends one of `others`: the oldest whose request is not complete, else the oldest that has its answer,
    /// else the oldest. So visitors who send or read nothing do not keep others out.
    void make_room();
};

/// Lives as long as one of its operations is pending. A stream always has a read pending.
class HttpVisit : public std::enable_shared_from_this<HttpVisit> {
  public:
    using Socket = boost::asio::ip::tcp::socket;
    using Text = std::shared_ptr<const std::string>;

    HttpVisit(Socket socket, std::shared_ptr<HttpVisitors> visitors);
    ~HttpVisit();
    HttpVisit(const HttpVisit&) = delete;
    HttpVisit& operator=(const HttpVisit&) = delete;

    void begin();
    /// Sends the next event of a stream.
    void offer(Text text);
    /// Ends a stream after everything offered is sent.
    void finish();
    /// How far a visit has come that is not a stream.
    enum class Stage { asks, is_answered, has_answer };
    [[nodiscard]] Stage stage() const noexcept { return stage_; }
    /// Ends the visit at once.
    void leave();

  private:
    using Error = boost::beast::error_code;

    void answer();
    /// Answers an invalid request; no answer if the visitor has gone.
    void refuse(Error error);
    [[nodiscard]] HttpReply reply_to(bool head) const;
    void send(HttpReply reply, bool with_body);
    void open_stream(HttpReply reply);
    void notice_departure();
    void write(Text text);
    void written(Error error);
    void close();
    /// Reads and drops the rest of the visitor's data. Closing the socket with unread data would discard the answer.
    void drain();

    boost::beast::tcp_stream stream_;
    std::shared_ptr<HttpVisitors> visitors_;
    boost::beast::flat_buffer buffer_;
    boost::beast::http::request_parser<boost::beast::http::string_body> parser_;
    boost::beast::http::response<boost::beast::http::string_body> response_;
    // used by a stream
    boost::beast::http::response<boost::beast::http::empty_body> head_;
    boost::beast::http::response_serializer<boost::beast::http::empty_body> head_writer_{head_};
    std::array<char, 4096> ignored_{};  ///< bytes after the request, which are ignored
    std::size_t drained_ = 0;
    Text writing_;  ///< null: nothing is being written
    Text next_;
    bool finishing_ = false;
    Stage stage_ = Stage::asks;
    std::list<HttpVisit*>::iterator place_;  ///< in HttpVisitors::others; its end for a stream
};

}  // namespace udtx::apps
