#include "io/waiting_calls.hpp"

#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace udtx;
using namespace udtx::io;

namespace {

/// Holds a number that calls wait for.
class Box final : public WaitingCalls {
  public:
    void put(int value) {
        {
            const Lock lock(mutex_);
            value_ = value;
        }
        settle();
    }
    Result<int> take(const void* subject, std::chrono::milliseconds timeout) {
        return wait<int>(subject, timeout, "late", std::bind_front(&Box::attempt, this));
    }
    CallId start_take(const void* subject, Callback<int> done) {
        return begin<int>(subject, std::bind_front(&Box::attempt, this), std::move(done));
    }

  private:
    Attempted<int> attempt() REQUIRES(mutex_) {
        if (!value_) return std::nullopt;
        return Result<int>(*std::exchange(value_, std::nullopt));
    }
    std::optional<int> value_ GUARDED_BY(mutex_);
};

struct Answers {
    std::vector<int> values;
    std::vector<ErrorCode> errors;
    [[nodiscard]] Callback<int> callback() {
        return [this](const Result<int>& result) {
            if (result) {
                values.push_back(*result);
            } else {
                errors.push_back(result.error().code);
            }
        };
    }
};

}  // namespace

TEST_CASE("a call that can be answered at once is") {
    Box box;
    box.put(1);
    CHECK(*box.take(nullptr, 0ms) == 1);
    Answers answers;
    box.put(2);
    box.start_take(nullptr, answers.callback());
    CHECK(answers.values == std::vector{2});
}

TEST_CASE("a blocked call ends with the change, with its time, or with cancel") {
    Box box;
    const int subject = 0;
    CHECK(box.take(nullptr, 10ms).error().code == ErrorCode::timeout);
    auto taken = std::async(std::launch::async, [&] { return box.take(&subject, kForever); });
    std::this_thread::sleep_for(50ms);
    box.put(3);
    CHECK(*taken.get() == 3);
    auto cancelled = std::async(std::launch::async, [&] { return box.take(&subject, kForever); });
    std::this_thread::sleep_for(50ms);
    const int another = 0;
    box.cancel(&another);
    CHECK(cancelled.wait_for(50ms) == std::future_status::timeout);
    box.cancel(&subject);
    CHECK(cancelled.get().error().code == ErrorCode::cancelled);
}

TEST_CASE("calls that were begun are answered in their order, one a change") {
    Box box;
    Answers first;
    Answers second;
    box.start_take(nullptr, first.callback());
    box.start_take(nullptr, second.callback());
    box.put(1);
    CHECK(first.values == std::vector{1});
    CHECK(second.values.empty());
    box.put(2);
    CHECK(second.values == std::vector{2});
}

TEST_CASE("cancel by name ends one call, by subject its calls, by none all; each calls back once") {
    Box box;
    Answers answers;
    const int subject = 0;
    const CallId one = box.start_take(nullptr, answers.callback());
    box.start_take(&subject, answers.callback());
    box.start_take(nullptr, answers.callback());
    box.cancel(one);
    CHECK(answers.errors.size() == 1);
    box.cancel(one);
    CHECK(answers.errors.size() == 1);
    box.cancel(&subject);
    CHECK(answers.errors.size() == 2);
    box.cancel(nullptr);
    CHECK(answers.errors == std::vector(3, ErrorCode::cancelled));
    box.put(1);
    CHECK(answers.values.empty());
}
