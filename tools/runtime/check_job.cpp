#include "tools/runtime/check_job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/device/cuda.hpp"
#include "core/error.hpp"
#include "core/input/item_source.hpp"
#include "core/output/output_file.hpp"
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

}  // namespace

void check_folder_of(const std::filesystem::path& path, std::string_view key) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    if (::access((folder / "").c_str(), W_OK | X_OK) != 0) {  // the trailing slash requires a folder
        const int code = errno;
        throw Error(ExitCode::cannot_create,
                    {.id = "E-OUT-021",
                     .where = escaped(path.native()),
                     .what = fmt::format("cannot write in {}: {}", quoted(folder.native()),
                                         std::generic_category().message(code)),
                     .hint = code == ENOENT ? "create the folder first" : fmt::format("choose another {}", key)});
    }
}

void check_output_path(const std::filesystem::path& output) {
    if (output.has_filename()) {
        (void)OutputFile(output);  // creates a file beside it, and removes it
    } else {
        check_folder_of(output.parent_path(), "output.path");
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

void check_prepared_job(const PreparedJob& prepared) {
    if (prepared.plan.device == DeviceKind::cuda) {
        (void)make_cuda_device(0);
    }
    JobConfig::Input input = prepared.job.input;
    if (!input.count) {
        read_all(*prepared.source, prepared.codec->shape().input_bytes);
    } else if (!input.path.empty()) {  // each record once
        input.count.reset();
        read_all(*open_input(input, *prepared.codec), prepared.codec->shape().input_bytes);
    }
}

}  // namespace sluice
