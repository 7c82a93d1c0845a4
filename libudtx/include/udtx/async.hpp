// Sessions, listeners and streams with completion tokens of Boost.Asio, such as a callback, use_future and
// use_awaitable. Among the headers of this directory only this one needs Boost (1.74 or newer).
//
//     auto session = co_await udtx::async_connect("host", 7000, credentials, boost::asio::use_awaitable);
//     auto stream = co_await udtx::async_open_stream(session, boost::asio::use_awaitable);
//     co_await udtx::async_write(stream, bytes, boost::asio::use_awaitable);
//     co_await udtx::async_finish(stream, boost::asio::use_awaitable);
//
// The handler is called once, with a boost::system::error_code and the value if the operation has one. With use_future
// and use_awaitable an error is thrown as boost::system::system_error. Both contain only the class of the error: use
// as_result() to get the message too. The handler runs on its associated executor: that of the coroutine or of
// boost::asio::bind_executor(), else Asio's system executor. It never runs inside the call that starts the operation,
// and never on the protocol thread. Until the handler runs, the executor has outstanding work.
//
// The caller keeps buffers valid until the handler runs. An operation keeps its stream open. Do not move a session or
// listener during its operations; its destructor ends them. The context of an executor must outlive the operations.
// cancel() of the object ends them with boost::asio::error::operation_aborted. With Boost 1.77 or newer a cancellation
// slot of the handler does the same. So `async_read_some(stream, out, use_awaitable) ||
// timer.async_wait(use_awaitable)` is a read with a time-out.
//
// GCC 12 destroys a temporary made with braces inside co_await twice. Give options a name before such an expression.
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "udtx/session.hpp"

#if BOOST_VERSION >= 107700
#include <boost/asio/associated_cancellation_slot.hpp>
#endif

namespace udtx {

/// How the functions of this header work; no interface for programs.
namespace detail {

/// Gives Boost's error_code the values, messages and conditions of a category of the standard library.
class BoostCategory final : public boost::system::error_category {
  public:
    explicit BoostCategory(const std::error_category& same) noexcept : same_(same) {}
    [[nodiscard]] const char* name() const noexcept override { return same_.name(); }
    [[nodiscard]] std::string message(int value) const override { return same_.message(value); }
    [[nodiscard]] boost::system::error_condition default_error_condition(int value) const noexcept override {
        const std::error_condition same = same_.default_error_condition(value);
        if (same.category() == std::generic_category()) return {same.value(), boost::system::generic_category()};
        return {value, *this};
    }

  private:
    const std::error_category& same_;
};

}  // namespace detail

/// error_category() for the error codes of Boost. They compare equal to boost::system::errc if the codes of the
/// standard library compare equal to std::errc.
[[nodiscard]] inline const boost::system::error_category& boost_error_category() noexcept {
    static const detail::BoostCategory category(error_category());
    return category;
}
/// application_category() for the error codes of Boost.
[[nodiscard]] inline const boost::system::error_category& boost_application_category() noexcept {
    static const detail::BoostCategory category(application_category());
    return category;
}

/// Converts an error to the code that handlers receive. `cancelled` becomes boost::asio::error::operation_aborted.
[[nodiscard]] inline boost::system::error_code to_boost(const Error& error) noexcept {
    if (error.code == ErrorCode::cancelled) return boost::asio::error::operation_aborted;
    const std::error_code code = error.error_code();
    return {code.value(),
            code.category() == application_category() ? boost_application_category() : boost_error_category()};
}

/// The token that as_result() returns.
template <class Token>
struct AsResult {
    Token token;  ///< the token that receives the Result
};
/// Wraps another token: the handler gets a Result instead of an error_code and a value, and nothing is thrown. The
/// results are those of the blocking call: an error `cancelled`, and 0 bytes at the end of a stream.
///
///     auto session = co_await udtx::async_connect("host", 7000, credentials, udtx::as_result(use_awaitable));
///     if (!session) std::cerr << session.error().message << '\n';
template <class Token>
[[nodiscard]] AsResult<std::decay_t<Token>> as_result(Token&& token) {
    return {std::forward<Token>(token)};
}

namespace detail {

/// Calls a handler with an error_code, and with the value if the operation has one.
template <class T>
struct ByCode {
    using Signature = void(boost::system::error_code, T);
    template <class Handler>
    static void tell(Handler handler, Result<T> result, boost::system::error_code good) {
        const boost::system::error_code error = result ? good : to_boost(result.error());
        std::move(handler)(error, result ? std::move(*result) : T());
    }
};
template <>
struct ByCode<void> {
    using Signature = void(boost::system::error_code);
    template <class Handler>
    static void tell(Handler handler, const Result<void>& result, boost::system::error_code good) {
        std::move(handler)(result ? good : to_boost(result.error()));
    }
};
/// Calls a handler with the whole Result.
template <class T>
struct ByResult {
    using Signature = void(Result<T>);
    template <class Handler>
    static void tell(Handler handler, Result<T> result, boost::system::error_code /*good*/) {
        std::move(handler)(std::move(result));
    }
};

/// Passes a result to the executor of a handler. finish() may run before the function that starts the operation has
/// returned.
template <class Handler, class T, class How>
class Completion : public std::enable_shared_from_this<Completion<Handler, T, How>> {
  public:
    explicit Completion(Handler handler)
        : handler_(std::move(handler)), work_(boost::asio::get_associated_executor(handler_)) {}

