#include <algorithm>
#include <utility>

#include "transfer/basis_files.hpp"
#include "transfer/eraser.hpp"
#include "transfer/names.hpp"
#include "transfer/receive_worker.hpp"

namespace udtx::transfer {

namespace {

/// Says what would become of each file; touches nothing.
class DryWorker {
  public:
    DryWorker(const ConfinedDir& root, const message::Offer& offer, const TreeRights& rights, const WorkerLinks& links)
        : links_(links),
          erase_(offer.erase),
          hash_(offer.hash),
          basis_(root, basis_options(offer, rights),
                 [&links](std::uint64_t bytes) {
                     links.report.edit([&](Progress& progress, Outcome&) { progress.bytes_kept += bytes; });
                     return !links.queue.closed();
                 }),
          eraser_(root, true,
                  {[&links](const std::string& path) { hand_over_erased(links, path); },
                   [&links](const std::string& path, const Error& error) {
                       links.report.warn("'" + escape_name(path) + "': " + error.message);
                   },
                   [&links] { return !links.queue.closed(); }}) {}

    void operator()(const op::BeginEntry& o) {
        if (erase_) eraser_.keep(join_path(o.entry.path), o.entry.type == EntryType::directory);
    }
    void operator()(const op::Query& o) {
        const std::string path = join_path(o.query.path);
        if (erase_) eraser_.keep(path, false);
        const Holding has =
            basis_.answer(o.query, [this](message::Answer answer) { hand_over(links_, std::move(answer)); });
        if (has == Holding::same) count_unchanged(links_.report);
        if (has == Holding::exists) count_skipped(links_.report);
        basis_.forget(path);
    }
    void operator()(const op::Rules& o) {
        if (auto added = eraser_.add(o.rules); !added) fatal(added.error());
    }
    void operator()(const op::Finish& o) {
        if (erase_ && o.finish.unsent != 0) {
            links_.report.warn("--delete: nothing would be deleted, since not everything is sent");
        } else if (erase_) {
            if (auto erased = eraser_.run(); !erased) return fatal(erased.error());
        }
        const Digest root = RootDigest(hash_).finish();
        const message::Confirm confirm{totals_of(links_.report.outcome()), root};
        links_.feedback.edit([&](ReceiveFeedback::News& news) { news.confirm = confirm; });
    }
    template <class Other>
    void operator()(const Other& /*o*/) {}

  private:
    void fatal(const Error& error) {
        links_.feedback.edit([&](ReceiveFeedback::News& news) { news.fatal = error; });
    }

    const WorkerLinks& links_;
    bool erase_;
    HashAlgorithm hash_;
    BasisFiles basis_;
    Eraser eraser_;
};

}  // namespace

void run_dry_worker(const ConfinedDir& base, const message::Offer& offer, const TreeRights& rights,
                    const WorkerLinks& links) {
    const auto root = base.subdirectory(join_path(offer.destination));
    const bool active = root.ok() && holds_anything(*root);
    links.feedback.edit([&](ReceiveFeedback::News& news) { news.resume = message::Resume{active, {}}; });
    if (!active) {
        // Nothing is there: no answers, and nothing to delete.
        while (auto next = links.queue.pop()) {
            if (std::holds_alternative<op::Finish>(*next)) {
                const message::Confirm confirm{{}, RootDigest(offer.hash).finish()};
                links.feedback.edit([&](ReceiveFeedback::News& news) { news.confirm = confirm; });
            }
        }
        return;
    }
    DryWorker worker(*root, offer, rights, links);
    while (auto next = links.queue.pop()) std::visit(worker, *next);
}

}  // namespace udtx::transfer
