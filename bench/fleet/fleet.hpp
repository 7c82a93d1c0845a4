// Sends the shards of one dataset over one shared link. Each shard has its own sending and its own receiving host. The
// protocol is the real one. The tools are reduced to their journal, from which a restarted shard continues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/scenario.hpp"

namespace udtx::sim {

struct FleetSetup {
    std::size_t hosts = 100;               ///< senders, and as many receivers; at most kMostHosts
    std::uint64_t bytes = 50'000'000'000;  ///< size of the dataset
    std::uint64_t core_bits_per_second = 100'000'000'000;
    std::uint64_t access_bits_per_second = 10'000'000'000;  ///< of each host
    Duration rtt = std::chrono::milliseconds(100);
    double queue_bdp = 0.5;                          ///< queue of the core link, in its bandwidth-delay products
    std::uint32_t mtu = 65'000;                      ///< bytes of UDP payload
    std::uint64_t window = 0;                        ///< bytes in flight of a shard's stream; 0: adapts to the link
    std::size_t deaths = 0;                          ///< hosts that die once, half of them receivers
    Duration back_after = std::chrono::seconds(18);  ///< an engine needs this long to replace a lost node
    std::uint64_t seed = 1;
};

struct FleetFigures {
    double seconds = 0;            ///< until every shard was complete
    double ideal_seconds = 0;      ///< lower bound: the slower of core and access links, deaths, one round trip
    double fairness = 0;           ///< Jain's index of the bytes that each shard had at half of `ideal_seconds`
    double slowest_over_mean = 0;  ///< completion time of the slowest shard over the mean completion time
    double last_percent_seconds = 0;
    double core_use = 0;                ///< part of the core link's rate that was used until the end
    std::uint64_t core_lost = 0;        ///< datagrams
    std::uint64_t sent_again = 0;       ///< bytes that had arrived before a death and were sent a second time
    std::uint64_t most_sent_again = 0;  ///< the largest `sent_again` of one shard
    std::size_t incomplete = 0;         ///< shards
};

class Fleet {
  public:
    /// Limit of senders, and of receivers: each host needs an address in a network of 256.
    static constexpr std::size_t kMostHosts = 120;
    /// A receiver journals whole multiples of this size. After a death it has lost the rest.
    static constexpr std::uint64_t kJournalBytes = 8U << 20U;

    explicit Fleet(const FleetSetup& setup);
    Fleet(const Fleet&) = delete;
    Fleet& operator=(const Fleet&) = delete;

    [[nodiscard]] FleetFigures run(Duration at_most);

  private:
    struct Shard {
        std::unique_ptr<SimHost> from;
        std::unique_ptr<SimHost> to;
        std::shared_ptr<Receiver> receiver;
        std::uint64_t bytes = 0;
        std::uint64_t proven = 0;  ///< bytes that the receiver's journal keeps from earlier connections
        Duration dies{};           ///< zero: never
        bool receiver_dies = false;
        bool dead = false;
        double bound_seconds = 0;  ///< earliest possible completion after a death; 0: no death yet
        double done_seconds = 0;   ///< 0: not yet
        std::uint64_t sent_again = 0;
        [[nodiscard]] std::uint64_t arrived() const { return proven + (receiver ? receiver->received() : 0); }
    };
    [[nodiscard]] std::unique_ptr<SimHost> host(std::size_t last);
    void connect_lines();
    void draw_deaths();
    void listen(Shard& shard);
    void connect_one(Shard& shard);
    void die(Shard& shard);
    void come_back(Shard& shard);
    /// Handles the deaths, restarts and completions that are due now. Measures fairness once, at half of the ideal
    /// time.
    void look(FleetFigures& figures);
    [[nodiscard]] double seconds() const { return to_seconds(events_.now() - kStart); }
    [[nodiscard]] double ideal() const;
    void sum_up(FleetFigures& figures) const;

    const FleetSetup setup_;
    TransportConfig config_;
    EventQueue events_;
    Network network_;
    Prng seeds_;
    Link* core_ = nullptr;
    std::vector<Shard> shards_;
    double half_ = 0;    // half of the ideal time, seconds
    double nearly_ = 0;  // when 99 % of the bytes had arrived, seconds; 0: not yet
    bool halved_ = false;
};

}  // namespace udtx::sim
