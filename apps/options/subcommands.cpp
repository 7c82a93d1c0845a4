#include "options/subcommands.hpp"

#include <memory>
#include <utility>

#include "options/commands.hpp"

namespace udtx::apps {

Subcommand::Subcommand(const std::string& name, const char* description) : app_(description, name) {
    use_house_style(app_);
    app_.footer(plain_text(manual_of(name)));
}

Result<void> Subcommand::check() { return count_ && words.size() != *count_ ? usage(misuse_) : Result<void>(); }

Result<EarlyText> Subcommand::parse(std::vector<std::string> arguments) {
    auto parsed = parse_arguments(app_, std::move(arguments));
    if (!parsed || parsed.value()) return parsed;
    auto checked = flags_.check();
    if (checked) checked = check();
    if (!checked) return with_short_name(app_, checked.error());
    return EarlyText();
}

KeygenCommand::KeygenCommand() : Subcommand("udtx-send keygen", "Creates a key for both ends, or a key pair.") {
    flags_.on("--identity", identity, "Create an Ed25519 key pair: FILE and FILE.pub");
    flags_.arguments("FILE", words, "File of the key");
    expect_words(1, "keygen takes one file: udtx-send keygen [--identity] FILE");
}

PlanCommand::PlanCommand()
    : Subcommand("udtx-send plan", "Divides a tree into parts of equal cost for shards on many hosts.") {
    flags_.text("-N,--shards", shards, "COUNT", "Number of parts, 1 to 4096")->required();
    flags_.on("-r,--recursive", tree.what.into_named, "As for the shards, with --files-from");
    tree.define_selecting(flags_);
    flags_.arguments("ARGUMENTS", words, "SRC...");
}

Result<void> PlanCommand::check() {
    if (words.empty()) return usage("plan takes sources: udtx-send plan -N 8 SRC... >FILE");
    return tree.check_selecting(flags_, words.size());
}

VerifyCommand::VerifyCommand()
    : Subcommand("udtx-recv verify", "Compares a directory with the receipt of a transfer, block by block.") {
    flags_.on("--json", json, "Print one JSON object at the end");
    flags_.text("--repair-list", repair_list, "FILE",
                "Write the names that differ to FILE, for udtx-send -c -0 --files-from FILE");
    flags_.arguments("ARGUMENTS", words, "RECEIPT DIR");
    expect_words(2, "verify takes a receipt and a directory: udtx-recv verify RECEIPT DIR");
}

ReceiptCommand::ReceiptCommand() : Subcommand("udtx-recv receipt", "Merges the receipts of all shards of a job.") {
    flags_.arguments("ARGUMENTS", words, "merge OUT IN...");
}

Result<void> ReceiptCommand::check() {
    if (words.size() > 2 && words.front() == "merge" && !words[1].empty()) return {};
    return usage("receipt takes a word and files: udtx-recv receipt merge OUT IN...");
}

CleanCommand::CleanCommand() : Subcommand("udtx-recv clean", "Removes the temporary files of stopped transfers.") {
    flags_.on("-n,--dry-run", dry_run, "List what would be removed; change nothing");
    flags_.text("--older-than", older_than, "DAYS", "Keep what changed within this many days (default 0)")
        ->check(CLI::Range(0, 36'500));
    flags_.on("--jobs", jobs, "Also remove jobs that wait for shards; then run all of their shards again");
    flags_.on("--json", json, "Print one JSON object at the end");
    flags_.arguments("ARGUMENTS", words, "DIR");
    expect_words(1, "clean takes one directory: udtx-recv clean DIR");
}

DoctorCommand::DoctorCommand(const std::string& tool)
    : Subcommand(tool + " doctor", "Finds what slows transfers down on this host, and prints how to fix it.") {
    flags_.text("--dir", directory, "DIR", "Directory whose disk is measured (default: the current one)");
    flags_.on("--json", json, "Print one JSON object");
    if (tool != "udtx-send") return;
    flags_.text("--psk-file", psk_file_, "FILE", "As for a transfer");
    flags_.text("--identity", identity_, "FILE", "As for a transfer");
    flags_.text("--pin", pin_, "KEY|FILE", "As for a transfer");
    flags_.text("-l,--rate", rate_, "RATE",
                "Maximum rate of the path measurement (default: 5 % of the rate that packet pairs show, 500 kbit/s to "
                "5 Mbit/s)");
    ssh.define(flags_);
    flags_.arguments("HOST", words,
                     "[USER@]HOST[:DIR]: examine that host over ssh, and the path to it; HOST:PORT or a URL: measure "
                     "the path to the udtx-recv there");
}

Result<void> DoctorCommand::check() {
    if (words.size() > 1) return usage("doctor takes one HOST at most");
    if (!words.empty() && words.front().empty()) return usage("HOST is an empty string");
    return {};
}

std::vector<std::string> DoctorCommand::for_host() const {
    std::vector<std::string> flags;
    for (const auto& [flag, value] : {std::pair("--psk-file", &psk_file_), std::pair("--identity", &identity_),
                                      std::pair("--pin", &pin_), std::pair("--rate", &rate_)}) {
        if (!value->empty()) flags.insert(flags.end(), {flag, *value});
    }
    return flags;
}

CtlCommand::CtlCommand(const std::string& tool)
    : Subcommand(tool + " ctl", "Lists the running transfers of this user, and changes the rate of one.") {
    flags_.on("--json", json, "Print JSON on a terminal, too");
    flags_.arguments("ARGUMENTS", words, "Nothing, or PID|SOCKET COMMAND");
}

namespace {

/// Makes a separate parser, for the texts that list every flag.
template <class Command, class... Name>
std::shared_ptr<const CLI::App> parser_of(Name... tool) {
    const auto command = std::make_shared<const Command>(tool...);
    return {command, &command->app()};
}

}  // namespace

Subcommands subcommands_of_send() {
    return {parser_of<KeygenCommand>(), parser_of<PlanCommand>(), parser_of<DoctorCommand>("udtx-send"),
            parser_of<CtlCommand>("udtx-send")};
}

Subcommands subcommands_of_recv() {
    return {parser_of<VerifyCommand>(), parser_of<ReceiptCommand>(), parser_of<CleanCommand>(),
            parser_of<DoctorCommand>("udtx-recv"), parser_of<CtlCommand>("udtx-recv")};
}

}  // namespace udtx::apps