    /// Posts the handler. `good` is the error_code that the handler gets with a value.
    void finish(Result<T> result, boost::system::error_code good) {
#if BOOST_VERSION >= 107700
        {
            // After this the object that the operation uses may be destroyed.
            const std::lock_guard lock(mutex_);
            finished_ = true;
            cancel_ = nullptr;
        }
#endif
        boost::asio::post(work_.get_executor(), [self = this->shared_from_this(), result = std::move(result),
                                                 good]() mutable { self->call(std::move(result), good); });
    }

    /// Connects the cancellation slot of the handler. Call this before the operation starts.
    void allow_cancel() {
#if BOOST_VERSION >= 107700
        auto slot = boost::asio::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected()) return;
        slot.assign([completion = this->weak_from_this()](boost::asio::cancellation_type) {
            if (const auto self = completion.lock()) self->cancel();
        });
#endif
    }
    /// Sets the function that cancels the operation. Call this after the operation has started.
    void cancel_by([[maybe_unused]] const std::function<void()>& what) {
#if BOOST_VERSION >= 107700
        {
            const std::lock_guard lock(mutex_);
            if (finished_) return;
            cancel_ = what;
            if (!cancelled_) return;
        }
        cancel();
#endif
    }

  private:
    void call(Result<T> result, boost::system::error_code good) {
#if BOOST_VERSION >= 107700
        boost::asio::get_associated_cancellation_slot(handler_).clear();
#endif
        // Release everything before the handler runs.
        Handler handler = std::move(handler_);
        const auto work = std::move(work_);
        How::tell(std::move(handler), std::move(result), good);
    }

#if BOOST_VERSION >= 107700
    void cancel() {
        std::function<void()> what;
        {
            const std::lock_guard lock(mutex_);
            cancelled_ = true;
            what = cancel_;
        }
        if (what) what();
    }

