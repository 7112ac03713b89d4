// Runs the real program and subjects it to what clusters do: kills, stops, overlapping attempts, failing calls. Then
// runs the same command until the output is complete, and compares every byte with an undisturbed run's. Results:
// docs/verification.md.

#include <fmt/format.h>
#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "tools/torture/campaigns.hpp"

namespace sluice::torture {
namespace {

namespace po = boost::program_options;

struct Options {
    JobOptions job{};
    std::filesystem::path folder{};
    std::filesystem::path json{};
    std::uint64_t seed = 0;
    std::uint64_t kills = 0;
    int ranks = 4;
    std::vector<int> world_sizes{};
    std::uint64_t zombies = 0;
    bool requeue = false;
    bool points = false;
    bool stops = false;
    std::uint64_t swaps = 0;
    bool swap_points = false;
    std::string broken{};
    std::vector<std::string> errors{};
    std::uint64_t stride = 1;
};

template <class Value>
std::vector<Value> split(const std::string& text) {
    std::vector<Value> values;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
        if constexpr (std::is_same_v<Value, int>) {
            values.push_back(std::stoi(word));
        } else {
            values.push_back(word);
        }
    }
    return values;
}

/// Prints the options and exits if the command line asks for help.
Options parse(int argc, char** argv) {
    Options options;
    std::string sluice;
    std::string folder;
    std::string json;
    std::string sizes;
    std::string errors;
    po::options_description all("sluice_torture --sluice PROGRAM [OPTION]...");
    auto add = all.add_options();
    add("help", "print this");
    add("sluice", po::value(&sluice)->required(), "the program, best one with fault points");
    add("generator", po::bool_switch(&options.job.generates),
        "a job whose models hold chunks back; --sluice is sluice_generator. For --kills, --world-sizes, --points, "
        "--errors");
    add("mpirun", po::value(&options.job.mpirun)->default_value("mpirun"), "what starts ranks");
    add("folder", po::value(&folder), "where to work; default: a new one in $TMPDIR, removed when all is well");
    add("items", po::value(&options.job.items)->default_value(120), "items of the job");
    add("chunk-items", po::value(&options.job.chunk_items)->default_value(2), "items of a chunk");
    add("files", po::value(&options.job.files)->default_value(1), "files of the input; chunks span them");
    add("beside", po::bool_switch(&options.job.is_indexed_beside),
        "computing begins while the input is still being indexed; takes several --files");
    add("seed", po::value(&options.seed), "of everything random; default: a new one, printed");
    add("kills", po::value(&options.kills)->default_value(0), "SIGKILLs at random moments, to ranks or mpirun");
    add("ranks", po::value(&options.ranks)->default_value(4), "ranks of those runs; 0: without mpirun");
    add("requeue", po::bool_switch(&options.requeue),
        "each attempt has another number of ranks, of --world-sizes, and calls itself a restart of one Slurm job");
    add("world-sizes", po::value(&sizes), "as 1,2,4: these numbers of ranks x 3 depths x 0, 1, 5 kills");
    add("zombies", po::value(&options.zombies)->default_value(0), "overlapping attempts");
    add("points", po::bool_switch(&options.points), "a kill at every fault point");
    add("stops", po::bool_switch(&options.stops), "two overlapping attempts, the first stopped, at every fault point");
    add("swaps", po::value(&options.swaps)->default_value(0),
        "so many swaps of the input by rename, by copy-over and by truncation, at random moments, --ranks and none");
    add("swap-points", po::bool_switch(&options.swap_points), "the same at fault points, without ranks");
    add("broken", po::value(&options.broken),
        "shared-folder, journal-first or rename-over: that wrong protocol, which has to do damage");
    add("errors", po::value(&errors), "as ENOSPC,EIO: every call on the output fails with these, by strace");
    add("stride", po::value(&options.stride)->default_value(1),
        "of --errors, --broken and --swap-points: every so many only");
    add("json", po::value(&json), "where the result goes");
    po::variables_map values;
    po::store(po::parse_command_line(argc, argv, all), values);
    if (values.contains("help")) {
        std::cout << all;
        std::exit(0);
    }
    po::notify(values);
    if (options.job.files == 0) {
        throw po::error("--files is at least 1");
    }
    if (options.job.is_indexed_beside && (options.job.files < 2 || options.job.generates)) {
        throw po::error("--beside takes several --files, and no --generator");
    }
    if (options.job.generates &&
        (options.stops || options.zombies > 0 || options.swaps > 0 || options.swap_points || !options.broken.empty())) {
        throw po::error("--generator has no input to swap, and no results that may be altered");
    }
    options.job.sluice = std::filesystem::absolute(sluice);
    options.folder = folder;
    options.json = json;
    options.world_sizes = split<int>(sizes);
    options.errors = split<std::string>(errors);
    if (!values.contains("seed")) {
        options.seed = std::random_device{}();
    }
    return options;
}

/// Progress: a line per second on a terminal, every ten seconds elsewhere.
class Line {
public:
    void operator()(const Tally& tally) {
        const Instant now = Clock::now();
        if (now - last_ < (terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(10))) {
            return;
        }
        last_ = now;
        std::string text = fmt::format("{}:", tally.name);
        for (const char* name : {"kills", "stops", "overlaps", "failures", "swaps", "runs"}) {
            if (const auto count = tally.counts.find(name); count != tally.counts.end()) {
                text += fmt::format(" {} {}", count->second, name);
            }
        }
        fmt::print(stderr, "{}, {:.0f} s{}", text, Seconds(now - begin_).count(), terminal_ ? "  \r" : "\n");
    }

private:
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
    Instant begin_ = Clock::now();
    Instant last_ = begin_;
};

std::vector<Tally> run(const Options& options, const std::filesystem::path& folder) {
    JobOptions of_the_job = options.job;
    of_the_job.has_faults = has_faults(Job(folder, of_the_job));
    of_the_job.wrong_order = options.broken;
    const Job job(folder, of_the_job);
    Line line;
    const Setting setting{.job = job, .seed = options.seed, .progress = [&line](const Tally& tally) { line(tally); }};
    std::vector<Tally> tallies;
    if (!options.broken.empty()) {
        return {catch_wrong_order(setting, options.stride)};
    }
    if (options.kills > 0 && !options.requeue) {
        tallies.push_back(kill_at_random(setting, {.kills = options.kills, .ranks = {options.ranks}}));
    }
    if (options.requeue) {
        const std::vector<int> sizes = options.world_sizes.empty() ? std::vector{1, 2, 3, 4} : options.world_sizes;
        tallies.push_back(kill_at_random(setting, {.kills = options.kills, .ranks = sizes, .requeued = true}));
    }
    if (!options.world_sizes.empty() && !options.requeue) {
        tallies.push_back(vary_sizes(setting, options.world_sizes));
    }
    if (options.points) {
        tallies.push_back(kill_at_points(setting));
    }
    if (options.stops) {
        tallies.push_back(stop_at_points(setting));
    }
    if (options.zombies > 0) {
        tallies.push_back(overlap_attempts(setting, options.zombies));
    }
    if (options.swaps > 0) {
        tallies.push_back(swap_at_random(setting, {.swaps = options.swaps, .ranks = options.ranks}));
    }
    if (options.swap_points) {
        tallies.push_back(swap_at_points(setting, options.stride));
    }
    if (!options.errors.empty()) {
        tallies.push_back(fail_calls(setting, options.errors, options.stride));
    }
    return tallies;
}

void print(const Tally& tally) {
    fmt::print("{}: {}\n", tally.name, tally.skipped.empty() ? fmt::format("{:.1f} s", tally.seconds) : tally.skipped);
    for (const auto& [name, count] : tally.counts) {
        fmt::print("  {:<28} {:>8}\n", name, count);
    }
    if (tally.skipped.empty()) {
        fmt::print("  {:<28} {:>8}\n  {:<28} {:>8}\n  {:<28} {:>8}\n", "items lost", tally.damage.lost, "items doubled",
                   tally.damage.doubled, "items different", tally.damage.different);
    }
    for (const std::string& problem : tally.problems) {
        fmt::print("  PROBLEM: {}\n", problem);
    }
}

nlohmann::ordered_json json_of(const Tally& tally) {
    return {{"name", tally.name},         {"skipped", tally.skipped},        {"counts", tally.counts},
            {"lost", tally.damage.lost},  {"doubled", tally.damage.doubled}, {"different", tally.damage.different},
            {"problems", tally.problems}, {"seconds", tally.seconds}};
}

std::filesystem::path make_folder_for(const Options& options) {
    if (!options.folder.empty()) {
        return std::filesystem::absolute(options.folder);
    }
    std::string pattern = std::filesystem::temp_directory_path() / "sluice-torture-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), pattern);
    }
    return pattern;
}

