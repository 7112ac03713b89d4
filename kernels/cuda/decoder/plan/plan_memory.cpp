#include "kernels/cuda/decoder/plan/plan_memory.hpp"

#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "kernels/cuda/cuda_operation.hpp"

namespace sluice::decoder {
namespace {

std::size_t nodes_of(const Sizes& sizes) {
    return sizes.prompt_pages == 0 ? 0 : prefix_nodes(sizes.items, sizes.prompt_pages);
}

/// Of owners, texts and pages.
std::size_t prefix_words_of(const Sizes& sizes) {
    return sizes.prompt_pages == 0 ? 0 : std::size_t{sizes.items} * (sizes.prompt_pages + 1) + most_shared_pages(sizes);
}

}  // namespace

PlanMemory::PlanMemory(Device& device, const Sizes& sizes, std::uint32_t long_prompt, bool attends_in_product)
    : batch_(device.allocate(MemorySpace::device, sizeof(Batch))),
      texts_(device.allocate(MemorySpace::device, sizes.slots * sizeof(Text))),
      entries_(device.allocate(MemorySpace::device, sizes.slots * sizeof(Entry))),
      rows_(device.allocate(MemorySpace::device, sizes.rows * sizeof(Row))),
      tiles_(device.allocate(MemorySpace::device, (sizes.rows / tile_queries + sizes.slots) * sizeof(Tile))),
      long_texts_(device.allocate(MemorySpace::device, sizes.slots * sizeof(Tile))),
      words_(device.allocate(MemorySpace::device, words_of(sizes) * sizeof(std::uint32_t))),
      prompt_pages_(device.allocate(
          MemorySpace::device,
          attends_in_product ? (sizes.rows + page_positions - 1) / page_positions * sizeof(std::uint32_t) : 0)),
      prefix_nodes_(device.allocate(MemorySpace::device, nodes_of(sizes) * sizeof(PrefixNode))),
      prefix_paths_(
          device.allocate(MemorySpace::device, sizes.prompt_pages == 0 ? 0 : sizes.items * sizeof(PrefixPath))),
      prefix_words_(device.allocate(MemorySpace::device, prefix_words_of(sizes) * sizeof(std::uint32_t))),
      sizes_(sizes),
      long_prompt_(long_prompt) {
    expects(nodes_of(sizes) <= std::numeric_limits<std::uint32_t>::max(),
            "decoder: more items than can share prefixes");
    std::vector<std::uint32_t> pages(sizes.pages);
    std::iota(pages.begin(), pages.end(), 0U);
    copy_now(words_.bytes().last(sizes.pages * sizeof(std::uint32_t)), std::as_bytes(std::span(pages)));
    Batch batch;
    batch.free_pages = sizes.pages;
    copy_now(batch_.bytes(), std::as_bytes(std::span(&batch, 1)));
}

Memory PlanMemory::memory() const {
    std::uint32_t* const words = words_.as<std::uint32_t>().data();
    return {.batch = batch_.as<Batch>().data(),
            .texts = texts_.as<Text>().data(),
            .entries = entries_.as<Entry>().data(),
            .rows = rows_.as<Row>().data(),
            .tiles = tiles_.as<Tile>().data(),
            .long_texts = long_texts_.as<Tile>().data(),
            .continuing = words,
            .free_slots = words + sizes_.slots,
            .page_table = words + 2 * std::size_t{sizes_.slots},
            .free_pages = words + words_of(sizes_) - sizes_.pages,
            .slots = sizes_.slots,
            .most_rows = sizes_.rows,
            .text_pages = sizes_.text_pages,
            .long_prompt = long_prompt_,
            .prompt_pages = prompt_pages_.bytes().empty() ? nullptr : prompt_pages_.as<std::uint32_t>().data(),
            .shared = shared()};
}

SharedPrefixes PlanMemory::shared() const {
    if (sizes_.prompt_pages == 0 || sizes_.items == 0) {
        return {};
    }
    std::uint32_t* const words = prefix_words_.as<std::uint32_t>().data();
    const std::size_t owners = std::size_t{sizes_.items} * sizes_.prompt_pages;
    return {.most_pages = sizes_.prompt_pages,
            .items = sizes_.items,
            .most_nodes = static_cast<std::uint32_t>(nodes_of(sizes_)),
            .room = most_shared_pages(sizes_),
            .nodes = prefix_nodes_.as<PrefixNode>().data(),
            .owners = words,
            .paths = prefix_paths_.as<PrefixPath>().data(),
            .texts = words + owners,
            .pages = words + owners + sizes_.items};
}

}  // namespace sluice::decoder
