#include "transfer/job/incoming.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "transfer/close_codes.hpp"
#include "transfer/names.hpp"
#include "transfer/receipt/receipt_writer.hpp"
#include "transfer/source/inquiries.hpp"

namespace udtx::transfer {

namespace {

constexpr std::size_t kIdleBuffers = 48;
// Smaller pieces get memory of their own size: a window full of them must not take a whole block each.
constexpr std::uint64_t kPooledFrom = kPieceBytes / 2;

/// Bits [begin, end) of one word, end <= 64.
std::uint64_t mask(std::size_t begin, std::size_t end) {
    const std::uint64_t below_end = end == 64 ? ~0ULL : (1ULL << end) - 1;
    return below_end & ~((1ULL << begin) - 1);
}

/// First position at or after `at`, below `limit`, whose bit equals `value`; else `limit`.
template <std::size_t N>
std::size_t find_bit(const std::array<std::uint64_t, N>& words, std::size_t at, std::size_t limit, bool value) {
    while (at < limit) {
        const std::uint64_t word = (value ? words[at / 64] : ~words[at / 64]) & mask(at % 64, 64);
        if (word != 0) return std::min(limit, at / 64 * 64 + static_cast<std::size_t>(std::countr_zero(word)));
        at = (at / 64 + 1) * 64;
    }
    return limit;
}

// Bounds on what the sender may announce ahead of its data. Beyond them the control stream stays unread, and its flow
// control stops the sender. Announced data keeps arriving, so this state always ends.
constexpr std::size_t kMaxOpenExtents = 32768;
constexpr std::uint64_t kMaxOpenBytes = 512U << 20U;
constexpr std::uint64_t kMaxKeptBytes = kMaxListItems * kPieceBytes;
constexpr std::size_t kMaxQueuedOps = 65536;
// Bound on queued pieces, names and attributes. The stream's window allows pieces at most half of it.
constexpr std::size_t kMaxQueuedBytes = 128U << 20U;
constexpr std::size_t kMaxQueuedStreamBytes = 16U << 20U;

/// Bytes of memory of a queued operation with that name.
std::size_t cost_of(const std::vector<std::string>& path) {
    std::size_t cost = sizeof(ReceiveOp) + path.size() * sizeof(std::string);
    for (const std::string& component : path) cost += component.size();
    return cost;
}

/// Checks any name that the sender gives. Names of transfers' own files are reserved, since they may belong to another
/// transfer.
Result<void> check_name(const std::vector<std::string>& path) {
    if (auto checked = check_sent_path(path); !checked) return checked;
    if (std::ranges::none_of(path, is_transfer_file)) return {};
    return Error{ErrorCode::protocol, "the sender has '" + escape_name(join_path(path)) +
                                          "', a name that udtx keeps for its own files: rename it"};
}

}  // namespace

void EarlyData::hold(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::uint64_t base = offset / kBlock * kBlock;
        const auto from = static_cast<std::size_t>(offset - base);
        const std::size_t n = std::min(bytes.size(), kBlock - from);
        auto& block = blocks_[base];
        if (!block) block = std::make_unique<Block>();
        std::memcpy(block->bytes.data() + from, bytes.data(), n);
        for (std::size_t at = from; at < from + n;) {
            const std::size_t stop = std::min(from + n, (at / 64 + 1) * 64);
            block->present[at / 64] |= mask(at % 64, stop - at / 64 * 64);
            at = stop;
        }
        offset += n;
        bytes = bytes.subspan(n);
    }
}

EarlyData::Run EarlyData::next_run(const Block& block, std::size_t at, std::size_t limit) {
    const std::size_t begin = find_bit(block.present, at, limit, true);
    return {begin, find_bit(block.present, begin, limit, false)};
}

bool EarlyData::clear_below(Block& block, std::size_t limit) {
    for (std::size_t at = 0; at < limit;) {
        const std::size_t stop = std::min(limit, (at / 64 + 1) * 64);
        block.present[at / 64] &= ~mask(at % 64, stop - at / 64 * 64);
        at = stop;
    }
    return std::all_of(block.present.begin(), block.present.end(), [](std::uint64_t word) { return word == 0; });
}

PieceAssembler::PieceAssembler() : pool_(kPieceBytes, kIdleBuffers) {}

