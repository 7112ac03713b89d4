#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/slurm_config.hpp"
#include "core/modes.hpp"
#include "core/settings.hpp"

namespace sluice {

// The arrays are the words of the job file, in the order of the enumerators.

enum class InputFormat { csv, jsonl, txt, npy, onehot_f32, u8 };
template <>
inline constexpr std::array<std::string_view, 6> words_of<InputFormat>{"csv", "jsonl", "txt", "npy", "bin", "u8"};

enum class OutputFormat { csv, jsonl, npy, txt };
template <>
inline constexpr std::array<std::string_view, 4> words_of<OutputFormat>{"csv", "jsonl", "npy", "txt"};

/// What becomes of results that are NaN or infinite.
enum class NonfinitePolicy : std::uint8_t {
    error,  ///< Their chunk is not committed: the run ends.
    flag,   ///< They are written and counted, and the run says so.
    allow,  ///< They are written and counted.
};
template <>
inline constexpr std::array<std::string_view, 3> words_of<NonfinitePolicy>{"error", "flag", "allow"};

/// What a job file says, validated, paths resolved against the job file's folder. docs/job-file.md is its reference.
struct JobConfig {
    struct Input {
        /// Of files, or patterns for them (core/config/file_pattern): find_input_files() looks what they name. Empty:
        /// none, `count` items without a text.
        std::vector<std::filesystem::path> paths;
        InputFormat format = InputFormat::txt;
        std::vector<ColumnRef> columns;  ///< csv: empty = all; jsonl: at least one, names only.
        bool header = false;
        bool allow_empty = false;
        IndexTime index = IndexTime::automatic;
        std::optional<std::uint64_t> count = {};  ///< Items of each record, if not 1; without a file of the job.
        friend bool operator==(const Input&, const Input&) = default;
    };
    struct Model {
        std::optional<std::filesystem::path> weights;  ///< Exactly one of the two is set.
        std::optional<std::uint64_t> random;           ///< Seed of random weights.
        friend bool operator==(const Model&, const Model&) = default;
    };
    struct Output {
        std::filesystem::path path;  ///< With a slash at its end: a folder of parts.
        OutputFormat format = OutputFormat::csv;
        NonfinitePolicy nonfinite = NonfinitePolicy::error;
        std::filesystem::path report;                ///< Default: `path`.report.json.
        std::optional<std::filesystem::path> trace;  ///< nullopt: none is written.
        friend bool operator==(const Output&, const Output&) = default;
    };
    struct Run {
        DeviceKind device = DeviceKind::automatic;
        Precision precision = Precision::fp32;
        std::optional<std::uint32_t> devices;  ///< Devices a rank drives; nullopt = "auto".
        friend bool operator==(const Run&, const Run&) = default;
    };
    struct Pipeline {
        PipelineMode mode = PipelineMode::overlap;
        Distribution distribution = Distribution::pull;
        Scatter scatter = Scatter::memory;
        std::optional<std::uint32_t> chunk_items;  ///< nullopt = "auto".
        std::optional<std::uint32_t> depth;        ///< nullopt = "auto".
        friend bool operator==(const Pipeline&, const Pipeline&) = default;
    };

    struct Layout {
        BindMode bind = BindMode::gpu_local;
        std::uint32_t gpus_per_node = 0;              ///< That are asked of the scheduler.
        std::optional<std::uint32_t> ranks_per_node;  ///< nullopt = "per-gpu": one a GPU, at least one.
        std::optional<std::uint32_t> cpus_per_rank;   ///< nullopt = "auto": an even share of the node's.
        friend bool operator==(const Layout&, const Layout&) = default;
    };

    struct Fault {
        std::chrono::seconds hang_timeout{300};  ///< Without any progress of a rank that has work; 0: for ever.
        std::chrono::seconds drain_timeout{20};  ///< For chunks in flight when the run is stopped.
        std::uint32_t max_failed_items = 0;      ///< That may be left out because they end every attempt.
        friend bool operator==(const Fault&, const Fault&) = default;
    };

    std::string app;
    AppSettings settings;  ///< Of the app's own keys.
    Input input;
    Model model;
    Output output;
    Run run;
    Pipeline pipeline;
    Layout layout;
    SlurmConfig slurm;
    Fault fault;
    friend bool operator==(const JobConfig&, const JobConfig&) = default;
};

/// "--set section.key=value": `value` is TOML, or a bare word taken as a string where a string is expected; empty: as
/// if the file did not set the key.
struct Override {
    std::string key;
    std::string value;
    std::filesystem::path base{};  ///< Where it begins if it is a relative path; empty: in the job file's folder.
};

/// Splits "pipeline.depth=4". Throws Error (usage) when there is no '='.
[[nodiscard]] Override parse_override(std::string_view text);

/// Reads and validates a job file of at most 64 KiB. `apps` are the known apps with the keys of their own. Throws Error
/// (no_input or configuration) with file:line:column; for an override, with "--set KEY".
[[nodiscard]] JobConfig read_job(const std::filesystem::path& file, std::span<const Override> overrides,
                                 std::span<const AppKeys> apps);

/// The same from text; `name` stands for the file in messages, `base` is the folder that relative paths start from.
[[nodiscard]] JobConfig parse_job(std::string_view text, const std::string& name, const std::filesystem::path& base,
                                  std::span<const Override> overrides, std::span<const AppKeys> apps);

/// The whole configuration, defaults included, as a job file that reads back to the same value.
[[nodiscard]] std::string to_toml(const JobConfig& job);

/// The same as JSON: an object of sections, which are objects of keys.
[[nodiscard]] std::string to_json_text(const JobConfig& job);

/// What `change` makes of each path that the job sets, those of its app included; of patterns, as change_pattern().
void change_paths(JobConfig& job, const std::function<std::filesystem::path(const std::filesystem::path&)>& change);

/// Throws Error (refused, E-SEC-019) if an output of `job` would replace `file`, which it reads and messages call
/// `name`. `where_of` gives the place in the message from the output's key.
void refuse_to_replace(const JobConfig& job, const std::filesystem::path& file, std::string_view name,
                       const std::function<std::string(std::string_view key)>& where_of);

/// Where the report of a job with that output goes when the job does not say: labels.csv.report.json of labels.csv,
/// labels.report.json of the folder labels/.
[[nodiscard]] std::filesystem::path default_report(const std::filesystem::path& output);

/// The files that a job writes, by their keys.
[[nodiscard]] std::vector<std::pair<std::string_view, std::filesystem::path>> written_files(
    const JobConfig::Output& output);

/// `text` as a TOML string, quotes included.
[[nodiscard]] std::string toml_string(std::string_view text);

// An app's settings without a job.

/// What `keys` are set to by a job that says nothing of them. Those that are required have to be set yet.
[[nodiscard]] AppSettings default_settings(std::span<const KeySpec> keys);

/// For the way to the other ranks, and wherever else settings are compared: a line of TOML for each.
[[nodiscard]] std::string encode(const AppSettings& settings);

/// What encode() was given; `keys` are the app's.
[[nodiscard]] AppSettings decode_settings(const std::string& text, std::span<const KeySpec> keys);

/// A value as messages and a run's identity show it: strings without quotes, the rest as in TOML.
[[nodiscard]] std::string plain_text(const SettingValue& value);

}  // namespace sluice
