#include "observe/progress.hpp"

#include "common/text.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

namespace {

ProgressView sample_view() {
    ProgressView view;
    view.progress.phase = transfer::Phase::transfer;
    view.progress.bytes_done = 420'000'000;
    view.progress.bytes_total = 1'000'000'000;
    view.progress.files_done = 12;
    view.progress.files_total = 40;
    view.progress.totals_final = true;
    view.rate = Rate::bits_per_second(943e6);
    view.remaining = std::chrono::seconds(5);
    view.progress.current_name = "dir/a\nb.bin";
    return view;
}

}  // namespace

TEST_CASE("the progress line says everything when there is room") {
    CHECK(format_progress(sample_view(), 200) ==
          " 42.0%  420 MB/1.00 GB  943 Mbit/s  118 MB/s  ETA 0:05  12/40 files  transfer  dir/a\\nb.bin");
}

TEST_CASE("the progress line never exceeds the terminal") {
    for (std::size_t columns = 1; columns < 120; ++columns) {
        INFO(columns);
        CHECK(count_columns(format_progress(sample_view(), columns)) <= columns);
    }
    CHECK(format_progress(sample_view(), 24) == " 42.0%  420 MB/1.00 GB");
}

TEST_CASE("totals that may still grow are marked, and 100 % is kept for the end") {
    ProgressView view = sample_view();
    view.progress.totals_final = false;
    view.progress.bytes_done = view.progress.bytes_total;
    const std::string line = format_progress(view, 200);
    CHECK(line.find("1.00 GB/1.00 GB+") != std::string::npos);
    CHECK(line.find("/40+ files") != std::string::npos);
    CHECK(line.find("100.0%") == std::string::npos);
    view.progress.totals_final = true;
    CHECK(format_progress(view, 200).find("100.0%") != std::string::npos);
    view.progress.bytes_done -= 1;
    CHECK(format_progress(view, 200).find("100.0%") == std::string::npos);
}

TEST_CASE("a pipe has no totals") {
    ProgressView view = sample_view();
    view.totals_known = false;
    const std::string line = format_progress(view, 200);
    CHECK(line.find('%') == std::string::npos);
    CHECK(line.find("files") == std::string::npos);
    CHECK(line.find("420 MB") != std::string::npos);
}

TEST_CASE("the rate meter looks at its window only") {
    RateMeter meter(std::chrono::seconds(2));
    CHECK(meter.rate().is_zero());
    meter.sample(std::chrono::seconds(0), 0);
    CHECK(meter.rate().is_zero());
    meter.sample(std::chrono::seconds(1), 1'000'000);
    CHECK(meter.rate().bps() == Approx(8e6));
    for (int s = 2; s <= 10; ++s) meter.sample(std::chrono::seconds(s), 1'000'000);
    CHECK(meter.rate().is_zero());
}
