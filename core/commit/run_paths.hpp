#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

enum class OutputLayout {
    file,    ///< One file: "labels.csv"; the run's own folder is "labels.csv.sluice" beside it.
    folder,  ///< "labels/" with part-00000.csv, part-00001.csv, …; the run's own folder is "labels/.sluice".
};

/// What the names of runs' own folders end in.
inline constexpr std::string_view run_folder_suffix = ".sluice";

inline constexpr std::string_view manifest_name = "MANIFEST.json";

/// Where everything of a run lies. docs/output-protocol.md draws it.
struct RunPaths {
    OutputLayout layout = OutputLayout::file;
    std::filesystem::path output{};  ///< Absolute: the file, or the folder of parts without a slash at its end.
    std::string extension{};         ///< Of parts, ".csv"; only with a folder.

    [[nodiscard]] std::filesystem::path run_folder() const;
    [[nodiscard]] std::filesystem::path identity() const { return run_folder() / "job.json"; }
    [[nodiscard]] std::filesystem::path job_file() const { return run_folder() / "run.toml"; }  ///< As it was begun.
    [[nodiscard]] std::filesystem::path attempts() const { return run_folder() / "attempts"; }
    [[nodiscard]] std::filesystem::path attempt(std::uint32_t number) const;

    /// In the run's folder beside a file, in the folder itself with parts.
    [[nodiscard]] std::filesystem::path manifest() const;

    /// The folder in which published files lie, and the published name of part `part` in it.
    [[nodiscard]] std::filesystem::path published_folder() const;
    [[nodiscard]] std::string published_name(std::uint32_t part) const;
};

/// `output` as the job names it; one that ends in a slash is a folder of parts, whose names end in `extension`.
/// Throws Error (cannot_create, E-OUT-021) if it is no path, or one so long that the run's own files could have none.
[[nodiscard]] RunPaths run_paths(const std::filesystem::path& output, const std::string& extension);

/// The run that `path` names: its output, its own folder, or the folder of parts. nullopt: there is none.
[[nodiscard]] std::optional<RunPaths> find_run(const std::filesystem::path& path);

// Inside of an attempt's folder.
[[nodiscard]] std::filesystem::path journal_file(const std::filesystem::path& attempt);
[[nodiscard]] std::filesystem::path part_file(const std::filesystem::path& attempt, std::uint32_t part);

}  // namespace sluice
