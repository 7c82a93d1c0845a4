// Writes one JSON value. The output is well-formed (RFC 8259) for any bytes in the strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace udtx::apps {

/// Order of calls: inside an object, key() precedes every value. Each begin_*() needs its end_*().
class JsonWriter {
  public:
    JsonWriter& begin_object();
    JsonWriter& end_object();
    JsonWriter& begin_array();
    JsonWriter& end_array();
    JsonWriter& key(std::string_view name);
    /// Bytes that are not UTF-8 become U+FFFD, because JSON cannot represent them.
    JsonWriter& string(std::string_view value);
    JsonWriter& number(std::uint64_t value);
    JsonWriter& number(int value);
    /// Not-a-number and infinities become null.
    JsonWriter& number(double value);
    JsonWriter& boolean(bool value);
    JsonWriter& null();
    /// Inserts a value that is already JSON.
    JsonWriter& json(std::string_view value);

    [[nodiscard]] const std::string& text() const noexcept { return out_; }

  private:
    void separate();
    void quote(std::string_view value);

    std::string out_;
    std::vector<bool> has_items_;  // one entry for each open object or array
    bool after_key_ = false;
};

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
[[nodiscard]] std::string to_hex(std::string_view bytes);
/// As 16 digits.
[[nodiscard]] std::string to_hex(std::uint64_t number);

}  // namespace udtx::apps
