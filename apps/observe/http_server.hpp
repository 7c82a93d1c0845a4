// A small HTTP server on its own thread: for observers of a transfer, and for `udtx-send ctl`. It answers one request
// per connection. Some answers are event streams that last until the visitor leaves.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "udtx/address.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

struct HttpRequest {
    std::string target;  ///< the target after GET
    std::string body{};
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

    /// Answers GET and HEAD. Without a host, listens only on the loopback address. Port 0 picks a free port.
    static Result<std::unique_ptr<HttpServer>> start(const HostPort& where, Handler handler);
    /// Answers POST of this user at a local socket with mode 0600, which the destructor removes.
    static Result<std::unique_ptr<HttpServer>> start_local(const std::string& path, Handler handler);
    virtual ~HttpServer() = default;
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// "127.0.0.1:9100", or the path of the local socket
    [[nodiscard]] virtual const std::string& address() const noexcept = 0;
    [[nodiscard]] virtual bool on_loopback() const noexcept = 0;

    /// Any thread. Sends `text` to all streams. A visitor that still receives an earlier text gets the newest one next,
    /// and misses those in between.
    virtual void publish(std::string text) = 0;
    /// Ends the streams. Waits for at most `at_most` until the visitors have received everything published.
    virtual void end_streams(Duration at_most) = 0;

  protected:
    HttpServer() = default;
};

/// Protects against DNS rebinding: a script from another site could read the page if the owner of that site's name
/// pointed the name at this host. Therefore the Host field must be an address, localhost, a name of this host, or
/// `own`, the name that the user gave. This host's names include those from its resolver if it answers in time. The
/// server answers other requests with 421.
[[nodiscard]] bool is_own_host(std::string_view host_field, std::string_view own);

/// Formats a server-sent event (HTML Living Standard 9.2) with that name. `data` must have no line breaks.
inline constexpr const char* kEventsType = "text/event-stream";
[[nodiscard]] std::string event_text(std::string_view name, std::string_view data);

}  // namespace udtx::apps
