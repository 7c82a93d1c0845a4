#include "receive/merge.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "common/read_file.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "observe/output.hpp"
#include "options/subcommands.hpp"
#include "udtx/transfer/receipt.hpp"

namespace udtx::apps {
namespace {

/// What stands there stays until all of the new one is written.
Result<void> replace_file(const std::string& path, const std::string& text) {
    const std::string fresh = path + ".new";
    std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    if (out && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
    const int error = errno;
    std::remove(fresh.c_str());
    return Error{ErrorCode::file_io, "cannot write '" + escape_for_terminal(path) + "': " + std::strerror(error)};
}

}  // namespace

ExitCode run_receipt(Log& log, std::vector<std::string> arguments) {
    ReceiptCommand command;
    const auto parsed = parse_receipt_command(std::move(arguments), command);
    if (!parsed) return finish_early(log, ExitCode::usage, parsed.error().message, false);
    if (parsed.value()) return print_output(log, **parsed, ExitCode::ok);
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
