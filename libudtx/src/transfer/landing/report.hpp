// What happens to the entries of a transfer at the receiver, for everybody who wants to know it.
#pragma once

#include <cstdint>
#include <string>

#include "transfer/message/messages.hpp"
#include "udtx/result.hpp"
#include "udtx/transfer/outcome.hpp"

namespace udtx::transfer {

/// How an entry ended that did not fail.
enum class Ended : std::uint8_t {
    delivered,
    part,       ///< as delivered, for a part of a file that other shards fill too
    kept,       ///< an earlier run delivered it
    unchanged,  ///< it was the same already
    updated,    ///< a directory that was reported as unchanged gets another owner or other attributes after all
    skipped,    ///< an entry existed and must not be overwritten
    erased,     ///< the sender does not have it; the path of a directory ends in `/`
};

/// Any thread may call it.
class Report {
  public:
    /// `size`: the bytes that were delivered or kept.
    virtual void ended(Ended how, EntryType type, const std::string& path, std::uint64_t size) = 0;
    virtual void failed(std::uint64_t index, const std::string& path, const Error& error) = 0;
    /// An entry was delivered without this property.
    virtual void lacks(EntryType type, Belonging what, const std::string& path, int error_number) = 0;
    /// Bytes that existed before this run, mostly from an earlier run, and that are used.
    virtual void kept(std::uint64_t bytes) = 0;
    /// Existing bytes that were read and hashed. False: there is no time to continue.
    virtual bool checked(std::uint64_t bytes) = 0;
    /// Warns the users at both ends.
    virtual void warn(const std::string& text) = 0;
    /// Ends the job: nothing more can be written.
    virtual void fatal(const Error& error) = 0;

  protected:
    ~Report() = default;
};

}  // namespace udtx::transfer
