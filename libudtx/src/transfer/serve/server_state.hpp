// The state of a Server: its protocol threads, the connections, and the thread that watches them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "io/protocol_thread.hpp"
#include "transfer/run/turn_thread.hpp"
#include "transfer/serve/client_budget.hpp"
#include "transfer/serve/served_state.hpp"
#include "udtx/transfer/server.hpp"

namespace udtx::transfer {

class ServerState {
  public:
    explicit ServerState(ServerOptions options) : options_(std::move(options)), budget_(options_.limits) {}
    ~ServerState();
    ServerState(const ServerState&) = delete;
    ServerState& operator=(const ServerState&) = delete;

    Result<void> open();
    Result<void> start();
    [[nodiscard]] Address local_address() const { return local_; }
    [[nodiscard]] std::size_t protocol_threads() const { return protocol_.size(); }
    [[nodiscard]] std::string buffer_advice() const { return protocol_.front()->driver().buffer_advice(); }
    [[nodiscard]] ClientBudget::Connections connections() const;
    Result<void> set_credentials(const Credentials& credentials);
    void drain();
    void cancel(ErrorCode code, const std::string& reason);
    [[nodiscard]] Result<void> status() const;
    bool wait(std::chrono::milliseconds at_most) const;
    void wait() const;
    void stop(Duration at_most);
    [[nodiscard]] Duration protocol_time() const;

  private:
    Result<void> start_threads();
    void note_started(bool started);
    void stop_protocol(Duration at_most);
    /// Protocol thread: the system refuses to receive. With `over` the server ends.
    void on_trouble(const Error& why, bool over);
    void listen(io::ProtocolThread& thread);
    std::shared_ptr<proto::ConnectionHandler> accept(io::ProtocolThread& thread, proto::Connection& connection);
    /// Decides whether the client is accepted, and what it may use.
    [[nodiscard]] Result<Admission> admit(const Client& client, std::uint64_t owner);
    [[nodiscard]] Client client_of(const proto::Connection& connection);
    [[nodiscard]] ServedState::Setup setup_for(const Client& client, std::uint64_t owner, Rate most);
    Result<ReceiveJobOptions> take_push(const Client& client);
    Result<ConfinedSources> find_sources(const Client& client, const PullWish& wish) const;
    /// Protocol thread: uses the keys, and ends connections whose key is not valid any more.
    void use(io::ProtocolThread& thread, io::EndpointDeps::Keys keys);
    /// True if the client may connect with its key.
    [[nodiscard]] bool accepts(const Client& client) const;
    [[nodiscard]] std::shared_ptr<ServedState> find(std::uint64_t number) const;
    void turn();
    /// Settles and reports finished transfers. If memory runs out, a transfer stays and is tried again at the next
    /// turn.
    void reap();
    [[nodiscard]] std::shared_ptr<ServedState> first_done() const;
    void note_over();

    ServerOptions options_;
    const ClientBudget budget_;
    std::vector<std::shared_ptr<io::ProtocolThread>> protocol_;
    std::ptrdiff_t reserved_ = 0;  // descriptors
    Address local_;
    mutable std::mutex asking_;  // locked while the program's callbacks run, by one protocol thread at a time
    std::mutex logging_;
    std::uint64_t next_number_ = 1;  // guarded by asking_
    std::mutex keying_;              // locked while keys are replaced, so that all threads get them in one order
    std::mutex starting_;            // locked during start and stop; guards writes of started_

    mutable std::mutex mutex_;  // guards the members below
    mutable std::condition_variable changed_;
    Credentials credentials_{options_.credentials};  // of handshakes from now on
    bool started_ = false;
    bool closing_ = false;
    std::optional<Error> failed_;
    bool over_ = false;
    ClientBudget::Connections connections_;

    ClientBudget::Connections leaving_;  // over, but perhaps still held by the driver or in a disk call

    // Last: it uses the members above. It is shared, since jobs whose owner outlives the server still wake it.
    std::shared_ptr<TurnThread> turns_ = std::make_shared<TurnThread>();
};

}  // namespace udtx::transfer