bool PieceAssembler::announce(const Extent& extent) {
    if (!map_.append(extent)) return false;
    early_.release_below(map_.end(),
                         [this](std::uint64_t offset, std::span<const std::byte> bytes) { on_bytes(offset, bytes); });
    return true;
}

void PieceAssembler::on_bytes(std::uint64_t stream_offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (stream_offset >= map_.end()) return early_.hold(stream_offset, bytes);
        Slot* slot = slot_at(stream_offset);
        if (slot == nullptr) return;
        const std::uint64_t to_end = slot->piece.stream_offset + slot->piece.length - stream_offset;
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(to_end, bytes.size()));
        place(*slot, stream_offset, bytes.first(n));
        stream_offset += n;
        bytes = bytes.subspan(n);
    }
}

PieceAssembler::Slot* PieceAssembler::slot_at(std::uint64_t stream_offset) {
    if (latest_ != nullptr && stream_offset >= latest_->piece.stream_offset &&
        stream_offset - latest_->piece.stream_offset < latest_->piece.length) {
        return latest_;
    }
    const auto piece = map_.find(stream_offset);
    if (!piece) return nullptr;
    auto at = slots_.find(piece->stream_offset);
    if (at == slots_.end()) {
        // Allocates first: if that fails, no piece without memory stays in slots_.
        Slot fresh{*piece, buffer_for(piece->length), 0};
        at = slots_.emplace(piece->stream_offset, std::move(fresh)).first;
        slot_bytes_ += piece->length;
    }
    latest_ = &at->second;
    return latest_;
}

void PieceAssembler::place(Slot& slot, std::uint64_t stream_offset, std::span<const std::byte> bytes) {
    const auto at = static_cast<std::size_t>(stream_offset - slot.piece.stream_offset);
    std::memcpy(slot.data.writable().data() + at, bytes.data(), bytes.size());
    slot.received += bytes.size();
    if (slot.received < slot.piece.length) return;
    const Piece piece = slot.piece;
    whole_.push_back({piece, std::move(slot.data)});
    slots_.erase(piece.stream_offset);
    slot_bytes_ -= piece.length;
    latest_ = nullptr;
    map_.complete(piece);
}

Chunk PieceAssembler::buffer_for(std::uint64_t length) {
    if (length >= kPooledFrom) {
        Chunk chunk = pool_.take();
        chunk.truncate(static_cast<std::size_t>(length));
        return chunk;
    }
    const auto size = static_cast<std::size_t>(length);
    return {std::shared_ptr<std::byte[]>(new std::byte[size]), size};
}

Incoming::Incoming(const LandingOptions& options, std::optional<PullOrder>& pull, std::optional<ConfinedDir>& base,
                   ReceiveQueue& queue, LandingReport& report)
    : options_(options), pull_(pull), base_(base), rename_(options.rename), queue_(queue), report_(report) {}

template <class... Args>
Result<void> Incoming::check_asked(const Args&... args) const {
    return pull_ ? pull_->asked.check(args...) : Result<void>();
}

template <class M>
Result<void> Incoming::check_turn() const {
    using namespace message;
    constexpr bool opens = std::is_same_v<M, Offer> || std::is_same_v<M, Sources>;
    constexpr bool of_any_mode = std::is_same_v<M, Finish> || std::is_same_v<M, Found>;
    if constexpr (opens) return {};
    if (!offer_) return broken("the sender did not start with an offer");
    if constexpr (std::is_same_v<M, Paths>) return {};
    if (finish_) return broken("the sender continued after FINISH");
    if (!of_any_mode && offer_->mode != TransferMode::tree) return broken("the sender sent files in a stream");
    return {};
}

Result<void> Incoming::take(const Message& message) {
    auto handled = std::visit(
        [this](const auto& m) -> Result<void> {
            if (auto checked = check_turn<std::decay_t<decltype(m)>>(); !checked) return checked;
            return handle(m);
        },
        message);
    if (handled) note(message);
    return handled;
}

bool Incoming::take_piece(std::uint64_t offset, std::span<const std::byte> bytes) {
    assembler_.on_bytes(offset, bytes);
    const bool any = hand_over_pieces();
    held_ = assembler_.held();
    return any || assembler_.has_unannounced();
}

