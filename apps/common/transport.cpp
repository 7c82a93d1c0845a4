#include "common/transport.hpp"

#include <exception>
#include <system_error>
#include <utility>

#include "io/path_plan.hpp"

namespace udtx::apps {

void Transport::prepare() { io::EndpointDeps::prepare(); }

Result<std::unique_ptr<Transport>> Transport::make(const Credentials& credentials, const TransportConfig& config,
                                                   const io::Driver::Options& options) {
    auto deps = io::EndpointDeps::make(credentials);
    if (!deps) return deps.error();
    return std::unique_ptr<Transport>(new Transport(std::move(*deps), config, options));
}

Result<std::unique_ptr<Transport>> Transport::make_open(const Credentials& credentials, const TransportConfig& config,
                                                        const io::Driver::Options& options,
                                                        std::vector<proto::PathAddresses>& ways) {
    auto transport = make(credentials, config, options);
    if (!transport) return transport;
    if (const auto opened = io::open_socket_for((*transport)->driver_, ways); !opened) return opened.error();
    return transport;
}

Transport::Transport(std::unique_ptr<io::EndpointDeps> deps, const TransportConfig& config,
                     const io::Driver::Options& options)
    : deps_(std::move(deps)), driver_(deps_->view(), config, options) {}

Transport::~Transport() { stop(Duration::zero()); }

void Transport::start() {
    const auto run = [this] {
        try {
            const std::lock_guard lock(mutex_);
            thread_time_.emplace();
        } catch (const std::exception&) {
            // Nobody will know what it needs.
        }
        driver_.run();
        const std::lock_guard lock(mutex_);
        thread_time_.reset();
    };
    try {
        thread_ = std::thread(run);
    } catch (const std::system_error& failed) {
        throw std::system_error(failed.code(),
                                "no protocol thread (a higher limit of processes may help: ulimit -u, "
                                "the pids cgroup)");
    }
}

Duration Transport::thread_time() const {
    const std::lock_guard lock(mutex_);
    return thread_time_ ? thread_time_->needed() : Duration();
}

void Transport::stop(Duration at_most) {
    if (!thread_.joinable()) return;
    driver_.stop_when_drained(at_most);
    thread_.join();
}

}  // namespace udtx::apps