    std::mutex mutex_;  // guards the members below
    std::function<void()> cancel_;
    bool cancelled_ = false;
    bool finished_ = false;
#endif
    Handler handler_;
    boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work_;
};

template <class T, class How, class Start, class Token>
auto initiate(Start start, Token&& token) {
    return boost::asio::async_initiate<Token, typename How::Signature>(
        [](auto&& handler, Start first) {
            using Handler = std::decay_t<decltype(handler)>;
            auto completion = std::make_shared<Completion<Handler, T, How>>(std::forward<decltype(handler)>(handler));
            completion->allow_cancel();
            completion->cancel_by(first([completion](Result<T> result, boost::system::error_code good = {}) {
                completion->finish(std::move(result), good);
            }));
        },
        token, std::move(start));
}

/// `start(done)` starts the operation and returns a function that cancels it.
template <class T, class Start, class Token>
auto begin(Start start, Token&& token) {
    return initiate<T, ByCode<T>>(std::move(start), std::forward<Token>(token));
}
template <class T, class Start, class Token>
auto begin(Start start, AsResult<Token> token) {
    return initiate<T, ByResult<T>>(std::move(start), std::move(token.token));
}

/// Calls `start(args..., done)` of a Stream, or of a Session or Listener by pointer. The call can be cancelled.
template <class T, class Object, class Start, class Token, class... Args>
auto call(Object object, Start start, Token&& token, Args... args) {
    return begin<T>(
        [object = std::move(object), start, ... args = std::move(args)](Callback<T> done) mutable {
            const CallId id = std::invoke(start, object, std::move(args)..., std::move(done));
            return [object, id]() mutable {
                using Class = std::remove_pointer_t<Object>;
                std::invoke(static_cast<void (Class::*)(CallId)>(&Class::cancel), object, id);
            };
        },
        std::forward<Token>(token));
}

}  // namespace detail

/// See Session::connect(). Completes with (error_code, Session).
template <class Token>
auto async_connect(const std::string& host, std::uint16_t port, const Credentials& credentials,
                   const ConnectOptions& options, Token&& token) {
    return detail::begin<Session>(
        [host, port, credentials, options](const Callback<Session>& done) {
            auto connecting = Session::start_connect(host, port, credentials, options, done);
            if (!connecting) done(connecting.error());
            return [connecting = std::make_shared<Result<Connecting>>(std::move(connecting))] {
                if (*connecting) (*connecting)->cancel();
            };
        },
        std::forward<Token>(token));
}
/// Connects with default settings.
template <class Token>
auto async_connect(const std::string& host, std::uint16_t port, const Credentials& credentials, Token&& token) {
    return async_connect(host, port, credentials, ConnectOptions(), std::forward<Token>(token));
}

/// See Listener::accept(). Completes with (error_code, Session).
template <class Token>
auto async_accept(Listener& listener, Token&& token) {
    return detail::call<Session>(&listener, &Listener::start_accept, std::forward<Token>(token));
}

/// See Session::open_stream(). Completes with (error_code, Stream).
template <class Token>
auto async_open_stream(Session& session, StreamKind kind, Token&& token) {
    return detail::call<Stream>(&session, &Session::start_open_stream, std::forward<Token>(token), kind);
}
/// Opens an ordered stream.
template <class Token>
auto async_open_stream(Session& session, Token&& token) {
    return async_open_stream(session, StreamKind::ordered, std::forward<Token>(token));
}

/// See Session::accept_stream(). Completes with (error_code, Stream).
template <class Token>
auto async_accept_stream(Session& session, StreamKind kind, Token&& token) {
    return detail::call<Stream>(&session, &Session::start_accept_stream, std::forward<Token>(token), kind);
}
/// Accepts an ordered stream.
template <class Token>
auto async_accept_stream(Session& session, Token&& token) {
    return async_accept_stream(session, StreamKind::ordered, std::forward<Token>(token));
}

/// See Session::wait_closed(). Completes with (error_code).
template <class Token>
auto async_wait_closed(Session& session, Token&& token) {
    return detail::call<void>(&session, &Session::start_wait_closed, std::forward<Token>(token));
}

/// See Session::wait_path_event(). Completes with (error_code, PathEvent).
template <class Token>
auto async_wait_path_event(Session& session, Token&& token) {
    return detail::call<PathEvent>(&session, &Session::start_wait_path_event, std::forward<Token>(token));
}

/// See Stream::read(). Completes with (error_code, std::size_t), the number of bytes: at least one. At the end of the
/// stream it completes with boost::asio::error::eof and 0.
template <class Token>
auto async_read_some(Stream stream, std::span<std::byte> out, Token&& token) {
    return detail::begin<std::size_t>(
        [stream = std::move(stream), out](auto done) mutable {
            const CallId call = stream.start_read(out, [out, done](Result<std::size_t> read) {
                const bool end = read && *read == 0 && !out.empty();
                const boost::system::error_code good =
                    end ? make_error_code(boost::asio::error::eof) : boost::system::error_code();
                done(std::move(read), good);
            });
            return [stream, call]() mutable { stream.cancel(call); };
        },
        std::forward<Token>(token));
}

