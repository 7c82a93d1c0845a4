#include "common/read_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "common/text.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::apps {

Result<std::string> read_file(const std::string& path) {
    const auto failed = [&] {
        return Error{ErrorCode::file_io, "cannot read '" + escape_for_terminal(path) + "': " + std::strerror(errno)};
    };
    const UniqueFd file(open_file(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return failed();
    std::string text;
    std::array<char, 65536> part{};
    for (;;) {
        const ssize_t n = again([&] { return ::read(file.get(), part.data(), part.size()); });
        if (n < 0) return failed();  // EISDIR if it is a directory
        if (n == 0) return text;
        text.append(part.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace udtx::apps
