#include "tools/runtime/check_job.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/device/cuda.hpp"
#include "core/input/item_source.hpp"
#include "core/standard_error.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t read_bytes = 4 * 1024 * 1024;  // a block of items: large enough to hide the cost of a read

/// Some errors, such as a column that is not one-hot, only show when an item is read.
void read_all(const ItemSource& source, std::uint32_t item_bytes) {
    const auto block_items = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, read_bytes / item_bytes));
    std::vector<std::byte> block(std::size_t{block_items} * item_bytes);
    const ChunkGrid grid(source.count(), block_items);
    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        const Chunk chunk = grid.at(id);
        source.read(chunk.first, chunk.count, std::span(block).first(std::size_t{chunk.count} * item_bytes));
    }
}

/// By its first item.
void read_each_record(const ItemSource& source, std::uint64_t items_each, std::uint32_t item_bytes) {
    std::vector<std::byte> item(item_bytes);
    for (std::uint64_t first = 0; first < source.count(); first += items_each) {
        source.read(first, 1, item);
    }
}

}  // namespace

void check_prepared_job(const PreparedJob& prepared) {
    if (prepared.plan.device == DeviceKind::cuda) {
        (void)make_cuda_device(0);
    }
    const JobConfig::Input& input = prepared.job.input;
    const std::uint32_t item_bytes = prepared.codec->shape().input_bytes;
    if (!input.count) {
        read_all(*prepared.source, item_bytes);
    } else if (!input.paths.empty()) {
        read_each_record(*prepared.source, *input.count, item_bytes);
    }
}

void warn_of_long_notice(const JobConfig& job) {
    if (std::string problem = problem_with_notice(job.slurm); !problem.empty()) {
        const ErrorText text{.id = "W-SLM-160",
                             .where = "slurm.resume.notice",
                             .what = std::move(problem),
                             .hint = "leave slurm.resume.notice out: a run stops by itself before its time limit"};
        say(text);
    }
}

}  // namespace sluice