/// See Stream::read_chunk(). Completes with (error_code, Chunk). At the end of the stream the code is
/// boost::asio::error::eof.
template <class Token>
auto async_read_chunk(Stream stream, Token&& token) {
    return detail::begin<Chunk>(
        [stream = std::move(stream)](auto done) mutable {
            const CallId call = stream.start_read_chunk([done](Result<Chunk> read) {
                const boost::system::error_code good =
                    read && read->empty() ? make_error_code(boost::asio::error::eof) : boost::system::error_code();
                done(std::move(read), good);
            });
            return [stream, call]() mutable { stream.cancel(call); };
        },
        std::forward<Token>(token));
}

/// See Stream::read_piece(). Completes with (error_code, std::optional<Piece>).
template <class Token>
auto async_read_piece(Stream stream, Token&& token) {
    return detail::call<std::optional<Piece>>(std::move(stream), &Stream::start_read_piece, std::forward<Token>(token));
}

/// See Stream::write(). Completes with (error_code, std::size_t) when all bytes are written.
template <class Token>
auto async_write(Stream stream, std::span<const std::byte> bytes, Token&& token) {
    return detail::call<std::size_t>(std::move(stream), &Stream::start_write, std::forward<Token>(token), bytes);
}

/// See Stream::write_chunk(). Completes with (error_code).
template <class Token>
auto async_write_chunk(Stream stream, Chunk chunk, Token&& token) {
    return detail::call<void>(std::move(stream), &Stream::start_write_chunk, std::forward<Token>(token),
                              std::move(chunk));
}

/// See Stream::write_some(). Completes with (error_code, std::size_t), the number of bytes written.
template <class Token>
auto async_write_some(Stream stream, std::span<const std::byte> bytes, Token&& token) {
    return detail::call<std::size_t>(std::move(stream), &Stream::start_write_some, std::forward<Token>(token), bytes);
}

/// Adapts a stream to boost::asio::async_read(), async_read_until() and other functions of Asio: it is an
/// AsyncReadStream and an AsyncWriteStream. Handlers without an executor run on the system executor.
class AsioStream {
  public:
    using executor_type = boost::asio::system_executor;                 ///< Executor of handlers that have none.
    explicit AsioStream(Stream stream) : stream_(std::move(stream)) {}  ///< Adapts an ordered stream.
    /// Returns the system executor.
    [[nodiscard]] executor_type get_executor() const noexcept { return {}; }
    /// Calls udtx::async_read_some() with the first buffer that is not empty.
    template <class Buffers, class Token>
    auto async_read_some(const Buffers& buffers, Token&& token) {
        const auto first = first_of<boost::asio::mutable_buffer>(buffers);
        const std::span out(static_cast<std::byte*>(first.data()), first.size());
        return udtx::async_read_some(stream_, out, std::forward<Token>(token));
    }
    /// Calls udtx::async_write_some() with the first buffer that is not empty.
    template <class Buffers, class Token>
    auto async_write_some(const Buffers& buffers, Token&& token) {
        const auto first = first_of<boost::asio::const_buffer>(buffers);
        const std::span bytes(static_cast<const std::byte*>(first.data()), first.size());
        return udtx::async_write_some(stream_, bytes, std::forward<Token>(token));
    }

  private:
    template <class Buffer, class Buffers>
    static Buffer first_of(const Buffers& buffers) {
        const auto end = boost::asio::buffer_sequence_end(buffers);
        for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at) {
            if (const Buffer buffer = *at; buffer.size() != 0) return buffer;
        }
        return {};
    }

    Stream stream_;
};

/// See Stream::finish(). Completes with (error_code).
template <class Token>
auto async_finish(Stream stream, Token&& token) {
    return detail::call<void>(std::move(stream), &Stream::start_finish, std::forward<Token>(token));
}

}  // namespace udtx
