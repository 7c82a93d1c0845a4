#include "options/manual_output.hpp"

#include <initializer_list>
#include <utility>

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

// --- an entry of a dry run (observe/itemize.cpp)

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

// --- ctl (control/transfer_card.cpp)

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

// --- verify (receive/verify.cpp), clean (receive/clean.cpp), doctor (doctor/run_doctor.cpp)

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

}  // namespace

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

}  // namespace udtx::apps
