#include "send/push.hpp"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "common/locations.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "common/units.hpp"
#include "connect/runner.hpp"
#include "options/subcommands.hpp"
#include "ssh/bootstrap.hpp"
#include "udtx/descriptor.hpp"
#include "udtx/system.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/shard.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

/// The kind of an entry that is not a file, directory or link; null for those.
const char* special_kind(mode_t mode) noexcept {
    if (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode)) return nullptr;
    if (S_ISFIFO(mode)) return "FIFO";
    if (S_ISSOCK(mode)) return "socket";
    return "device";
}

std::optional<transfer::FailedFile> problem_with(const std::string& path) {
    const auto failed = [&](int error) {
        return transfer::FailedFile{
            .path = path, .reason = std::generic_category().message(error), .system_error = error};
    };
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return failed(errno);
    if (const char* kind = special_kind(info.st_mode); kind != nullptr) {
        return transfer::FailedFile{
            .path = path,
            .reason = std::string("it is a ") + kind + "; to send its data, make it the standard input of udtx-send -"};
    }
    // A link is sent as a link, so its target may be missing.
    if (S_ISLNK(info.st_mode)) return std::nullopt;
    const int wanted = S_ISDIR(info.st_mode) ? R_OK | X_OK : R_OK;
    if (::access(path.c_str(), wanted) != 0) return failed(errno);
    return std::nullopt;
}

struct CheckedSources {
    std::vector<std::string> usable;  ///< "dir/" becomes "dir/.", which means its contents
    std::vector<transfer::FailedFile> failed;
};
CheckedSources check_sources(const std::vector<std::string>& sources) {
    CheckedSources checked;
    for (const std::string& source : sources) {
        if (source == "-") {
            checked.usable.push_back(source);
        } else if (auto problem = problem_with(source)) {
            checked.failed.push_back(std::move(*problem));
        } else {
            checked.usable.push_back(source.ends_with('/') ? source + "." : source);
        }
    }
    return checked;
}

/// Identifies the transfer. The number is the same for each run of a command; 0: the transfer cannot be continued.
/// `where`: the destination as typed, with the host if the path alone does not identify it.
std::uint64_t number_of(const SendCommand& command, const std::vector<std::string>& sources, const std::string& where) {
    if (!command.resumable()) return 0;
    const ShardOptions& shards = command.tree.shards;
    return shards.shard ? shards.number(command.sources, where) : transfer::transfer_number(sources, where);
}

/// `where` is the destination, which the receiver checks.
transfer::SendOptions send_options(const SendCommand& command, std::vector<std::string> sources,
                                   const std::string& where) {
    transfer::SendOptions options;
    options.transfer = number_of(command, sources, where);
    options.what = command.tree.selection(command.common);
    if (command.tree.shards.shard) options.what.shard = command.tree.shards.of_job(command.sources, where);
    options.what.sources = std::move(sources);
    options.destination = where;
    options.resume = command.resumable();
    return options;
}

/// The destination as typed. It identifies repeated runs of the same command.
std::string where_of(const SendCommand& command) {
    return command.remote ? command.remote->login() + ':' + command.remote->path : command.url.path;
}

class Push final : public TransferRun {
  public:
    Push(const SendCommand& command, const Run& run, const CheckedSources& sources)
        : TransferRun(command, run, subject_of(command)), send_(command), sources_(sources) {}

  private:
    static Subject subject_of(const SendCommand& command) {
        TransferCard card{.program = "udtx-send", .role = "sender"};
        for (const std::string& source : command.sources) card.sources.push_back(seen_from_elsewhere(source));
        if (!command.remote) card.port = command.url.port;
        card.destination = command.remote ? where_of(command) : to_text(command.url);
        return {.end = DataEnd::sender,
                .congestion = command.congestion_in_use(),
                .program = "udtx-recv",
                .card = std::move(card),
                .print = JsonTicker::to_output(),
                .job = {.name = command.tree.shards.job,
                        .sources = command.sources,
                        .place = command.remote ? command.remote->path : command.url.path},
                .destination = where_of(command)};
    }

