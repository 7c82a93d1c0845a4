// A small HTTP server on a thread of its own, for those who watch: one answer a connection, GET and HEAD only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/resolve.hpp"
#include "udtx/result.hpp"

namespace udtx::apps {

struct HttpReply {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
};

class HttpServer {
  public:
    /// `target` is what stands behind GET. Called on the server's thread.
    using Handler = std::function<HttpReply(const std::string& target)>;

    /// No host: the loopback address only. Port 0 picks a free one.
    static Result<std::unique_ptr<HttpServer>> start(const io::HostPort& where, Handler handler);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    /// "127.0.0.1:9100"
    [[nodiscard]] std::string address() const;

  private:
    class Impl;
    explicit HttpServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace udtx::apps
