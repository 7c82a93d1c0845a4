// The data of the live page: a bounded number of samples, values of each path, and names that stay plain text.
#include <cmath>

#include "page/page.hpp"
#include "test/catch.hpp"

using namespace udtx;
using namespace udtx::apps;
using namespace std::chrono_literals;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

Observation transfer_from(const std::string& peer, double rate_bps) {
    Observation seen;
    seen.peer = peer;
    seen.progress.phase = transfer::Phase::transfer;
    seen.progress.bytes_sent = 7000;
    seen.progress.bytes_done = 5000;
    seen.progress.bytes_total = 9000;
    seen.rate = Rate::bits_per_second(rate_bps);
    PathStats path;
    path.smoothed_rtt = 20ms;
    path.sent_packets = 200;
    path.lost_packets = 5;
    path.congestion.congestion_degree = 0.25;
    seen.stats.emplace();
    seen.stats->paths.push_back(path);
    seen.paths[path.id] = seen.rate;
    return seen;
}

}  // namespace

TEST_CASE("a history of days has as many samples as one of minutes, and begins where it began") {
    History history;
    for (int i = 1; i <= 200000; ++i) {
        Sample sample;
        sample.at = i;
        sample.rate_bps = 1000.0;
        sample.done = 10.0 * i;
        sample.cap_bps = std::nan("");
        sample.lines = {{3, 500.0, std::nan(""), 0.5, 0.0, 0.0}};
        history.add(sample);
        if (i % 1000 == 0) REQUIRE(history.samples().size() <= History::kMost);
    }
    const auto samples = history.samples();
    CHECK(samples.size() >= History::kMost / 2);
    CHECK(samples.front().at < 1000.0);
    CHECK(samples.back().at == 200000.0);
    for (std::size_t i = 0; i < samples.size(); ++i) {
        CHECK((i == 0 || samples[i].at > samples[i - 1].at));
        CHECK(samples[i].rate_bps == 1000.0);
        CHECK(samples[i].done == 10.0 * samples[i].at);
        CHECK(std::isnan(samples[i].cap_bps));
        REQUIRE(samples[i].lines.size() == 1);
        CHECK(samples[i].lines[0].loss == 0.5);
        CHECK(std::isnan(samples[i].lines[0].rtt_ms));
    }
}

TEST_CASE("samples become one by their means; what one of them does not know is left out") {
    Sample first;
    first.at = 1.0;
    first.rate_bps = 100.0;
    first.done = 10.0;
    first.lines = {{0, 10.0, 4.0, 0.0, 0.0, 0.0}};
    Sample second = first;
    second.at = 2.0;
    second.rate_bps = 300.0;
    second.done = 40.0;
    second.lines = {{0, 30.0, std::nan(""), 0.0, 0.0, 0.0}, {1, 7.0, 9.0, 0.0, 0.0, 0.0}};
    const Sample both = merged(std::vector{first, second});
    CHECK(both.at == 2.0);
    CHECK(both.rate_bps == 200.0);
    CHECK(both.done == 40.0);
    REQUIRE(both.lines.size() == 2);
    CHECK(both.lines[0].rate_bps == 20.0);
    CHECK(both.lines[0].rtt_ms == 4.0);
    CHECK(both.lines[1].rate_bps == 7.0);
}

TEST_CASE("a sender's page has loss, congestion degree and flight of each path; loss is that of the last interval") {
    PageData page({.end = DataEnd::sender, .version = "1", .where = "host:7000"});
    auto seen = transfer_from("host:7000", 8e6);
    seen.sends = true;
    page.look(1s, {seen});
    page.sample();
    seen.stats->paths[0].sent_packets += 100;
    seen.stats->paths[0].lost_packets += 50;
    page.look(2s, {seen});
    page.sample();
    CHECK(has(
        page.json(false),
        R"("sample":[2.000000,8000000,null,5000.000000,2000.000000,[[0,8000000,20.000000,0.500000,0.250000,0.000000]]])"));
    CHECK(count_of(page.json(true), "20.000000,0.025000,0.250000") == 1);
    CHECK(has(page.json(true), R"("packets_lost":55)"));
}

TEST_CASE("a receiver's page does not give the loss of its acknowledgements for that of the data") {
    PageData page({.end = DataEnd::receiver, .version = "1", .where = "/data"});
    page.look(1s, {transfer_from("10.0.0.1:5", 8e6)});
    page.sample();
    CHECK(has(page.json(false), "20.000000,null,null,null"));
    CHECK_FALSE(has(page.json(false), "packets_lost"));
    CHECK(has(page.json(false), R"("sends":false)"));
}

