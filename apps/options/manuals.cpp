#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "options/commands.hpp"

namespace udtx::apps {

namespace {

using Fields = std::vector<Manual::Entry>;

Fields joined(std::initializer_list<Fields> parts) {
    Fields all;
    for (const Fields& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

// --- the last object (observe/final_report.cpp)

Fields final_counts() {
    return {
        {"event", "\"end\"."},
        {"status", "\"ok\", \"partial\" or \"error\"."},
        {"exit_code", "The exit code."},
        {"reason",
         "Name of the exit code: ok, usage, network, file_io, protocol, superseded, partial, timeout, "
         "authentication, integrity, udp_blocked or interrupted."},
        {"error", "The message that was printed, or null."},
        {"bytes", "Sizes of the delivered files, in bytes. Holes of sparse files count."},
        {"files", "Delivered files. Further names of a file (-H) count."},
        {"directories, symlinks", "Directories that were made or got other attributes, and delivered symbolic links."},
        {"unchanged, unchanged_directories", "Files and links that were equal already, and such directories."},
        {"skipped", "Files and links that exist and were not to be overwritten."},
        {"deleted", "Entries that --delete removed."},
        {"dry_run", "true: nothing was transferred (-n). The counts are those of a real run, or 0 after an error."},
        {"confirmed",
         "true: the counts are final. false: the receiver did not confirm them. It may have more, or there was no "
         "connection."},
        {"sent_bytes",
         "File data that arrived and was written, in bytes. Each byte counts once, also those of files "
         "that are not complete."},
        {"resumed_bytes", "Bytes that the receiver had from an earlier run or from an older version of a file."},
        {"failed_count", "Entries that were not delivered."},
        {"failed",
         "The first 1,000 of them: path, code (a name as in reason) and reason. path_hex is the path in "
         "hexadecimal if it is not UTF-8."},
        {"unset",
         "Properties that could not be set, one object for each kind: what (owner, mode, time, attributes or "
         "hard_link), count of entries, first (a path), first_hex if that is not UTF-8, and reason."},
        {"warnings", "At most 1,000 messages, for example about skipped special files."},
    };
}

Fields final_figures() {
    return {
        {"seconds", "Time from the first packet to the confirmation."},
        {"goodput_bps", "8 * sent_bytes / seconds, in bit/s."},
        {"sent_packets, retransmitted_packets, lost_packets",
         "Packets of the end that sends the data: all, those that carried data again, and those declared lost. At the "
         "receiver they are the sender's last report, or null. After a reconnect these, "
         "the next figures and paths describe the last connection."},
        {"rtt_ms, min_rtt_ms", "Smoothed and least round-trip time of the first path, in milliseconds."},
        {"mtr_bps",
         "Rate of the bottleneck link of the first path, in bit/s. 0: not measured. The end that sends "
         "data measures it; cubic does not."},
        {"datagram_bytes", "UDP payload of a full datagram, in bytes."},
        {"cc", "The congestion controller."},
        {"cipher", "The cipher of the packets, or an empty string."},
        {"streams", "Threads that process the packets of one connection (--threads)."},
        {"reconnects", "Connections that were lost and replaced."},
        {"transfers", "Transfers that this run served."},
        {"job", "After one shard of a job: what the receiver recorded at its end. Otherwise null."},
        {"job.run", "A random number in hexadecimal. All shards of one run of the job have the same."},
        {"job.shard, shards, done", "Number of this shard, number of shards, and how many have delivered everything."},
        {"job.waiting_files", "Files without their final name, because other shards have not sent their parts yet."},
        {"job.complete", "true: all shards are done, and all files have their final names."},
        {"limited_by",
         "The limit that held for most of the time, a name as in limits. null: there was no connection, or several "
         "transfers."},
        {"limits",
         "Share of the time, 0 to 1, of each limit: network, path_loss, rate_cap, sender_disk, input, "
         "receiver_disk, receive_window, sender_cpu, receiver_cpu, small_data, outage, elsewhere."},
        {"paths[].local, remote", "Addresses of a path."},
        {"paths[].carrier", "udp, tcp or ssh: what carries the datagrams of the path."},
        {"paths[].state", "probing, active, suspended or closed."},
        {"paths[].bytes", "Sender: acknowledged bytes of streams. Receiver: received bytes of UDP payload."},
        {"paths[].goodput_bps", "8 * bytes / seconds, in bit/s."},
        {"paths[].rtt_ms, mtr_bps", "As above, of this path."},
        {"paths[].loss", "Share of this end's packets that were lost, 0 to 1."},
        {"paths[].cd", "Congestion degree, 0 to 1."},
        {"paths[].blocked_s", "Seconds in which the path was suspended or left out by the scheduler of this end."},
        {"paths[].reinjected_bytes", "Bytes sent on this path because they were late on another one."},
        {"plan",
         "With -n: an array of the objects \"plan\" below, without event. --json-stream prints them one by one "
         "instead."},
        {"plan_complete", "With -n: false if the plan exceeds 256 MiB and was cut."},
    };
}

Manual::Output last_object(bool receives) {
    return {"The last object: --json, --json-stream",
            receives ? "Printed once at the end, also after an error. It goes to standard error if data goes to "
                       "standard output. A receiver that listens prints the sums of its transfers, also of seconds. "
                       "Its packets, figures and paths are those of the first transfer. After several transfers "
                       "limited_by is null and limits is empty."
                     : "Printed once at the end, also after an error.",
            joined({final_counts(), final_figures()})};
}

// --- each second (observe/observer.cpp)

Fields progress_fields() {
    return {
        {"event", "\"progress\"."},
        {"seconds", "Time since the start."},
        {"peer", "The other end. It is missing in the sum of several transfers."},
        {"phase",
         "connect, transfer, flush (the receiver has all bytes and writes them), verify (the last "
         "confirmation is missing), done, or outage (the other end does not answer)."},
        {"silent_s", "Seconds of the outage so far, otherwise 0."},
        {"bytes_done", "File data verified and written at the receiver, in bytes, as far as this end knows."},
        {"bytes_sent", "Sender: bytes given to the transport. Receiver: 0."},
        {"bytes_total", "Bytes of file data found so far, without holes."},
        {"files_done, files_total", "Files delivered, and files found so far."},
        {"totals_final", "true: all sources have been scanned."},
        {"resumed_bytes", "Bytes that the receiver has already."},
        {"rate_bps", "Rate of bytes_done over the last two seconds, in bit/s."},
        {"cap_bps", "The current rate limit in bit/s, or null."},
        {"limited_by", "The current limit, a name as in limits, or null."},
        {"paths[].id", "Number of the path."},
        {"paths[].local, remote, state, rtt_ms, loss, mtr_bps, cd", "As in the last object."},
        {"paths[].rate_bps", "Bytes that the path carried over the last two seconds, in bit/s."},
        {"paths[].window, in_flight", "Bytes that may be in flight, and that are."},
    };
}

Fields job_fields() {
    return {
        {"job", "Only at the receiver of a shard: what all shards of the job report."},
        {"job.name, shard, shards", "Name of the job in hexadecimal, number of this shard, and number of shards."},
        {"job.running, done, failed", "Shards that run, that delivered everything, and that failed or are silent."},
        {"job.bytes_done, bytes_total", "Bytes of all shards that have begun."},
        {"job.files_done", "Files and parts of files."},
        {"job.failures", "Entries that did not arrive."},
        {"job.rate_bps", "Rate of all running shards, in bit/s."},
        {"job.slowest", "The running shard that needs the most time."},
    };
}

Manual::Output progress_object(bool receives) {
    return {"Each second: --json-stream",
            receives
                ? "A receiver that serves several transfers at the same time prints sums of bytes, files, rate_bps "
                  "and cap_bps. Its seconds, bytes_sent and silent_s are 0, limited_by is null, and paths is empty."
                : "One object on a line.",
            receives ? joined({progress_fields(), job_fields()}) : progress_fields()};
}

// --- an entry of a dry run (observe/plan_listing.cpp)

Manual::Output plan_object() {
    return {"An entry of a dry run: -n with --json or --json-stream",
            "What a real run would do with one entry.",
            {{"event", "\"plan\", with --json-stream."},
             {"itemized", "The eleven letters of -n."},
             {"action", "send, update, make, attributes, exists, delete, or with -v none."},
             {"path", "The path at the destination. path_hex is its hexadecimal form if it is not UTF-8."},
             {"type", "file, directory, symlink or hard_link. A deleted entry: directory or other."},
             {"new", "true: it does not exist at the destination. Deleted entries lack this field and the next ones."},
             {"changes", "What differs from an existing entry: content, size, time, mode, owner, group, attributes."},
             {"size", "Bytes of a file."},
             {"target", "Of a link."}}};
}

// --- udtx-send --probe-only (send/probe.cpp)

Manual::Output probe_object() {
    return {"Measurement: --probe-only --json",
            "One object.",
            {{"event", "\"probe\"."},
             {"status, exit_code, reason, error", "As in the last object. status is ok or error."},
             {"handshake_ms", "Time of the handshake in milliseconds, or null."},
             {"reached_bps", "The rate that was reached, in bit/s, or null."},
             {"limited_by", "What limited it, a name as in limits, or null."},
             {"cipher, cc", "Cipher and congestion controller, or null."},
             {"buffer_advice", "How to enlarge the socket buffers of this end, or an empty string."},
             {"paths[].local, remote, mtr_bps, cd, loss", "As in the last object."},
             {"paths[].rtt_ms, min_rtt_ms, rtt_variation_ms",
              "Smoothed round-trip time, least one, and variation, in milliseconds."},
             {"paths[].available_bps", "mtr_bps less the sending rate, in bit/s."},
             {"paths[].datagram_bytes", "UDP payload of a full datagram, in bytes."},
             {"paths[].sent_packets", "Packets sent."}}};
}

// --- messages (common/log.cpp)

Manual::Output log_object() {
    return {"Messages: --log-format json",
            "One object on a line of standard error, and of the file of --log.",
            {{"time", "Local time with milliseconds and the offset from UTC: 2026-01-31T12:00:00.000+00:00."},
             {"level", "debug, info, warning or error."},
             {"program, pid", "Name and number of the process."},
             {"message", "The text."}}};
}

// --- ctl (control/control.cpp)

Manual::Output status_object(bool sends) {
    return {"The list and status",
            sends
                ? "The list has one object on a line for each transfer, status prints one. The first fields are those "
                  "of --json-stream (udtx-send(1))."
                : "The list has one object on a line for each transfer, status prints one. The first fields are those "
                  "of --json-stream (udtx-recv(1)).",
            {{"pid", "Number of the process. Only in the list."},
             {"program, user", "udtx-send or udtx-recv, and the user who runs it."},
             {"role", "sender, receiver or server."},
             {"port", "The UDP port on which it listens, or to which it connects. null before it is known."},
             {"sources", "The first 16 sources."},
             {"source_count", "Number of sources."},
             {"destination", "Where the data goes. A receiver: its directory."},
             {"file", "The file that moves now."},
             {"transfers[].who", "Only of a server, for its first 100 transfers: address and key of the peer."},
             {"transfers[].role", "sender or receiver: what the server is in this transfer."},
             {"transfers[].directory, file", "Its directory, and the file that moves now."},
             {"transfers[].progress", "An object of --json-stream."},
             {"transfer_count", "Number of transfers of a server."}}};
}

// --- verify (receive/commands.cpp), clean (receive/commands.cpp), doctor (doctor/doctor.cpp)

Manual::Output verify_object() {
    return {"--json",
            "One object on standard output. After an error that ends the check it is the last object of udtx-recv(1).",
            {{"exit_code", "The exit code."},
             {"entries, files", "Entries of the receipt, and files among them."},
             {"bytes", "Sizes of the files, in bytes."},
             {"different", "Entries that differ."},
             {"differences", "Their lines, as without --json."}}};
}

Manual::Output clean_object() {
    return {"--json",
            "One object on standard output. After an error that ends the run it is the last object of udtx-recv(1).",
            {{"removed", "Paths of the removed files."},
             {"exit_code", "The exit code."},
             {"dry_run", "true: nothing was removed (-n)."},
             {"bytes", "Size of the removed files on the disk, in bytes."},
             {"kept, failed",
              "Files that stay, because they are in use, too new or perhaps of another program, and files that could "
              "not "
              "be removed."}}};
}

Manual::Output doctor_object(bool connects) {
    Fields fields{{"host", "Array of findings on this machine."},
                  {"host[].good", "false: this slows transfers down."},
                  {"host[].what", "What was found."},
                  {"host[].remedy", "How to fix it, or an empty string."}};
    if (connects) {
        fields.insert(fields.end(),
                      {{"far", "With [USER@]HOST: the object of udtx-recv doctor there, or null."},
                       {"between", "With [USER@]HOST: array of findings on the path between both."},
                       {"path", "With a HOST of either kind: the object of --probe-only (udtx-send(1))."}});
    }
    return {"--json", "One object on standard output.", std::move(fields)};
}

/// `command`: as for manual_of(). Empty: the command prints no JSON, or its manual has no list.
std::vector<Manual::Output> output_of(std::string_view command) {
    if (command == "udtx-send") {
        return {last_object(false), progress_object(false), plan_object(), probe_object(), log_object()};
    }
    if (command == "udtx-recv") return {last_object(true), progress_object(true), plan_object(), log_object()};
    const bool sends = command.starts_with("udtx-send");
    const std::string_view word = command.substr(command.rfind(' ') + 1);
    if (word == "ctl") return {status_object(sends)};
    if (word == "verify") return {verify_object()};
    if (word == "clean") return {clean_object()};
    if (word == "doctor") return {doctor_object(sends)};
    return {};
}

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
    {"XDG_STATE_HOME",
     "The directory of udtx/jobs (how the shards of each job ended) and udtx/paths (what paths carried in the last ten "
     "minutes), in place of ~/.local/state."},
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
                     "udtx://HOST[:PORT]/SRC... DEST", "--relay [--listen [ADDR]:PORT]"},
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
             "server.",
             "With --relay, udtx-recv has no files. Two ends that no other host can connect to meet there with a code. "
             "It forwards their encrypted datagrams if they cannot reach each other. Open its port for UDP and TCP. "
             "TERM and INT end it with exit code 0."},
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
                     {"udtx-recv --psk-file key udtx://host/photos .", "Fetch from a server:"},
                     {"udtx-recv --relay --relay-rate 100M", "Help others to meet:"}},
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
