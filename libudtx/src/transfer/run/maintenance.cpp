#include <memory>
#include <span>
#include <utility>

#include "transfer/file/confined_dir.hpp"
#include "transfer/job/pull_request.hpp"
#include "transfer/receipt/receipt_check.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/resume/leftovers.hpp"
#include "udtx/transfer/receipt.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/selection.hpp"

namespace udtx::transfer {

Result<ReceiptFile> ReceiptFile::create(const std::string& path) {
    auto writer = ReceiptWriter::create(path);
    if (!writer) return writer.error();
    return ReceiptFile(std::move(*writer));
}

void ReceiptFile::discard() const noexcept { writer_->discard(); }

Result<CheckCounts> check_receipt(std::string_view receipt, const std::string& directory,
                                  const CheckCallbacks& callbacks) {
    const auto parsed = parse_receipt(receipt);
    if (!parsed) return parsed.error();
    const auto base = ConfinedDir::open(directory);
    if (!base) return base.error();
    return check_receipt(*parsed, *base, callbacks);
}

Result<CleanCounts> clean_leftovers(const std::string& directory, const CleanOptions& options,
                                    const CleanCallbacks& callbacks) {
    const auto base = ConfinedDir::open(directory);
    if (!base) return base.error();
    return clean_leftovers(*base, options, callbacks);
}

Result<std::vector<std::string>> pack(const Selection& selection) {
    PullWish wish;
    static_cast<Selection&>(wish.what) = selection;
    // A request needs a source. The side that unpacks this one knows the sources already.
    if (wish.what.sources.empty()) wish.what.sources = {"."};
    const auto messages = messages_of(wish);
    if (!messages) return messages.error();
    std::vector<std::string> blocks;
    for (const Message& message : *messages) {
        const std::vector<std::byte> bytes = bytes_of({message});
        blocks.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return blocks;
}

Result<Selection> unpack_selection(const std::vector<std::string>& blocks) {
    PullRequest request;
    for (const std::string& block : blocks) {
        const auto added = request.add_all(std::as_bytes(std::span(block.data(), block.size())));
        if (!added) return added.error();
    }
    if (!request.begun()) return Error{ErrorCode::protocol, "the selection names no source"};
    return Selection(request.take_wish().what);
}

}  // namespace udtx::transfer
