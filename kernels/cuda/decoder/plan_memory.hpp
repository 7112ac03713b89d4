#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device.hpp"
#include "kernels/cuda/decoder/batch.hpp"
#include "kernels/cuda/decoder/sizes.hpp"

namespace sluice::decoder {

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
