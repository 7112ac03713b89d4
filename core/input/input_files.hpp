#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/function_ref.hpp"
#include "core/input/input_file.hpp"

namespace sluice {

/// The files of an input, in their order.
using InputFiles = std::vector<std::shared_ptr<const InputFile>>;

/// Opens the files that `paths` (JobConfig::Input) name, with several threads: in the order of `paths`, those that a
/// pattern matches in byte order of their paths, without folders. A path that a file has is no pattern. Raises the
/// process's soft limit on open files as far as several files need it. Throws Error: as InputFile; no_input (E-INP-180)
/// if a pattern matches no file; configuration (E-INP-181) if a file is named twice; out_of_memory (E-IO-005) if the
/// hard limit is too low.
[[nodiscard]] InputFiles open_input_files(std::span<const std::filesystem::path> paths);

/// Identifies the contents of all files in their order: the stamp of a single one, else "12 files, 3456 bytes, XXH3 …".
[[nodiscard]] std::string stamp_of(const InputFiles& files);

/// Calls `work(i)` for each i below `files`, with several threads. If calls throw, the exception of the first file is
/// rethrown, when the calls for all files before it have returned; other calls may be left out.
void for_all_files(std::size_t files, FunctionRef<void(std::size_t)> work);

}  // namespace sluice
