#include "transfer/landing/clear_way.hpp"

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

namespace {

Error in_the_way(const std::string& path, const char* how) {
    return {ErrorCode::refused, "a directory has the name of '" + escape_name(path) + "', and " + how};
}

}  // namespace

Result<void> clear_way(const ConfinedDir& root, const std::string& path, Eraser* eraser) {
    if (occupant_of(root, path) != Occupant::directory) return {};
    int error = 0;
    const UniqueFd directory = root.open_directory(path, error);
    const bool empty = directory && names_in(directory.get(), error).empty();
    if (error != 0) return io_error("cannot list", path, error);
    if (!empty && eraser == nullptr) {
        return in_the_way(path, "it is not empty: --delete replaces it, or remove it at the receiver");
    }
    if (!empty && !eraser->clear(path)) {
        return in_the_way(path, "some of its entries may not be deleted: remove it at the receiver");
    }
    return {};
}

}  // namespace udtx::transfer
