#include "io/protocol_thread.hpp"

#include <exception>
#include <system_error>
#include <utility>

#include "io/path_plan.hpp"
#include "os/system_failure.hpp"
#include "udtx/core/config_check.hpp"

namespace udtx::io {
namespace {

thread_local bool is_protocol_thread = false;

}  // namespace

bool ProtocolThread::on_one() noexcept { return is_protocol_thread; }

void ProtocolThread::prepare() { EndpointDeps::prepare(); }

Result<std::unique_ptr<ProtocolThread>> ProtocolThread::make(const Credentials& credentials,
                                                             const TransportConfig& config,
                                                             const Driver::Options& options) {
    if (const auto good = proto::check(config); !good) return good.error();
    auto deps = EndpointDeps::make(credentials);
    if (!deps) return deps.error();
    return std::unique_ptr<ProtocolThread>(new ProtocolThread(std::move(*deps), config, options));
}

Result<std::unique_ptr<ProtocolThread>> ProtocolThread::make_open(const Credentials& credentials,
                                                                  const TransportConfig& config,
                                                                  const Driver::Options& options,
                                                                  std::vector<proto::PathAddresses>& ways) {
    auto thread = make(credentials, config, options);
    if (!thread) return thread;
    if (const auto opened = open_socket_for((*thread)->driver_, ways); !opened) return opened.error();
    return thread;
}

std::shared_ptr<ProtocolThread> ProtocolThread::share(std::unique_ptr<ProtocolThread> thread) {
    return {thread.release(), [](ProtocolThread* last) {
                if (last->fork_guard_.forked()) return;
                const auto end = [last] {
                    last->stop(kDrainAtMost);
                    delete last;
                };
                if (last->thread_.get_id() != std::this_thread::get_id()) return end();
                std::thread(end).detach();
            }};
}

ProtocolThread::ProtocolThread(std::unique_ptr<EndpointDeps> deps, const TransportConfig& config,
                               const Driver::Options& options)
    : deps_(std::move(deps)), driver_(deps_->view(), config, options) {}

ProtocolThread::~ProtocolThread() { stop(Duration::zero()); }

bool ProtocolThread::set_keys(EndpointDeps::Keys keys) {
    const EndpointDeps::Keys earlier = deps_->exchange(std::move(keys));
    const proto::EndpointDeps now = deps_->view();
    driver_.set_keys(now);
    return earlier.hello != now.hello_key;
}

void ProtocolThread::start() {
    const auto run = [this] {
        is_protocol_thread = true;
        try {
            const std::lock_guard lock(mutex_);
            thread_time_.emplace();
        } catch (const std::exception&) {
            // thread_time() then returns 0.
        }
        driver_.run();
        const std::lock_guard lock(mutex_);
        thread_time_.reset();
    };
    try {
        thread_ = std::thread(run);
    } catch (const std::system_error& failed) {
        throw std::system_error(failed.code(),
                                "cannot start a protocol thread; " + remedy_for_no_thread(failed.code().value()));
    }
}

Duration ProtocolThread::thread_time() const {
    const std::lock_guard lock(mutex_);
    return thread_time_ ? thread_time_->needed() : Duration();
}

void ProtocolThread::begin_stop(Duration at_most) {
    const std::lock_guard lock(stop_);
    if (thread_.joinable()) driver_.stop_when_drained(at_most);
}

void ProtocolThread::stop(Duration at_most) {
    const std::lock_guard lock(stop_);
    if (!thread_.joinable()) return;
    driver_.stop_when_drained(at_most);
    thread_.join();
}

}  // namespace udtx::io
