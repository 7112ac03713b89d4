#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.hpp"
#include "kernels/cuda/decoder/plan/batch.hpp"

namespace sluice::decoder {

/// How much a plan and the cache hold.
struct Sizes {
    std::uint32_t slots;       ///< Texts at a time.
    std::uint32_t rows;        ///< Of a pass, at most.
    std::uint32_t text_pages;  ///< Of the longest text.
    std::uint32_t pages;       ///< Of the cache; at least text_pages.
    std::uint32_t items = 0;   ///< Of a chunk, whose prompts may share prefixes.
    /// Of a prompt, that others may share; 0: none. A prompt's last token is its own.
    std::uint32_t prompt_pages = 0;
};

/// Pages of the cache that shared prefixes may have: the longest text finds room beside them.
[[nodiscard]] constexpr std::uint32_t most_shared_pages(const Sizes& sizes) {
    return sizes.prompt_pages == 0 ? 0 : (sizes.pages - sizes.text_pages) / 4;
}

/// Owns what Memory points to. Initially there is no text, and all pages are free.
class PlanMemory {
public:
    /// `long_prompt`: as in Memory. `attends_in_product`: whether there are prompt_pages.
    explicit PlanMemory(Device& device, const Sizes& sizes, std::uint32_t long_prompt = no_prompt_is_long,
                        bool attends_in_product = false);

    [[nodiscard]] Memory memory() const;

private:
    [[nodiscard]] SharedPrefixes shared() const;

    static std::size_t words_of(const Sizes& sizes) {
        return sizes.slots * (std::size_t{2} + sizes.text_pages) + sizes.pages;
    }

    Buffer batch_;
    Buffer texts_;
    Buffer entries_;
    Buffer rows_;
    Buffer tiles_;
    Buffer long_texts_;
    Buffer words_;
    Buffer prompt_pages_;
    Buffer prefix_nodes_;
    Buffer prefix_paths_;
    Buffer prefix_words_;
    Sizes sizes_;
    std::uint32_t long_prompt_;
};

}  // namespace sluice::decoder
