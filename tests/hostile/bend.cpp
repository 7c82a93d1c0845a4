// bend HOW WHOLE: passes standard input on to standard output, and changes it after WHOLE bytes (bend.hpp).
#include "bend.hpp"

#include <unistd.h>

#include <array>
#include <string>

int main(int argc, char** argv) {
    using namespace udtx;
    if (argc != 3) test::die("usage: bend HOW WHOLE");
    hostile::Bend bend(argv[1], std::stoul(argv[2]));
    std::array<std::byte, 16384> block{};
    for (;;) {
        const ssize_t size = ::read(STDIN_FILENO, block.data(), block.size());
        if (size <= 0) return 0;
        const auto out = bend.pass(std::span(block).first(static_cast<std::size_t>(size)));
        if (!out) return 0;
        for (std::size_t at = 0; at < out->size();) {
            const ssize_t written = ::write(STDOUT_FILENO, out->data() + at, out->size() - at);
            if (written <= 0) return 0;
            at += static_cast<std::size_t>(written);
        }
    }
}
