#include "transfer/send_job.hpp"

#include "transfer/send_job_impl.hpp"

namespace udtx::transfer {

Result<std::unique_ptr<SendJob>> SendJob::create(SendOptions options, DoneCallback done) {
    const std::vector<std::string> destination = split_path(options.destination);
    if (!destination.empty()) {
        if (auto checked = check_path(destination); !checked) return checked.error();
    }
    std::vector<SourceRoot> roots;
    const bool stream = options.sources.size() == 1 && options.sources.front() == "-";
    if (!stream) {
        auto opened = open_sources(options.sources);
        if (!opened) return opened.error();
        roots = std::move(opened).value();
    }
    return std::unique_ptr<SendJob>(
        new SendJob(std::make_unique<Impl>(std::move(options), std::move(roots), stream, std::move(done))));
}

SendJob::SendJob(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SendJob::~SendJob() = default;

void SendJob::set_waker(proto::Waker waker) { impl_->waker.set(std::move(waker)); }
Progress SendJob::progress() const { return impl_->report.progress(); }
Outcome SendJob::result() const { return impl_->report.outcome(); }
void SendJob::abort(Instant now, proto::Connection& connection, ErrorCode code, const std::string& reason) {
    impl_->end(now, connection, Error{code, reason});
}
void SendJob::on_event(Instant now, proto::Connection& connection, const proto::Event& event) {
    impl_->on_event(now, connection, event);
}
void SendJob::on_wake(Instant now, proto::Connection& connection) { impl_->pump(now, connection); }
void SendJob::on_placed(StreamId /*id*/, std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {}

}  // namespace udtx::transfer
