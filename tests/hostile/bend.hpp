// Changes a byte stream between two honest ends, as a program in between can.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "peer_program.hpp"

namespace udtx::hostile {

/// One direction of the stream. The pieces are those in which the bytes arrive.
class Bend {
  public:
    /// flip: single bits; cut: the stream ends; omit, repeat, swap: whole pieces; insert: random bytes; frame: a length
    /// that announces the longest datagram. Nothing changes in the first `whole` bytes.
    Bend(std::string_view how, std::size_t whole) : how_(how), whole_(whole) {
        constexpr std::string_view kKnown = " flip cut omit repeat swap insert frame ";
        if (kKnown.find(" " + how_ + " ") == std::string_view::npos) test::die("unknown: " + how_);
    }

    /// Returns the bytes to pass on in place of the piece; nullopt: the stream ends.
    [[nodiscard]] std::optional<std::vector<std::byte>> pass(std::span<const std::byte> piece) {
        std::vector<std::byte> out(piece.begin(), piece.end());
        passed_ += piece.size();
        if (passed_ <= whole_) return out;
        if (how_ == "cut") return std::nullopt;
        if (++pieces_ % kEvery != 1 && held_.empty()) return out;
        if (how_ == "flip") out[random_() % out.size()] ^= std::byte(1U << (random_() % 8U));
        if (how_ == "omit") out.clear();
        if (how_ == "repeat") out.insert(out.end(), piece.begin(), piece.end());
        if (how_ == "insert") insert(out, random_() % out.size(), noise(1 + random_() % 1000));
        if (how_ == "frame") insert(out, 0, {std::byte{0xfd}, std::byte{0xe8}});
        if (how_ == "swap") {
            if (held_.empty()) {
                held_ = std::move(out);
                return std::vector<std::byte>();
            }
            out.insert(out.end(), held_.begin(), held_.end());
            held_.clear();
        }
        return out;
    }

  private:
    static constexpr std::size_t kEvery = 7;

    static void insert(std::vector<std::byte>& into, std::size_t at, const std::vector<std::byte>& bytes) {
        into.insert(into.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin(), bytes.end());
    }
    std::vector<std::byte> noise(std::size_t size) {
        std::vector<std::byte> bytes(size);
        for (std::byte& one : bytes) one = static_cast<std::byte>(random_());
        return bytes;
    }

    const std::string how_;
    const std::size_t whole_;
    std::size_t passed_ = 0;
    std::size_t pieces_ = 0;
    std::vector<std::byte> held_;
    std::mt19937_64 random_{1};
};

}  // namespace udtx::hostile
