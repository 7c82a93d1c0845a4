#include "transfer/source/pipe_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/occupant.hpp"
#include "transfer/file/pieces.hpp"
#include "transfer/names.hpp"

namespace udtx::transfer {

PipeReader::PipeReader(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker,
                       JobReport& report)
    : fd_(fd), name_(std::move(name)), hash_(hash), packer_(out, waker), waker_(waker), hasher_(hash), report_(report) {
    Begun begun;
    const off_t offset = ::lseek(fd, 0, SEEK_CUR);
    if (offset >= 0 && ::fstat(fd, &begun.st) == 0 && S_ISREG(begun.st.st_mode)) {
        begun.offset = static_cast<std::uint64_t>(offset);
        begun_ = begun;
    } else {
        widen_pipe(fd);
    }
}

DiskStep PipeReader::step() {
    if (again_) return read_again();
    const DiskSlice slice;
    for (;;) {
        if (packer_.closed()) return DiskStep::over();
        if (packer_.full()) return DiskStep::rest();
        if (slice.over()) return DiskStep::again();
        if (!StopEvent::ready(fd_, POLLIN)) {
            // A program that feeds the pipe slowly still expects its data to arrive.
            packer_.flush();
            if (!stop_.wait(fd_, POLLIN)) return DiskStep::over();
        }
        const std::span<std::byte> room = packer_.space();
        const ssize_t n = ::read(fd_, room.data(), room.size());
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n < 0) return fail(io_error("cannot read", name_, errno));
        if (n == 0) return end_of_input();
        const auto count = static_cast<std::size_t>(n);
        hasher_.update(room.first(count));
        packer_.advance(count);
        bytes_ += count;
        report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total = bytes_; });
    }
}

DiskStep PipeReader::end_of_input() {
    const Digest digest = hasher_.finish();
    if (!begun_) return finish(digest);
    struct stat now = {};
    if (::fstat(fd_, &now) != 0) return fail(io_error("cannot read", name_, errno));
    if (same_content(begun_->st, now)) return finish(digest);
    if (now.st_size < begun_->st.st_size) return changed();
    // It may have grown only.
    again_.emplace(SecondReading{digest, PieceHasher(hash_), Hasher(hash_), 0});
    return DiskStep::again();
}

DiskStep PipeReader::read_again() {
    SecondReading& again = *again_;
    const DiskSlice slice;
    while (again.done < bytes_) {
        if (packer_.closed()) return DiskStep::over();
        if (slice.over()) return DiskStep::again();
        const std::uint64_t length = std::min(bytes_ - again.done, kPieceBytes);
        if (!again.reader.add_to(again.hasher, fd_, begun_->offset + again.done, length)) {
            const int error = again.reader.error();
            return error == ENODATA ? changed() : fail(io_error("cannot read", name_, error));
        }
        again.done += length;
    }
    return again.hasher.finish() == again.first ? finish(again.first) : changed();
}

DiskStep PipeReader::changed() {
    return fail(
        {ErrorCode::partial, "'" + escape_name(name_) + "' changed while it was read: send it again or copy it first"});
}

DiskStep PipeReader::fail(Error error) {
    report_.fail({name_, error.code, std::move(error.message)});
    waker_.wake();
    return DiskStep::over();
}

DiskStep PipeReader::finish(const Digest& digest) {
    message::Finish m;
    m.data_bytes = bytes_;
    m.root = digest;
    packer_.finish(m);
    report_.sent(name_, bytes_);
    return DiskStep::over();
}

}  // namespace udtx::transfer
