// A custom congestion controller: the window grows by one datagram each round trip and is halved after a loss.
#include <udtx/session.hpp>

#include <algorithm>
#include <iostream>

using namespace std::chrono_literals;

class Aimd final : public udtx::CongestionController {
  public:
    explicit Aimd(const udtx::CongestionOptions& options) : datagram_(options.datagram_bytes) {}
    void on_limits(const udtx::PathLimits& limits) override { datagram_ = limits.datagram_bytes; }
    void on_feedback(const udtx::CongestionFeedback& feedback) override {
        window_ += datagram_ * feedback.acked_bytes / window();
        if (feedback.lost.empty() || feedback.lost.back().number < halved_at_) return;
        window_ /= 2;  // at most once for all packets that were in flight together
        halved_at_ = feedback.largest_sent;
    }
    std::uint64_t window() const override { return std::max(window_, 2 * datagram_); }
    udtx::Rate pacing_rate() const override { return udtx::Rate::infinite(); }

  private:
    std::uint64_t datagram_, window_ = 10 * datagram_;  // bytes
    udtx::PacketNumber halved_at_ = 0;
};

int main() {
    udtx::TransportConfig config;
    config.congestion = "aimd";  // for reports
    config.congestion_factory = [](const auto& options) { return std::make_unique<Aimd>(options); };
    const auto credentials = udtx::Credentials::from_psk(std::array<std::byte, 32>{std::byte{42}});
    auto listener = udtx::Listener::bind("127.0.0.1:0", credentials);
    if (!listener) return 1;
    auto session = udtx::Session::connect("127.0.0.1", listener->local_address().port, credentials, config);
    auto stream = session ? session->open_stream() : session.error();
    if (!stream || !stream->write(std::vector<std::byte>(8'000'000), 10s) || !stream->finish(10s)) return 1;
    const auto stats = session->stats();
    if (stats) std::cout << stats->congestion << ", window " << stats->paths[0].window << " bytes\n";
    return stats && stats->congestion == "aimd" && stats->paths[0].window > 12000 ? 0 : 1;  // the window has grown
}
