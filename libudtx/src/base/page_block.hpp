// Memory that begins a page, for what the kernel copies files and datagrams into. A large block of the plain allocator
// begins 16 bytes into one, which makes such a copy three to six times as slow on some processors
// (docs/lab/file-cost.md).
#pragma once

#include <cstddef>
#include <memory>

namespace udtx {

struct FreePageBlock {
    void operator()(std::byte* block) const noexcept;
};
using PageBlock = std::unique_ptr<std::byte[], FreePageBlock>;

/// Uninitialised.
[[nodiscard]] PageBlock make_page_block(std::size_t bytes);

}  // namespace udtx