bool Incoming::takes_stream() const { return !data_ended_ && offer_ && queue_.cost() < kMaxQueuedStreamBytes; }

void Incoming::take_stream(Chunk bytes, bool end) {
    data_ended_ = end;
    const std::size_t size = bytes.bytes().size();
    if (size > 0) queue_.push(std::move(bytes), size);
}

bool Incoming::too_far_ahead() const {
    return assembler_.map().open_extents() >= kMaxOpenExtents || assembler_.map().open_bytes() >= kMaxOpenBytes ||
           queue_.size() >= kMaxQueuedOps || queue_.cost() >= kMaxQueuedBytes;
}

void Incoming::note(const Message& message) {
    ReceiptWriter* const receipt = writer_of(options_.receipt);
    if (receipt == nullptr) return;
    const auto* entry = std::get_if<message::Entry>(&message);
    if (entry == nullptr) return receipt->note(message);
    receipt->note(renamed(*entry));
}

Result<void> Incoming::handle(const message::Sources& m) {
    if (!pull_ || stage_ > Stage::sources) return broken("the sender answered a request that was not made");
    if (stage_ == Stage::sources) return broken("the sender answered a request twice");
    if (auto checked = pull_->asked.check(m); !checked) return checked;
    const auto place = pull_->place(m);
    if (!place) return place.error();
    rename_ = place->rename;
    stage_.enter(Stage::sources);
    if (options_.stream_fd || place->directory.empty()) return {};
    auto opened = ConfinedDir::open(place->directory);
    if (!opened) return opened.error();
    base_ = std::move(opened).value();
    return {};
}

Result<void> Incoming::handle(const message::Plan& m) {
    if (!offer_->dry_run || !options_.planned) return broken("a plan that was not requested");
    PlannedEntry entry = m.entry;
    if (auto checked = check_entry(entry.type, split_path(entry.path), entry.target); !checked) return checked;
    entry.path = renamed(entry.path);
    if (entry.type == EntryType::hard_link) entry.target = renamed(entry.target);
    report_.job.edit([&](Progress& progress, Outcome& outcome) {
        count_planned(entry, progress, outcome);
        progress.files_total = std::max(progress.files_total, progress.files_done);
    });
    options_.planned(entry);
    return {};
}

Result<void> Incoming::handle(const message::Note& m) {
    if (++notes_ > kMaxNotes) return broken("too many notes");
    report_.job.warn("sender: " + escape_line(m.text));
    return {};
}

Result<void> Incoming::handle(const message::Unset& m) {
    if (++notes_ > kMaxNotes) return broken("too many notes");
    add(sender_lacks_, m.entries);
    return {};
}

Result<void> Incoming::handle(const message::Found& m) {
    report_.job.peer_worked();
    const bool counts = offer_->mode == TransferMode::tree && !offer_->dry_run;
    if (!counts && m != message::Found{}) return broken("totals of a dry run or of a stream");
    if (!counts) return {};
    found_ = m;
    tell_totals();
    return {};
}

/// They also come after FINISH, when the last data is acknowledged.
Result<void> Incoming::handle(const message::Paths& m) {
    report_.job.edit([&](Progress& progress, Outcome&) { progress.sender = m.paths; });
    return {};
}

void Incoming::tell_totals() {
    report_.job.edit([this](Progress& progress, Outcome&) {
        progress.files_total = std::max({progress.files_total, announced_.files, found_.files});
        progress.bytes_total = std::max(announced_.bytes, found_.bytes);
        progress.totals_final = found_.final;
    });
}

Result<void> Incoming::check_offer(const message::Offer& m) const {
    if (offer_) return broken("the sender made two offers");
    if (m.version < kOldestTransferVersion) return broken(kTooOld);
    if (!m.destination.empty()) {
        if (auto checked = check_name(m.destination); !checked) return checked;
    }
    if (options_.stream_fd && m.mode == TransferMode::tree) {
        return Error{ErrorCode::refused, "this receiver takes one stream: send '-', the standard input"};
    }
    if (!options_.stream_fd && m.mode == TransferMode::stream && m.destination.empty()) {
        return Error{ErrorCode::refused, "standard input needs a name here: udtx-send - udtx://HOST:PORT/NAME"};
    }
    if (m.mode == TransferMode::stream && m.dry_run) return broken("a dry run of a stream");
    if (pull_ && stage_ == Stage::silent) return broken("the sender did not say which sources exist");
    const bool homeless = !base_ && !options_.stream_fd && !m.dry_run;
    if (homeless) return broken("the sender's offer differs from the request");
    if (pull_) return check_asked(m);  // what was requested is allowed
    if (m.erase && !options_.allow_erase) {
        return Error{ErrorCode::refused, "--delete is not allowed here: start the receiver with --allow-delete"};
    }
    if (m.set_id && !options_.allow_set_id) {
        return Error{ErrorCode::refused, "--set-id is not allowed here: start the receiver with --allow-set-id"};
    }
    return {};
}

