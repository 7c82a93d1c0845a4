#include "common/landing.hpp"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace udtx::apps {
namespace {

constexpr std::array<std::pair<SourceShape, std::string_view>, 5> kShapes{{{SourceShape::file, "file"},
                                                                           {SourceShape::directory, "directory"},
                                                                           {SourceShape::contents, "contents"},
                                                                           {SourceShape::several, "several"},
                                                                           {SourceShape::stream, "stream"}}};

}  // namespace

std::string_view to_string(SourceShape shape) noexcept {
    for (const auto& [known, name] : kShapes) {
        if (known == shape) return name;
    }
    return "several";
}

std::optional<SourceShape> parse_source_shape(std::string_view text) noexcept {
    for (const auto& [shape, name] : kShapes) {
        if (name == text) return shape;
    }
    return std::nullopt;
}

std::string expand_home(const std::string& path) {
    if (!path.starts_with('~')) return path;
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string user = path.substr(1, slash - 1);
    if (user.empty()) {
        const char* home = std::getenv("HOME");
        return home == nullptr ? path : home + path.substr(slash);
    }
    const passwd* entry = ::getpwnam(user.c_str());  // NOLINT(concurrency-mt-unsafe): before there are threads
    return entry == nullptr ? path : entry->pw_dir + path.substr(slash);
}

}  // namespace udtx::apps
