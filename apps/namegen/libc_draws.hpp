#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace sluice::namegen {

/// The sequence of glibc's rand() after srand(seed), from any position: r[i] = r[i - 3] + r[i - 31] mod 2^32, of which
/// rand() returns the upper 31 bits (TYPE_3 of random(3), an additive feedback generator; its state is seeded by
/// Lehmer's 16807, and the first 310 numbers are discarded).
class LibcRandom {
public:
    explicit LibcRandom(std::uint32_t seed);

    /// Positions the sequence after `count` calls of rand() since srand(). Takes some tens of microseconds.
    void jump_to(std::uint64_t count);

    [[nodiscard]] std::uint32_t next() noexcept;

private:
    std::vector<std::uint32_t> start_;  // the state at the first number
    std::vector<std::uint32_t> state_;  // a ring of the last 31 numbers
    std::size_t oldest_ = 0;
};

/// Draws in [0, 1] equal to glibc's (float)rand() / (float)RAND_MAX, assigned to items in order. Keeps at most 16 MiB
/// of them, or 64 items'. Thread-safe.
class LibcDraws {
public:
    /// Item i has the `each` draws from number i * each on; `each` > 0.
    LibcDraws(std::uint32_t seed, std::uint32_t each);

    /// to.size() <= each.
    void of_item(std::uint64_t item, std::span<float> to) const;

private:
    using Block = std::vector<float>;
    struct Kept {
        std::uint64_t number;
        std::shared_ptr<const Block> block;
    };

    [[nodiscard]] std::shared_ptr<const Block> block(std::uint64_t number) const;
    [[nodiscard]] std::shared_ptr<const Block> find_kept(std::uint64_t number) const;
    [[nodiscard]] std::shared_ptr<const Block> make_block(std::uint64_t number) const;

    LibcRandom random_;
    std::uint32_t each_;
    std::uint32_t block_items_;
    mutable std::mutex mutex_;
    mutable std::vector<Kept> kept_;  // the one that was used last comes last
};

}  // namespace sluice::namegen