    [[nodiscard]] Result<BootstrapFields> request() const override {
        BootstrapFields fields;
        // The shape follows from the typed sources, although some may be missing.
        const SourceShape shape = send_.sources.size() == 1 ? shape_of(sources_.usable) : SourceShape::several;
        fields.add("shape", std::string(to_string(shape)));
        fields.add("destination", send_.remote->path);
        fields.add("transfer", std::to_string(number_of(send_, sources_.usable, where_of(send_))));
        if (send_.tree.what.dry_run) fields.add("dry-run", "1");
        if (!send_.tree.what.names) {
            for (std::string& name : names_of(sources_.usable)) fields.add("name", std::move(name));
        }
        for (std::string& argument : send_.common.for_other_side()) fields.add("argument", std::move(argument));
        return fields;
    }

    [[nodiscard]] transfer::SendOptions options() const {
        transfer::SendOptions options = send_options(send_, sources_.usable, where_of(send_));
        if (send_.remote) {
            // The receiver was started for this destination. A stream still needs its file name there.
            const std::string& path = send_.remote->path;
            options.destination = send_.streaming ? path.substr(path.rfind('/') + 1) : std::string();
        }
        if (job_) job_->describe(*options.what.shard);
        options.planned = plan_listing(run_.log, send_.tree, send_.common, false);
        options.missing = sources_.failed;
        if (options.what.erase && !sources_.failed.empty()) {
            run_.log.warn("--delete: nothing is deleted, because not all sources can be read");
            options.what.erase = false;
        }
        if (send_.resumable() && !send_.tree.what.dry_run) options.sent = sent_;
        options.receipt = receipt_;
        return options;
    }

    [[nodiscard]] Result<transfer::Transfer> start(const Route& route) override {
        const Rate cap = observers_->first_cap(monotonic_now());
        if (cap != send_.common.rate) run_.log.info(describe_rate_cap(cap));
        TransportConfig config = send_.transport();
        // The schedule or the host's share may put the cap below --min-rate. The connection would be refused with such
        // a rate.
        config.max_rate = std::max(cap, config.min_rate);
        auto connection = connection_over(send_, route, std::move(config));
        if (!connection) return connection.error();
        transfer::SendRequest request{.host = send_.url.host,
                                      .credentials = route.credentials,
                                      .options = options(),
                                      .peer = std::move(*connection)};
        request.events.log = run_.log.sink();
        auto transfer = transfer::start_send(std::move(request));
        if (transfer && cap < send_.common.min_rate) transfer->set_max_rate(cap);
        return transfer;
    }

    [[nodiscard]] std::vector<transfer::FailedFile> missing(const Route& /*route*/,
                                                            const transfer::Transfer& /*transfer*/) const override {
        return sources_.failed;
    }

    const SendCommand& send_;
    const CheckedSources& sources_;
    const transfer::SentFiles sent_;  // by all connections
};

}  // namespace

FinalReport run_push(const SendCommand& command, const Run& run) {
    CheckedSources sources = check_sources(command.sources);
    const bool only_one = command.sources.size() == 1;  // then the error line reports it
    for (const auto& file : sources.failed) {
        if (!only_one) run.log.warn("cannot send " + describe(file));
    }
    if (!sources.usable.empty()) return Push(command, run, sources).run();
    const transfer::FailedFile& first = sources.failed.front();
    FinalReport report =
        never_began(command.common, only_one ? Error{first.code, "cannot send " + describe(first), first.system_error}
                                             : Error{ErrorCode::file_io, "no source can be read"});
    report.outcome.failed_count = sources.failed.size();
    report.outcome.failed = std::move(sources.failed);
    return report;
}

namespace {

/// What the other side wants from this one.
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
        return failed_call(ErrorCode::file_io, usable.front(), errno);
    }
    assignment.shape = SourceShape::stream;
    assignment.what.what.sources = {"-"};
    assignment.what.destination = "stream";
    assignment.what.stream_fd = assignment.stream.get();
    return {};
}

