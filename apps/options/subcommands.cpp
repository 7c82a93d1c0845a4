#include "options/subcommands.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "common/usage.hpp"

namespace udtx::apps {
namespace {

constexpr const char* kVerifyFooter =
    R"(RECEIPT was written by --receipt on either side; DIR is where that transfer's destination is now.
Each difference is a line on standard output. To mend it: udtx-recv verify --repair-list FILE RECEIPT DIR, then udtx-send -c
-0 --files-from FILE with the directory that has these names: only blocks that differ are sent. Not looked at: modes, times, owners and attributes, whether two names are
one file, and what the receipt does not name.

Exit codes: 0 all is as the receipt says, 1 usage, 11 something cannot be read, 41 something differs, or the receipt
itself is damaged.)";

constexpr const char* kReceiptFooter =
    R"(IN was written by --receipt of each shard, on either side. Entries are in the order of their paths: shards of any number
and one run without shards give the same file, which udtx-recv verify takes as any other. Not so where hard links were sent, or
where files with holes were kept from an earlier run. OUT is none of IN; it is replaced when all are right.

Exit codes: 0 done, 1 usage, 11 a file cannot be read or written, 41 one is damaged or not of this job, or says that something was
not delivered.)";

constexpr const char* kCleanFooter =
    R"(Journals and temporary files of this user (.udtx-*.journal, .udtx-*.part) are removed, and what the shards of a job share
(.udtx-*.job, .udtx-*.shards), each a line on standard output. What a transfer under way needs stays, and so does any file
that is not what its name says. A transfer that was to be continued begins anew then.

Exit codes: 0 done, 1 usage, 11 something cannot be read or removed.)";

constexpr const char* kPlanFooter =
    R"(Give the sources as for the transfer ("SRC/" is not "SRC"), write the plan to a file, and start each shard with that file:
udtx-send --shard 0/8 --plan FILE SRC... [user@]HOST:DIR/, or udtx://HOST:PORT/[subdir]; udtx-recv takes the same flags.
Whatever the tree has become since, each name belongs to one shard; only the shares may be less even. A file of more than
8 MiB may be cut.

Exit codes: 0 done, 1 usage, 11 a source cannot be read, 23 some of its entries cannot.)";

constexpr const char* kControlFooter =
    "%ctl                        list the running transfers of this user: who, which end, what, from where to where;\n"
    "                            one JSON object a line where standard output is no terminal\n"
    "%ctl PID|SOCKET rate RATE   change the cap of a running transfer (100M)\n"
    "%ctl PID|SOCKET rate off    no cap\n"
    "%ctl PID|SOCKET rate auto   the cap of its command line again\n"
    "%ctl PID|SOCKET status      how it goes, as one JSON object\n"
    "PID is that of udtx-send or udtx-recv; with udtx-recv --listen the cap is that of all senders together,\n"
    "and one that fetches answers status only.\n";

/// The footer names the tool that was asked.
std::string footer_of(const std::string& tool) {
    std::string text = kControlFooter;
    for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%')) text.replace(at, 1, tool + " ");
    return text;
}

/// A parser of its own, for the texts that name every flag.
template <class Command, class Define>
std::shared_ptr<const CLI::App> subcommand(Define define) {
    struct Both {
        Command command;
        CLI::App app;
    };
    const auto both = std::make_shared<Both>();
    define(both->app, both->command);
    return {both, &both->app};
}

}  // namespace

void define_keygen(CLI::App& app, KeygenCommand& command) {
    app.name("udtx-send keygen");
    app.description("Makes a key that both ends share, mode 0600; never overwrites.");
    use_house_style(app);
    app.add_flag("--identity", command.identity, "Make an Ed25519 key pair instead: FILE and FILE.pub");
    app.add_option("FILE", command.files, "Where to write the key")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<EarlyText> parse_keygen_command(std::vector<std::string> arguments, KeygenCommand& command) {
    CLI::App app;
    define_keygen(app, command);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (command.files.size() != 1) return usage("keygen takes one file: udtx-send keygen [--identity] FILE");
    command.file = command.files[0];
    return EarlyText();
}

void define_plan(CLI::App& app, PlanCommand& command) {
    app.name("udtx-send plan");
    app.description("Cuts a tree into parts of equal cost, for shards on many hosts, and prints where.");
    use_house_style(app);
    app.add_option("-N,--shards", command.shards, "How many parts, 1 to 4096")->type_name("COUNT")->required();
    app.add_option("ARGUMENTS", command.sources, "SRC...")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kPlanFooter);
}

Result<EarlyText> parse_plan_command(std::vector<std::string> arguments, PlanCommand& command) {
    CLI::App app;
    define_plan(app, command);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (command.sources.empty()) return usage("plan takes sources: udtx-send plan -N 8 SRC... >FILE");
    return EarlyText();
}

void define_verify(CLI::App& app, VerifyCommand& command) {
    app.name("udtx-recv verify");
    app.description("Compares a directory with the receipt of a transfer, block by block.");
    use_house_style(app);
    app.add_flag("--json", command.json, "Print one JSON object at the end");
    app.add_option("--repair-list", command.repair_list,
                   "Write the names of what differs to FILE, for udtx-send -c -0 --files-from FILE")
        ->type_name("FILE");
    app.add_option("ARGUMENTS", command.names, "RECEIPT DIR")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kVerifyFooter);
}

