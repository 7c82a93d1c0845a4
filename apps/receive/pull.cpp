#include "receive/receive.hpp"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/locations.hpp"
#include "common/process.hpp"
#include "connect/runner.hpp"
#include "ssh/bootstrap.hpp"
#include "udtx/transfer/resume.hpp"
#include "udtx/transfer/transfer.hpp"

namespace udtx::apps {
namespace {

/// The cap of this side applies to received data.
void cap_what_arrives(TransportConfig& config) {
    config.max_receive_rate = std::exchange(config.max_rate, Rate::infinite());
}

/// Identifies the destination. It is the same for each run of a command, so the sender recognises the transfer.
std::string identity_of(const RecvCommand& command) {
    std::error_code ignored;
    return std::filesystem::absolute(command.destination, ignored).lexically_normal().string();
}

std::uint64_t number_of(const RecvCommand& command) {
    if (!command.resumable()) return 0;
    const std::string identity = identity_of(command);
    const ShardOptions& shards = command.tree.shards;
    if (shards.shard) return shards.number(command.sources, identity);
    // Over ssh the paths are as typed, because this side does not know the remote home directory.
    if (command.remote) return transfer::transfer_number(command.remote->login(), "~", command.sources, identity);
    std::vector<std::string> sources;
    for (const std::string& path : command.sources) sources.push_back('/' + path);
    return transfer::transfer_number(authority(command.url), "/", sources, identity);
}

/// True if the destination has none of the files that will come. If the sources are patterns, their names are unknown.
bool expects_nothing_here(const RecvCommand& command) {
    bool patterns = command.tree.what.names.has_value();
    for (const std::string& source : command.sources) {
        patterns = patterns || source.find_first_of("*?[~") != std::string::npos;
    }
    return !command.streaming &&
           is_fresh(command.destination, patterns ? std::vector<std::string>() : names_of(command.sources),
                    number_of(command));
}

class Pull final : public TransferRun {
  public:
    Pull(const RecvCommand& command, const Run& run)
        : TransferRun(command, run, subject_of(command, run)), recv_(command) {}

  private:
    static Subject subject_of(const RecvCommand& command, const Run& run) {
        Subject subject{.end = DataEnd::receiver,
                        .congestion = command.common.congestion,
                        .program = "udtx-send",
                        .card = {.program = "udtx-recv", .role = "receiver"},
                        .print = JsonTicker::to_output(command.streaming ? &run.terminal : nullptr),
                        .destination = identity_of(command)};
        if (!command.remote) subject.card.port = command.url.port;
        Url source = command.url;
        subject.job = {.name = command.tree.shards.job, .sources = {}, .place = subject.destination};
        for (const std::string& path : command.sources) {
            source.path = path;
            subject.card.sources.push_back(command.remote ? command.remote->login() + ':' + path : to_text(source));
            subject.job.name += '\n' + path;
        }
        if (!command.streaming) subject.card.destination = seen_from_elsewhere(command.destination);
        return subject;
    }

    [[nodiscard]] transfer::Selection selection() const {
        transfer::Selection what = recv_.tree.selection(recv_.common);
        const ShardOptions& shards = recv_.tree.shards;
        if (shards.shard) what.shard = shards.of_job(recv_.sources, subject_.destination);
        return what;
    }

    [[nodiscard]] Result<BootstrapFields> request() const override {
        BootstrapFields fields;
        for (const std::string& source : recv_.sources) fields.add("source", source);
        fields.add("transfer", std::to_string(number_of(recv_)));
        if (expects_nothing_here(recv_)) fields.add("fresh", "1");
        if (recv_.streaming) fields.add("stream", "1");
        for (std::string& argument : recv_.for_sender()) fields.add("argument", std::move(argument));
        transfer::Selection what = selection();
        what.sources = {"."};  // ignored: the sources are fields of their own
        auto blocks = transfer::pack(what);
        if (!blocks) return blocks.error();
        // One field per block, because lines have a maximum length.
        for (std::string& block : *blocks) fields.add("selection", std::move(block));
        return fields;
    }

