#include "udtx/transfer/server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "os/system_failure.hpp"
#include "transfer/file/confined_dir.hpp"
#include "transfer/run/or_error.hpp"
#include "transfer/serve/server_state.hpp"

namespace udtx::transfer {

const Client& ServedTransfer::client() const noexcept { return state_->client(); }
ServedTransfer::Kind ServedTransfer::kind() const { return state_->kind(); }
bool ServedTransfer::sends() const { return state_->job().sender() != nullptr; }
bool ServedTransfer::refused() const { return state_->job().refused(); }
bool ServedTransfer::done() const noexcept { return state_->done(); }
Progress ServedTransfer::progress() const { return state_->job().progress(); }
Outcome ServedTransfer::outcome() const { return state_->outcome(); }
std::optional<ConnectionStats> ServedTransfer::stats() const { return state_->stats(); }
Duration ServedTransfer::elapsed() const { return state_->elapsed(); }
Duration ServedTransfer::idle() const { return state_->idle(); }
std::uint64_t ServedTransfer::held() const { return state_->held(); }
Duration ServedTransfer::writing_time() const { return state_->writing_time(); }
void ServedTransfer::set_max_rate(Rate rate) const { state_->set_max_rate(rate); }
void ServedTransfer::cancel(ErrorCode code, const std::string& reason) const { state_->cancel(code, reason); }

Result<Server> Server::open(ServerOptions options) {
    return or_error([&]() -> Result<Server> {
        auto state = std::make_unique<ServerState>(std::move(options));
        if (const auto opened = state->open(); !opened) return opened.error();
        return Server(std::move(state));
    });
}

Server::Server(std::unique_ptr<ServerState> state) : state_(std::move(state)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

Address Server::local_address() const { return state_->local_address(); }
std::string Server::buffer_advice() const { return state_->buffer_advice(); }
std::size_t Server::protocol_threads() const { return state_->protocol_threads(); }
Result<void> Server::start() {
    return or_error([this] { return state_->start(); });
}
std::vector<ServedTransfer> Server::transfers() const {
    std::vector<ServedTransfer> all;
    for (auto& connection : state_->connections()) all.emplace_back(std::move(connection));
    return all;
}
Result<void> Server::set_credentials(const Credentials& credentials) {
    return or_error([&] { return state_->set_credentials(credentials); });
}
void Server::drain() { state_->drain(); }
void Server::cancel(ErrorCode code, const std::string& reason) { state_->cancel(code, reason); }
Result<void> Server::status() const { return state_->status(); }
bool Server::wait(std::chrono::milliseconds at_most) const { return state_->wait(at_most); }
void Server::wait() const { state_->wait(); }
void Server::stop(Duration at_most) { state_->stop(at_most); }
Duration Server::protocol_time() const { return state_->protocol_time(); }

Result<void> check_served(const std::string& directory, const std::string& below, bool write) {
    const std::string place = below.empty() ? directory : directory + "/" + below;
    const auto problem = [&](const std::string& what, int error) {
        return system_failure(ErrorCode::file_io, "directory " + place + what, error);
    };
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0) return problem("", errno);
    if (!S_ISDIR(info.st_mode)) return problem("", ENOTDIR);
    if (::access(place.c_str(), (write ? W_OK : R_OK) | X_OK) != 0) {
        return problem(write ? " cannot be written" : " cannot be read", errno);
    }
    // Opens it as each transfer does: a user who may write above it must not redirect it by a symbolic link.
    const auto there = ConfinedDir::open_below(directory, below);
    if (!there) return there.error();
    return {};
}

}  // namespace udtx::transfer
