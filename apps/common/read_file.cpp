#include "common/read_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "common/text.hpp"

namespace udtx::apps {

Result<std::string> read_file(const std::string& path) {
    const auto failed = [&] {
        return Error{ErrorCode::file_io, "cannot read '" + escape_for_terminal(path) + "': " + std::strerror(errno)};
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), &std::fclose);
    if (file == nullptr) return failed();
    std::string text;
    std::array<char, 65536> part{};
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), file.get())) text.append(part.data(), n);
    if (std::ferror(file.get()) != 0) return failed();  // of a directory: EISDIR
    return text;
}

}  // namespace udtx::apps
