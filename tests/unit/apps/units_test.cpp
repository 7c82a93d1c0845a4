#include "common/units.hpp"

#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;

TEST_CASE("rates are read as bits per second with decimal prefixes") {
    CHECK(parse_rate("500M").value().bps() == 500e6);
    CHECK(parse_rate("1.5G").value().bps() == 1.5e9);
    CHECK(parse_rate("64k").value().bps() == 64e3);
    CHECK(parse_rate("64K").value().bps() == 64e3);
    CHECK(parse_rate("9600").value().bps() == 9600);
    CHECK(parse_rate("2T").value().bps() == 2e12);
    CHECK(parse_rate("500Mbit").value().bps() == 500e6);
    CHECK(parse_rate("500Mbit/s").value().bps() == 500e6);
    CHECK(parse_rate("500Mbps").value().bps() == 500e6);
    CHECK(parse_rate("10Mb/s").value().bps() == 10e6);
}

TEST_CASE("what is not a rate is refused") {
    for (const char* text : {"", "M", "fast", "-5M", "1e9", "inf", "nan", "5M5", "1..5M", "5 M", "0", "100", "10MB/s",
                             "10MiB", "999999999999999999999999999999", "bps"}) {
        INFO(text);
        CHECK_FALSE(parse_rate(text).ok());
    }
    CHECK(parse_rate("10MB/s").error().message.find("'10MB/s'") != std::string::npos);
}

TEST_CASE("seconds and MTU are bounded") {
    CHECK(parse_seconds("30").value() == std::chrono::seconds(30));
    CHECK(parse_seconds("0.5").value() == std::chrono::milliseconds(500));
    CHECK(parse_seconds("3s").value() == std::chrono::seconds(3));
    CHECK(parse_seconds("2m").value() == std::chrono::minutes(2));
    CHECK(parse_seconds("1.5min").value() == std::chrono::seconds(90));
    CHECK(parse_seconds("1h").value() == std::chrono::hours(1));
    CHECK(parse_seconds("1d").value() == std::chrono::hours(24));
    for (const char* wrong : {"h", "1w", "1 h", "1hh", "-1h", "h1", "20000d"}) CHECK_FALSE(parse_seconds(wrong).ok());
    CHECK_FALSE(parse_seconds("0").ok());
    CHECK_FALSE(parse_seconds("-1").ok());
    CHECK_FALSE(parse_seconds("1e300").ok());
    CHECK(parse_mtu("auto").value() == 65000);
    CHECK(parse_mtu("1500").value() == 1452);
    CHECK(parse_mtu("1280").value() == 1232);
    CHECK(parse_mtu("65535").value() == 65000);
    CHECK_FALSE(parse_mtu("1279").ok());
    CHECK_FALSE(parse_mtu("65536").ok());
    CHECK_FALSE(parse_mtu("1500x").ok());
    CHECK_FALSE(parse_mtu("").ok());
}

TEST_CASE("numbers are printed with three digits") {
    CHECK(format_bytes(0) == "0 B");
    CHECK(format_bytes(999) == "999 B");
    CHECK(format_bytes(1000) == "1.00 kB");
    CHECK(format_bytes(1'050'000'000) == "1.05 GB");
    CHECK(format_bytes(999'600) == "1.00 MB");
    CHECK(format_rate(Rate::bits_per_second(943e6)) == "943 Mbit/s");
    CHECK(format_rate(Rate::bits_per_second(9.999e9)) == "10.0 Gbit/s");
    CHECK(format_rate(Rate::infinite()) == "unlimited");
    CHECK(format_byte_rate(Rate::bits_per_second(943e6)) == "118 MB/s");
    CHECK(format_count(0) == "0");
    CHECK(format_count(999) == "999");
    CHECK(format_count(1234567) == "1,234,567");
}

TEST_CASE("times are printed in the unit that suits") {
    CHECK(format_clock(std::chrono::milliseconds(6900)) == "0:07");
    CHECK(format_clock(std::chrono::seconds(754)) == "12:34");
    CHECK(format_clock(std::chrono::seconds(11045)) == "3:04:05");
    CHECK(format_clock(std::chrono::hours(9 * 24 + 3)) == "9d 03h");
    CHECK(format_clock(std::chrono::seconds(-5)) == "0:00");
    CHECK(format_elapsed(std::chrono::milliseconds(420)) == "0.42 s");
    CHECK(format_elapsed(std::chrono::milliseconds(12345)) == "12.3 s");
    CHECK(format_elapsed(std::chrono::seconds(65)) == "1:05");
    CHECK(format_milliseconds(std::chrono::microseconds(120)) == "0.12 ms");
    CHECK(format_milliseconds(std::chrono::milliseconds(143)) == "143 ms");
}

TEST_CASE("--bwlimit is rsync's: KiB, and its suffixes") {
    CHECK((*parse_bwlimit("1000")).bytes_per_second() == 1024000.0);
    CHECK((*parse_bwlimit("1.5m")).bytes_per_second() == 1.5 * 1024 * 1024);
    CHECK((*parse_bwlimit("2MB")).bytes_per_second() == 2e6);
    CHECK((*parse_bwlimit("2MiB")).bytes_per_second() == 2.0 * 1024 * 1024);
    CHECK((*parse_bwlimit("3K")).bytes_per_second() == 3072.0);
    CHECK((*parse_bwlimit("4096B")).bytes_per_second() == 4096.0);
    CHECK((*parse_bwlimit("0")).is_infinite());
    for (const char* text : {"", "fast", "-5", "1e3", "5Mbit", "iB", "7iB", "0.1", "99999T"}) {
        INFO(text);
        CHECK_FALSE(parse_bwlimit(text));
    }
}
