#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "core/config/schema.hpp"
#include "core/config/slurm_option.hpp"

namespace sluice {
namespace {
namespace key_table {

constexpr std::uint64_t most_depth = 1024;             // slots are pinned memory; more never hides more
constexpr std::uint64_t most_chunk_items = 1'048'576;  // 2^20
constexpr std::uint64_t most_devices = 1024;
constexpr std::uint64_t most_failed_items = 1'000'000;
constexpr std::uint64_t most_columns = 65'536;  // of a record (core/input/framing)
constexpr std::uint64_t most_nodes = 65'536;
constexpr std::uint64_t most_of_a_node = 4096;
constexpr std::uint64_t most_attempts = 1000;
constexpr std::uint64_t longest_name = 64;
constexpr std::uint64_t longest_timeout = 86'400;             // in seconds, a day
constexpr std::uint64_t longest_notice = 65'535;              // in seconds; sbatch --signal takes no more
constexpr std::uint64_t longest_list = 1024;                  // of names
constexpr std::uint64_t most_items = std::uint64_t{1} << 40;  // of a record
constexpr std::uint64_t most_seed = std::numeric_limits<std::int64_t>::max();  // TOML's integers end here

/// Whether `value` is the word that stands for none.
bool is_word(const KeySpec& key, const SettingValue& value) {
    const auto* const text = std::get_if<std::string>(&value);
    return text != nullptr && !key.word.empty() && *text == key.word;
}

template <class Field>
void assign(const KeySpec& key, Field& field, const SettingValue& value) {
    if constexpr (std::is_enum_v<Field>) {
        const auto choice = std::ranges::find(key.choices, std::get<std::string>(value));
        field = static_cast<Field>(choice - key.choices.begin());
    } else if constexpr (std::is_same_v<Field, std::uint32_t>) {
        field = static_cast<std::uint32_t>(std::get<std::uint64_t>(value));
    } else {
        field = std::get<Field>(value);
    }
}

template <class Field>
void assign(const KeySpec& key, std::optional<Field>& field, const SettingValue& value) {
    if (is_word(key, value)) {
        field.reset();
    } else {
        assign(key, field.emplace(), value);
    }
}

template <class Field>
std::optional<SettingValue> value_of(const KeySpec& key, const Field& field) {
    if constexpr (std::is_enum_v<Field>) {
        return std::string(key.choices[static_cast<std::size_t>(field)]);
    } else if constexpr (std::is_same_v<Field, std::uint32_t>) {
        return std::uint64_t{field};
    } else {
        return field;
    }
}

template <class Field>
std::optional<SettingValue> value_of(const KeySpec& key, const std::optional<Field>& field) {
    if (field) {
        return value_of(key, *field);
    }
    return key.word.empty() ? std::nullopt : std::optional<SettingValue>(std::string(key.word));
}

/// `members` lead from the job to the field: of an enum whose enumerators are the key's choices in their order, or of
/// the type of the key's values, or optional where a word stands for none.
template <auto... members>
constexpr JobKey key(const KeySpec& spec) {
    return {
        spec,
        [](const KeySpec& key, JobConfig& job, const SettingValue& value) { assign(key, (job.*....*members), value); },
        [](const KeySpec& key, const JobConfig& job) { return value_of(key, (job.*....*members)); }};
}

/// The same of a member of the input that says nothing where there is no file.
template <auto member>
constexpr JobKey file_key(const KeySpec& spec) {
    JobKey made = key<&JobConfig::input, member>(spec);
    made.get = [](const KeySpec& key, const JobConfig& job) {
        return job.input.paths.empty() ? std::nullopt : value_of(key, job.input.*member);
    };
    return made;
}

using Job = JobConfig;
using Input = Job::Input;
using Model = Job::Model;
using Output = Job::Output;
using Run = Job::Run;
using Pipeline = Job::Pipeline;
using Layout = Job::Layout;
using Fault = Job::Fault;
using Slurm = SlurmConfig;
using Resume = Slurm::Resume;

// Specs in columns: section, name, what it takes, default, meaning, and the word that may stand for a number.
using Text = std::string_view;

struct Range {
    std::uint64_t least;
    std::uint64_t most;
};

constexpr KeySpec flag(Text section, Text name, Text fallback, Text help) {
    return {.section = section, .name = name, .type = KeyType::boolean, .fallback = fallback, .help = help};
}

constexpr KeySpec choice(Text section, Text name, std::span<const Text> choices, Text fallback, Text help) {
    return {.section = section, .name = name, .choices = choices, .fallback = fallback, .help = help};
}

constexpr KeySpec count(Text section, Text name, Range range, Text fallback, Text help, Text word = {}) {
    return {.section = section,
            .name = name,
            .type = KeyType::integer,
            .least = range.least,
            .most = range.most,
            .word = word,
            .fallback = fallback,
            .help = help};
}

constexpr KeySpec duration(Text section, Text name, Range range, Text fallback, Text help, Text word = {}) {
    KeySpec spec = count(section, name, range, fallback, help, word);
    spec.type = KeyType::duration;
    return spec;
}

template <auto member>
constexpr JobKey slurm_name(Text name, Text also, Text fallback, Text help, Range bytes = {0, longest_name}) {
    return key<&Job::slurm, member>({.section = "slurm",
                                     .name = name,
                                     .type = KeyType::name,
                                     .least = bytes.least,
                                     .most = bytes.most,
                                     .also = also,
                                     .fallback = fallback,
                                     .help = help});
}

constexpr std::array keys{
    key<&Job::app>({.name = "app", .required = true, .help = "The model to run; the command `apps` lists them."}),
    file_key<&Input::paths>({.section = "input",
                             .name = "path",
                             .type = KeyType::paths,
                             .help = "The items to read: a file, or several, as in \"parts/*.csv\" or a list. Required "
                                     "unless the app needs only input.count."}),
    file_key<&Input::format>(choice("input", "format", words_of<InputFormat>, "from the extension",
                                    "The input's format; overrides its extension.")),
    file_key<&Input::columns>(
        {.section = "input",
         .name = "columns",
         .type = KeyType::columns,
         .least = 1,
         .most = most_columns,
         .fallback = "[]",
         .help =
             "csv: columns by number from 1, or by name with a header ([]: all); jsonl: names. Joined by a space."}),
    file_key<&Input::header>(flag("input", "header", "false", "csv: the first record names the columns.")),
    key<&Job::input, &Input::allow_empty>(
        flag("input", "allow_empty", "false", "An input without items makes an empty output instead of an error.")),
    key<&Job::input, &Input::count>(
        count("input", "count", {0, most_items}, "1",
              "csv, jsonl, txt: consecutive items made from each record. Without input.path: items of the job.")),
    file_key<&Input::index>(choice("input", "index", words_of<IndexTime>, "\"auto\"",
                                   "csv, jsonl, txt: when files are searched for their items: first, or beside "
                                   "computing; auto: beside in new runs of 256 MiB or more.")),
    key<&Job::model, &Model::weights>(
        {.section = "model",
         .name = "weights",
         .type = KeyType::path,
         .help = "The model's weights: safetensors, or the headerless fp32 layout. This or model.random."}),
    key<&Job::model, &Model::random>(
        count("model", "random", {0, most_seed}, "",
              "Seed of random weights, for trials and benchmarks. This or model.weights.")),
    key<&Job::output, &Output::path>({.section = "output",
                                      .name = "path",
                                      .type = KeyType::path,
                                      .required = true,
                                      .help = "Where the results go; .csv, .jsonl, .npy or .txt, or, with a slash at "
                                              "its end and output.format, a folder of parts."}),
    key<&Job::output, &Output::format>(choice("output", "format", words_of<OutputFormat>, "from the extension",
                                              "The output's format; required where the extension does not give it.")),
    key<&Job::output, &Output::nonfinite>(
        choice("output", "nonfinite", words_of<NonfinitePolicy>, "\"error\"",
               "Scores that are NaN or infinite end the run, or are counted, with or without a warning.")),
    key<&Job::output, &Output::report>({.section = "output",
                                        .name = "report",
                                        .type = KeyType::path,
                                        .fallback = "OUTPUT.report.json beside the output",
                                        .help = "Where the latency table goes, as JSON."}),
    key<&Job::output, &Output::trace>({.section = "output",
                                       .name = "trace",
                                       .type = KeyType::path,
                                       .help = "Where a timeline of all chunks goes, for Perfetto."}),
    key<&Job::run, &Run::device>(choice("run", "device", words_of<DeviceKind>, "\"auto\"",
                                        "What computes; auto uses CUDA where it is built in and a GPU is visible.")),
    key<&Job::run, &Run::precision>(
        choice("run", "precision", words_of<Precision>, "\"fp32\"",
               "How devices multiply; hosts in fp32 or, with AMX, bf16; fp8 and fp16x2 are gpt2's.")),
    key<&Job::run, &Run::devices>(
        count("run", "devices", {1, most_devices}, "\"auto\"", "Devices that each rank drives.", "auto")),
    key<&Job::pipeline, &Pipeline::mode>(
        choice("pipeline", "mode", words_of<PipelineMode>, "\"overlap\"",
               "overlap: transfer and compute at the same time; serial: one chunk at a time, as a baseline.")),
    key<&Job::pipeline, &Pipeline::distribution>(
        choice("pipeline", "distribution", words_of<Distribution>, "\"pull\"",
               "pull: a device asks for chunks when it has room; static: an equal share for each.")),
    key<&Job::pipeline, &Pipeline::scatter>(
        choice("pipeline", "scatter", words_of<Scatter>, "\"memory\"",
               "memory: ranks of rank 0's node copy items from its memory; messages: by MPI, as to other nodes.")),
    key<&Job::pipeline, &Pipeline::chunk_items>(count("pipeline", "chunk_items", {1, most_chunk_items}, "\"auto\"",
                                                      "Items that are transferred and computed together.", "auto")),
    key<&Job::pipeline, &Pipeline::depth>(
        count("pipeline", "depth", {1, most_depth}, "\"auto\"", "Chunks in flight on each device.", "auto")),
    key<&Job::layout, &Layout::bind>(
        choice("layout", "bind", words_of<BindMode>, "\"gpu-local\"",
               "Where threads run: on CPUs near their GPU, on all of the launcher's mask, or on all allowed.")),
    key<&Job::layout, &Layout::gpus_per_node>(
        count("layout", "gpus_per_node", {0, most_devices}, "0", "GPUs per node to request from Slurm.")),
    key<&Job::layout, &Layout::ranks_per_node>(
        count("layout", "ranks_per_node", {1, most_of_a_node}, "\"per-gpu\"",
              "Ranks per node that Slurm starts; per-gpu: one per GPU, at least one.", "per-gpu")),
    key<&Job::layout, &Layout::cpus_per_rank>(
        count("layout", "cpus_per_rank", {1, most_of_a_node}, "\"auto\"",
              "CPUs per rank to request from Slurm; auto: an even share of the job's CPUs on a node.", "auto")),
    slurm_name<&Slurm::job_name>("job_name", {}, "\"sluice\"", "The job's name.", {1, longest_name}),
    slurm_name<&Slurm::partition>("partition", ",", "the site's", "Where to run; separate several by commas."),
    slurm_name<&Slurm::account>("account", {}, "the site's", "The account to charge."),
    slurm_name<&Slurm::qos>("qos", {}, "the site's", "The quality of service."),
    slurm_name<&Slurm::constraint>("constraint", "&|*,:()[]!", "\"\"", "Features that the nodes must have.",
                                   {0, longest_list}),
    slurm_name<&Slurm::reservation>("reservation", ",", "\"\"", "A reservation to run in."),
    slurm_name<&Slurm::nodelist>("nodelist", ",[]", "\"\"", "Nodes that must be among the job's.", {0, longest_list}),
    slurm_name<&Slurm::exclude>("exclude", ",[]", "\"\"", "Nodes to leave out.", {0, longest_list}),
    slurm_name<&Slurm::mail_user>("mail_user", "@+", "\"\"", "Who gets mail.", {0, longest_list}),
    slurm_name<&Slurm::mail_type>("mail_type", ",", "\"\"", "Events about which mail is sent, as in END,FAIL."),
    key<&Job::slurm, &Slurm::time>(
        duration("slurm", "time", {0, 0}, "the partition's", "The time limit of an attempt.")),
    key<&Job::slurm, &Slurm::nodes>(count("slurm", "nodes", {1, most_nodes}, "1", "Number of nodes.")),
    key<&Job::slurm, &Slurm::exclusive>(flag("slurm", "exclusive", "true", "Ask for whole nodes.")),
    key<&Job::slurm, &Slurm::gpu_request>(
        choice("slurm", "gpu_request", words_of<GpuRequest>, "\"gpus-per-node\"", "How GPUs are requested.")),
    slurm_name<&Slurm::gpu_type>("gpu_type", {}, "\"\"", "The GPU type, by the site's name for it."),
    key<&Job::slurm, &Slurm::launcher>(
        choice("slurm", "launcher", words_of<JobLauncher>, "\"srun\"", "What starts the ranks in the job.")),
    slurm_name<&Slurm::mpi>("mpi", {}, "\"pmix\"", "How srun starts MPI; `srun --mpi=list` lists the choices.",
                            {1, longest_name}),
    slurm_name<&Slurm::mem>("mem", {}, "\"site\"", "Memory per node; site: the site's default, 0: all of it, or 480G."),
    key<&Job::slurm, &Slurm::comment>(flag("slurm", "comment", "true", "Mark the job as sluice's in its comment.")),
    key<&Job::slurm, &Slurm::environment>(
        {.section = "slurm",
         .name = "environment",
         .type = KeyType::words,
         .fallback = "[]",
         .help = "Environment variables, by name, that the job gets besides PATH and a few more."}),
    key<&Job::slurm, &Slurm::skip>({.section = "slurm",
                                    .name = "skip",
                                    .type = KeyType::words,
                                    .choices = skippable_options,
                                    .fallback = "[]",
                                    .help = "sbatch options never to pass, for sites that refuse them."}),
    key<&Job::slurm, &Slurm::extra>({.section = "slurm",
                                     .name = "extra",
                                     .type = KeyType::words,
                                     .fallback = "[]",
                                     .help = "More options for sbatch, as in [\"--switches=1\"]."}),
    key<&Job::slurm, &Slurm::resume, &Resume::mode>(choice("slurm.resume", "mode", words_of<ResumeMode>, "\"requeue\"",
                                                           "What follows an attempt that stopped early.")),
    key<&Job::slurm, &Slurm::resume, &Resume::most>(
        count("slurm.resume", "max", {0, most_attempts}, "3", "Attempts after the first.")),
    key<&Job::slurm, &Slurm::resume, &Resume::notice>(
        duration("slurm.resume", "notice", {1, longest_notice}, "\"auto\"",
                 "How long before the time limit Slurm signals the job; auto: by slurm.time.", "auto")),
    key<&Job::fault, &Fault::hang_timeout>(
        duration("fault", "hang_timeout", {0, longest_timeout}, "\"300s\"",
                 "How long a rank with work may make no progress before the run is ended; \"0s\": no limit.")),
    key<&Job::fault, &Fault::drain_timeout>(
        duration("fault", "drain_timeout", {1, longest_timeout}, "\"20s\"",
                 "How long chunks in flight may take to finish when the run is stopped.")),
    key<&Job::fault, &Fault::max_failed_items>(
        count("fault", "max_failed_items", {0, most_failed_items}, "0",
              "Items that may be left out because they crash every attempt that computes them.")),
};

}  // namespace key_table
}  // namespace

std::span<const JobKey> job_keys() {
    return key_table::keys;
}

}  // namespace sluice
