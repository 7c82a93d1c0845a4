// One visit to the HTTP server: a request and its answer. Use it only on the server's thread.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <memory>
#include <string>
#include <unordered_set>

#include "observe/http_server.hpp"

namespace udtx::apps {

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
