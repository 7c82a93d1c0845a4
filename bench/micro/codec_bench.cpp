// Cost of encoding and decoding the headers and frames that a bulk transfer has in every packet.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "wire/frame.hpp"
#include "wire/header.hpp"

namespace udtx::bench {
namespace {

constexpr std::size_t kDatagram = 1472;

void write_header(benchmark::State& state) {
    std::array<std::byte, kDatagram> packet{};
    wire::ShortHeader header{.destination = {0x1234'5678'9abc'def0U}, .path = {}};
    for ([[maybe_unused]] auto _ : state) {
        ++header.packet_number;
        benchmark::DoNotOptimize(wire::write_short_header(header, packet));
        benchmark::ClobberMemory();
    }
}
BENCHMARK(write_header);

void parse_header(benchmark::State& state) {
    std::array<std::byte, kDatagram> packet{};
    wire::write_short_header({.destination = {0x1234'5678'9abc'def0U}, .path = {}, .packet_number = 77}, packet);
    for ([[maybe_unused]] auto _ : state) {
        const auto header = wire::parse_short_header(packet);
        benchmark::DoNotOptimize(header->packet_number);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(parse_header);

std::size_t write_stream(std::span<std::byte> packet) {
    wire::Writer writer(packet);
    const auto room = wire::write_stream_header(writer, StreamId{2}, 1ULL << 33U, packet.size(), false);
    if (!room.written) std::abort();
    return room.payload.size();
}

void write_stream_frame(benchmark::State& state) {
    std::array<std::byte, kDatagram> packet{};
    for ([[maybe_unused]] auto _ : state) {
        benchmark::DoNotOptimize(write_stream(packet));
        benchmark::ClobberMemory();
    }
}
BENCHMARK(write_stream_frame);

void read_all(std::span<const std::byte> payload, wire::AckFrame& scratch) {
    wire::Reader reader(payload);
    while (!reader.empty()) {
        const auto frame = wire::read_frame(reader, scratch);
        if (!frame) std::abort();
        benchmark::DoNotOptimize(frame->index());
    }
}

void read_stream_frame(benchmark::State& state) {
    std::array<std::byte, kDatagram> packet{};
    write_stream(packet);
    wire::AckFrame scratch;
    for ([[maybe_unused]] auto _ : state) read_all(packet, scratch);
}
BENCHMARK(read_stream_frame);

/// An ACK frame with `count` ranges of 19 packets and one lost packet between them, a loss of 5 %.
wire::AckFrame make_ack(std::size_t count) {
    wire::AckFrame ack;
    PacketNumber last = 10'000'000;
    for (ack.count = 0; ack.count < count; ++ack.count, last -= 20) ack.ranges[ack.count] = {last - 18, last};
    return ack;
}

void write_ack_frame(benchmark::State& state) {
    std::array<std::byte, kDatagram> packet{};
    const wire::AckFrame ack = make_ack(static_cast<std::size_t>(state.range(0)));
    for ([[maybe_unused]] auto _ : state) {
        wire::Writer writer(packet);
        if (!wire::write_ack(writer, ack)) std::abort();
        benchmark::ClobberMemory();
    }
}
BENCHMARK(write_ack_frame)->Arg(1)->Arg(32)->Arg(256);

void read_ack_frame(benchmark::State& state) {
    std::array<std::byte, kDatagram> packet{};
    wire::Writer writer(packet);
    if (!wire::write_ack(writer, make_ack(static_cast<std::size_t>(state.range(0))))) std::abort();
    wire::AckFrame scratch;
    for ([[maybe_unused]] auto _ : state) read_all(writer.written(), scratch);
}
BENCHMARK(read_ack_frame)->Arg(1)->Arg(32)->Arg(256);

}  // namespace
}  // namespace udtx::bench
