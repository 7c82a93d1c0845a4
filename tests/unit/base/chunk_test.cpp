#include "udtx/core/chunk.hpp"

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "test/catch.hpp"

using udtx::Chunk;
using udtx::ChunkPool;

TEST_CASE("a chunk copies, shares and shortens") {
    std::vector<std::byte> source(100, std::byte{7});
    Chunk chunk = Chunk::copy_of(source);
    source[0] = std::byte{0};
    CHECK(chunk.size() == 100);
    CHECK(chunk.bytes()[0] == std::byte{7});

    const Chunk shared = chunk;
    CHECK(shared.bytes().data() == chunk.bytes().data());
    chunk.truncate(200);
    CHECK(chunk.size() == 100);
    chunk.truncate(10);
    CHECK(chunk.size() == 10);
    CHECK(shared.size() == 100);
    CHECK(Chunk::copy_of({}).empty());
}

TEST_CASE("parts of a chunk share its memory, and join where one follows the other") {
    const std::vector<std::byte> source(100, std::byte{7});
    Chunk part;
    {
        const Chunk whole = Chunk::copy_of(source);
        part = whole.part(10, 20);
        CHECK(part.bytes().data() == whole.bytes().data() + 10);
        CHECK(whole.part(90, 20).size() == 10);
        CHECK(whole.part(200, 20).empty());
        CHECK(part.append(whole.part(30, 5)));
        CHECK(part.size() == 25);
        CHECK(part.allocated() == 25);
        CHECK_FALSE(part.append(whole.part(36, 5)));
        CHECK_FALSE(part.append(whole.part(10, 5)));
        CHECK_FALSE(part.append(Chunk::copy_of(source)));
    }
    CHECK(part.bytes()[24] == std::byte{7});
    // Adjacent memory of two different owners does not join.
    std::vector<std::byte> both(2);
    const auto keep = [](std::byte*) {};
    Chunk first(std::shared_ptr<std::byte[]>(both.data(), keep), 1);
    CHECK_FALSE(first.append(Chunk(std::shared_ptr<std::byte[]>(both.data() + 1, keep), 1)));
}

TEST_CASE("the pool hands a returned block out again") {
    ChunkPool pool(4096, 2);
    const std::byte* first = nullptr;
    {
        const Chunk chunk = pool.take();
        first = chunk.bytes().data();
        CHECK(chunk.size() == 4096);
    }
    Chunk again = pool.take();
    CHECK(again.bytes().data() == first);
    // The block stays in use while any copy exists.
    Chunk copy = again;
    again = Chunk();
    CHECK(pool.take().bytes().data() != first);
    copy = Chunk();
    CHECK(pool.take().bytes().data() == first);
}

TEST_CASE("a block of the pool begins a page") {
    ChunkPool pool(1U << 20, 0);
    for (int i = 0; i < 3; ++i) CHECK(reinterpret_cast<std::uintptr_t>(pool.take().bytes().data()) % 4096 == 0);
}

TEST_CASE("the pool keeps no more than max_idle blocks") {
    ChunkPool pool(64, 1);
    const std::byte* kept = nullptr;
    {
        const Chunk a = pool.take();
        const Chunk b = pool.take();
        kept = b.bytes().data();  // b returns first and fills the pool
    }
    const Chunk c = pool.take();
    CHECK(c.bytes().data() == kept);
}

TEST_CASE("chunks may outlive their pool") {
    std::optional<ChunkPool> pool(std::in_place, 64, 4);
    Chunk chunk = pool->take();
    pool.reset();
    chunk.writable()[63] = std::byte{1};
    CHECK(chunk.bytes()[63] == std::byte{1});
}

TEST_CASE("the pool serves several threads") {
    ChunkPool pool(256, 4);
    const auto work = [&pool](std::byte mark) {
        for (int i = 0; i < 500; ++i) {
            Chunk chunk = pool.take();
            for (std::byte& b : chunk.writable()) b = mark;
            for (const std::byte b : chunk.bytes()) {
                if (b != mark) return false;
            }
        }
        return true;
    };
    bool other = false;
    std::thread thread([&] { other = work(std::byte{1}); });
    const bool own = work(std::byte{2});
    thread.join();
    CHECK(own);
    CHECK(other);
}
