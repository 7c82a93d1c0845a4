#include "transfer/receive_job.hpp"

#include "transfer/receive_job_impl.hpp"

namespace udtx::transfer {

Result<std::unique_ptr<ReceiveJob>> ReceiveJob::create(ReceiveOptions options, DoneCallback done) {
    std::optional<ConfinedDir> base;
    if (!options.to_stream) {
        auto opened = ConfinedDir::open(options.directory);
        if (!opened) return opened.error();
        base = std::move(opened).value();
    }
    return std::unique_ptr<ReceiveJob>(
        new ReceiveJob(std::make_unique<Impl>(std::move(options), std::move(base), std::move(done))));
}

ReceiveJob::ReceiveJob(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReceiveJob::~ReceiveJob() = default;

void ReceiveJob::set_waker(proto::Waker waker) { impl_->waker.set(std::move(waker)); }
Progress ReceiveJob::progress() const { return impl_->report.progress(); }
Outcome ReceiveJob::result() const { return impl_->report.outcome(); }
void ReceiveJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    impl_->end(now, connection, Error{code, reason});
}
void ReceiveJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    impl_->on_event(now, connection, event);
}
void ReceiveJob::on_wake(Instant now, proto::Connection& connection) { impl_->on_wake(now, connection); }
void ReceiveJob::on_placed(StreamId id, std::uint64_t offset, std::span<const std::byte> bytes) {
    impl_->on_placed(id, offset, bytes);
}

}  // namespace udtx::transfer
