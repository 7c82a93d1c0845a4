// A resume journal and a job file: both are read as far as their records are complete, and what is read is within its
// bounds. The input is read twice, as a journal and as record bodies, because hardly any input has a correct checksum.
#include <algorithm>
#include <vector>

#include "fuzz/require.hpp"
#include "transfer/file/journal.hpp"
#include "transfer/file/records.hpp"
#include "transfer/names.hpp"
#include "transfer/shard/job_format.hpp"

const std::vector<udtx::fuzz::FaultCase> udtx::fuzz::kFaultCases{
    {7, "only complete records of a journal are used, and names are checked"}};

using namespace udtx;
using namespace udtx::transfer;
using udtx::fuzz::require;

namespace {

void check(std::span<const std::byte> bytes) {
    const JournalImage image = parse_journal(bytes);
    require(image.valid_bytes <= bytes.size(), "no more is believed than there is");
    require(image.has_header || image.empty(), "nothing is believed without a header");
    for (const auto& [key, partial] : image.partials) {
        require(check_path(split_path(partial.path)).ok(), "paths are checked");
        require(partial.number < image.next_number, "numbers are taken");
        for (const auto& [offset, piece] : partial.pieces) require(piece.length > 0, "pieces have a length");
    }
    const JournalImage again = parse_journal(bytes.first(image.valid_bytes));
    require(again.valid_bytes == image.valid_bytes, "what is believed is believed again");
}

void check_job(std::span<const std::byte> bytes) {
    JobImage image;
    const std::size_t read = image.read(bytes, 0);
    require(read <= bytes.size(), "no more is believed than there is");
    require(image.has_head || image.files.empty(), "nothing is believed without a head");
    for (const auto& [temporary, file] : image.files) {
        require(check_path(split_path(file.version.path)).ok(), "paths of a job are checked");
        std::uint64_t filled = 0;
        for (const auto& [offset, length] : file.filled) {
            require(length > 0 && offset + length <= file.version.size, "a part lies in its file");
            filled = std::max(filled, offset + length);
        }
        for (const auto& [offset, piece] : file.pieces) {
            require(piece.length > 0 && offset + piece.length <= file.version.size, "a piece lies in its file");
        }
        require(!file.is_whole() || filled == file.version.size, "a whole file is filled to its end");
    }
}

/// Cuts the input into bodies by a length byte before each, and frames each body without parsing it.
std::vector<std::byte> framed(std::span<const std::byte> input) {
    std::vector<std::byte> out;
    while (!input.empty()) {
        const auto length = std::min<std::size_t>(std::to_integer<std::size_t>(input[0]), input.size() - 1);
        append_body(out, out.size(), input.subspan(1, length));
        input = input.subspan(1 + length);
    }
    return out;
}

/// Cuts the input into bodies by a length byte before each, and writes each body that parses as a journal record.
std::vector<std::byte> sealed(std::span<const std::byte> input) {
    std::vector<std::byte> journal;
    while (!input.empty()) {
        const auto length = std::min<std::size_t>(std::to_integer<std::size_t>(input[0]), input.size() - 1);
        const auto record = parse_record<JournalRecord>(input.subspan(1, length));
        if (record) append_record(journal, journal.size(), *record);
        input = input.subspan(1 + length);
    }
    return journal;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto input = std::as_bytes(std::span(data, size));
    check(input);
    check(sealed(input));
    check_job(input);
    check_job(framed(input));
    return 0;
}
