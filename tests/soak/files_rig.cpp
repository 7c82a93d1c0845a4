#include "soak/files_rig.hpp"

#include <filesystem>
#include <utility>

namespace udtx::soak {

FilesRig::FilesRig(sim::Scenario& scenario, const FilesSetup& setup) {
    if (setup.pull) {
        pull(scenario, setup);
    } else {
        push(scenario, setup);
    }
    scenario.client().pump();
}

void FilesRig::push(sim::Scenario& scenario, const FilesSetup& setup) {
    auto receive = transfer::ReceiveJob::create({.directory = setup.destination}, {}, [this] { received_ = true; });
    auto send = transfer::SendJob::create({.what = {.sources = {setup.source}, .preserve = true}},
                                          {.transfer = setup.transfer}, [this] { sent_ = true; });
    if (!receive || !send) return;
    receive_app_ = std::make_shared<sim::JobApp<transfer::ReceiveJob>>(std::move(receive).value());
    send_app_ = std::make_shared<sim::JobApp<transfer::SendJob>>(std::move(send).value());
    receiver_ = &receive_app_->job();
    sender_ = &send_app_->job();
    scenario.server().listen(1, [this](proto::Connection&) {
        reached_ = true;
        return receive_app_;
    });
    scenario.client().connect(scenario.server().address(), send_app_);
}

void FilesRig::pull(sim::Scenario& scenario, const FilesSetup& setup) {
    const std::filesystem::path source = setup.source;
    transfer::ServeOptions serving;
    serving.push = []() -> Result<transfer::LandingOptions> { return Error{ErrorCode::refused, "read only"}; };
    serving.pull =
        [base = source.parent_path().string()](const transfer::PullWish& wish) -> Result<transfer::ConfinedSources> {
        const auto directory = transfer::ConfinedDir::open(base);
        if (!directory) return directory.error();
        return transfer::open_sources_below(*directory, wish.what.sources, wish.stream);
    };
    transfer::PullWish wish;
    wish.what.sources = {source.filename().string()};
    wish.what.preserve = true;
    wish.transfer = setup.transfer;
    auto request = transfer::messages_of(wish);
    if (!request) return;
    transfer::ReceiveRun receiving;
    receiving.pull =
        transfer::PullOrder{std::move(*request), transfer::AskedFor(wish, transfer::AskedFor::Sources::names),
                            [to = setup.destination](const transfer::message::Sources&) {
                                return Result<transfer::LandingPlace>(transfer::LandingPlace{to, {}});
                            }};
    auto receive = transfer::ReceiveJob::create({}, std::move(receiving), [this] { received_ = true; });
    if (!receive) return;
    served_app_ = std::make_shared<sim::JobApp<transfer::ServedJob>>(
        std::make_unique<transfer::ServedJob>(std::move(serving), [this] { sent_ = true; }));
    receive_app_ = std::make_shared<sim::JobApp<transfer::ReceiveJob>>(std::move(receive).value());
    sender_ = &served_app_->job();
    receiver_ = &receive_app_->job();
    scenario.server().listen(1, [this](proto::Connection&) {
        reached_ = true;
        return served_app_;
    });
    scenario.client().connect(scenario.server().address(), receive_app_);
}

bool FilesRig::over() const noexcept {
    const bool listener_sends = served_app_ != nullptr;
    const bool there = listener_sends ? received_ : sent_;
    const bool listened = listener_sends ? sent_ : received_;
    return there && (listened || !reached_);
}

void FilesRig::abort_at(bool sender, Instant when) {
    if (!sender) {
        receive_app_->abort_at(when);
    } else if (send_app_) {
        send_app_->abort_at(when);
    } else {
        served_app_->abort_at(when);
    }
}

}  // namespace udtx::soak
