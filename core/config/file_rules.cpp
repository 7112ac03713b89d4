#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "core/config/rules.hpp"
#include "core/config/text.hpp"
#include "core/error.hpp"
#include "core/files/paths.hpp"

namespace sluice {
namespace {

// Extensions of files that are not read as they are.
constexpr std::array<std::string_view, 8> archives{".gz", ".tgz", ".bz2", ".xz", ".zst", ".lz4", ".zip", ".tar"};
constexpr std::array<std::string_view, 11> other_tables{".parquet", ".arrow", ".feather", ".orc", ".avro", ".h5",
                                                        ".hdf5",    ".xlsx",  ".xls",     ".pkl", ".pt"};

/// nullopt: the extension says nothing.
std::optional<std::string> hint_of_extension(const std::filesystem::path& path) {
    const std::string extension = lower_extension(path);
    if (std::ranges::find(archives, extension) != archives.end()) {
        return "unpack it first: input is read as it is";
    }
    if (std::ranges::find(other_tables, extension) != other_tables.end()) {
        return "convert it first, to .csv, .jsonl or .npy";
    }
    if (extension == ".npz") {
        return "save the array by itself, as .npy";
    }
    return extension == ".tsv" ? std::optional<std::string>("convert it to .csv first: commas separate columns")
                               : std::nullopt;
}

template <class Enum>
Enum format_by_extension(const std::filesystem::path& path, const std::string& where, std::string_view key,
                         std::string hint) {
    const std::string extension = lower_extension(path);
    const auto format = extension.empty() ? std::nullopt : enum_of<Enum>(extension.substr(1));
    if (!format) {
        refuse_job("E-CFG-011", where,
                   fmt::format("{}: got {}, expected an extension .{}", key,
                               extension.empty() ? "no extension" : "extension " + quoted(extension),
                               fmt::join(words_of<Enum>, " .")),
                   std::move(hint));
    }
    return *format;
}

/// A run keeps its job with whole paths, in a file that is no longer than any job file.
void check_length(const std::vector<std::filesystem::path>& paths, const std::string& where) {
    constexpr std::size_t most = largest_job_file * 3 / 4;
    std::size_t bytes = 0;
    for (const std::filesystem::path& path : paths) {
        bytes += toml_string(absolute_path(path).native()).size() + 2;
    }
    if (bytes > most) {
        refuse_job("E-CFG-011", where,
                   fmt::format("input.path: got a list of {} names, {} KiB as whole paths, expected at most {} KiB",
                               paths.size(), (bytes + 1023) / 1024, most / 1024),
                   "name them by a pattern, as in \"parts/*.csv\"");
    }
}

/// A pattern's extension is that of all its files.
InputFormat format_of(const std::vector<std::filesystem::path>& paths, const std::string& where) {
    const auto format = [&](const std::filesystem::path& path) {
        const char* const hint = path.has_extension()
                                     ? "set input.format"
                                     : "set input.format, or name the files of a folder, as in \"parts/*.csv\"";
        return format_by_extension<InputFormat>(path, where, "input.path", hint_of_extension(path).value_or(hint));
    };
    const InputFormat first = format(paths.front());
    for (const std::filesystem::path& path : paths) {
        if (const InputFormat other = format(path); other != first) {
            refuse_job("E-CFG-011", where,
                       fmt::format("input.path: got {} and {}, expected files of one format",
                                   quoted(paths.front().filename().native()), quoted(path.filename().native())),
                       fmt::format("make a job of the .{} files and one of the .{} files, or set input.format if they "
                                   "hold the same",
                                   name_of(first), name_of(other)));
        }
    }
    return first;
}

void check_columns(const JobConfig::Input& input, const StatedJob& stated) {
    const std::string format(name_of(input.format));
    const auto is_name = [](const ColumnRef& column) { return std::holds_alternative<std::string>(column); };
    const bool csv = input.format == InputFormat::csv;
    const bool jsonl = input.format == InputFormat::jsonl;
    if (input.header && !csv) {
        stated.refuse_pair("input.header", fmt::format("got true for {} input, only csv has a header", format));
    }
    if (!input.columns.empty() && !csv && !jsonl) {
        stated.refuse_pair("input.columns",
                           fmt::format("got columns for {} input, only csv and jsonl have columns", format));
    }
    if (csv && std::ranges::any_of(input.columns, is_name) && !input.header) {
        stated.refuse_pair("input.columns", "got a name, expected numbers while input.header is false",
                           "set input.header = true or count the columns from 1");
    }
    if (jsonl && !std::ranges::all_of(input.columns, is_name)) {
        stated.refuse_pair("input.columns", "got a number, expected names for jsonl input");
    }
    if (jsonl && input.columns.empty()) {
        refuse_job("E-CFG-013", stated.where("input.columns"), "[input].columns is required for jsonl input",
                   "name the fields that hold the text, as in columns = [\"title\", \"text\"]");
    }
}

void check_count(const JobConfig::Input& input, const StatedJob& stated) {
    if (input.count == 0U && !input.allow_empty) {
        stated.refuse_pair("input.count", "got 0 while input.allow_empty is false",
                           "set input.allow_empty = true if that is right");
    }
    const bool is_text =
        input.format == InputFormat::csv || input.format == InputFormat::jsonl || input.format == InputFormat::txt;
    if (input.count && !is_text) {
        stated.refuse_pair("input.count", fmt::format("got a count for {} input, only csv, jsonl and txt have one",
                                                      name_of(input.format)));
    }
}

/// As many items as the job says, without a file.
void check_bare_input(const JobConfig::Input& input, const StatedJob& stated) {
    for (const std::string_view key : {"input.format", "input.columns", "input.header", "input.index"}) {
        if (stated.find(key) != nullptr) {
            stated.refuse_pair(key, "is set without input.path", "name the file in input.path");
        }
    }
    check_count(input, stated);
}

/// Runs keep their own files in folders of that name.
void check_output_name(const StatedJob& stated) {
    const Setting& path = *stated.find("output.path");
    const auto& name = std::get<std::filesystem::path>(path.value);
    if (std::ranges::any_of(name.lexically_normal(),
                            [](const auto& part) { return part.native().ends_with(".sluice"); })) {
        refuse_job(
            "E-CFG-011", path.where,
            fmt::format("output.path: got {}, expected no name that ends in .sluice: a run's own folder has such "
                        "a name",
                        quoted(name.native())),
            "choose another [output].path");
    }
}

}  // namespace

void complete_input(JobConfig::Input& input, const StatedJob& stated) {
    if (stated.find("input.path") == nullptr && input.count) {
        return check_bare_input(input, stated);
    }
    stated.require("input.path", "name the file to read; for an app that needs no text, input.count alone will do");
    check_length(input.paths, stated.where("input.path"));
    if (input.count == 1U) {
        input.count.reset();
    }
    if (stated.find("input.format") == nullptr) {
        input.format = format_of(input.paths, stated.where("input.path"));
    }
    check_columns(input, stated);
    check_count(input, stated);
}

void complete_output(JobConfig::Output& output, const StatedJob& stated) {
    stated.require("output.path");
    check_output_name(stated);
    const std::string& where = stated.where("output.path");
    const bool is_open = stated.find("output.format") == nullptr;
    if (is_open && !output.path.has_filename()) {
        refuse_job("E-CFG-013", where, "[output].format is required for a folder of parts",
                   "name the format, as in format = \"csv\"");
    }
    if (is_open) {
        output.format = format_by_extension<OutputFormat>(
            output.path, where, "output.path",
            hint_of_extension(output.path) ? "choose one of those: nothing else is written" : "set output.format");
    }
    if (stated.find("output.report") == nullptr) {
        output.report = default_report(output.path);
    }
}

std::vector<std::pair<std::string_view, std::filesystem::path>> written_files(const JobConfig::Output& output) {
    std::vector<std::pair<std::string_view, std::filesystem::path>> files{{"output.path", output.path},
                                                                          {"output.report", output.report}};
    if (output.trace) {
        files.emplace_back("output.trace", *output.trace);
    }
    return files;
}

std::filesystem::path default_report(const std::filesystem::path& output) {
    std::filesystem::path name = output.has_filename() ? output : output.parent_path();
    if (name.filename() == "." || name.filename() == "..") {
        std::error_code unknown;  // where nobody knows where we are, the path is taken as it is
        const std::filesystem::path whole = without_dots(std::filesystem::absolute(name, unknown));
        name = whole.has_filename() ? whole : whole.parent_path();
    }
    return name += ".report.json";
}

}  // namespace sluice
