#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "core/app.hpp"
#include "core/config.hpp"

namespace sluice {

/// Writes results in item order to a temporary file beside the output; publish() renames it. Destroyed unpublished, it
/// removes the temporary file and leaves an earlier output as it was. Every failure of the file system throws Error
/// (io_error, or cannot_create from the constructor) with path, errno text and what to do.
class OutputWriter {
public:
    OutputWriter() = default;
    OutputWriter(const OutputWriter&) = delete;
    OutputWriter& operator=(const OutputWriter&) = delete;
    virtual ~OutputWriter() = default;

    /// The outputs of the next `count` items, count * output_bytes long.
    virtual void append(std::uint32_t count, std::span<const std::byte> outputs) = 0;

    /// Checks that exactly the announced number of items came, syncs, renames, syncs the folder.
    virtual void publish() = 0;

    /// What the file is called until then; empty when there is none to clean up.
    [[nodiscard]] virtual std::filesystem::path temporary_path() const = 0;
};

/// `items` is how many there will be. .npy is a structured array of the fields; .csv and .jsonl put the item's number,
/// counted from 0, before them.
[[nodiscard]] std::unique_ptr<OutputWriter> make_output_writer(const std::filesystem::path& path, OutputFormat format,
                                                               std::vector<OutputField> fields, std::uint64_t items);

}  // namespace sluice
