#include "ground.hpp"

#include <fstream>
#include <iterator>
#include <string_view>

#include "push_lies.hpp"

namespace udtx::hostile {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kKept = "mine\n";
constexpr std::string_view kPart = ".udtx-00000000000000aa.part";
constexpr std::string_view kAnothers = "another's";

std::string content_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write(const fs::path& file, std::string_view content) { std::ofstream(file, std::ios::binary) << content; }

bool is_stray(const fs::path& path) { return path.filename().string().starts_with(".udtx-"); }

}  // namespace

void Ground::prepare() {
    fs::create_directories(place_ / "outside");
    fs::create_directories(target());
    for (const auto& entry : fs::directory_iterator(target())) fs::remove_all(entry.path());
    write(target() / "keep", kKept);
    write(target() / kPart, kAnothers);
    fs::create_directory_symlink("../outside", target() / "out");
    if (!fs::exists(place_ / "outside" / "canary")) write(place_ / "outside" / "canary", kCanary);
}

std::string Ground::harm() const {
    if (content_of(place_ / "outside" / "canary") != kCanary) return "the canary has changed";
    for (const auto& entry : fs::directory_iterator(place_ / "outside")) {
        if (entry.path().filename() != "canary") return "outside has " + entry.path().string();
    }
    for (const auto& entry : fs::directory_iterator(place_)) {
        const std::string name = entry.path().filename().string();
        if (name != "outside" && name != "target") return "beside the target is " + name;
    }
    if (content_of(target() / "keep") != kKept) return "what was here has changed";
    if (content_of(target() / kPart) != kAnothers) return "another's part has changed";
    for (const auto& entry : fs::recursive_directory_iterator(target())) {
        if (is_stray(entry.path())) continue;
        const fs::file_status status = entry.symlink_status();
        if (!fs::is_regular_file(status) && !fs::is_directory(status) && !fs::is_symlink(status)) {
            return "a special file: " + entry.path().string();
        }
        if (!fs::is_regular_file(status) || entry.path().filename() == "keep") continue;
        // All liars send this content, or announce a file that is empty or a hole.
        const std::string found = fs::file_size(entry.path()) > 100 ? std::string() : content_of(entry.path());
        if (!found.empty() && found != "evil\n" && found != "honest\n") {
            return "under its final name stands '" + found + "': " + entry.path().string();
        }
    }
    return {};
}

bool Ground::has_honest_file() const { return content_of(target() / "honest" / "file") == "honest\n"; }

}  // namespace udtx::hostile
