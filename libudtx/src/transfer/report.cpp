#include "transfer/report.hpp"

namespace udtx::transfer {

std::string_view to_string(Phase phase) noexcept {
    switch (phase) {
        case Phase::connect:
            return "connect";
        case Phase::transfer:
            return "transfer";
        case Phase::flush:
            return "flush";
        case Phase::verify:
            return "verify";
        case Phase::done:
            return "done";
    }
    return "done";
}

}  // namespace udtx::transfer
