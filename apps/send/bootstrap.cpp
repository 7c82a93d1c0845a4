#include "send/bootstrap.hpp"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/locations.hpp"
#include "options/commands.hpp"
#include "send/sender.hpp"
#include "ssh/bootstrap.hpp"
#include "ssh/one_transfer.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

struct Assignment {
    SendCommand command;
    CheckedSources sources;
    SourceShape shape = SourceShape::several;
    UniqueFd stream;  ///< the one file that the other side writes to standard output
    transfer::SendOptions what;
};

/// Expands a typed source. An existing name stands for itself; other names are patterns as in a shell.
void expand(const std::string& typed, std::vector<std::string>& out) {
    const std::string path = typed.empty() ? "." : expand_home(typed);
    struct stat info {};
    glob_t found{};
    if (::lstat(path.c_str(), &info) != 0 && ::glob(path.c_str(), 0, nullptr, &found) == 0) {
        out.insert(out.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    } else {
        out.push_back(path);
    }
    ::globfree(&found);
    // "-" would mean this process's standard input.
    if (out.back() == "-") out.back() = "./-";
}

Result<void> open_stream(Assignment& assignment) {
    const std::vector<std::string>& usable = assignment.sources.usable;
    if (usable.size() != 1 || shape_of(usable) != SourceShape::file) {
        return Error{ErrorCode::file_io, "standard output takes one file"};
    }
    assignment.stream.reset(open_file(usable.front().c_str(), O_RDONLY | O_CLOEXEC));
    if (!assignment.stream) {
        return Error{ErrorCode::file_io, usable.front() + ": " + std::generic_category().message(errno)};
    }
    assignment.shape = SourceShape::stream;
    assignment.what.what.sources = {"-"};
    assignment.what.destination = "stream";
    assignment.what.stream_fd = assignment.stream.get();
    return {};
}

/// Applies the selection of the tree from the request.
Result<void> choose(const BootstrapFields& fields, Assignment& assignment) {
    auto selection = transfer::unpack_selection(fields.all("selection"));
    if (!selection) return selection.error();
    selection->sources = std::move(assignment.what.what.sources);
    assignment.what.what = std::move(*selection);
    if (!assignment.what.what.names) return {};
    if (assignment.what.what.sources.size() != 1) {
        return Error{ErrorCode::file_io, "a list of names needs one directory"};
    }
    assignment.shape = SourceShape::contents;
    return {};
}

Result<Assignment> understand(const BootstrapRequest& request) {
    Assignment assignment;
    std::vector<std::string> sources;
    for (const std::string& typed : request.fields.all("source")) expand(typed, sources);
    if (sources.empty() && !request.fields.get("shape").empty()) {
        return Error{ErrorCode::protocol, "udtx-send answered, but a push needs udtx-recv: correct --remote-bin"};
    }
    if (sources.empty()) return Error{ErrorCode::protocol, "the request over ssh names no source"};
    // Applies the flags that the receiver's user set for this side, as if they had been typed here.
    std::vector<std::string> arguments = request.fields.all("argument");
    arguments.insert(arguments.end(), {"--config", "none", "--"});
    arguments.insert(arguments.end(), sources.begin(), sources.end());
    arguments.emplace_back("udtx://bootstrap/");
    const auto parsed = parse_send_command(arguments, assignment.command);
    if (!parsed) return parsed.error();

    assignment.sources = check_sources(assignment.command.sources);
    if (assignment.sources.usable.empty()) {
        const transfer::FailedFile& first = assignment.sources.failed.front();
        return Error{ErrorCode::file_io, first.path + ": " + first.reason};
    }
    const bool all = assignment.sources.failed.empty() && request.fields.all("source").size() == 1;
    assignment.shape = all ? shape_of(assignment.sources.usable) : SourceShape::several;
    assignment.what = send_options(assignment.command, assignment.sources.usable, {});
    if (const auto chosen = choose(request.fields, assignment); !chosen) return chosen.error();
    if (!request.fields.get("stream").empty()) {
        if (const auto opened = open_stream(assignment); !opened) return opened.error();
    }
    assignment.what.transfer = request.fields.number("transfer").value_or(0);
    assignment.what.resume = assignment.what.transfer != 0;
    assignment.what.fresh = !request.fields.get("fresh").empty();
    return assignment;
}

BootstrapFields answer_for(const Assignment& assignment) {
    BootstrapFields answer;
    for (const transfer::FailedFile& file : assignment.sources.failed) {
        answer.add("missing", file.path);
        answer.add("reason", file.reason);
    }
    return answer;
}

}  // namespace

ExitCode send_by_bootstrap(const std::vector<std::string>& arguments) {
    SignalWaiter signals;
    BootstrapChannel channel(signals);
    auto socket = channel.open(arguments);
    if (!socket) return channel.refuse(socket.error());
    transfer::prepare();
    const auto request = channel.await();
    if (!request) return channel.refuse(request.error());
    auto assignment = understand(*request);
    if (!assignment) return channel.refuse(assignment.error());
    TransferCard card{.program = "udtx-send", .role = "sender"};
    for (const std::string& source : assignment->sources.usable) card.sources.push_back(seen_from_elsewhere(source));
    card.destination = host_of_ssh_client();
    return serve_requested({.request = *request,
                            .socket = std::move(*socket),
                            .options = assignment->command.common,
                            .config = assignment->command.transport(),
                            .end = DataEnd::sender,
                            .await =
                                [&](transfer::AwaitRequest await, bool again) {
                                    if (again) assignment->what.fresh = false;
                                    return transfer::await_receiver(std::move(await), assignment->what,
                                                                    {assignment->shape, assignment->sources.failed});
                                },
                            .answer = answer_for(*assignment),
                            .card = std::move(card)},
                           channel, signals);
}

}  // namespace udtx::apps
