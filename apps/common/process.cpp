#include "common/process.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <iostream>

#include "common/units.hpp"

namespace udtx::apps {

void forbid_core_dumps() noexcept {
#ifdef NDEBUG
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
#endif
}

void print_line(const std::string& line) { std::cout << line << std::endl; }

int print_text(std::string_view text) {
    std::cout << text << std::flush;
    return std::cout ? 0 : 1;
}

bool wants_json(const std::vector<std::string>& arguments) {
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    return std::find(arguments.begin(), end, "--json") != end;
}

std::string describe_rate_cap(Rate rate) {
    return "rate cap: " + format_rate(rate) + " (" + format_byte_rate(rate) + ")";
}

}  // namespace udtx::apps
