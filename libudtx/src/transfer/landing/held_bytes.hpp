// Adds the memory of one object to a sum for as long as the object lives.
#pragma once

#include <cstdint>
#include <utility>

namespace udtx::transfer {

class HeldBytes {
  public:
    HeldBytes() = default;
    /// `sum` must outlive this object.
    explicit HeldBytes(std::uint64_t& sum) noexcept : sum_(&sum) {}
    HeldBytes(HeldBytes&& other) noexcept
        : sum_(std::exchange(other.sum_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    HeldBytes& operator=(HeldBytes&& other) noexcept {
        std::swap(sum_, other.sum_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~HeldBytes() { set(0); }
    void set(std::uint64_t bytes) noexcept {
        if (sum_ != nullptr) *sum_ += bytes - bytes_;
        bytes_ = bytes;
    }

  private:
    std::uint64_t* sum_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace udtx::transfer
