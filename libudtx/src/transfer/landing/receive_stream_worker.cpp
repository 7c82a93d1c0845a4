#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/landing/receive_worker.hpp"
#include "transfer/names.hpp"
#include "transfer/resume/leftovers.hpp"

namespace udtx::transfer {

namespace {

void report_fatal(const WorkerLinks& links, const Error& error) {
    links.feedback.edit([&](ReceiveFeedback::News& news) { news.fatal = error; });
}

/// Size and digest of a stream as it passes.
class StreamCheck {
  public:
    explicit StreamCheck(const WorkerLinks& links, HashAlgorithm hash) : links_(links), hasher_(hash) {}

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    void passed(std::span<const std::byte> data) {
        hasher_.update(data);
        bytes_ += data.size();
        links_.report.edit([&](Progress& progress, Outcome& outcome) {
            progress.bytes_done = bytes_;
            outcome.sent_bytes = bytes_;
        });
        links_.feedback.edit([](ReceiveFeedback::News&) {});  // for DELIVERED
    }
    Result<Digest> compare(const message::Finish& finish) {
        const Digest digest = hasher_.finish();
        if (bytes_ != finish.data_bytes) return Error{ErrorCode::integrity, "the stream's size differs"};
        if (digest != finish.root) return Error{ErrorCode::integrity, "the stream's digest differs"};
        return digest;
    }
    void confirm(const Digest& digest, std::uint64_t files) {
        links_.report.edit([&](Progress& progress, Outcome& outcome) {
            outcome.files = progress.files_done = files;
            outcome.bytes = bytes_;
        });
        links_.feedback.edit([&](ReceiveFeedback::News& news) {
            news.confirm = message::Confirm{{files, 0, 0, bytes_, bytes_, 0}, digest};
        });
    }

  private:
    const WorkerLinks& links_;
    Hasher hasher_;
    std::uint64_t bytes_ = 0;
};

/// 0, an errno, or ECANCELED when the job was stopped meanwhile.
int write_to_pipe(int fd, std::span<const std::byte> bytes, bool may_block, const StopEvent& stop) {
    while (!bytes.empty()) {
        // A pipe that is ready takes PIPE_BUF bytes without blocking; more might wait for ever, beyond stop's reach.
        if (may_block && !stop.wait(fd, POLLOUT)) return ECANCELED;
        const std::size_t n = may_block ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size();
        const ssize_t written = ::write(fd, bytes.data(), n);
        if (written < 0 && errno != EINTR && errno != EAGAIN) return errno;
        if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return 0;
}

/// Feeds the queue's stream bytes to `write` until FINISH; nullopt when the queue was closed or a write failed before.
template <class Write>
std::optional<message::Finish> drain(const WorkerLinks& links, StreamCheck& check, Write&& write) {
    while (auto next = links.queue.pop()) {
        if (auto* finish = std::get_if<op::Finish>(&*next)) return finish->finish;
        const auto* bytes = std::get_if<op::StreamBytes>(&*next);
        if (bytes == nullptr) continue;
        const WorkClock::Shift shift(links.work);
        if (Result<void> written = write(bytes->data.bytes(), check.bytes()); !written) {
            report_fatal(links, written.error());
            return std::nullopt;
        }
        check.passed(bytes->data.bytes());
    }
    return std::nullopt;
}

Error is_directory(const std::string& name) {
    return {ErrorCode::refused,
            "'" + escape_name(name) + "' is a directory: name the file in it, " + escape_name(name) + "/NAME"};
}

Error stays(const std::string& name) {
    return {ErrorCode::refused,
            "'" + escape_name(name) + "' is there and stays (--overwrite never): send the stream to another name"};
}

}  // namespace

void run_probe_worker(const WorkerLinks& links) {
    while (links.queue.pop()) links.feedback.edit([](ReceiveFeedback::News&) {});  // room for more
}

void run_pipe_worker(int fd, const message::Offer& offer, const WorkerLinks& links) {
    struct stat st = {};
    const bool may_block = ::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode);
    StreamCheck check(links, offer.hash);
    const auto finish = drain(links, check, [&](std::span<const std::byte> bytes, std::uint64_t) -> Result<void> {
        const int failed = write_to_pipe(fd, bytes, may_block, links.stop);
        return failed == 0 ? Result<void>() : io_error("cannot write to", "-", failed);
    });
    if (!finish) return;
    if (auto digest = check.compare(*finish); digest) {
        check.confirm(*digest, 1);
    } else {
        report_fatal(links, digest.error());
    }
}

void run_file_worker(const ConfinedDir& base, const message::Offer& offer, const TreeRights& rights,
                     const WorkerLinks& links) {
    std::vector<std::string> directory = offer.destination;
    const std::string name = directory.back();
    directory.pop_back();
    auto root = base.make_subdirectory(join_path(directory));
    if (!root) return report_fatal(links, root.error());
    mark_in_use(*root);
    const bool keep_existing = basis_options(offer, rights).overwrite == Overwrite::never;
    // A pipe can be read but once: that it is not wanted is said before it is.
    const Occupant there = occupant_of(*root, name);
    if (there == Occupant::directory) return report_fatal(links, is_directory(name));
    if (keep_existing && there != Occupant::nothing) return report_fatal(links, stays(name));
    std::random_device device;
    FileAttributes attributes;
    auto created = TempFile::create(*root, name, device(), attributes);
    if (!created) return report_fatal(links, created.error());
    TempFile file = std::move(created).value();
    StreamCheck check(links, offer.hash);
    const auto finish = drain(links, check, [&](std::span<const std::byte> bytes, std::uint64_t offset) {
        return file.write(offset, bytes);
    });
    if (!finish) return file.remove(*root);
    auto digest = check.compare(*finish);
    if (!digest) {
        file.remove(*root);
        return report_fatal(links, digest.error());
    }
    std::vector<Commit> batch;
    batch.push_back(file.into_commit(0, check.bytes()));
    batch.back().keep_existing = keep_existing;
    const auto delivered = [&](const Commit& commit) {
        commit.skipped ? report_fatal(links, stays(name)) : check.confirm(*digest, 1);
    };
    commit_batch(*root, batch, {delivered, [&](const Commit&, const Error& error) { report_fatal(links, error); }});
}

}  // namespace udtx::transfer
