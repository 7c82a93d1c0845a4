#include "receive/merge.hpp"

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

/// Returns 0 or an errno. Some file systems do not support fsync(), which is not an error.
int sync_merged(int fd) {
    if (again([&] { return ::fsync(fd); }) == 0) return 0;
    return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
}

/// The existing file stays until the new one is completely on the disk.
Result<void> replace_file(const std::string& path, const std::string& text) {
    auto place = OutputPlace::find(path);
    auto file = place ? NewVersion::create(std::move(*place)) : Result<NewVersion>(place.error());
    if (!file && file.error().system_error == EINVAL) {
        return cannot_write(path, file.error().message + "; give OUT another name");
    }
    if (!file) return cannot_write(path, file.error().message);
    int error = write_all(file->fd(), text);
    if (error == 0) error = sync_merged(file->fd());
    if (error == 0) error = file->commit(text.size());
    return error == 0 ? Result<void>() : cannot_write(path, std::strerror(error));
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
