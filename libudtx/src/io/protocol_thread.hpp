// A protocol thread with all that its driver needs, made from the user's settings.
#pragma once

#include <unistd.h>

#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/thread_safety.hpp"
#include "io/driver.hpp"
#include "openssl/provider.hpp"
#include "openssl/tls_handshake.hpp"
#include "os/system.hpp"
#include "udtx/config.hpp"
#include "udtx/core/endpoint.hpp"
#include "udtx/credentials.hpp"
#include "udtx/rate.hpp"
#include "udtx/result.hpp"
#include "udtx/system.hpp"

namespace udtx::io {

// Detects whether this is still the process that made an object. A fork copies keys and packet numbers but not the
// protocol thread. A child that used them would hang, or use a nonce twice.

class ForkGuard {
  public:
    [[nodiscard]] bool forked() const noexcept { return ::getpid() != owner_; }
    [[nodiscard]] static Error error() {
        return {ErrorCode::invalid_argument, "a fork cannot use the session of its parent process: connect again here"};
    }

  private:
    pid_t owner_ = ::getpid();
};

// Owns the dependencies of an endpoint in a real process: ciphers and their speed here, handshakes, randomness.

/// It must outlive the endpoint.
class EndpointDeps {
  public:
    /// What depends on the credentials.
    struct Keys {
        std::unique_ptr<openssl::TlsHandshakeFactory> handshakes;
        std::optional<crypto::Secret> hello;
        std::optional<crypto::Secret> reset;
    };
    static Result<Keys> make_keys(const Credentials& credentials);

    explicit EndpointDeps(Keys keys);
    EndpointDeps(const EndpointDeps&) = delete;
    EndpointDeps& operator=(const EndpointDeps&) = delete;

    [[nodiscard]] const proto::EndpointDeps& view() const { return view_; }
    /// Takes other keys into view(). Returns the earlier ones, which the endpoint uses until it has the new ones.
    [[nodiscard]] Keys exchange(Keys keys);

  private:
    openssl::OpensslProvider provider_;
    SystemRng rng_;
    std::unique_ptr<openssl::TlsHandshakeFactory> handshakes_;
    proto::EndpointDeps view_;
};

// Everything below a session or a transfer, made from the user's settings: keys, randomness, socket, protocol thread.

/// The longest wait for a close to reach the peer, if nothing else shows that it did.
inline constexpr Duration kDrainAtMost = std::chrono::milliseconds(300);

/// Order of calls: make() and open() of the driver; then set up the driver; then start(), then stop().
/// Destroy it after everything that holds a Waker, and never on its own thread.
class ProtocolThread {
  public:
    /// Does the work that needs no key, takes a few milliseconds and happens once per process. Without this call make()
    /// does it.
    static void prepare();
    static Result<std::unique_ptr<ProtocolThread>> make(const Credentials& credentials, const TransportConfig& config,
                                                        const Driver::Options& options = {});
    /// For several owners: the last one stops the thread. If that happens on the thread itself, another thread stops
    /// it. A fork of the process stops nothing: it has no thread to join.
    static std::shared_ptr<ProtocolThread> share(std::unique_ptr<ProtocolThread> thread);
    ~ProtocolThread();
    ProtocolThread(const ProtocolThread&) = delete;
    ProtocolThread& operator=(const ProtocolThread&) = delete;

    /// True if the calling thread is a protocol thread.
    [[nodiscard]] static bool on_one() noexcept;
    [[nodiscard]] Driver& driver() noexcept { return driver_; }
    /// Uses these keys for handshakes that start from now on; on the protocol thread. Returns true if they replace
    /// another pre-shared key, or the kind of keys: no earlier connection has a valid key then.
    bool set_keys(EndpointDeps::Keys keys);
    /// Runs the driver on a thread of its own. Throws std::system_error if the process has no thread left.
    void start();
    /// Processor time that the driver's thread has needed so far; any thread.
    [[nodiscard]] Duration thread_time() const;
    /// Starts what stop() completes, so that several drain at the same time. Call stop() afterwards.
    void begin_stop(Duration at_most);
    /// Gives closes up to `at_most` to reach the peers, then ends the thread. It may be called again.
    void stop(Duration at_most);

  private:
    ProtocolThread(EndpointDeps::Keys keys, const TransportConfig& config, const Driver::Options& options)
        : deps_(std::move(keys)), driver_(deps_.view(), config, options) {}

    ForkGuard fork_guard_;
    EndpointDeps deps_;
    Driver driver_;
    std::thread thread_;
    Mutex stop_;  // held by the caller that joins thread_
    mutable Mutex mutex_;
    std::optional<ThreadTime> thread_time_ GUARDED_BY(mutex_);
};

// Starts the protocol thread of a session or a listener.

/// Makes a thread with `make` and starts it. network: the process has no descriptor or thread left. The event loop and
/// the thread report that by an exception.
template <class Make>
Result<std::shared_ptr<ProtocolThread>> start_thread(const Make& make) {
    try {
        Result<std::unique_ptr<ProtocolThread>> made = make();
        if (!made) return made.error();
        auto thread = ProtocolThread::share(std::move(*made));
        thread->start();
        return thread;
    } catch (const std::bad_alloc&) {
        throw;
    } catch (const std::exception& failed) {
        return Error{ErrorCode::no_resources,
                     "cannot start the session's thread and event loop: " + std::string(failed.what()) +
                         "; raise the limit of open files or processes (ulimit)",
                     error_number_of(failed)};
    }
}

// Turns exceptions into errors, because public calls throw nothing.

/// Returns the result of `call`, or an error if it lacked memory or threads.
template <class Call>
auto guarded(const Call& call) noexcept -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc& lack) {
        return Error{ErrorCode::no_resources, describe_lack(lack)};  // too short to need memory
    } catch (const std::exception&) {
        return Error{ErrorCode::no_resources, "no resources"};
    }
}

/// The same for a call with a callback. If `begin` fails, this calls `done` with the error.
template <class T, class Begin>
CallId begun(const Callback<T>& done, const Begin& begin) noexcept {
    const auto id = guarded([&]() -> Result<CallId> { return begin(); });
    if (id) return *id;
    done(id.error());
    return {};
}

}  // namespace udtx::io