    [[nodiscard]] transfer::ReceiveOptions options() const {
        transfer::ReceiveOptions options;
        options.what = selection();
        options.what.sources = recv_.sources;
        if (job_) job_->describe(*options.what.shard);
        options.destination = recv_.destination;
        if (recv_.streaming) options.stream_fd = STDOUT_FILENO;
        options.resume = !recv_.common.no_resume;
        options.transfer = number_of(recv_);
        options.sender_started = recv_.remote.has_value();
        options.planned = plan_listing(run_.log, recv_.tree, recv_.common, true);
        options.receipt = receipt_;
        return options;
    }

    [[nodiscard]] Result<transfer::Transfer> start(const Route& route) override {
        TransportConfig config = recv_.common.transport();
        // Over ssh the sender was started with the cap; a server gets it in the handshake.
        cap_what_arrives(config);
        if (recv_.resumable()) recv_.common.leave_time_to_reconnect(config);
        auto connection = connection_over(recv_, route, std::move(config));
        if (!connection) return connection.error();
        transfer::ReceiveRequest request{.host = recv_.url.host,
                                         .credentials = route.credentials,
                                         .options = options(),
                                         .peer = std::move(*connection)};
        request.events.log = run_.log.sink();
        return transfer::start_receive(std::move(request));
    }

    /// As the sender reported over ssh. Empty if it sent no answer.
    [[nodiscard]] std::vector<transfer::FailedFile> missing(const Route& route,
                                                            const transfer::Transfer& transfer) const override {
        std::vector<transfer::FailedFile> files;
        if (!route.remote || !transfer.done() || transfer.cancelled()) return files;
        const auto answer = route.remote->await_answer();
        if (!answer || !answer->has_value()) return files;
        const std::vector<std::string> missing = (*answer)->all("missing");
        const std::vector<std::string> reasons = (*answer)->all("reason");
        for (std::size_t i = 0; i < missing.size() && i < reasons.size(); ++i) {
            files.push_back({missing[i], ErrorCode::file_io, "sender: " + reasons[i]});
        }
        return files;
    }

    const RecvCommand& recv_;
};

/// What the other side wants from this one.
Result<RequestedTransfer> understand(const BootstrapFields& fields) {
    const auto shape = parse_source_shape(fields.get("shape"));
    const auto transfer = fields.number("transfer");
    if (!shape && !fields.all("source").empty()) {
        return Error{ErrorCode::protocol, "udtx-recv answered, but a fetch needs udtx-send: correct --remote-bin"};
    }
    if (!shape || !transfer) return Error{ErrorCode::protocol, "the request over ssh does not say what arrives"};
    // Applies the flags that the sender's user set for this side, as if they had been typed here.
    std::vector<std::string> arguments = fields.all("argument");
    arguments.insert(arguments.end(), {"--config", "none", "--listen", ":0", "--one-off", "--dir", "."});
    RecvCommand command;
    const auto parsed = parse_recv_command(arguments, command);
    if (!parsed) return parsed.error();
    const std::string destination = expand_home(fields.get("destination"));
    RequestedTransfer requested{.options = command.common,
                                .config = command.common.transport(),
                                .end = DataEnd::receiver,
                                .card = {.program = "udtx-recv", .role = "receiver"}};
    cap_what_arrives(requested.config);
    const std::vector<std::string> names = fields.all("name");
    // Test before the destination is created.
    if (is_fresh(destination, names, *transfer)) requested.answer.add("fresh", "1");
    const bool dry_run = !fields.get("dry-run").empty();
    auto landing = find_landing(destination, *shape, *transfer, dry_run);
    if (!landing) return landing.error();
    const std::string host = host_of_ssh_client();
    for (const std::string& name : names) requested.card.sources.push_back(host + ':' + name);
    if (names.empty()) requested.card.sources.push_back(host);
    requested.card.destination = seen_from_elsewhere(destination.empty() ? "." : destination);
    const transfer::LandingOptions what{
        .directory = landing->directory,
        .rename = landing->rename,
        .resume = !command.common.no_resume,
        .dry_run = dry_run,
        .allow_erase = true,   // an ssh user could delete over ssh too ...
        .allow_set_id = true,  // ... and could set any mode
    };
    requested.await = [what](transfer::AwaitRequest await, bool /*again*/) {
        return transfer::await_sender(std::move(await), what);
    };
    return requested;
}

}  // namespace

FinalReport run_pull(const RecvCommand& command, const Run& run) { return Pull(command, run).run(); }

ExitCode receive_by_bootstrap(const std::vector<std::string>& arguments) {
    return serve_bootstrap(arguments, understand);
}

}  // namespace udtx::apps
