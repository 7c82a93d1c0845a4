#include "congestion/factory.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>

#include "congestion/bbr.hpp"
#include "congestion/coupling.hpp"
#include "congestion/policy.hpp"
#include "congestion/scavenger.hpp"
#include "congestion/udt.hpp"
#include "congestion/udtx/udtx.hpp"
#include "congestion/window.hpp"

namespace udtx {

namespace congestion {
namespace {

using Made = Result<std::unique_ptr<CongestionController>>;
using Maker = std::unique_ptr<CongestionController> (*)(const CongestionOptions&, const Surroundings&);

struct Entry {
    std::string_view name;
    Maker make;
};

template <class Controller>
std::unique_ptr<CongestionController> make(const CongestionOptions& options, const Surroundings& /*around*/) {
    return std::make_unique<Controller>(options);
}

UdtForm form_of(const Surroundings& around) { return around.udt_as_printed ? UdtForm::printed : UdtForm::v4_11; }

std::unique_ptr<CongestionController> make_udt(const CongestionOptions& options, const Surroundings& around) {
    return std::make_unique<Udt>(options, form_of(around));
}

std::unique_ptr<CongestionController> make_cd(const CongestionOptions& options, const Surroundings& around) {
    return std::make_unique<Udt>(options, std::make_unique<CongestionDegreeMtr>(around.cd_alpha, around.cd_beta),
                                 form_of(around));
}

std::unique_ptr<CongestionController> make_lia(const CongestionOptions& options, const Surroundings& around) {
    return std::make_unique<Lia>(options, around.group);
}

constexpr std::array kControllers{
    Entry{"udt", make_udt},    Entry{"cd", make_cd},    Entry{"cubic", make<Cubic>},
    Entry{"udtx", make<Udtx>}, Entry{"bbr", make<Bbr>}, Entry{"lia", make_lia},
};

Made make_own(const CongestionFactory& own, const CongestionOptions& options) {
    try {
        if (auto made = own(options)) return Made(std::make_unique<OwnController>(std::move(made)));
        return Error{ErrorCode::invalid_argument, "TransportConfig: congestion_factory gave no controller"};
    } catch (const std::exception& failed) {
        return Error{ErrorCode::invalid_argument,
                     std::string("TransportConfig: congestion_factory failed: ") + failed.what()};
    } catch (...) {
        return Error{ErrorCode::invalid_argument, "TransportConfig: congestion_factory failed"};
    }
}

Error unknown(std::string_view name) {
    std::string message = "unknown congestion control '" + std::string(name) + "', known:";
    for (const Entry& entry : kControllers) message.append(" ").append(entry.name);
    return {ErrorCode::invalid_argument, std::move(message)};
}

}  // namespace

Made make_controller(std::string_view name, const CongestionFactory& own, const CongestionOptions& options,
                     const Surroundings& around) {
    const auto named = std::ranges::find(kControllers, name, &Entry::name);
    if (!own && named == kControllers.end()) return unknown(name);
    if (options.policy == Policy::low) return apply_policy(make<Scavenger>(options, around), options);
    // `high` shows the controller half of everything, so its caps are halved, too.
    CongestionOptions inner = options;
    if (options.policy == Policy::high) {
        inner.max_rate = options.max_rate * (1.0 / SeveralFlows::kFlows);
        inner.max_window = options.max_window / SeveralFlows::kFlows;
    }
    if (around.coupling == Coupling::lia) return apply_policy(make_lia(inner, around), options);
    Made made = own ? make_own(own, inner) : Made(named->make(inner, around));
    if (!made) return made;
    std::unique_ptr<CongestionController> controller = std::move(made).value();
    const bool couples_itself = !own && named->make == make_lia;
    if (around.coupling == Coupling::detect && around.group && !couples_itself) {
        controller = std::make_unique<CoupledShare>(std::move(controller), around.group, inner.datagram_bytes);
    }
    return apply_policy(std::move(controller), options);
}

}  // namespace congestion

Result<std::unique_ptr<CongestionController>> make_congestion_controller(std::string_view name,
                                                                         const CongestionOptions& options) {
    return congestion::make_controller(name, {}, options, {});
}

std::vector<std::string> congestion_controller_names() {
    std::vector<std::string> names;
    for (const auto& entry : congestion::kControllers) names.emplace_back(entry.name);
    return names;
}

}  // namespace udtx
