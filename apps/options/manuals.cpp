#include "options/manuals.hpp"

#include "options/manual_output.hpp"

namespace udtx::apps {
namespace {

const std::vector<ExitCode> kOfTransfers{ExitCode::ok,        ExitCode::usage,       ExitCode::network,
                                         ExitCode::file_io,   ExitCode::protocol,    ExitCode::superseded,
                                         ExitCode::partial,   ExitCode::timeout,     ExitCode::authentication,
                                         ExitCode::integrity, ExitCode::udp_blocked, ExitCode::interrupted};

const std::vector<Manual::Entry> kEnvironment{
    {"UDTX_NAME",
     "Sets the flag --name: UDTX_RATE sets --rate, UDTX_PSK_FILE sets --psk-file. A flag on the command "
     "line overrides the variable. The variable overrides the files."},
    {"XDG_CONFIG_HOME", "The directory of udtx/config, in place of ~/.config."},
    {"XDG_RUNTIME_DIR", "The directory of the control sockets, in place of /tmp/udtx-UID."},
    {"XDG_STATE_HOME", "The directory of udtx/jobs, in place of ~/.local/state: how the shards of each job ended."},
};

const std::vector<Manual::Entry> kNoSettings{
    {"UDTX_NAME", "Variables of this kind and the files of settings do not apply to this command."},
};

const Manual::Entry kUserFile{
    "~/.config/udtx/config",
    "Settings of the user. Each line holds the long name of a flag and its value. Lines at the top apply to every run. "
    "Lines after \"Host PATTERN\" apply to the hosts that match. HostName and Port give the address of such a host."};
const Manual::Entry kSystemFile{"/etc/udtx/config", "Settings of the machine, in the same form."};

Manual send_manual() {
    return {
        .synopses = {"SRC... [USER@]HOST:PATH", "SRC... udtx://HOST[:PORT]/[PATH]"},
        .description =
            {"Over ssh, udtx-send starts udtx-recv on HOST with a key for this transfer only. PATH works as in scp: an "
             "existing directory receives the sources, a new name becomes the name of the copy, and a name that ends "
             "in '/' is created as a directory.",
             "With udtx://, udtx-send connects to a udtx-recv that listens. SRC arrives as PATH/NAME below the "
             "directory of that receiver. \"SRC/\" sends the contents of SRC. The default port is 7011.",
             "With \"-\" as SRC, udtx-send sends its standard input. The last component of PATH is then the name of "
             "the file.",
             "The receiver verifies every file before the file gets its name. The same command continues a transfer "
             "that stopped: confirmed data is not sent again. If some SRC do not exist, udtx-send sends the others and "
             "ends with exit code 23."},
        .tasks = {{"Hosts and keys", {"psk-file", "identity", "pin", "ssh-port", "udp-port"}},
                  {"What to send", {"archive", "exclude", "overwrite", "by-hash", "delete", "dry-run"}},
                  {"How fast", {"rate", "policy", "path", "timeout"}},
                  {"What to see", {"verbose", "quiet", "json", "http", "receipt"}}},
        .commands = {{"udtx-send keygen FILE", "create a key (a source with this name is ./keygen)"},
                     {"udtx-send plan -N 8 SRC...", "divide a tree among several hosts"},
                     {"udtx-send doctor [HOST]", "find what slows transfers down, and how to fix it"},
                     {"udtx-send ctl", "list running transfers, change their rate"}},
        .examples = {{"udtx-send photos notes.txt user@host:inbox/", "Copy over ssh:"},
                     {"udtx-send --psk-file key photos udtx://host/inbox", "Copy to a server:"},
                     {"udtx-send -an --delete photos/ host:photos/", "List what a mirror would change:"},
                     {"tar c . | udtx-send --psk-file key - udtx://host/backup.tar", "Send a stream:"}},
        .exit_codes = kOfTransfers,
        .environment = kEnvironment,
        .files = {kUserFile, kSystemFile},
        .see_also = {"udtx-recv", "udtx-send-keygen", "udtx-send-plan", "udtx-send-doctor", "udtx-send-ctl"},
    };
}

Manual recv_manual() {
    return {
        .synopses = {"--listen [ADDR]:PORT --dir DIR", "--listen [ADDR]:PORT --one-off -", "[USER@]HOST:SRC... DEST",
                     "udtx://HOST[:PORT]/SRC... DEST"},
        .description =
            {"With --listen, udtx-recv serves any number of senders until it is stopped. With --one-off it serves one. "
             "Everything arrives below DIR. --allow-read lets clients fetch from DIR as well, and --authorized-keys "
             "gives each key its own rights. Port 0 selects a free port, and the first line on standard error names "
             "it.",
             "At HUP a server reads its keys again. At TERM it finishes its transfers, for at most the time of "
             "--drain, and new clients try again until --timeout. A second TERM or INT ends all transfers.",
             "With \"-\" in place of --dir, the data of one sender goes to standard output. The JSON object of --json "
             "then goes to standard error.",
             "Over ssh, udtx-recv starts udtx-send on HOST with a key for this transfer only. DEST works as in scp: an "
             "existing directory receives the sources, a new name becomes the name of the copy, and a name that ends "
             "in '/' is created as a directory. With \"-\" as DEST one file goes to standard output. Without "
             "DEST the sources are listed.",
             "With udtx://, udtx-recv fetches from a udtx-recv that listens. SRC is relative to the directory of that "
             "server."},
        .tasks = {{"Serve",
                   {"listen", "dir", "one-off", "psk-file", "identity", "authorized-keys", "allow-read", "allow-delete",
                    "max-rate", "min-free"}},
                  {"Fetch", {"pin", "udp-port", "archive", "delete", "dry-run", "rate"}},
                  {"What to see", {"verbose", "quiet", "json", "http"}}},
        .commands = {{"udtx-recv verify RECEIPT DIR", "compare a directory with a receipt"},
                     {"udtx-recv receipt merge OUT IN...", "merge the receipts of several hosts"},
                     {"udtx-recv clean DIR", "remove the temporary files of stopped transfers"},
                     {"udtx-recv doctor", "find what slows transfers down, and how to fix it"},
                     {"udtx-recv ctl", "list running transfers, change their rate"}},
        .examples = {{"udtx-recv --listen :7011 --dir /data --psk-file key --allow-read", "Serve a directory:"},
                     {"udtx-recv user@host:photos .", "Fetch over ssh:"},
                     {"udtx-recv --psk-file key udtx://host/photos .", "Fetch from a server:"}},
        .exit_codes = kOfTransfers,
        .environment = kEnvironment,
        .files = {kUserFile,
                  kSystemFile,
                  {"DIR/.udtx-*.part, DIR/.udtx-*.journal",
                   "Data of an unfinished transfer and the record of what is confirmed. The next run continues from "
                   "them. udtx-recv clean removes those that no transfer uses."}},
        .see_also = {"udtx-send", "udtx-recv-verify", "udtx-recv-receipt", "udtx-recv-clean", "udtx-recv-doctor",
                     "udtx-recv-ctl"},
    };
}

Manual keygen_manual() {
    return {
        .synopses = {"FILE"},
        .description = {"Creates a random key of 256 bits in FILE for both ends. Copy FILE to the other machine with a "
                        "secure tool such as scp.",
                        "With --identity it creates an Ed25519 key pair: the private key in FILE and the public key in "
                        "FILE.pub. Private files have mode 0600. An existing file is never overwritten."},
        .examples = {{"udtx-send keygen key", "Create a shared key:"},
                     {"udtx-send keygen --identity server", "Create a key pair, server and server.pub:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io, ExitCode::protocol},
        .environment = kNoSettings,
        .files = {{"FILE", "The key, or the private key of a pair: mode 0600."},
                  {"FILE.pub", "The public key of a pair."}},
        .see_also = {"udtx-send", "udtx-recv"},
    };
}

Manual plan_manual() {
    return {
        .synopses = {"-N COUNT SRC..."},
        .description =
            {"Prints a plan that divides the sources among COUNT shards of equal cost. Each shard runs with the same "
             "plan file and the same sources (\"SRC/\" is not \"SRC\").",
             "The plan says what each shard has. A shard that finds something else, for example because a mount is "
             "missing, sends it and exits with code 23. Give plan the same filters, names and link flags as the "
             "shards. A file of more than 8 MiB may be divided among shards."},
        .examples = {{"udtx-send plan -N 8 photos >plan", "Divide a tree among eight processes:"},
                     {"udtx-send --shard 0/8 --plan plan photos host:inbox/", "Send the first part:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io, ExitCode::partial},
        .environment = kNoSettings,
        .files = {{"FILE", "The plan: standard output of this command, the same file for all shards."}},
        .see_also = {"udtx-send"},
    };
}

Manual verify_manual() {
    return {
        .synopses = {"RECEIPT DIR"},
        .description =
            {"Compares each file below DIR with RECEIPT, block by block. --receipt wrote RECEIPT on either side of the "
             "transfer, and DIR is the destination of that transfer. Each difference is a line on standard output.",
             "verify does not compare modes, timestamps, owners, extended attributes, hard links, and names that are "
             "not in the receipt."},
        .examples = {{"udtx-recv verify receipt inbox", "Compare:"},
                     {"udtx-recv verify --repair-list list receipt inbox", "Write the names that differ to a list:"},
                     {"udtx-send -c -0 --files-from list photos/ host:inbox/",
                      "Send the blocks that differ once more:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io, ExitCode::integrity},
        .environment = kNoSettings,
        .files = {{"RECEIPT", "What --receipt wrote, or receipt merge."},
                  {"FILE", "Names for --repair-list that differ; each ends with NUL."}},
        .see_also = {"udtx-send", "udtx-recv", "udtx-recv-receipt"},
    };
}

Manual receipt_manual() {
    return {
        .synopses = {"merge OUT IN..."},
        .description =
            {"Merges the receipts of all shards of a job into the receipt OUT. The order of entries is that of their "
             "paths, so that every division of a job gives the same OUT. Hard links, and files with holes from an "
             "earlier run, are exceptions.",
             "OUT must be none of IN. It is replaced when all of IN are correct. Exit code 41 means that one of IN is "
             "damaged, belongs to another job or another run of it, or says that an entry was not delivered."},
        .examples = {{"udtx-recv receipt merge receipt receipt.*", "Merge the receipts of all shards:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io, ExitCode::integrity},
        .environment = kNoSettings,
        .files = {{"IN", "What --receipt of a shard wrote."}, {"OUT", "The receipt of the whole job."}},
        .see_also = {"udtx-recv", "udtx-recv-verify"},
    };
}

Manual clean_manual() {
    return {
        .synopses = {"DIR"},
        .description =
            {"Removes the temporary files and journals of this user in DIR and below (.udtx-*.part, .udtx-*.journal), "
             "and the files that shards of a job share (.udtx-*.job, .udtx-*.shards). Each removed name is a line on "
             "standard output.",
             "Files of a running transfer stay, and for 14 days those of a job that waits for the rest of its shards. "
             "A stopped transfer starts from the beginning after that."},
        .examples = {{"udtx-recv clean -n /data", "List what would be removed:"},
                     {"udtx-recv clean --older-than 7 /data", "Remove what is older than a week:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io},
        .environment = kNoSettings,
        .files = {{"DIR/.udtx-*",
                   "Temporary files, journals and files of jobs. Journals have no data of files in them."}},
        .see_also = {"udtx-recv"},
    };
}

Manual doctor_manual(bool connects) {
    Manual manual{
        .synopses = {""},
        .description = {"Measures this machine: socket buffers, segmentation and receive offload, timers, encryption "
                        "and the disk. A line that starts with FIX names the command that fixes the problem."},
        .examples = {{"udtx-recv doctor --dir /data", "Examine this machine and the disk of /data:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io},
        .environment = kNoSettings,
        .files = {{"DIR/.udtx-doctor-*", "A temporary file for the measurement of the disk, removed at the end."}},
        .see_also = {"udtx-send", "udtx-recv"},
    };
    if (!connects) return manual;
    manual.synopses = {"[[USER@]HOST[:DIR] | HOST:PORT]"};
    manual.exit_codes = {ExitCode::ok,         ExitCode::usage,   ExitCode::network,        ExitCode::file_io,
                         ExitCode::protocol,   ExitCode::timeout, ExitCode::authentication, ExitCode::udp_blocked,
                         ExitCode::interrupted};
    manual.description.emplace_back(
        "With [USER@]HOST it also examines that machine over ssh, and the path between both. With HOST:PORT or a URL "
        "it measures the path to the udtx-recv there, as --probe-only does.");
    manual.examples = {{"udtx-send doctor", "Examine this machine:"},
                       {"udtx-send doctor user@host", "Examine this machine, the other one and the path:"}};
    return manual;
}

Manual ctl_manual(bool sends) {
    return {
        .synopses = {"", "PID|SOCKET rate RATE|off|auto", "PID|SOCKET status"},
        .description =
            {"Without arguments it lists the running transfers of this user. If standard output is not a terminal, "
             "each transfer is one JSON object on a line.",
             "rate RATE changes the limit of a running transfer, rate off removes it, and rate auto restores the limit "
             "of its command line. For a udtx-recv that listens this is the limit of all senders together. status "
             "prints the state of the transfer as one JSON object. A transfer that fetches answers status only."},
        .examples = {{sends ? "udtx-send ctl" : "udtx-recv ctl", "List:"},
                     {sends ? "udtx-send ctl 4711 rate 100M" : "udtx-recv ctl 4711 rate 100M",
                      "Limit process 4711 to 100 Mbit/s:"}},
        .exit_codes = {ExitCode::ok, ExitCode::usage, ExitCode::file_io, ExitCode::protocol, ExitCode::timeout},
        .environment = {{"XDG_RUNTIME_DIR", "The directory of the control sockets, in place of /tmp/udtx-UID."}},
        .files = {{"$XDG_RUNTIME_DIR/udtx, /tmp/udtx-UID", "The control sockets of running transfers."}},
        .see_also = {"udtx-send", "udtx-recv"},
    };
}

Manual texts_of(std::string_view command) {
    if (command == "udtx-send") return send_manual();
    if (command == "udtx-recv") return recv_manual();
    const std::string_view word = command.substr(command.rfind(' ') + 1);
    if (word == "keygen") return keygen_manual();
    if (word == "plan") return plan_manual();
    if (word == "verify") return verify_manual();
    if (word == "receipt") return receipt_manual();
    if (word == "clean") return clean_manual();
    if (word == "doctor") return doctor_manual(command.starts_with("udtx-send"));
    return ctl_manual(command.starts_with("udtx-send"));
}

}  // namespace

Manual manual_of(std::string_view command) {
    Manual manual = texts_of(command);
    manual.output = output_of(command);
    return manual;
}

}  // namespace udtx::apps