Result<void> Incoming::handle(const message::Offer& m) {
    if (auto checked = check_offer(m); !checked) return checked;
    stage_.enter(Stage::offer);
    offer_ = m;
    if (pull_ && m.shard) offer_->shard = pull_->asked.shard();
    // Transfer numbers belong to a key: the same number under another key is another transfer.
    if (m.transfer != 0 && options_.whose != 0) offer_->transfer = key_of({m.transfer, options_.whose}) | 1U;
    if (m.shard && options_.whose != 0) offer_->shard->job = key_of({m.shard->job, options_.whose}) | 1U;
    report_.job.edit([&](Progress& progress, Outcome& outcome) {
        progress.phase = Phase::transfer;
        outcome.dry_run = m.dry_run;
        if (m.mode == TransferMode::stream) progress.files_total = 1;
    });
    if (pull_ && m.erase) {
        for (message::Rules& rules : pull_->asked.rules()) queue_rules(std::move(rules));
    }
    return {};
}

Result<void> Incoming::check_entry(EntryType type, const std::vector<std::string>& path, const std::string& target) {
    if (path.empty() && type == EntryType::directory && next_index_ == 0) {
        const bool asked = offer_->preserve && (!pull_ || pull_->asked.for_contents());
        return asked ? Result<void>() : broken("attributes of the destination that were not requested");
    }
    if (auto checked = check_name(path); !checked) return checked;
    if (type == EntryType::hard_link) {
        // An invalid target path passes here. The entry fails later, under its own name.
        const std::vector<std::string> other = split_path(target);
        if (auto checked = check_name(other); !checked && check_path(other)) return checked;
    }
    return check_asked(type, path, target);
}

Result<void> Incoming::check_bytes(const std::vector<std::string>& path, std::uint64_t size,
                                   const std::optional<FileRange>& part) const {
    if (part) {
        const bool inside = part->offset < size && part->length > 0 && part->length <= size - part->offset;
        const std::uint64_t end = inside ? part->offset + part->length : 0;
        const bool cut = part->offset % kCutBytes == 0 && (end == size || end % kCutBytes == 0);
        if (!offer_->shard || !inside || !cut || part->length == size) return broken("an invalid part of a file");
    }
    // A file that the sender could not read has size 0.
    const bool known = pull_ && size > 0;
    return known ? pull_->asked.check_bytes(path, size, part) : Result<void>();
}

Result<void> Incoming::handle(const message::Entry& m) {
    if (m.index != next_index_) return broken("entries out of order");
    if (current_) return broken("an entry inside of a file");
    if (auto checked = check_entry(m.type, m.path, m.target); !checked) return checked;
    if (m.type == EntryType::file) {
        if (auto checked = check_bytes(m.path, m.size, m.part); !checked) return checked;
        if (m.whole && m.part) return broken("a whole part of a file");
    }
    ++next_index_;
    message::Entry entry = renamed(m);
    const std::size_t cost = cost_of(entry.path) + entry.target.size();
    queue_.push(std::move(entry), cost);
    if (m.type == EntryType::file || m.type == EntryType::hard_link) {
        ++announced_.files;
        tell_totals();
    }
    if (m.type != EntryType::file) return {};
    if (offer_->dry_run) return broken("a file in a dry run");
    const FileRange bytes = m.part.value_or(FileRange{0, m.size});
    current_ = CurrentFile{
        .index = m.index, .size = bytes.offset + bytes.length, .announced_to = bytes.offset, .whole = m.whole};
    assembler_.begin_file(m.index);
    return m.whole && m.size > 0 ? announce({0, m.size}) : Result<void>();
}

