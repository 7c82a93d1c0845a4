#include "multipath/factory.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>

#include "multipath/dapb.hpp"
#include "multipath/eds.hpp"
#include "multipath/min_rtt.hpp"
#include "multipath/own_scheduler.hpp"
#include "multipath/round_robin.hpp"
#include "multipath/weighted.hpp"

namespace udtx {

namespace multipath {
namespace {

struct Entry {
    std::string_view name;
    std::unique_ptr<PathScheduler> (*make)();
};

template <class Scheduler>
std::unique_ptr<PathScheduler> make() {
    return std::make_unique<Scheduler>();
}

constexpr std::array kSchedulers{
    Entry{"eds", make<Eds>},   Entry{"minrtt", make<MinRtt>},     Entry{"rr", make<RoundRobin>},
    Entry{"dapb", make<Dapb>}, Entry{"weighted", make<Weighted>},
};

using Made = Result<std::unique_ptr<PathScheduler>>;

Made make_own(const SchedulerFactory& own) {
    try {
        if (auto made = own()) return Made(std::make_unique<OwnScheduler>(std::move(made)));
        return Error{ErrorCode::invalid_argument, "TransportConfig: scheduler_factory gave no scheduler"};
    } catch (const std::exception& failed) {
        return Error{ErrorCode::invalid_argument,
                     std::string("TransportConfig: scheduler_factory failed: ") + failed.what()};
    } catch (...) {
        return Error{ErrorCode::invalid_argument, "TransportConfig: scheduler_factory failed"};
    }
}

}  // namespace

Result<std::unique_ptr<PathScheduler>> make_scheduler(std::string_view name, const SchedulerFactory& own) {
    return own ? make_own(own) : make_path_scheduler(name);
}

}  // namespace multipath

Result<std::unique_ptr<PathScheduler>> make_path_scheduler(std::string_view name) {
    const auto found = std::ranges::find(multipath::kSchedulers, name, &multipath::Entry::name);
    if (found != multipath::kSchedulers.end()) return found->make();
    std::string message = "unknown scheduler '" + std::string(name) + "', known:";
    for (const auto& entry : multipath::kSchedulers) message.append(" ").append(entry.name);
    return Error{ErrorCode::invalid_argument, std::move(message)};
}

std::vector<std::string> path_scheduler_names() {
    std::vector<std::string> names;
    for (const auto& entry : multipath::kSchedulers) names.emplace_back(entry.name);
    return names;
}

}  // namespace udtx
