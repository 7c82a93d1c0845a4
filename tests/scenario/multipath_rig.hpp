// A transfer over several links: the client has one address per link, the server has one address for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/check.hpp"

namespace udtx::sim {

struct RigSetup {
    std::string name;
    std::vector<LinkParams> lines;  ///< each is the same in both directions; the first carries the handshake
    std::vector<proto::PathOptions> options{};
    std::uint64_t seed = 1;
    TransportConfig client{};
    TransportConfig server{};
    proto::Experiment client_experiment{};
    crypto::Provider* client_provider = nullptr;
    crypto::Provider* server_provider = nullptr;
    std::vector<std::size_t> v6{};  ///< indices of the links with IPv6 addresses
};

class MultipathRig {
  public:
    explicit MultipathRig(RigSetup setup) : setup_(std::move(setup)), s_(scenario_setup(setup_)) {
        up_.push_back(&s_.up());
        down_.push_back(&s_.down());
        for (std::size_t i = 1; i < setup_.lines.size(); ++i) add_line(i);
    }

    [[nodiscard]] Scenario& scenario() noexcept { return s_; }
    [[nodiscard]] Link& up(std::size_t line) { return *up_.at(line); }
    [[nodiscard]] Link& down(std::size_t line) { return *down_.at(line); }
    [[nodiscard]] const Address& client_address(std::size_t line) const { return clients_.at(line - 1); }
    [[nodiscard]] const Address& server_address(std::size_t line) const { return servers_.at(line - 1); }
    [[nodiscard]] Session& client() { return s_.client().session(); }
    [[nodiscard]] PathStats path(std::size_t line) { return stats_of(s_.client().session(), line); }
    [[nodiscard]] PathStats server_path(std::size_t line) { return stats_of(s_.server().session(), line); }

    /// Changes a link in both directions.
    void change(std::size_t line, const std::function<void(LinkParams&)>& edit) {
        up(line).change(edit);
        down(line).change(edit);
    }
    void cut(std::size_t line) {
        change(line, [](LinkParams& p) { p.loss = 1.0; });
    }
    void mend(std::size_t line) {
        change(line, [](LinkParams& p) { p.loss = 0.0; });
    }

    /// Connects, and opens a path over every link as soon as the connection is up.
    Bulk start(const BulkOptions& options) {
        Bulk bulk = start_bulk(s_, options);
        SIM_REQUIRE(s_, s_.run_until([&] { return client().connected_at.has_value(); }, std::chrono::seconds(20)));
        for (std::size_t i = 1; i < setup_.lines.size(); ++i) SIM_REQUIRE(s_, open(i).ok());
        s_.client().pump();
        return bulk;
    }
    Result<PathId> open(std::size_t line) {
        const auto options = line < setup_.options.size() ? setup_.options[line] : proto::PathOptions{};
        s_.note("opens a path over line " + std::to_string(line));
        return client().connection->add_path(s_.events().now(), client_address(line), server_address(line), options);
    }

  private:
    static ScenarioSetup scenario_setup(const RigSetup& setup) {
        ScenarioSetup s = symmetric(setup.name, setup.lines.at(0), setup.seed);
        s.client = setup.client;
        s.server = setup.server;
        s.client_experiment = setup.client_experiment;
        s.client_provider = setup.client_provider;
        s.server_provider = setup.server_provider;
        return s;
    }
    static PathStats stats_of(const Session& session, std::size_t line) {
        for (const PathStats& p : session.stats().paths) {
            if (p.id.value == line) return p;
        }
        return {};
    }
    [[nodiscard]] Address address(std::size_t line, std::uint8_t last, std::uint16_t port) const {
        Address a = make_address(last, port);
        for (const std::size_t v6 : setup_.v6) {
            if (v6 != line) continue;
            a.family = Address::Family::v6;
            a.ip = {0xfd};
            a.ip[15] = last;
        }
        return a;
    }
    void add_line(std::size_t i) {
        const auto number = static_cast<std::uint8_t>(i);
        clients_.push_back(address(i, static_cast<std::uint8_t>(100 + number), 40000));
        const bool v6 = address(i, 2, 7000).family == Address::Family::v6;
        servers_.push_back(v6 ? address(i, static_cast<std::uint8_t>(200 + number), 7000) : s_.server().address());
        up_.push_back(&s_.network().add_link("up " + std::to_string(i), setup_.lines[i]));
        down_.push_back(&s_.network().add_link("down " + std::to_string(i), setup_.lines[i]));
        s_.network().add_address(s_.client().node(), clients_.back());
        if (v6) s_.network().add_address(s_.server().node(), servers_.back());
        s_.network().connect(clients_.back(), servers_.back(), {up_.back()});
        s_.network().connect(servers_.back(), clients_.back(), {down_.back()});
    }

    RigSetup setup_;
    Scenario s_;
    std::vector<Link*> up_;
    std::vector<Link*> down_;
    std::vector<Address> clients_;
    std::vector<Address> servers_;
};

}  // namespace udtx::sim
