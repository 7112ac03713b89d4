#include "tools/check_job.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include "core/chunk_grid.hpp"
#include "core/error.hpp"
#include "core/io/item_source.hpp"
#include "core/io/output_writer.hpp"
#include "scheduler/chunk_size.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t read_bytes = 4 * 1024 * 1024;  // a block of items: large enough that a read's cost disappears

/// Some mistakes, like a column that is not one-hot, show only when an item is read.
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

void check_report_path(const std::filesystem::path& report) {
    const std::filesystem::path folder = report.has_parent_path() ? report.parent_path() : ".";
    const auto refuse = [&](std::string what, std::string hint) {
        throw Error(ExitCode::cannot_create, {"E-OUT-021", escaped(report.native()), std::move(what), std::move(hint)});
    };
    if (std::filesystem::is_directory(report)) {
        refuse("is a folder, expected a file or nothing", "choose another output.report");
    }
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
        const int code = errno;
        refuse(fmt::format("cannot write in {}: {}", quoted(folder.native()), std::generic_category().message(code)),
               code == ENOENT ? "create the folder first" : "choose another output.report");
    }
}

JobFacts check_job(const JobConfig& job, const App& app) {
    JobFacts facts;
    const AppOptions options{.scores = job.output.scores};
    const std::unique_ptr<ItemCodec> codec = app.make_codec(options);
    facts.item_bytes = codec->shape().input_bytes;
    const std::unique_ptr<ItemSource> source = open_input(job.input, *codec);
    facts.items = source->count();
    facts.input_file_bytes = std::filesystem::file_size(job.input.path);
    if (job.model.weights) {
        facts.weight_bytes = app.read_weights(job.model.weights->native()).bytes.size();
    }
    (void)make_output_writer(job.output.path, job.output.format, codec->output_fields(), facts.items);
    check_report_path(job.output.report);
    read_all(*source, facts.item_bytes);
    const DeviceKind device = job.run.device == DeviceKind::cuda ? DeviceKind::cuda : DeviceKind::host;
    facts.chunk_items = job.pipeline.chunk_items.value_or(choose_chunk_items(facts.items, app.flop_per_item(), device));
    facts.chunks = ChunkGrid(facts.items, facts.chunk_items).chunks();
    return facts;
}

}  // namespace sluice
