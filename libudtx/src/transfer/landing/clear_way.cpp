#include "transfer/landing/clear_way.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/names.hpp"
#include "udtx/descriptor.hpp"

namespace udtx::transfer {

namespace {

Error in_the_way(const std::string& path, const std::string& how) {
    return {ErrorCode::refused, "a directory has the name of '" + escape_name(path) + "', and " + how};
}

int rename_entry(int parent, const std::string& from, const std::string& to) {
    return again([&] { return ::renameat(parent, from.c_str(), parent, to.c_str()); }) == 0 ? 0 : errno;
}

int swap_names(int parent, const std::string& one, const std::string& other) {
#if defined(__linux__) && defined(RENAME_EXCHANGE)
    return again([&] { return ::renameat2(parent, one.c_str(), parent, other.c_str(), RENAME_EXCHANGE); }) == 0 ? 0
                                                                                                                : errno;
#else
    return ENOSYS;
#endif
}

}  // namespace

Result<void> check_way(const ConfinedDir& root, const std::string& path, Eraser* eraser) {
    if (occupant_of(root, path) != Occupant::directory) return {};
    const auto stays = [&](const std::string& why) {
        return in_the_way(path, "it stays, because " + why + ": remove it at the receiver");
    };
    const SplitName split = split_leaf(path);
    int error = 0;
    const UniqueFd parent = root.open_directory(split.directory, error);
    if (parent && is_mount_point(parent.get(), split.leaf)) return stays("it is a mount point");
    if (eraser != nullptr) {
        const auto goes = eraser->may_clear(path);
        if (goes) return {};
        Error refusal = stays(goes.error().message);
        refusal.system_error = goes.error().system_error;
        return refusal;
    }
    const UniqueFd directory = root.open_directory(path, error);
    const bool empty = directory && names_in(directory.get(), error).empty();
    if (error != 0) return io_error("cannot list", path, error);
    if (empty) return {};
    return in_the_way(path, "it is not empty: --delete replaces it, or remove it at the receiver");
}

int replace_directory(int parent, const std::string& from, const std::string& to, const DeleteReplaced& remove) {
    std::string aside = from;
    int error = swap_names(parent, from, to);
    const bool exchanged = error == 0;
    if (error == EINVAL || error == ENOSYS) {
        aside = "." + from;
        error = rename_entry(parent, to, aside);
        if (error == 0) error = rename_entry(parent, from, to);
        if (error != 0) {
            static_cast<void>(rename_entry(parent, aside, to));
            return error;
        }
    }
    if (error != 0) return error;
    // After a power cut, the name must not lead to a directory that has lost its entries.
    error = sync_directory(parent);
    if (error == 0 && remove(parent, aside) != Cleared::nothing) return 0;
    if (exchanged) {
        static_cast<void>(swap_names(parent, from, to));
    } else if (rename_entry(parent, to, from) == 0) {
        static_cast<void>(rename_entry(parent, aside, to));
    }
    return error != 0 ? error : ENOTEMPTY;
}

}  // namespace udtx::transfer
