#include "base/page_block.hpp"

#include <new>

namespace udtx {
namespace {

constexpr std::align_val_t kPage{4096};

}  // namespace

void FreePageBlock::operator()(std::byte* block) const noexcept { ::operator delete[](block, kPage); }

PageBlock make_page_block(std::size_t bytes) {
    return PageBlock(static_cast<std::byte*>(::operator new[](bytes, kPage)));
}

}  // namespace udtx
