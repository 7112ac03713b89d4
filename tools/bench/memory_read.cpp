#include "tools/bench/memory_read.hpp"

#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "core/input/input_file.hpp"
#include "core/machine/simd.hpp"

namespace sluice::bench {
namespace {

constexpr std::size_t cache_line = 64;

[[gnu::always_inline]] inline std::uint64_t sum(const std::byte* from, std::size_t words) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, from + i * sizeof word, sizeof word);
        total += word;
    }
    return total;
}

using Sum = std::uint64_t(const std::byte*, std::size_t);

[[gnu::target("arch=x86-64-v4")]] std::uint64_t sum_v4(const std::byte* from, std::size_t words) {
    return sum(from, words);
}
[[gnu::target("arch=x86-64-v3")]] std::uint64_t sum_v3(const std::byte* from, std::size_t words) {
    return sum(from, words);
}
std::uint64_t sum_plain(const std::byte* from, std::size_t words) {
    return sum(from, words);
}

/// The `index`-th of `shares` pieces, which share no cache line.
template <class Byte>
std::span<Byte> share_of(std::span<Byte> all, std::size_t index, std::size_t shares) {
    const std::size_t lines = all.size() / cache_line;
    const std::size_t begin = lines * index / shares * cache_line;
    const std::size_t end = index + 1 == shares ? all.size() : lines * (index + 1) / shares * cache_line;
    return all.subspan(begin, end - begin);
}

}  // namespace

PlainMemory::PlainMemory(std::size_t bytes) {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc();
    }
    ::madvise(memory, bytes, MADV_HUGEPAGE);  // if refused, small pages also work, more slowly
    bytes_ = {static_cast<std::byte*>(memory), bytes};
}

PlainMemory::~PlainMemory() {
    ::munmap(bytes_.data(), bytes_.size());
}

Seconds time_together(std::uint32_t threads, FunctionRef<void(std::uint32_t)> work) {
    std::barrier begin(static_cast<std::ptrdiff_t>(threads) + 1);
    std::vector<std::thread> team;
    for (std::uint32_t i = 0; i < threads; ++i) {
        team.emplace_back([&, i] {
            begin.arrive_and_wait();
            work(i);
        });
    }
    const Instant began = Clock::now();
    begin.arrive_and_wait();
    for (std::thread& thread : team) {
        thread.join();
    }
    return Clock::now() - began;
}

void load(const std::filesystem::path& file, std::span<std::byte> to, std::uint32_t threads) {
    const InputFile input(file);
    const auto load_share = [&](std::uint32_t i) {
        const std::span<std::byte> share = share_of(to, i, threads);
        input.read(static_cast<std::uint64_t>(share.data() - to.data()), share);
    };
    static_cast<void>(time_together(threads, load_share));
}

Seconds time_to_read(std::span<const std::byte> memory, std::uint32_t threads) {
    static Sum* const sum_here = for_this_cpu<Sum>(&sum_v4, &sum_v3, &sum_plain);
    std::atomic<std::uint64_t> total{0};  // never read, but the compiler cannot know
    const auto add_share = [&](std::uint32_t i) {
        const auto share = share_of(memory, i, threads);
        total += sum_here(share.data(), share.size() / sizeof(std::uint64_t));
    };
    return time_together(threads, add_share);
}

}  // namespace sluice::bench
