#include "core/config/config_schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/config/config_names.hpp"
#include "core/config/slurm_option.hpp"
#include "core/text/closest_name.hpp"

namespace sluice {
namespace {

constexpr std::uint64_t most_depth = 1024;             // slots are pinned memory; more never hides more
constexpr std::uint64_t most_chunk_items = 1'048'576;  // 2^20
constexpr std::uint64_t most_devices = 1024;
constexpr std::uint64_t most_failed_items = 1'000'000;
constexpr std::uint64_t most_columns = 65'536;  // of a record (core/input/csv_framing)
constexpr std::uint64_t most_nodes = 65'536;
constexpr std::uint64_t most_of_a_node = 4096;
constexpr std::uint64_t most_attempts = 1000;
constexpr std::uint64_t longest_name = 64;
constexpr std::uint64_t longest_list = 1024;                                   // of names
constexpr std::uint64_t most_items = std::uint64_t{1} << 40;                   // of a record
constexpr std::uint64_t most_seed = std::numeric_limits<std::int64_t>::max();  // TOML's integers end here

constexpr KeySpec slurm_name(std::string_view name, std::string_view also, std::string_view fallback,
                             std::string_view help, std::uint64_t longest = longest_name) {
    return {.section = "slurm",
            .name = name,
            .type = KeyType::name,
            .most = longest,
            .also = also,
            .fallback = fallback,
            .help = help};
}

constexpr std::array keys{
    KeySpec{.name = "app", .required = true, .help = "The model to run; `sluice apps` lists them."},
    KeySpec{.section = "input",
            .name = "path",
            .type = KeyType::path,
            .help = "The items to read. Required, unless the app makes items of input.count alone."},
    KeySpec{.section = "input",
            .name = "format",
            .choices = input_format_names,
            .fallback = "from the extension",
            .help = "How the input is written; overrides its extension."},
    KeySpec{
        .section = "input",
        .name = "columns",
        .type = KeyType::columns,
        .least = 1,
        .most = most_columns,
        .fallback = "[]",
        .help = "csv: columns by number from 1, or by name with a header ([]: all); jsonl: names. Joined by a space."},
    KeySpec{.section = "input",
            .name = "header",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "csv: the first record names the columns."},
    KeySpec{.section = "input",
            .name = "allow_empty",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "An input without items makes an empty output instead of an error."},
    KeySpec{.section = "input",
            .name = "count",
            .type = KeyType::integer,
            .least = 0,
            .most = most_items,
            .fallback = "1",
            .help = "csv, jsonl, txt: items made of each record, in a row. Without input.path: of the job."},
    KeySpec{.section = "model",
            .name = "weights",
            .type = KeyType::path,
            .help = "The model's weights: safetensors, or the headerless fp32 layout. This or model.random."},
    KeySpec{.section = "model",
            .name = "random",
            .type = KeyType::integer,
            .least = 0,
            .most = most_seed,
            .help = "Seed of random weights, for trials and benchmarks. This or model.weights."},
    KeySpec{.section = "output",
            .name = "path",
            .type = KeyType::path,
            .required = true,
            .help = "Where the results go; .csv, .jsonl, .npy or .txt, or, with a trailing slash, a folder of parts."},
    KeySpec{.section = "output",
            .name = "format",
            .choices = output_format_names,
            .fallback = "from the extension",
            .help = "How the results are written; required where the extension does not tell."},
    KeySpec{.section = "output",
            .name = "scores",
            .type = KeyType::boolean,
            .fallback = "false",
            .help = "Write the score of every class beside the label."},
    KeySpec{.section = "output",
            .name = "nonfinite",
            .choices = nonfinite_policy_names,
            .fallback = "\"error\"",
            .help = "Scores that are NaN or infinite end the run, or are counted, with or without a warning."},
    KeySpec{.section = "output",
            .name = "report",
            .type = KeyType::path,
            .fallback = "OUTPUT.report.json beside the output",
            .help = "Where the latency table goes, as JSON."},
    KeySpec{.section = "run",
            .name = "device",
            .choices = device_kind_names,
            .fallback = "\"auto\"",
            .help = "What computes; auto uses CUDA where it is built in and a GPU is visible."},
    KeySpec{.section = "run",
            .name = "precision",
            .choices = precision_names,
            .fallback = "\"fp32\"",
            .help = "How a GPU multiplies; the host always computes in fp32."},
    KeySpec{.section = "run",
            .name = "devices",
            .type = KeyType::integer,
            .least = 1,
            .most = most_devices,
            .word = "auto",
            .fallback = "\"auto\"",
            .help = "Devices that each rank drives."},
    KeySpec{.section = "pipeline",
            .name = "mode",
            .choices = pipeline_mode_names,
            .fallback = "\"overlap\"",
            .help = "serial: one chunk at a time, the baseline for the same report."},
    KeySpec{.section = "pipeline",
            .name = "distribution",
            .choices = distribution_names,
            .fallback = "\"pull\"",
            .help = "pull: a device asks for chunks; static: an equal share for each."},
    KeySpec{.section = "pipeline",
            .name = "chunk_items",
            .type = KeyType::integer,
            .least = 1,
            .most = most_chunk_items,
            .word = "auto",
            .fallback = "\"auto\"",
            .help = "Items that travel and compute together."},
    KeySpec{.section = "pipeline",
            .name = "depth",
            .type = KeyType::integer,
            .least = 1,
            .most = most_depth,
            .word = "auto",
            .fallback = "\"auto\"",
            .help = "Chunks in flight on each device."},
    KeySpec{.section = "layout",
            .name = "bind",
            .choices = bind_mode_names,
            .fallback = "\"gpu-local\"",
            .help = "Where threads run: on CPUs near their GPU, on all of the launcher's mask, or on all allowed."},
    KeySpec{.section = "layout",
            .name = "gpus_per_node",
            .type = KeyType::integer,
            .least = 0,
            .most = most_devices,
            .fallback = "0",
            .help = "GPUs per node to request from Slurm."},
    KeySpec{.section = "layout",
            .name = "ranks_per_node",
            .type = KeyType::integer,
            .least = 1,
            .most = most_of_a_node,
            .word = "per-gpu",
            .fallback = "\"per-gpu\"",
            .help = "Ranks per node that Slurm starts; per-gpu: one per GPU, at least one."},
    KeySpec{.section = "layout",
            .name = "cpus_per_rank",
            .type = KeyType::integer,
            .least = 1,
            .most = most_of_a_node,
            .word = "auto",
            .fallback = "\"auto\"",
            .help = "CPUs per rank to request from Slurm; auto: an even share of the job's CPUs on a node."},
    slurm_name("job_name", {}, "\"sluice\"", "The job's name."),
    slurm_name("partition", ",", "the site's", "Where to run; separate several by commas."),
    slurm_name("account", {}, "the site's", "Who pays."),
    slurm_name("qos", {}, "the site's", "The quality of service."),
    slurm_name("constraint", "&|*,:()[]!", "\"\"", "Features that the nodes must have.", longest_list),
    slurm_name("reservation", ",", "\"\"", "A reservation to run in."),
    slurm_name("nodelist", ",[]", "\"\"", "Nodes that must be among the job's.", longest_list),
    slurm_name("exclude", ",[]", "\"\"", "Nodes to leave out.", longest_list),
    slurm_name("mail_user", "@+", "\"\"", "Who gets mail.", longest_list),
    slurm_name("mail_type", ",", "\"\"", "When, as in END,FAIL."),
    KeySpec{.section = "slurm",
            .name = "time",
            .type = KeyType::duration,
            .fallback = "the partition's",
            .help = "The time limit of an attempt."},
    KeySpec{.section = "slurm",
            .name = "nodes",
            .type = KeyType::integer,
            .least = 1,
            .most = most_nodes,
            .fallback = "1",
            .help = "Nodes."},
    KeySpec{
        .section = "slurm", .name = "exclusive", .type = KeyType::boolean, .fallback = "true", .help = "Whole nodes."},
    KeySpec{.section = "slurm",
            .name = "gpu_request",
            .choices = gpu_request_names,
            .fallback = "\"gpus-per-node\"",
            .help = "How GPUs are requested."},
    slurm_name("gpu_type", {}, "\"\"", "The GPU type, by the site's name for it."),
    KeySpec{.section = "slurm",
            .name = "launcher",
            .choices = launcher_names,
            .fallback = "\"srun\"",
            .help = "What starts the ranks in the job."},
    slurm_name("mpi", {}, "\"pmix\"", "How srun starts MPI; `srun --mpi=list` lists the choices."),
    slurm_name("mem", {}, "\"site\"", "Memory per node; site: the site's default, 0: all of it, or 480G."),
    KeySpec{.section = "slurm",
            .name = "comment",
            .type = KeyType::boolean,
            .fallback = "true",
            .help = "Mark the job as sluice's in its comment."},
    KeySpec{.section = "slurm",
            .name = "environment",
            .type = KeyType::words,
            .fallback = "[]",
            .help = "Environment variables, by name, that the job gets besides PATH and a few more."},
    KeySpec{.section = "slurm",
            .name = "skip",
            .type = KeyType::words,
            .choices = skippable_options,
            .fallback = "[]",
            .help = "sbatch options never to pass, for sites that refuse them."},
    KeySpec{.section = "slurm",
            .name = "extra",
            .type = KeyType::words,
            .fallback = "[]",
            .help = "More options for sbatch, as in [\"--switches=1\"]."},
    KeySpec{.section = "slurm.resume",
            .name = "mode",
            .choices = resume_mode_names,
            .fallback = "\"requeue\"",
            .help = "What follows an attempt that stopped early."},
    KeySpec{.section = "slurm.resume",
            .name = "max",
            .type = KeyType::integer,
            .least = 0,
            .most = most_attempts,
            .fallback = "3",
            .help = "Attempts after the first."},
    KeySpec{.section = "slurm.resume",
            .name = "notice",
            .type = KeyType::duration,
            .word = "auto",
            .fallback = "\"auto\"",
            .help = "How long before the time limit Slurm signals the job; auto: by slurm.time."},
    KeySpec{.section = "fault",
            .name = "hang_timeout",
            .type = KeyType::duration,
            .fallback = "\"300s\"",
            .help = "How long a rank with work may make no progress before the run is ended; \"0s\": no limit."},
    KeySpec{.section = "fault",
            .name = "drain_timeout",
            .type = KeyType::duration,
            .fallback = "\"20s\"",
            .help = "How long chunks in flight may take to finish when the run is stopped."},
    KeySpec{.section = "fault",
            .name = "max_failed_items",
            .type = KeyType::integer,
            .least = 0,
            .most = most_failed_items,
            .fallback = "0",
            .help = "Items that may be left out because they crash every attempt that computes them."},
};

std::string spaced(std::string_view characters) {
    std::string text;
    for (const char c : characters) {
        text += text.empty() ? std::string(1, c) : std::string{' ', c};
    }
    return text;
}

std::string mean(std::string_view name) {
    return fmt::format("; did you mean '{}'?", name);
}

}  // namespace

std::string KeySpec::full_name() const {
    return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

std::string KeySpec::expected() const {
    switch (type) {
        case KeyType::boolean:
            return "true or false";
        case KeyType::integer:
            return fmt::format("an integer {}..{}{}", least, most,
                               word.empty() ? std::string() : fmt::format(" or \"{}\"", word));
        case KeyType::path:
            return "a path as a string";
        case KeyType::columns:
            return fmt::format("a list of column numbers {}..{} and names", least, most);
        case KeyType::name:
            return fmt::format("at most {} characters of A-Z a-z 0-9 . _ -{}", most,
                               also.empty() ? std::string() : fmt::format(" {}", spaced(also)));
        case KeyType::words:
            return choices.empty() ? "a list of strings"
                                   : fmt::format("a list of \"{}\"", fmt::join(choices, "\", \""));
        case KeyType::duration:
            return fmt::format("a time as in \"04:00:00\", \"1-12:00:00\", \"90m\" or \"240s\"{}",
                               word.empty() ? std::string() : fmt::format(", or \"{}\"", word));
        case KeyType::text:
            break;
    }
    return choices.empty() ? "a string" : fmt::format("\"{}\"", fmt::join(choices, "\", \""));
}

std::span<const KeySpec> job_keys() {
    return keys;
}

std::vector<std::string_view> job_sections() {
    std::vector<std::string_view> sections;
    for (const KeySpec& key : keys) {
        if (!key.section.empty() && std::find(sections.begin(), sections.end(), key.section) == sections.end()) {
            sections.push_back(key.section);
        }
    }
    return sections;
}

bool is_section(std::string_view name) {
    return std::any_of(keys.begin(), keys.end(), [&](const KeySpec& key) {
        return !name.empty() && key.section.starts_with(name) &&
               (key.section.size() == name.size() || key.section[name.size()] == '.');
    });
}

const KeySpec* find_key(std::string_view section, std::string_view name) {
    const auto found = std::find_if(keys.begin(), keys.end(),
                                    [&](const KeySpec& key) { return key.section == section && key.name == name; });
    return found == keys.end() ? nullptr : &*found;
}

const KeySpec* find_key(std::string_view full_name) {
    const auto found =
        std::find_if(keys.begin(), keys.end(), [&](const KeySpec& key) { return key.full_name() == full_name; });
    return found == keys.end() ? nullptr : &*found;
}

std::string suggest_key(std::string_view section, std::string_view wrong_name) {
    std::vector<std::string_view> here;
    std::vector<std::string_view> elsewhere;
    for (const KeySpec& key : keys) {
        (key.section == section ? here : elsewhere).push_back(key.name);
    }
    const auto in_full = [&](std::string_view name) {
        return std::find_if(keys.begin(), keys.end(),
                            [&](const KeySpec& key) { return key.section != section && key.name == name; })
            ->full_name();
    };
    if (std::find(elsewhere.begin(), elsewhere.end(), wrong_name) != elsewhere.end()) {
        return mean(in_full(wrong_name));
    }
    if (const auto name = closest_name(wrong_name, here); !name.empty()) {
        return mean(name);
    }
    const auto name = closest_name(wrong_name, elsewhere);
    return name.empty() ? std::string() : mean(in_full(name));
}

std::string suggest_key(std::string_view wrong_full_name) {
    std::vector<std::string> full_names;
    full_names.reserve(keys.size());
    for (const KeySpec& key : keys) {
        full_names.push_back(key.full_name());
    }
    const std::vector<std::string_view> names(full_names.begin(), full_names.end());
    if (const auto name = closest_name(wrong_full_name, names); !name.empty()) {
        return mean(name);
    }
    const std::size_t dot = wrong_full_name.rfind('.');
    return dot == std::string_view::npos ? suggest_key("", wrong_full_name)
                                         : suggest_key(wrong_full_name.substr(0, dot), wrong_full_name.substr(dot + 1));
}

std::string describe_keys() {
    std::string text;
    std::string_view section;
    for (const KeySpec& key : keys) {
        if (key.section != section) {
            section = key.section;
            text += fmt::format("\n[{}]\n", section);
        }
        text += fmt::format("  {:<14} {}\n", key.name, key.help);
        text += fmt::format("  {:<14} takes {}; ", "", key.expected());
        text += key.required           ? "required\n"
                : key.fallback.empty() ? "no default\n"
                                       : fmt::format("default {}\n", key.fallback);
    }
    return text;
}

}  // namespace sluice
