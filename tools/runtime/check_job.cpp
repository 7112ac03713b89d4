#include "tools/runtime/check_job.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/device/cuda.hpp"
#include "core/input/item_source.hpp"
#include "core/machine/provenance.hpp"
#include "core/output/ordered_results.hpp"
#include "core/process/standard_error.hpp"
#include "kernels/host_instructions.hpp"
#include "tools/runtime/choose_instructions.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t read_bytes = 4 * 1024 * 1024;  // a block of items: large enough to hide the cost of a read

/// Some errors, such as a column that is not one-hot, only show when an item is read. Each item counts as `each`.
void read_all(const ItemSource& source, std::uint32_t item_bytes, std::uint64_t each,
              std::atomic<std::uint64_t>& items_read) {
    const auto block_items = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, read_bytes / item_bytes));
    std::vector<std::byte> block(std::size_t{block_items} * item_bytes);
    const ChunkGrid grid(source.count(), block_items);
    for (std::uint64_t id = 0; id < grid.chunks(); ++id) {
        const Chunk chunk = grid.at(id);
        source.read(chunk.first, chunk.count, std::span(block).first(std::size_t{chunk.count} * item_bytes));
        items_read += chunk.count * each;
    }
}

/// Each record once, whatever the number of its items.
void read_all_records(const PreparedJob& prepared, std::uint32_t item_bytes, std::atomic<std::uint64_t>& items_read) {
    JobConfig::Input one = prepared.job.input;
    one.count.reset();
    one.allow_empty = true;
    for (const SourceFile& file : prepared.source->files()) {  // the others stay open once only
        one.paths = {file.path};
        read_all(*open_input(one, *prepared.codec), item_bytes, *prepared.job.input.count, items_read);
    }
}

}  // namespace

void check_prepared_job(const PreparedJob& prepared, std::atomic<std::uint64_t>& items_read) {
    if (!is_chunk_size_measured(prepared)) {  // which leads to few chunks
        static_cast<void>(OrderedResults::make_trace(prepared.plan.grid()));
    }
    if (prepared.plan.device == DeviceKind::cuda) {
        (void)make_cuda_device(0);
    } else {
        const std::array host{host_name()};
        const std::array instructions{host_instructions()};
        (void)choose_instructions(prepared, instructions, host);
    }
    const std::uint32_t item_bytes = prepared.codec->shape().input_bytes;
    if (prepared.job.input.count) {
        read_all_records(prepared, item_bytes, items_read);
    } else {
        read_all(*prepared.source, item_bytes, 1, items_read);
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