Result<void> Incoming::handle(const message::Extents& m) {
    if (!current_ || m.index != current_->index || current_->whole) return broken("data without an open file");
    for (const Extent& extent : m.extents) {
        if (auto announced = announce(extent); !announced) return announced;
    }
    return {};
}

Result<void> Incoming::handle(const message::Kept& m) {
    if (!current_ || m.index != current_->index || current_->whole) return broken("kept data without an open file");
    for (const Extent& extent : m.extents) {
        if (auto kept = place(extent, kMaxKeptBytes); !kept) return kept;
        queue_.push(op::KeepPieces{m.index, extent, assembler_.map().latest_file_pieces()}, sizeof(ReceiveOp));
        assembler_.skip(extent);
    }
    return {};
}

Result<void> Incoming::handle(const message::Query& m) {
    if (auto checked = check_name(m.path); !checked) return checked;
    if (auto checked = check_asked(m); !checked) return checked;
    if (m.part) {
        if (auto checked = check_bytes(m.path, m.size, m.part); !checked) return checked;
    }
    message::Query query = m;
    query.path = renamed(std::move(query.path));
    const std::size_t cost = cost_of(query.path);
    queue_.push(std::move(query), cost);
    return {};
}

Result<void> Incoming::handle(const message::Meta& m) {
    if (m.index + 1 != next_index_) return broken("attributes of another entry than the latest");
    if (auto checked = check_asked(m); !checked) return checked;
    std::size_t cost = sizeof m;
    for (const message::Attribute& attribute : m.attributes) {
        cost += sizeof attribute + attribute.name.size() + attribute.value.size();
    }
    queue_.push(m, cost);
    return {};
}

Result<void> Incoming::handle(const message::Rules& m) {
    if (!offer_->erase) return broken("rules of a deletion that was not offered");
    if (auto checked = check_asked(m); !checked) return checked;
    // The rules decide what may be deleted to make room for new entries.
    if (next_index_ != 0) return broken("rules after the first entry");
    // In a pull our own rules apply, and they are queued already.
    queue_rules(pull_ ? message::Rules{m.contents, {}} : m);
    return {};
}

void Incoming::queue_rules(message::Rules m) {
    std::size_t cost = sizeof m;
    for (const auto& rule : m.rules) cost += sizeof rule + rule.pattern.size();
    queue_.push(std::move(m), cost);
}

Result<void> Incoming::handle(const message::Unsent& m) {
    if (!offer_->erase) return broken("names for a deletion that was not offered");
    message::Unsent unsent;
    std::size_t cost = sizeof m;
    for (const std::string& path : m.paths) {
        std::vector<std::string> components = split_path(path);
        if (auto checked = check_sent_path(components); !checked) return checked;
        unsent.paths.push_back(join_path(renamed(std::move(components))));
        cost += sizeof(std::string) + unsent.paths.back().size();
    }
    queue_.push(std::move(unsent), cost);
    return {};
}

Result<void> Incoming::place(const Extent& extent, std::uint64_t longest) {
    const bool fits = extent.length > 0 && extent.length <= longest && extent.offset >= current_->announced_to &&
                      extent.offset <= current_->size && extent.length <= current_->size - extent.offset;
    if (!fits) return broken("an extent outside of its file");
    note_hole(extent.offset);
    current_->announced_to = extent.offset + extent.length;
    return {};
}

std::vector<std::string> Incoming::renamed(std::vector<std::string> path) const {
    if (!rename_.empty() && !path.empty()) path.front() = rename_;
    return path;
}

message::Entry Incoming::renamed(message::Entry entry) const {
    entry.path = renamed(std::move(entry.path));
    if (entry.type == EntryType::hard_link) entry.target = renamed(entry.target);
    return entry;
}

void Incoming::note_hole(std::uint64_t end) {
    const std::uint64_t begin = current_->announced_to;
    if (end > begin) queue_.push(op::Hole{current_->index, {begin, end - begin}}, sizeof(ReceiveOp));
}

Result<void> Incoming::announce(const Extent& extent) {
    if (auto kept = place(extent, kMaxExtentBytes); !kept) return kept;
    if (!assembler_.announce(extent)) return broken("an extent outside of its file");
    current_->announced += extent.length;
    add_up(announced_.bytes, extent.length);
    tell_totals();
    return {};
}

