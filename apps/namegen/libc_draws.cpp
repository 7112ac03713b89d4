#include "apps/namegen/libc_draws.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace sluice::namegen {
namespace {

constexpr std::size_t long_lag = 31;
constexpr std::size_t short_lag = 3;

/// A remainder modulo x^31 - x^28 - 1, whose roots are the recurrence's; coefficients mod 2^32.
using Polynomial = std::array<std::uint32_t, long_lag>;

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
    std::array<std::uint32_t, 2 * long_lag - 1> product{};
    for (std::size_t i = 0; i < long_lag; ++i) {
        for (std::size_t j = 0; j < long_lag; ++j) {
            product[i + j] += a[i] * b[j];
        }
    }
    for (std::size_t i = product.size(); i-- > long_lag;) {  // x^i = x^(i - 3) + x^(i - 31)
        product[i - short_lag] += product[i];
        product[i - long_lag] += product[i];
    }
    Polynomial remainder;
    std::copy_n(product.begin(), long_lag, remainder.begin());
    return remainder;
}

/// x^power
Polynomial power_of_x(std::uint64_t power) {
    Polynomial result{1};
    Polynomial square{0, 1};
    for (; power != 0; power >>= 1U) {
        if ((power & 1U) != 0) {
            result = multiply(result, square);
        }
        square = multiply(square, square);
    }
    return result;
}

/// What srand(seed) fills the state with, the oldest number first: a * 16807 mod 2^31 - 1, by Schrage's method, as
/// glibc computes it in int32.
std::vector<std::uint32_t> filled_state(std::uint32_t seed) {
    constexpr std::int32_t multiplier = 16807;
    constexpr std::int32_t quotient = 127773;
    constexpr std::int32_t remainder = 2836;
    constexpr std::int32_t modulus = 2147483647;
    std::vector<std::uint32_t> state(long_lag);
    auto word = static_cast<std::int32_t>(seed == 0 ? 1 : seed);
    for (std::uint32_t& value : state) {
        value = static_cast<std::uint32_t>(word);
        word = multiplier * (word % quotient) - remainder * (word / quotient);
        word += word < 0 ? modulus : 0;
    }
    std::rotate(state.begin(), state.begin() + short_lag, state.end());  // the first number replaces the fourth
    return state;
}

constexpr std::uint32_t block_draws = 65'536;  // 256 KiB; a jump to it costs less than a hundredth of making it
constexpr std::size_t most_blocks = 64;        // more than readers that are at work at the same time

}  // namespace

LibcRandom::LibcRandom(std::uint32_t seed) : start_(filled_state(seed)), state_(start_) {
    constexpr std::size_t thrown_away = 310;
    for (std::size_t i = 0; i < thrown_away; ++i) {
        static_cast<void>(next());
    }
    std::rotate(state_.begin(), state_.begin() + static_cast<std::ptrdiff_t>(oldest_), state_.end());
    oldest_ = 0;
    start_ = state_;
}

void LibcRandom::jump_to(std::uint64_t count) {
    // x^count = the sum of c[j] x^j, so that number i + count of the recurrence is the sum of c[j] times number i + j.
    const Polynomial c = power_of_x(count);
    std::vector<std::uint32_t> numbers = start_;
    for (std::size_t i = long_lag; i < 2 * long_lag - 1; ++i) {
        numbers.push_back(numbers[i - short_lag] + numbers[i - long_lag]);
    }
    for (std::size_t i = 0; i < long_lag; ++i) {
        state_[i] = 0;
        for (std::size_t j = 0; j < long_lag; ++j) {
            state_[i] += c[j] * numbers[i + j];
        }
    }
    oldest_ = 0;
}

std::uint32_t LibcRandom::next() noexcept {
    const std::size_t other = (oldest_ + long_lag - short_lag) % long_lag;
    state_[oldest_] += state_[other];
    const std::uint32_t number = state_[oldest_] >> 1U;
    oldest_ = (oldest_ + 1) % long_lag;
    return number;
}

LibcDraws::LibcDraws(std::uint32_t seed, std::uint32_t each)
    : random_(seed), each_(each), block_items_(std::max(block_draws / each, 1U)) {}

void LibcDraws::of_item(std::uint64_t item, std::span<float> to) const {
    expects(to.size() <= each_, "libc draws: an item has no more than its own");
    const auto from = block(item / block_items_);
    std::copy_n(from->begin() + static_cast<std::ptrdiff_t>(item % block_items_ * each_), to.size(), to.begin());
}

std::shared_ptr<const LibcDraws::Block> LibcDraws::block(std::uint64_t number) const {
    if (std::shared_ptr<const Block> kept = find_kept(number)) {
        return kept;
    }
    std::shared_ptr<const Block> made = make_block(number);  // beside other threads, which may make the same one
    const std::scoped_lock lock(mutex_);
    if (kept_.size() == most_blocks) {
        kept_.erase(kept_.begin());
    }
    kept_.push_back({number, made});
    return made;
}

std::shared_ptr<const LibcDraws::Block> LibcDraws::find_kept(std::uint64_t number) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(kept_, number, &Kept::number);
    if (found == kept_.end()) {
        return nullptr;
    }
    std::rotate(found, found + 1, kept_.end());
    return kept_.back().block;
}

std::shared_ptr<const LibcDraws::Block> LibcDraws::make_block(std::uint64_t number) const {
    constexpr auto largest = static_cast<float>(0x7FFFFFFF);  // 2^31: RAND_MAX as a float
    LibcRandom random = random_;
    random.jump_to(number * block_items_ * each_);
    auto draws = std::make_shared<Block>(std::size_t{block_items_} * each_);
    std::ranges::generate(*draws, [&] { return static_cast<float>(random.next()) / largest; });
    return draws;
}

}  // namespace sluice::namegen