TEST_CASE("a server's page has the loss of what is fetched from it") {
    PageData page({.end = DataEnd::receiver, .version = "1", .where = "serving /data", .one_off = false});
    auto fetched = transfer_from("10.0.0.1:5", 8e6);
    fetched.sends = true;
    page.look(1s, {fetched});
    page.sample();
    CHECK(has(page.json(false), R"("sends":true)"));
    CHECK(has(page.json(false), R"("packets_lost":5)"));
}

TEST_CASE("a thousand senders: sums of all, few of them one by one, lines that go on while others overtake") {
    PageData page({.end = DataEnd::receiver, .version = "1", .where = "/data", .one_off = false});
    const auto thousand = [](double fastest) {
        std::vector<Observation> all;
        for (int i = 0; i < 1000; ++i)
            all.push_back(transfer_from("10.0.0.1:" + std::to_string(i), i == 7 ? fastest : 1000.0));
        return all;
    };
    page.look(1s, thousand(1000.0));
    page.sample();
    const std::string labels = page.json(false).substr(page.json(false).find("\"labels\""));
    page.look(2s, thousand(5e6));
    page.sample();
    const std::string text = page.json(false);
    CHECK(text.substr(text.find("\"labels\"")).starts_with(labels.substr(0, labels.find('}'))));
    CHECK(has(text, R"("active":1000)"));
    CHECK(has(text, R"("bytes_done":5000000,)"));
    CHECK(count_of(text, "\"peer\"") == PageData::kMaxTransfers);
    CHECK(text.find(R"("peer":"10.0.0.1:7")") < text.find(R"("peer":"10.0.0.1:0")"));
    for (int i = 0; i < 100; ++i) {
        page.look(Duration(3s) + i * 1s, {transfer_from("10.0.1.1:" + std::to_string(i), 1.0)});
        page.sample();
        const std::string peer = "10.0.1.1:" + std::to_string(i);
        page.ended(peer, "to " + peer + " (bob)", {});
    }
    CHECK(count_of(page.json(false), "\"reason\"") == PageData::kMaxEnded);
    CHECK(has(page.json(false), R"("ended_count":100)"));
    CHECK(has(page.json(false), R"x("peer":"10.0.1.1:99","whose":"to 10.0.1.1:99 (bob)")x"));
    const std::string last = page.json(false);
    const std::size_t from = last.find("\"labels\"");
    CHECK(count_of(last.substr(from, last.find('}', from) - from), "\":\"") == PageData::kMaxLabels);
}

TEST_CASE("no name ends the element that holds a report's data") {
    PageData page({.end = DataEnd::sender, .version = "1", .where = "host:7000"});
    auto seen = transfer_from("host:7000", 1.0);
    seen.progress.current_name = "</script><script>alert(1)</script>\"\n<!--";
    page.look(1s, {seen});
    page.sample();
    FinalReport end;
    end.outcome.failed.push_back({"</SCRIPT >", ErrorCode::file_io, "<!-- "});
    page.over(end);
    const PageAssets assets{"<!-- head -->body<!-- scripts -->", "css", "own()", "chart()"};
    const std::string text = page_with_data(assets, page.json(true), "n0nce");
    CHECK(count_of(text, "</script>") == 3);
    CHECK(count_of(text, "<script") == 3);
    CHECK(count_of(text, "<!--") == 0);
    CHECK(count_of(text, "</SCRIPT") == 0);
    CHECK(has(text, "\\u003c/script>\\u003cscript>alert(1)"));
    CHECK(count_of(text, "<script nonce=\"n0nce\">") == 2);
}

TEST_CASE("the page loads nothing from elsewhere, in either form") {
    const PageAssets assets{"<!-- head -->body<!-- scripts -->", "css", "own()", "chart()"};
    const HttpReply page = page_file(assets, "/");
    CHECK(page.status == 200);
    CHECK_FALSE(has(page.body, "http"));
    std::string policy;
    for (const auto& [name, value] : page.fields) policy += name == "Content-Security-Policy" ? value : "";
    CHECK(policy.starts_with("default-src 'none';"));
    CHECK_FALSE(has(policy, "unsafe"));
    CHECK(page_file(assets, "/page.js").body == "own()");
    CHECK(page_file(assets, "/chart.js").body == "chart()");
    CHECK(page_file(assets, "/page.css").body == "css");
    CHECK(page_file(assets, "/../etc/passwd").status == 404);
    if (page_assets() == nullptr) return;
    const std::string whole = page_with_data(*page_assets(), "{}", "n");
    CHECK_FALSE(has(whole, "<!-- head -->"));
    CHECK_FALSE(has(whole, "<!-- scripts -->"));
    CHECK(has(whole, "Chart.js v"));
}
