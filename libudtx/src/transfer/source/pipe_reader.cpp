#include "transfer/source/pipe_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transfer/file/file_io.hpp"
#include "transfer/file/pipe.hpp"

namespace udtx::transfer {

PipeReader::PipeReader(int fd, std::string name, HashAlgorithm hash, OutgoingQueue& out, LateWaker& waker,
                       JobReport& report)
    : fd_(fd), name_(std::move(name)), packer_(out, waker), waker_(waker), hasher_(hash), report_(report) {
    widen_pipe(fd);
}

DiskStep PipeReader::step() {
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
        if (n < 0) {
            Error error = io_error("cannot read", name_, errno);
            report_.fail({name_, error.code, std::move(error.message)});
            waker_.wake();
            return DiskStep::over();
        }
        if (n == 0) break;
        const auto count = static_cast<std::size_t>(n);
        hasher_.update(room.first(count));
        packer_.advance(count);
        bytes_ += count;
        report_.edit([&](Progress& progress, Outcome&) { progress.bytes_total = bytes_; });
    }
    message::Finish m;
    m.data_bytes = bytes_;
    m.root = hasher_.finish();
    packer_.finish(m);
    report_.sent(name_, bytes_);
    return DiskStep::over();
}

}  // namespace udtx::transfer
