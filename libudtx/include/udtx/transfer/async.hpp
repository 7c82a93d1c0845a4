// Transfers with completion tokens of Boost.Asio, such as a callback, use_future and use_awaitable. Among the headers
// of this directory only this one needs Boost (1.74 or newer).
//
//     boost::asio::awaitable<void> backup(udtx::transfer::SendRequest request) {
//         const auto executor = co_await boost::asio::this_coro::executor;
//         const auto outcome = co_await async_send(executor, std::move(request), boost::asio::use_awaitable);
//         ...
//     }
//
// The handler is called once, with the Outcome. It runs on its associated executor. A handler without one runs on the
// executor that was passed. It never runs inside the call that starts the transfer, and never on a thread of the
// library. A failed transfer throws nothing: its outcome contains the error. With Boost 1.77 or newer a cancellation
// slot of the handler cancels the transfer in good order, as Transfer::cancel() does. The context of an executor must
// outlive the calls.
#pragma once

#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/version.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#endif

#include "udtx/transfer/transfer.hpp"

namespace udtx::transfer {
/// How the functions of this header work; no interface for programs.
namespace detail {

/// A transfer whose end a handler awaits. Everything that may end it shares its ownership.
template <class Handler, class Executor>
class Operation : public std::enable_shared_from_this<Operation<Handler, Executor>> {
  public:
    Operation(Handler handler, const Executor& executor)
        : executor_(boost::asio::get_associated_executor(handler, executor)),
          work_(executor_),
          handler_(std::move(handler)) {}
    ~Operation() {
        if (starter_.joinable()) starter_.detach();  // the executor was destroyed, so this may run on that thread
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    /// Connects the cancellation slot of the handler. Call this before the operation starts.
    void connect_cancellation() {
#if BOOST_ASIO_VERSION >= 101900
        auto slot = boost::asio::get_associated_cancellation_slot(handler_);
        if (!slot.is_connected()) return;
        slot.assign([weak = this->weak_from_this()](boost::asio::cancellation_type type) {
            const auto self = weak.lock();
            if (self && type != boost::asio::cancellation_type::none) self->cancel();
        });
#endif
    }

    /// Starts the transfer with `start`, which may block, on a new thread.
    template <class Start>
    void begin(Start start) {
        try {
            const std::lock_guard lock(mutex_);
            starter_ = std::thread(
                [self = this->shared_from_this(), start = std::move(start)]() mutable { self->run(start); });
        } catch (const std::system_error& lack) {
            fail({ErrorCode::no_resources, lack.what()});
        }
    }

    /// Calls the handler when `transfer` is done. `transfer` must live until then.
    void wait_for(Transfer& transfer) {
        bool cancelled = false;
        {
            const std::lock_guard lock(mutex_);
            transfer_ = &transfer;
            cancelled = cancelled_;
        }
        if (cancelled) transfer.cancel();
        transfer.when_done([self = this->shared_from_this(), &transfer] { self->complete(transfer.outcome()); });
    }

  private:
    template <class Start>
    void run(Start& start) {
        auto started = start();
        if (!started) return fail(started.error());
        wait_for(own_.emplace(std::move(*started)));
    }

    void fail(Error error) {
        Outcome outcome;
        outcome.status = std::move(error);
        outcome.exact = true;
        complete(std::move(outcome));
    }

    void cancel() {
        const std::lock_guard lock(mutex_);
        cancelled_ = true;
        if (transfer_) transfer_->cancel();
    }

    void complete(Outcome outcome) {
        boost::asio::post(executor_, [self = this->shared_from_this(), outcome = std::move(outcome)]() mutable {
            self->finish(std::move(outcome));
        });
    }

    void finish(Outcome outcome) {
        std::thread starter;
        {
            const std::lock_guard lock(mutex_);
            transfer_ = nullptr;
            starter = std::move(starter_);
        }
        if (starter.joinable()) starter.join();  // its work is done
        own_.reset();
#if BOOST_ASIO_VERSION >= 101900
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected()) slot.clear();
#endif
        auto work = std::move(work_);
        auto handler = std::move(handler_);
        std::move(handler)(std::move(outcome));
    }

    using HandlerExecutor = typename boost::asio::associated_executor<Handler, Executor>::type;
    HandlerExecutor executor_;
    boost::asio::executor_work_guard<HandlerExecutor> work_;
    Handler handler_;
    std::optional<Transfer> own_;
    std::mutex mutex_;  // guards the members below
    std::thread starter_;
    bool cancelled_ = false;
    Transfer* transfer_ = nullptr;  // set while the operation waits for the transfer
};

template <class Executor, class Token, class Start>
auto async_start(const Executor& executor, Start start, Token&& token) {
    const auto initiate = [executor](auto handler, Start begin) {
        using Handler = decltype(handler);
        const auto operation = std::make_shared<Operation<Handler, Executor>>(std::move(handler), executor);
        operation->connect_cancellation();
        operation->begin(std::move(begin));
    };
    return boost::asio::async_initiate<Token, void(Outcome)>(initiate, token, std::move(start));
}

}  // namespace detail

/// Runs send() asynchronously on `executor`. Completes with (Outcome).
template <class Executor, class Token>
auto async_send(const Executor& executor, SendRequest request, Token&& token) {
    return detail::async_start(
        executor, [request = std::move(request)]() mutable { return start_send(std::move(request)); },
        std::forward<Token>(token));
}

/// Runs receive() asynchronously on `executor`. Completes with (Outcome).
template <class Executor, class Token>
auto async_receive(const Executor& executor, ReceiveRequest request, Token&& token) {
    return detail::async_start(
        executor, [request = std::move(request)]() mutable { return start_receive(std::move(request)); },
        std::forward<Token>(token));
}

/// Waits for a transfer that the program started in another way, as Transfer::wait() does. The transfer must live until
/// the handler runs. A cancellation slot has no effect. Completes with (Outcome).
template <class Executor, class Token>
auto async_wait(Transfer& transfer, const Executor& executor, Token&& token) {
    const auto initiate = [executor](auto handler, Transfer* waited_for) {
        using Handler = decltype(handler);
        const auto operation = std::make_shared<detail::Operation<Handler, Executor>>(std::move(handler), executor);
        operation->connect_cancellation();
        operation->wait_for(*waited_for);
    };
    return boost::asio::async_initiate<Token, void(Outcome)>(initiate, token, &transfer);
}

}  // namespace udtx::transfer
