#include "tools/runtime/item_sample.hpp"

#include <algorithm>
#include <utility>

#include "kernels/philox.hpp"

namespace sluice {

ItemSample::ItemSample(std::uint64_t items, std::vector<std::uint64_t> left_out, std::uint64_t wanted,
                       std::uint64_t seed)
    : left_out_(std::move(left_out)), seed_(seed) {
    std::erase_if(left_out_, [&](std::uint64_t item) { return item >= items; });
    std::ranges::sort(left_out_);
    left_out_.erase(std::unique(left_out_.begin(), left_out_.end()), left_out_.end());
    left_ = items - left_out_.size();
    wanted_ = std::min(wanted, left_);
}

/// Selection sampling: an item is taken with the probability of those still wanted among those left. Knuth, The Art of
/// Computer Programming, volume 2, section 3.4.2, algorithm S.
std::optional<std::uint64_t> ItemSample::next() {
    while (wanted_ != 0) {
        const std::uint64_t item = item_++;
        if (std::ranges::binary_search(left_out_, item)) {
            continue;
        }
        const Random128 random = random_words(seed_, {.item = item, .number = 0});
        const std::uint64_t number = std::uint64_t{random.words[0]} << 32U | random.words[1];
        const bool is_taken = number % left_ < wanted_;
        --left_;
        if (is_taken) {
            --wanted_;
            return item;
        }
    }
    return std::nullopt;
}

}  // namespace sluice
