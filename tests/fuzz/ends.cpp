#include "fuzz/ends.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "fuzz/require.hpp"
#include "openssl/provider.hpp"

namespace udtx::fuzz {
namespace {

class PlainHandshake final : public crypto::Handshake {
  public:
    explicit PlainHandshake(std::span<const std::byte> parameters) : client_(true) { say(parameters); }
    explicit PlainHandshake(crypto::HandshakeFactory::SelectParameters select) : select_(std::move(select)) {}

    Result<void> provide(std::span<const std::byte> bytes) override {
        if (complete_) return {};
        if (answered_) {  // any further byte shows that the client has our parameters
            complete_ = !bytes.empty();
            return {};
        }
        heard_.insert(heard_.end(), bytes.begin(), bytes.end());
        if (heard_.size() < 2) return {};
        const std::size_t length =
            std::to_integer<std::size_t>(heard_[0]) << 8U | std::to_integer<std::size_t>(heard_[1]);
        if (heard_.size() < 2 + length) return {};
        heard_.erase(heard_.begin(), heard_.begin() + 2);
        heard_.resize(length);
        if (client_) {
            complete_ = true;
            output_.push_back(std::byte{1});
            return {};
        }
        const auto chosen = select_(heard_);
        if (!chosen) return chosen.error();
        say(*chosen);
        answered_ = true;
        return {};
    }
    std::vector<std::byte> take_output() override { return std::exchange(output_, {}); }
    [[nodiscard]] bool complete() const override { return complete_; }
    Result<crypto::Secret> export_secret(std::string_view /*label*/) override { return crypto::Secret{}; }
    [[nodiscard]] std::span<const std::byte> peer_parameters() const override { return heard_; }

  private:
    void say(std::span<const std::byte> parameters) {
        output_.push_back(static_cast<std::byte>(parameters.size() >> 8U));
        output_.push_back(static_cast<std::byte>(parameters.size() & 0xffU));
        output_.insert(output_.end(), parameters.begin(), parameters.end());
    }

    bool client_ = false;
    crypto::HandshakeFactory::SelectParameters select_;
    std::vector<std::byte> heard_;
    std::vector<std::byte> output_;
    bool answered_ = false;
    bool complete_ = false;
};

class PlainFactory final : public crypto::HandshakeFactory {
  public:
    std::unique_ptr<crypto::Handshake> make_client(std::vector<std::byte> parameters) override {
        return std::make_unique<PlainHandshake>(std::span<const std::byte>(parameters));
    }
    std::unique_ptr<crypto::Handshake> make_server(SelectParameters select) override {
        return std::make_unique<PlainHandshake>(std::move(select));
    }
};

sim::HostSetup setup_of(std::uint8_t number, crypto::Provider& provider) {
    sim::HostSetup setup;
    setup.name = "host";
    setup.address = address_of(number);
    setup.seed = number;
    setup.provider = &provider;
    setup.handshakes = &plain_handshakes();
    setup.reset_key.emplace();
    return setup;
}

}  // namespace

crypto::Provider& provider() {
    static openssl::OpensslProvider shared;
    return shared;
}

crypto::HandshakeFactory& plain_handshakes() {
    static PlainFactory shared;
    return shared;
}

Address address_of(std::uint8_t number, std::uint16_t port) {
    Address address{.family = Address::Family::v4, .port = port};
    address.ip = {10, 0, 0, number};
    return address;
}

Line::Datagram Line::take(std::size_t which) {
    const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(which % waiting_.size());
    Datagram datagram = std::move(*at);
    waiting_.erase(at);
    return datagram;
}

void Line::arrive(Datagram datagram) {
    const auto host = hosts_.find(datagram.to.ip[3]);
    if (host != hosts_.end()) host->second->take_in(std::move(datagram));
}

void Line::pass(Duration time) {
    const Instant until = now_ + time;
    while (!agenda_.empty() && agenda_.begin()->first <= until) {
        auto due = agenda_.extract(agenda_.begin());
        now_ = std::max(now_, due.key());
        due.mapped()();
    }
    now_ = until;
}

void Line::settle(Duration most, const std::function<bool()>& done) {
    constexpr int kMostSteps = 100'000;
    constexpr Duration kTravel = std::chrono::microseconds(50);
    const Instant until = now_ + most;
    for (int steps = 0; now_ < until && !(done && done()); ++steps) {
        require(steps < kMostSteps, "things come to rest");
        if (!waiting_.empty()) {
            pass(kTravel);
            if (!waiting_.empty()) arrive(take(0));
        } else {
            const Instant next = agenda_.empty() ? until : std::clamp(agenda_.begin()->first, now_, until);
            pass(next - now_);
        }
    }
}

LineHost::LineHost(Line& line, std::uint8_t number, crypto::Provider& provider)
    : ProtocolHost(setup_of(number, provider)), line_(line) {
    add_number(number);
}

void LineHost::send(const Address& from, const Address& to, std::span<const std::byte> datagram, proto::Ecn /*ecn*/) {
    if (line_.waiting_.size() >= Line::kMostWaiting) return;
    Address source = from.family == Address::Family::none ? address() : from;
    source.port = port_;
    line_.waiting_.push_back({source, to, {datagram.begin(), datagram.end()}});
}

void LineHost::set_alarm(Instant at, std::uint64_t tag) {
    call_at(at, [this, tag] { on_alarm(tag); });
}

}  // namespace udtx::fuzz
