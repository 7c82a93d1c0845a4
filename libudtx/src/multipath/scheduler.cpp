#include "multipath/scheduler.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "multipath/dapb.hpp"
#include "multipath/eds.hpp"
#include "multipath/min_rtt.hpp"
#include "multipath/round_robin.hpp"
#include "multipath/weighted.hpp"

namespace udtx::multipath {

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

}  // namespace

Result<std::unique_ptr<PathScheduler>> make_scheduler(std::string_view name) {
    const auto found =
        std::find_if(kSchedulers.begin(), kSchedulers.end(), [name](const Entry& entry) { return entry.name == name; });
    if (found != kSchedulers.end()) return found->make();
    std::string message = "unknown scheduler '" + std::string(name) + "', known:";
    for (const Entry& entry : kSchedulers) message.append(" ").append(entry.name);
    return Error{ErrorCode::invalid_argument, std::move(message)};
}

std::vector<std::string> scheduler_names() {
    std::vector<std::string> names;
    for (const Entry& entry : kSchedulers) names.emplace_back(entry.name);
    return names;
}

}  // namespace udtx::multipath
