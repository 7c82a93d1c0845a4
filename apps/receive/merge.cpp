#include "receive/merge.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/descriptors.hpp"
#include "common/read_file.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/output.hpp"
#include "options/subcommands.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/output_file.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::apps {
namespace {

Error cannot_write(const std::string& path, const std::string& why) {
    return {ErrorCode::file_io, "cannot write '" + escape_for_terminal(path) + "': " + why};
}

/// As for --receipt, OUT may only replace a regular file, possibly through a link.
Result<OutputPlace> place_of(const std::string& path) {
    auto place = OutputPlace::find(path);
    if (!place) return cannot_write(path, place.error().message);
    struct stat st = {};
    const bool there = ::fstatat(place->directory.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (there && !S_ISREG(st.st_mode)) return cannot_write(path, "it is not a regular file; give OUT another name");
    return place;
}

/// Creates a new file beside `place`, under an unused name, because an input may have any name.
UniqueFd open_beside(const OutputPlace& place, std::string& name) {
    for (unsigned i = 0;; ++i) {
        name = place.name + ".udtx-merge" + (i == 0 ? "" : std::to_string(i));
        UniqueFd fd(again([&] {
            return ::openat(place.directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        }));
        if (fd || errno != EEXIST) return fd;
    }
}

/// Returns 0 or an errno. Some file systems do not support fsync(), which is not an error.
int sync_merged(int fd) {
    if (again([&] { return ::fsync(fd); }) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
}

/// The existing file stays until the new one is completely on the disk.
Result<void> replace_file(const std::string& path, const std::string& text) {
    const auto place = place_of(path);
    if (!place) return place.error();
    std::string fresh;
    UniqueFd fd = open_beside(*place, fresh);
    if (!fd) return cannot_write(path, std::strerror(errno));
    int error = write_all(fd.get(), text);
    if (error == 0) error = sync_merged(fd.get());
    struct stat st = {};
    if (error == 0 && ::fstat(fd.get(), &st) != 0) error = errno;
    if (error == 0 && static_cast<std::size_t>(st.st_size) != text.size()) error = EIO;  // the disk lost a part
    if (const int closing = fd.close(); error == 0) error = closing;
    const int at = place->directory.get();
    if (error == 0 && ::renameat(at, fresh.c_str(), at, place->name.c_str()) != 0) error = errno;
    if (error == 0) return {};
    ::unlinkat(at, fresh.c_str(), 0);
    return cannot_write(path, std::strerror(error));
}

/// True if OUT is also an input. Then that shard's receipt would be lost, and the merge could not be repeated.
bool is_input(const ReceiptCommand& command) {
    return std::ranges::any_of(command.inputs, [&](const std::string& input) {
        std::error_code missing;
        return std::filesystem::equivalent(command.output, input, missing) && !missing;
    });
}

}  // namespace

ExitCode run_receipt(Log& log, std::vector<std::string> arguments) {
    ReceiptCommand command;
    const auto parsed = parse_receipt_command(std::move(arguments), command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
    if (is_input(command)) {
        return finish_early(
            log, ExitCode::usage,
            "OUT '" + escape_for_terminal(command.output) + "' is one of the receipts; give it another name", false);
    }
    std::vector<transfer::NamedReceipt> receipts;
    for (const std::string& name : command.inputs) {
        auto text = read_file(name);
        if (!text) return finish_early(log, exit_code_for(text.error().code), text.error().message, false);
        receipts.push_back({escape_for_terminal(name), std::move(*text)});
    }
    const auto merged = transfer::merge_receipts(receipts);
    if (!merged) return finish_early(log, exit_code_for(merged.error().code), merged.error().message, false);
    if (const auto written = replace_file(command.output, merged->text); !written) {
        return finish_early(log, ExitCode::file_io, written.error().message, false);
    }
    log.info(format_count(receipts.size()) + (receipts.size() == 1 ? " receipt: " : " receipts: ") +
             format_count(merged->files) + (merged->files == 1 ? " file, " : " files, ") + format_bytes(merged->bytes));
    return ExitCode::ok;
}

}  // namespace udtx::apps
