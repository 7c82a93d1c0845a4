// Starts the protocol thread of a session or a listener.
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "io/protocol_thread.hpp"
#include "os/system_failure.hpp"
#include "udtx/result.hpp"

namespace udtx::io {

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
        return Error{ErrorCode::network,
                     "cannot start the session's thread and event loop: " + std::string(failed.what()) +
                         "; raise the limit of open files or processes (ulimit)",
                     error_number_of(failed)};
    }
}

}  // namespace udtx::io