Result<void> Incoming::handle(const message::Digests& m) {
    const std::uint64_t announced = assembler_.map().latest_file_pieces();
    const bool fits =
        current_ && m.index == current_->index && m.first <= announced && m.digests.size() <= announced - m.first;
    if (!fits) return broken("digests of pieces that were not announced");
    const std::size_t bytes = digest_bytes(offer_->hash);
    const auto of_hash = [bytes](const Digest& digest) { return digest.bytes().size() == bytes; };
    if (!std::all_of(m.digests.begin(), m.digests.end(), of_hash)) return broken("digests of another hash");
    const std::size_t cost = sizeof m + m.digests.size() * sizeof(Digest);
    queue_.push(m, cost);
    return {};
}

Result<void> Incoming::handle(const message::FileEnd& m) {
    if (!current_ || m.index != current_->index) return broken("the end of a file that is not open");
    if (m.status == FileStatus::ok) note_hole(current_->size);
    queue_.push(op::EndFile{m, assembler_.map().latest_file_pieces()}, sizeof(ReceiveOp));
    const bool ends_early = m.status == FileStatus::kept || m.status == FileStatus::skipped;
    if (ends_early && current_->announced <= kPieceBytes) {  // as the sender counts (FileSender)
        announced_.bytes -= current_->announced;
        tell_totals();
    }
    current_.reset();
    return {};
}

Result<void> Incoming::handle(const message::Finish& m) {
    if (current_) return broken("FINISH inside of a file");
    if (m.entries != next_index_) return broken("FINISH has a wrong number of entries");
    const bool tree = offer_->mode == TransferMode::tree;
    if (tree && m.data_bytes != assembler_.map().end()) return broken("FINISH has a wrong number of bytes");
    stage_.enter(Stage::finish);
    finish_ = m;
    // Absent names must fail before anything is deleted.
    if (auto failed = fail_absent(AskedFor::Questions::open); !failed.empty()) {
        report_.edit([&](LandingReport::News& news) { std::ranges::move(failed, std::back_inserter(news.failed)); });
    }
    // The totals are final after FINISH.
    found_ = {found_.files, 0, true};
    tell_totals();
    return {};
}

bool Incoming::hand_over_pieces() {
    const bool any = !assembler_.whole().empty();
    for (WholePiece& piece : assembler_.whole()) {
        const auto cost = static_cast<std::size_t>(piece.piece.length);
        queue_.push(std::move(piece), cost);
    }
    assembler_.whole().clear();
    return any;
}

Result<void> Incoming::hand_over() {
    hand_over_pieces();
    held_ = assembler_.held();
    if (stage_ != Stage::finish) return {};
    if (offer_->mode == TransferMode::tree) {
        if (assembler_.has_unannounced()) return broken("more data than was announced");
        if (!assembler_.complete()) return {};
    } else if (!data_ended_ && finish_->data_bytes > 0) {
        return {};
    }
    stage_.enter(Stage::all_data);
    queue_.push(*finish_, 0);
    return {};
}

std::vector<message::FileFailed> Incoming::fail_absent(AskedFor::Questions questions) {
    std::vector<message::FileFailed> failed;
    if (!pull_ || !finish_) return failed;
    for (AskedFor::Absent& absent : pull_->asked.take_absent(questions)) {
        if (absent.may_be_link) {
            report_.job.warn("'" + escape_name(absent.name) +
                             "' was not sent: it may be a link, and links are skipped");
            continue;
        }
        constexpr const char* kWhy = "it was requested, and the sender did not send it";
        report_.job.fail({absent.name, ErrorCode::not_sent, kWhy});
        // The sender knows of the entries that it could not read; tell it only of the others.
        if (++absent_ > finish_->unsent) {
            failed.push_back({.index = kNoEntry,
                              .code = static_cast<std::uint64_t>(CloseCode::file_io),
                              .path = std::move(absent.name),
                              .reason = kWhy});
        }
    }
    return failed;
}

std::uint64_t Incoming::unnamed() const { return finish_ ? finish_->unsent - std::min(finish_->unsent, absent_) : 0; }

std::vector<Unset> Incoming::take_sender_lacks() { return std::exchange(sender_lacks_, {}); }

}  // namespace udtx::transfer