/// Returns 0 if nothing was lost, doubled or different, 1 if something was, 77 if nothing could be run here.
int torture(const Options& options) {
    const std::filesystem::path folder = make_folder_for(options);
    fmt::print("seed {}, {} items in chunks of {}, in {}\n", options.seed, options.job.items, options.job.chunk_items,
               folder.native());
    std::fflush(stdout);
    const std::vector<Tally> tallies = run(options, folder);
    bool good = true;
    bool skipped = true;
    nlohmann::ordered_json json{{"seed", options.seed}, {"campaigns", nlohmann::ordered_json::array()}};
    for (const Tally& tally : tallies) {
        print(tally);
        json["campaigns"].push_back(json_of(tally));
        good = good && tally.good();
        skipped = skipped && !tally.skipped.empty();
    }
    if (!options.json.empty()) {
        std::ofstream(options.json) << json.dump(2) << '\n';
    }
    if (good && options.folder.empty()) {
        std::filesystem::remove_all(folder);
    }
    if (skipped) {
        fmt::print("nothing was done\n");
        return 77;
    }
    const char* const end = options.broken.empty() ? "nothing was lost, doubled or different" : "it was caught";
    fmt::print("{}\n", good ? end : "see the problems above; the folder is kept");
    return good ? 0 : 1;
}

}  // namespace
}  // namespace sluice::torture

int main(int argc, char** argv) {
    try {
        return sluice::torture::torture(sluice::torture::parse(argc, argv));
    } catch (const std::exception& error) {
        fmt::print(stderr, "sluice_torture: {}\n", error.what());
        return 2;
    }
}