Result<void> understand(const BootstrapFields& fields, Assignment& assignment) {
    std::vector<std::string> sources;
    for (const std::string& typed : fields.all("source")) expand(typed, sources);
    if (sources.empty() && !fields.get("shape").empty()) {
        return Error{ErrorCode::protocol, "udtx-send answered, but a push needs udtx-recv: correct --remote-bin"};
    }
    if (sources.empty()) return Error{ErrorCode::protocol, "the request over ssh names no source"};
    // Applies the flags that the receiver's user set for this side, as if they had been typed here.
    std::vector<std::string> arguments = fields.all("argument");
    arguments.insert(arguments.end(), {"--config", "none", "--"});
    arguments.insert(arguments.end(), sources.begin(), sources.end());
    arguments.emplace_back("udtx://bootstrap/");
    const auto parsed = parse_send_command(arguments, assignment.command);
    if (!parsed) return parsed.error();

    assignment.sources = check_sources(assignment.command.sources);
    const std::vector<std::string>& usable = assignment.sources.usable;
    if (usable.empty()) {
        const transfer::FailedFile& first = assignment.sources.failed.front();
        return Error{first.code, first.path + ": " + first.reason, first.system_error};
    }
    const bool all = assignment.sources.failed.empty() && fields.all("source").size() == 1;
    assignment.shape = all ? shape_of(usable) : SourceShape::several;
    transfer::SendOptions& what = assignment.what;
    what = send_options(assignment.command, usable, {});
    auto selection = transfer::unpack_selection(fields.all("selection"));
    if (!selection) return selection.error();
    what.what = std::move(*selection);
    what.what.sources = usable;
    if (what.what.names) {
        if (usable.size() != 1) return Error{ErrorCode::file_io, "a list of names needs one directory"};
        assignment.shape = SourceShape::contents;
    }
    if (!fields.get("stream").empty()) {
        if (const auto opened = open_stream(assignment); !opened) return opened;
    }
    what.transfer = fields.number("transfer").value_or(0);
    what.resume = what.transfer != 0;
    what.fresh = !fields.get("fresh").empty();
    return {};
}

}  // namespace

ExitCode send_by_bootstrap(const std::vector<std::string>& arguments) {
    Assignment assignment;
    return serve_bootstrap(arguments, [&](const BootstrapFields& fields) -> Result<RequestedTransfer> {
        if (const auto understood = understand(fields, assignment); !understood) return understood.error();
        RequestedTransfer requested{.options = assignment.command.common,
                                    .config = assignment.command.transport(),
                                    .end = DataEnd::sender,
                                    .card = {.program = "udtx-send", .role = "sender"}};
        for (const transfer::FailedFile& file : assignment.sources.failed) {
            requested.answer.add("missing", file.path);
            requested.answer.add("reason", file.reason);
        }
        for (const std::string& source : assignment.sources.usable) {
            requested.card.sources.push_back(seen_from_elsewhere(source));
        }
        requested.card.destination = host_of_ssh_client();
        requested.await = [&](transfer::AwaitRequest await, bool again) {
            if (again) assignment.what.fresh = false;
            return transfer::await_receiver(std::move(await), assignment.what,
                                            {assignment.shape, assignment.sources.failed});
        };
        return requested;
    });
}

namespace {

std::string shares_of(const transfer::SplitPlan& plan) {
    const auto [least, most] = std::ranges::minmax(plan.shard_costs);
    return counted(plan.files, "file") + ", " + format_bytes(plan.bytes) + ", in " +
           counted(plan.split.count(), "shard") + " of " + format_bytes(least) + " to " + format_bytes(most) +
           ", each file counted as 64 KiB more";
}

}  // namespace

Result<void> split_sources(SendCommand& command, Log& log) {
    ShardOptions& shards = command.tree.shards;
    if (!shards.needs_split()) return {};
    transfer::Selection what = command.tree.selection(command.common);
    what.sources = command.sources;
    auto plan = transfer::make_split(what, shards.shard->count);
    if (!plan) return plan.error();
    log.detail(shares_of(*plan));
    shards.split = std::move(plan->split);
    return {};
}

ExitCode run_plan(Log& log, std::vector<std::string> arguments) {
    PlanCommand command;
    if (const auto code = stop_early(log, command.parse(std::move(arguments)), false)) return *code;
    transfer::Selection what = command.tree.what;
    what.sources = command.words;
    const auto plan = transfer::make_split(what, command.shards);
    if (!plan) return finish_early(log, plan.error(), false);
    for (const std::string& warning : plan->warnings) log.warn(escape_for_terminal(warning));
    for (const transfer::FailedFile& file : plan->failed) log.error(escape_for_terminal(file.reason));
    if (plan->failed_count > 0) {
        log.error("not counted: " + format_count(plan->failed_count) +
                  (plan->failed_count == 1 ? " entry" : " entries"));
    }
    log.info(shares_of(*plan));
    return print_output(log, plan->split.to_text(), plan->failed_count == 0 ? ExitCode::ok : ExitCode::partial);
}

}  // namespace udtx::apps
