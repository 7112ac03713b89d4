#include "core/commit/committed_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/fault_point.hpp"
#include "core/input/checked.hpp"
#include "core/output/nonfinite.hpp"

namespace sluice {
namespace {

std::string text_of(const std::vector<OutputField>& fields) {
    std::string text;
    for (const OutputField& field : fields) {
        text += fmt::format("{}{} {}[{}]", text.empty() ? "" : ", ",
                            field.type == FieldType::int32 ? "int32" : "float32", field.name, field.count);
    }
    return text;
}

RunIdentity identity_of(const CommittedOutputOptions& options, const RunPaths& paths, const RowEncoder& rows) {
    const ChunkGrid grid(options.items, options.chunk_items);
    const std::uint64_t chunk_bytes = options.chunk_items * rows.estimate_row_bytes(options.items);
    RunIdentity identity{.items = options.items,
                         .chunk_items = options.chunk_items,
                         .chunks_per_part = choose_chunks_per_part(grid.chunks(), chunk_bytes),
                         .layout = paths.layout,
                         .settings = options.settings};
    identity.settings.emplace_back("output.format", extension_of(options.format));
    identity.settings.emplace_back("output.fields", text_of(options.fields));
    return identity;
}

/// Of .npy alone it is known before.
std::uint64_t size_to_come(const CommittedOutputOptions& options, const RowEncoder& rows) {
    if (options.format != OutputFormat::npy) {
        return 0;
    }
    return checked_multiply(options.items, rows.item_bytes()).value_or(std::numeric_limits<std::uint64_t>::max());
}

OutputRunOptions run_options(CommittedOutputOptions options, RowEncoder& rows) {
    const RunPaths paths = run_paths(options.path, extension_of(options.format));
    return {.paths = paths,
            .identity = identity_of(options, paths, rows),
            .header = [&rows](std::uint64_t items) { return rows.header(items); },
            .me = std::move(options.me),
            .verify = options.verify,
            .policy = std::move(options.policy),
            .bytes_to_come = size_to_come(options, rows),
            .provenance = std::move(options.provenance)};
}

[[noreturn]] void refuse(const Nonfinite& found, std::uint64_t chunk) {
    throw Error(ExitCode::numeric,
                {.id = "E-NUM-081",
                 .where = fmt::format("chunk {}", chunk),
                 .what = fmt::format("{} not finite in items {}{}", found.values, fmt::join(found.first_items, ", "),
                                     found.items > found.first_items.size() ? ", …" : ""),
                 .hint = "check those items and run.precision; output.nonfinite = \"flag\" writes them anyway"});
}

}  // namespace

CommittedOutput::CommittedOutput(CommittedOutputOptions options)
    : fields_(options.fields),
      nonfinite_(options.nonfinite),
      rows_(options.format, options.fields),
      run_(run_options(std::move(options), rows_)) {}

OutputState look_at_output(const CommittedOutputOptions& options) {
    const RowEncoder rows(options.format, options.fields);
    const RunPaths paths = run_paths(options.path, extension_of(options.format));
    return look_at_output(paths, identity_of(options, paths, rows));
}

std::vector<std::uint64_t> CommittedOutput::failed_items() const {
    return run_.complete() ? run_.complete()->failed_items : run_.writer().failed_items();
}

void CommittedOutput::append(std::uint32_t count, std::span<const std::byte> outputs) {
    const ChunkGrid& grid = run_.plan().grid();
    const Chunk chunk = grid.at(run_.writer().next_chunk());
    expects(count == chunk.count, "CommittedOutput::append gets whole chunks in order");
    if (const int salt = fault_value("result"); salt != 0) {
        outputs = salted(outputs, salt);
    }
    const Nonfinite found = find_nonfinite(fields_, chunk.first, outputs);
    if (found.values != 0 && nonfinite_ == NonfinitePolicy::error) {
        run_.writer().commit();
        refuse(found, chunk.id);
    }
    if (found.is_marked) {
        unmarked_.assign(outputs.begin(), outputs.end());
        remove_marks(fields_, unmarked_);
        outputs = unmarked_;
    }
    expects(found.values <= std::numeric_limits<std::uint32_t>::max(), "a chunk has fewer than 2^32 values");
    const auto first_left_out = std::ranges::lower_bound(left_out_, chunk.first);
    run_.writer().append({.chunk = chunk.id,
                          .items = count,
                          .nonfinite = static_cast<std::uint32_t>(found.values),
                          .bytes = rows_.encode(chunk.first, count, outputs),
                          .failed = {first_left_out, std::ranges::lower_bound(left_out_, chunk.first + chunk.count)}});
}

/// Test builds only: other results than these, the same for the same salt.
std::span<const std::byte> CommittedOutput::salted(std::span<const std::byte> outputs, int salt) {
    salted_.assign(outputs.begin(), outputs.end());
    const std::size_t item_bytes = rows_.item_bytes();
    for (std::size_t at = 0; at < salted_.size(); at += item_bytes) {
        salted_[at] ^= static_cast<std::byte>(salt);  // the lowest byte of the first field, little-endian
    }
    return salted_;
}

}  // namespace sluice
