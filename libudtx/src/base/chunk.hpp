// Page-aligned memory, into which the kernel copies files and datagrams. The plain allocator places a large block 16
// bytes after a page boundary. On some processors that makes such a copy three to six times slower
// (docs/lab/file-cost.md).
#pragma once

#include <cstddef>
#include <memory>

namespace udtx {

struct FreePageBlock {
    void operator()(std::byte* block) const noexcept;
};
using PageBlock = std::unique_ptr<std::byte[], FreePageBlock>;

/// The memory is uninitialised.
[[nodiscard]] PageBlock make_page_block(std::size_t bytes);

}  // namespace udtx