Result<EarlyText> parse_verify_command(std::vector<std::string> arguments, VerifyCommand& command) {
    CLI::App app;
    define_verify(app, command);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (command.names.size() != 2) return usage("verify takes a receipt and a directory: udtx-recv verify RECEIPT DIR");
    command.receipt = command.names[0];
    command.directory = command.names[1];
    return EarlyText();
}

void define_receipt(CLI::App& app, ReceiptCommand& command) {
    app.name("udtx-recv receipt");
    app.description("Makes one receipt, OUT, of those of all shards of a job.");
    use_house_style(app);
    app.add_option("ARGUMENTS", command.words, "merge OUT IN...")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kReceiptFooter);
}

Result<EarlyText> parse_receipt_command(std::vector<std::string> arguments, ReceiptCommand& command) {
    CLI::App app;
    define_receipt(app, command);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    const std::vector<std::string>& words = command.words;
    if (words.size() < 3 || words.front() != "merge" || words[1].empty()) {
        return usage("receipt takes a word and files: udtx-recv receipt merge OUT IN...");
    }
    command.output = words[1];
    command.inputs.assign(words.begin() + 2, words.end());
    return EarlyText();
}

void define_clean(CLI::App& app, CleanCommand& command) {
    app.name("udtx-recv clean");
    app.description("Removes what transfers that ended early left in a directory and below.");
    use_house_style(app);
    app.add_flag("-n,--dry-run", command.dry_run, "Only list what would be removed");
    app.add_option("--older-than", command.older_than, "Leave what was changed within so many days (default 0)")
        ->type_name("DAYS")
        ->check(CLI::Range(0, 36'500));
    app.add_flag("--json", command.json, "Print one JSON object at the end");
    app.add_option("ARGUMENTS", command.names, "DIR")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(kCleanFooter);
}

Result<EarlyText> parse_clean_command(std::vector<std::string> arguments, CleanCommand& command) {
    CLI::App app;
    define_clean(app, command);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (command.names.size() != 1) return usage("clean takes one directory: udtx-recv clean DIR");
    return EarlyText();
}

void define_doctor(CLI::App& app, DoctorCommand& command, bool dials) {
    app.name(dials ? "udtx-send doctor" : "udtx-recv doctor");
    app.description("Looks for what slows transfers down on this host, and says how to mend it.");
    use_house_style(app);
    app.add_option("--dir", command.directory, "Directory whose disk is measured (default: this one)")
        ->type_name("DIR");
    app.add_flag("--json", command.json, "Print one JSON object");
    if (!dials) return;
    app.add_option("--psk-file", command.psk_file, "As for a transfer")->type_name("FILE");
    app.add_option("--identity", command.identity, "As for a transfer")->type_name("FILE");
    app.add_option("--pin", command.pin, "As for a transfer")->type_name("KEY|FILE");
    app.add_option("-l,--rate", command.rate,
                   "Measure the path with up to so many bits a second (default: 5 % of what packet pairs show of it, "
                   "500 kbit/s to 5 Mbit/s)")
        ->type_name("RATE");
    command.ssh.add_to(app);
    app.add_option("HOST", command.hosts,
                   "[USER@]HOST[:DIR]: over ssh, what is wrong there and in between; HOST:PORT or a URL: measure the "
                   "path to the udtx-recv there, as --probe-only does")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Result<std::optional<std::string>> parse_doctor(std::vector<std::string> arguments, bool dials,
                                                DoctorCommand& command) {
    CLI::App app;
    define_doctor(app, command, dials);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    const std::vector<std::string>& hosts = command.hosts;
    if (hosts.size() > 1) return Error{ErrorCode::invalid_argument, "doctor takes one HOST at most"};
    if (!hosts.empty() && hosts.front().empty()) return Error{ErrorCode::invalid_argument, "HOST is an empty string"};
    if (!hosts.empty()) command.host = hosts.front();
    if (dials) {
        const auto understood = command.ssh.check();
        if (!understood) return with_short_name(app, understood.error());
    }
    const auto pass_on = [&command](const char* flag, const std::string& value) {
        if (!value.empty()) command.for_host.insert(command.for_host.end(), {flag, value});
    };
    pass_on("--psk-file", command.psk_file);
    pass_on("--identity", command.identity);
    pass_on("--pin", command.pin);
    pass_on("--rate", command.rate);
    return EarlyText();
}

void define_ctl(CLI::App& app, CtlCommand& command, const std::string& tool) {
    app.name(tool + " ctl");
    app.description("Lists this user's running transfers here, and changes the cap of one.");
    use_house_style(app);
    app.add_flag("--json", command.json, "List as JSON on a terminal, too");
    app.add_option("ARGUMENTS", command.words, "Nothing, or PID|SOCKET COMMAND")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(footer_of(tool));
}

Subcommands subcommands_of_send() {
    return {subcommand<KeygenCommand>(define_keygen), subcommand<PlanCommand>(define_plan),
            subcommand<DoctorCommand>([](CLI::App& app, DoctorCommand& c) { define_doctor(app, c, true); }),
            subcommand<CtlCommand>([](CLI::App& app, CtlCommand& c) { define_ctl(app, c, "udtx-send"); })};
}

Subcommands subcommands_of_recv() {
    return {subcommand<VerifyCommand>(define_verify), subcommand<ReceiptCommand>(define_receipt),
            subcommand<CleanCommand>(define_clean),
            subcommand<DoctorCommand>([](CLI::App& app, DoctorCommand& c) { define_doctor(app, c, false); }),
            subcommand<CtlCommand>([](CLI::App& app, CtlCommand& c) { define_ctl(app, c, "udtx-recv"); })};
}

}  // namespace udtx::apps
