// A small HTTP server on a thread of its own, for those who observe: one answer a connection, GET and HEAD only. Some
// answers are streams of events that go on for as long as the visitor stays.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "udtx/resolve.hpp"
#include "udtx/result.hpp"
#include "udtx/time.hpp"

namespace udtx::apps {

struct HttpRequest {
    std::string target;  ///< what stands behind GET
    std::string host;    ///< the Host field
};

struct HttpReply {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body{};
    std::vector<std::pair<std::string, std::string>> fields{};
    bool events = false;  ///< the body is the beginning, publish() goes on
};

class HttpServer {
  public:
    /// Called on the server's thread.
    using Handler = std::function<HttpReply(const HttpRequest& request)>;
    /// So many streams at a time; whoever comes then is told to come back later.
    static constexpr std::size_t kMaxStreams = 16;

    /// No host: the loopback address only. Port 0 picks a free one.
    static Result<std::unique_ptr<HttpServer>> start(const HostPort& where, Handler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// "127.0.0.1:9100"
    [[nodiscard]] std::string address() const;
    [[nodiscard]] bool on_loopback() const;

    /// Any thread: to all streams. A visitor who has not taken the last one yet gets the newest when they have; what
    /// came in between they miss.
    void publish(std::string text);
    /// Ends the streams; waits until their visitors have taken what was published, for at most so long.
    void end_streams(Duration at_most);

  private:
    class Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A page that only its own host's names lead to cannot be read by a script that was loaded from elsewhere under a name
/// which its owner then points here (DNS rebinding): the Host field must be an address, localhost, one of this host's
/// names (with what the resolver adds to it, if that answers in time) or `own`, the name that the user gave. The server
/// answers others with 421.
[[nodiscard]] bool is_own_host(std::string_view host_field, std::string_view own);

/// Server-sent events (HTML Living Standard 9.2): one event of that name; `data` has no line breaks.
inline constexpr const char* kEventsType = "text/event-stream";
[[nodiscard]] std::string event_text(std::string_view name, std::string_view data);

}  // namespace udtx::apps
