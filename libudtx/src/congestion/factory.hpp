// Controllers as a connection needs them: built-in or the application's own, with the policy and the coupling around.
#pragma once

#include <memory>
#include <string_view>

#include "congestion/coupling.hpp"
#include "udtx/congestion.hpp"

namespace udtx::congestion {

/// What only the library itself hands in.
struct Surroundings {
    Coupling coupling = Coupling::none;
    std::shared_ptr<CouplingGroup> group{};  ///< of the connection; null: a path by itself
    double cd_alpha = 0.3;                   ///< `cd`: congestion degrees below are no congestion ...
    double cd_beta = 0.7;                    ///< ... and above are a severe one
    bool udt_as_printed = false;             ///< `udt` and `cd`: UdtForm::printed
};

/// By `own`, or if that is empty the one called `name`. invalid_argument: there is no such name, or `own` gives none.
[[nodiscard]] Result<std::unique_ptr<CongestionController>> make_controller(std::string_view name,
                                                                            const CongestionFactory& own,
                                                                            const CongestionOptions& options,
                                                                            const Surroundings& around);

}  // namespace udtx::congestion
