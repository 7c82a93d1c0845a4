// A value that can be reached only while its mutex is held, so that the compiler finds any use without it.
#pragma once

#include <mutex>
#include <utility>

namespace udtx::apps {

template <class Value>
class Guarded {
  public:
    template <class... Given>
    explicit Guarded(Given&&... given) : value_{std::forward<Given>(given)...} {}

    /// Holds the mutex while it lives.
    template <class Seen>
    class Hold {
      public:
        Hold(std::mutex& mutex, Seen& value) : lock_(mutex), value_(value) {}
        Seen& operator*() const noexcept { return value_; }
        Seen* operator->() const noexcept { return &value_; }

      private:
        std::lock_guard<std::mutex> lock_;
        Seen& value_;
    };
    [[nodiscard]] Hold<Value> lock() { return Hold<Value>(mutex_, value_); }
    [[nodiscard]] Hold<const Value> lock() const { return Hold<const Value>(mutex_, value_); }

  private:
    mutable std::mutex mutex_;
    Value value_;
};

}  // namespace udtx::apps
