#include <algorithm>
#include <array>

#include "congestion/bbr/bbr.hpp"
#include "congestion/coupled_share.hpp"
#include "congestion/policy.hpp"
#include "congestion/scavenger/scavenger.hpp"
#include "congestion/udt/congestion_degree.hpp"
#include "congestion/udt/udt.hpp"
#include "congestion/udtx/udtx.hpp"
#include "congestion/window/cubic.hpp"
#include "congestion/window/lia.hpp"
#include "udtx/congestion.hpp"

namespace udtx {

namespace {

using Maker = std::unique_ptr<CongestionController> (*)(const CongestionOptions&);

struct Entry {
    std::string_view name;
    Maker make;
};

template <class Controller>
std::unique_ptr<CongestionController> make(const CongestionOptions& options) {
    return std::make_unique<Controller>(options);
}

constexpr std::array kControllers{
    Entry{"udt", make<congestion::Udt>},
    Entry{"cd",
          [](const CongestionOptions& options) -> std::unique_ptr<CongestionController> {
              return std::make_unique<congestion::Udt>(
                  options, std::make_unique<congestion::CongestionDegreeMtr>(options.cd_alpha, options.cd_beta));
          }},
    Entry{"cubic", make<congestion::Cubic>},
    Entry{"udtx", make<congestion::Udtx>},
    Entry{"bbr", make<congestion::Bbr>},
    Entry{"lia", make<congestion::Lia>},
};

std::unique_ptr<CongestionController> make_named(const Entry& entry, const CongestionOptions& options) {
    if (options.policy == Policy::low) return make<congestion::Scavenger>(options);
    if (options.coupling == Coupling::lia) return make<congestion::Lia>(options);
    auto made = entry.make(options);
    const bool coupled = options.coupling == Coupling::detect && options.coupling_group && entry.name != "lia";
    if (!coupled) return made;
    return std::make_unique<congestion::CoupledShare>(std::move(made), options);
}

}  // namespace

Result<std::unique_ptr<CongestionController>> make_congestion_controller(std::string_view name,
                                                                         const CongestionOptions& options) {
    const auto found = std::find_if(kControllers.begin(), kControllers.end(),
                                    [name](const Entry& entry) { return entry.name == name; });
    if (found != kControllers.end()) {
        // `high` halves what the controller is told, caps included.
        CongestionOptions inner = options;
        if (options.policy == Policy::high) {
            inner.max_rate = options.max_rate * (1.0 / congestion::SeveralFlows::kFlows);
            inner.max_window = options.max_window / congestion::SeveralFlows::kFlows;
        }
        return congestion::apply_policy(make_named(*found, inner), options);
    }
    std::string message = "unknown congestion control '" + std::string(name) + "', known:";
    for (const Entry& entry : kControllers) message.append(" ").append(entry.name);
    return Error{ErrorCode::invalid_argument, std::move(message)};
}

std::vector<std::string> congestion_controller_names() {
    std::vector<std::string> names;
    for (const Entry& entry : kControllers) names.emplace_back(entry.name);
    return names;
}

}  // namespace udtx
