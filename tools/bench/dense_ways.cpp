#include "tools/bench/dense_ways.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/error.hpp"
#include "core/input/input_file.hpp"
#include "tools/bench/median.hpp"

namespace sluice::bench {
namespace {

constexpr double giga = 1e9;

/// A map of a file, with no page touched yet.
class FreshMap {
public:
    FreshMap(const std::filesystem::path& path, std::size_t bytes) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
        const int problem = errno;
        ::close(file);
        if (memory == MAP_FAILED) {
            throw std::system_error(problem, std::generic_category(), path.string());
        }
        bytes_ = {static_cast<const std::byte*>(memory), bytes};
    }
    FreshMap(const FreshMap&) = delete;
    FreshMap& operator=(const FreshMap&) = delete;
    ~FreshMap() { ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

class Ways {
public:
    Ways(const ReaderFile& file, const ItemCodec& codec, const PlainMemory& memory)
        : file_(file),
          codec_(codec),
          memory_(memory.bytes()),
          input_(file.input.paths.front()),
          item_bytes_(file.bytes / file.items),
          wire_(file.items * codec.shape().input_bytes) {
        expects(file.bytes % file.items == 0, "a headerless file of fp32 items");
    }

    [[nodiscard]] Seconds read_memory(std::uint32_t threads) const { return time_to_read(memory_, threads); }

    [[nodiscard]] Seconds pack_memory(std::uint32_t threads) {
        const auto work = [&](std::uint32_t i) {
            each(i, threads, [&](std::uint64_t item) { pack(item, memory_.subspan(item * item_bytes_, item_bytes_)); });
        };
        return time_together(threads, work);
    }

    [[nodiscard]] Seconds copy(std::uint32_t threads) {
        const auto work = [&](std::uint32_t i) {
            const auto buffer = std::make_unique_for_overwrite<std::byte[]>(item_bytes_);
            each(i, threads,
                 [&](std::uint64_t item) { input_.read(item * item_bytes_, std::span(buffer.get(), item_bytes_)); });
        };
        return time_together(threads, work);
    }

    [[nodiscard]] Seconds copy_and_pack(std::uint32_t threads) {
        const auto work = [&](std::uint32_t i) {
            const auto buffer = std::make_unique_for_overwrite<std::byte[]>(item_bytes_);
            const std::span<std::byte> dense(buffer.get(), item_bytes_);
            each(i, threads, [&](std::uint64_t item) {
                input_.read(item * item_bytes_, dense);
                pack(item, dense);
            });
        };
        return time_together(threads, work);
    }

    [[nodiscard]] Seconds pack_map(std::uint32_t threads) {
        const Instant begin = Clock::now();
        {
            const FreshMap map(file_.input.paths.front(), file_.bytes);
            const auto work = [&](std::uint32_t i) {
                each(i, threads,
                     [&](std::uint64_t item) { pack(item, map.bytes().subspan(item * item_bytes_, item_bytes_)); });
            };
            static_cast<void>(time_together(threads, work));
        }
        return Clock::now() - begin;  // includes mapping and unmapping
    }

private:
    template <class Work>
    void each(std::uint32_t thread, std::uint32_t threads, const Work& work) const {
        const std::uint64_t end = file_.items * (thread + 1) / threads;
        for (std::uint64_t item = file_.items * thread / threads; item < end; ++item) {
            work(item);
        }
    }

    void pack(std::uint64_t item, std::span<const std::byte> dense) {
        const std::size_t packed_bytes = codec_.shape().input_bytes;
        const ItemProblem problem =
            codec_.pack_dense({reinterpret_cast<const float*>(dense.data()), dense.size() / sizeof(float)},
                              std::span(wire_).subspan(item * packed_bytes, packed_bytes));
        expects(!problem, "the benchmark's items are good");
    }

    const ReaderFile& file_;
    const ItemCodec& codec_;
    std::span<const std::byte> memory_;
    InputFile input_;
    std::size_t item_bytes_;
    std::vector<std::byte> wire_;
};

struct Way {
    std::string_view name;
    std::function<Seconds(Ways&, std::uint32_t)> time;
};

const std::array ways{
    Way{"memory, read alone", [](Ways& w, std::uint32_t threads) { return w.read_memory(threads); }},
    Way{"memory, packed", [](Ways& w, std::uint32_t threads) { return w.pack_memory(threads); }},
    Way{"pread, not packed", [](Ways& w, std::uint32_t threads) { return w.copy(threads); }},
    Way{"pread an item, packed", [](Ways& w, std::uint32_t threads) { return w.copy_and_pack(threads); }},
    Way{"mapped, packed", [](Ways& w, std::uint32_t threads) { return w.pack_map(threads); }},
};

}  // namespace

void compare_dense_ways(const ReaderFile& file, const ItemCodec& codec, const PlainMemory& memory,
                        std::span<const std::uint32_t> threads, std::uint32_t repeats) {
    Ways all(file, codec, memory);
    fmt::print("\nfp32 items       threads   of a plain read:    GB/s, median (least to most of {})\n", repeats);
    for (const std::uint32_t count : threads) {
        std::array<std::vector<double>, ways.size()> rates;
        for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
            for (std::size_t way = 0; way < ways.size(); ++way) {
                rates[way].push_back(static_cast<double>(file.bytes) / giga / ways[way].time(all, count).count());
            }
        }
        for (std::size_t way = 0; way < ways.size(); ++way) {
            const double typical = median(rates[way]);
            const auto [least, most] = std::ranges::minmax(rates[way]);
            fmt::print("{:22} {:3} {:18.3f} {:16.2f} ({:.2f} to {:.2f})\n", ways[way].name, count,
                       typical / median(rates[0]), typical, least, most);
        }
    }
    std::fflush(stdout);
}

}  // namespace sluice::bench
