#include "options/subcommands.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "common/command_line.hpp"
#include "options/manuals.hpp"

namespace udtx::apps {
namespace {

/// Makes a separate parser, for the texts that list every flag.
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
    app.description("Creates a key for both ends, or a key pair.");
    use_house_style(app);
    app.add_flag("--identity", command.identity, "Create an Ed25519 key pair: FILE and FILE.pub");
    app.add_option("FILE", command.files, "File of the key")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(plain_text(manual_of(app.get_name())));
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
    app.description("Divides a tree into parts of equal cost for shards on many hosts.");
    use_house_style(app);
    app.add_option("-N,--shards", command.shards, "Number of parts, 1 to 4096")->type_name("COUNT")->required();
    app.add_flag("-r,--recursive", command.tree.recursive, "As for the shards, with --files-from");
    command.tree.add_selecting_to(app);
    app.add_option("ARGUMENTS", command.sources, "SRC...")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(plain_text(manual_of(app.get_name())));
}

Result<EarlyText> parse_plan_command(std::vector<std::string> arguments, PlanCommand& command) {
    CLI::App app;
    define_plan(app, command);
    auto parsed = parse_arguments(app, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    if (command.sources.empty()) return usage("plan takes sources: udtx-send plan -N 8 SRC... >FILE");
    if (const auto checked = command.tree.check_selecting(app, command.sources.size()); !checked) {
        return checked.error();
    }
    return EarlyText();
}

void define_verify(CLI::App& app, VerifyCommand& command) {
    app.name("udtx-recv verify");
    app.description("Compares a directory with the receipt of a transfer, block by block.");
    use_house_style(app);
    app.add_flag("--json", command.json, "Print one JSON object at the end");
    app.add_option("--repair-list", command.repair_list,
                   "Write the names that differ to FILE, for udtx-send -c -0 --files-from FILE")
        ->type_name("FILE");
    app.add_option("ARGUMENTS", command.names, "RECEIPT DIR")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(plain_text(manual_of(app.get_name())));
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
    app.description("Merges the receipts of all shards of a job.");
    use_house_style(app);
    app.add_option("ARGUMENTS", command.words, "merge OUT IN...")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(plain_text(manual_of(app.get_name())));
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
    app.description("Removes the temporary files of stopped transfers.");
    use_house_style(app);
    app.add_flag("-n,--dry-run", command.dry_run, "List what would be removed; change nothing");
    app.add_option("--older-than", command.older_than, "Keep what changed within this many days (default 0)")
        ->type_name("DAYS")
        ->check(CLI::Range(0, 36'500));
    app.add_flag("--jobs", command.jobs, "Also remove jobs that wait for shards; then run all of their shards again");
    app.add_flag("--json", command.json, "Print one JSON object at the end");
    app.add_option("ARGUMENTS", command.names, "DIR")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(plain_text(manual_of(app.get_name())));
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
    app.description("Finds what slows transfers down on this host, and prints how to fix it.");
    use_house_style(app);
    app.add_option("--dir", command.directory, "Directory whose disk is measured (default: the current one)")
        ->type_name("DIR");
    app.add_flag("--json", command.json, "Print one JSON object");
    app.footer(plain_text(manual_of(app.get_name())));
    if (!dials) return;
    app.add_option("--psk-file", command.psk_file, "As for a transfer")->type_name("FILE");
    app.add_option("--identity", command.identity, "As for a transfer")->type_name("FILE");
    app.add_option("--pin", command.pin, "As for a transfer")->type_name("KEY|FILE");
    app.add_option("-l,--rate", command.rate,
                   "Maximum rate of the path measurement (default: 5 % of the rate that packet pairs show, 500 kbit/s "
                   "to 5 Mbit/s)")
        ->type_name("RATE");
    command.ssh.add_to(app);
    app.add_option("HOST", command.hosts,
                   "[USER@]HOST[:DIR]: examine that host over ssh, and the path to it; HOST:PORT or a URL: measure the "
                   "path to the udtx-recv there")
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
    app.description("Lists the running transfers of this user, and changes the rate of one.");
    use_house_style(app);
    app.add_flag("--json", command.json, "Print JSON on a terminal, too");
    app.add_option("ARGUMENTS", command.words, "Nothing, or PID|SOCKET COMMAND")
        ->type_name("")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app.footer(plain_text(manual_of(app.get_name())));
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
