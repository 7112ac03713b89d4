// The whole job, run as a user runs it: from memory and from disk, on 1, 2, … GPUs of one process, and as ranks.
//   bench_pipeline --sluice build/cuda/bin/sluice --csv articles.csv [--items 1064000] [--devices 1,2,4] [--ranks 4]
//                  [--precision bf16] [--repeats 5] [--folder /tmp] [--one-hot-items 180000]
// The articles are taken over and over; labels go to --folder. With --one-hot-items also from so many fp32 one-hot
// items (283,920 bytes each), in /dev/shm and in --folder's page cache, beside a plain read of memory by all cores in
// each turn. Rates are medians over the repeats, in which all cases take turns:
//   run       items over the whole run, start-up included
//   steady    items over the time from the first item's scatter to the last result's arrival
//   compute   the limit: items over the time in which a device computes, of all devices together
//   overlap   busy time of the device that computes longest, over the steady time
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "apps/classifier/classifier_app.hpp"
#include "core/error.hpp"
#include "core/input/item_source.hpp"
#include "tools/bench/median.hpp"
#include "tools/bench/memory_read.hpp"
#include "tools/bench/reader_files.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): unistd.h has it with _GNU_SOURCE only

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

struct Settings {
    fs::path sluice;
    fs::path csv;
    fs::path folder;
    std::string precision;
    std::uint64_t items = 0;
    std::uint64_t one_hot_items = 0;
    int repeats = 0;
    std::vector<int> devices;
    int ranks = 0;
};

struct Case {
    std::string name;
    fs::path input;
    std::vector<std::string> launcher;
    int devices;  ///< Per rank.
};

struct Rates {
    double run;
    double steady;
    double compute;
    double overlap;
};

void run(std::vector<std::string> words) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    pid_t child = 0;
    if (const int error = posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ); error != 0) {
        throw std::system_error(error, std::generic_category(), words[0]);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) {
        throw std::runtime_error(fmt::format("{} ended with status {}", fmt::join(words, " "), status));
    }
}

/// Writes `items` items of the articles as csv to `csv` and one byte per character to `u8`.
void write_inputs(const Settings& settings, const fs::path& csv, const fs::path& u8) {
    const auto codec = classifier::open_classifier(false)->make_codec();
    JobConfig::Input input;
    input.paths = {settings.csv};
    input.format = InputFormat::csv;
    input.columns = {ColumnRef(2U), ColumnRef(3U)};
    const auto source = open_input(input, *codec);
    std::vector<std::byte> encoded(source->count() * codec->shape().input_bytes);
    source->read(0, static_cast<std::uint32_t>(source->count()), encoded);
    std::ifstream text_stream(settings.csv);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text_stream, line);) {
        lines.push_back(line + '\n');
    }
    if (lines.size() != source->count()) {
        throw std::runtime_error("the articles' records are expected on one line each");
    }
    std::ofstream csv_stream(csv);
    std::ofstream u8_stream(u8);
    const std::size_t bytes = codec->shape().input_bytes;
    for (std::uint64_t i = 0; i < settings.items; ++i) {
        const std::size_t article = i % lines.size();
        csv_stream << lines[article];
        u8_stream.write(reinterpret_cast<const char*>(&encoded[article * bytes]), static_cast<std::streamsize>(bytes));
    }
    if (!csv_stream.flush() || !u8_stream.flush()) {
        throw std::runtime_error("the inputs could not be written: is there room?");
    }
}

Rates rates_of(const nlohmann::json& report) {
    double begin = 1e300;
    double end = 0;
    double capacity = 0;
    double longest = 0;
    for (const auto& rank : report.at("ranks")) {
        const auto& at = rank.at("milestones");
        if (at.at("scatter_begin").is_null()) {  // a rank without a chunk
            continue;
        }
        begin = std::min(begin, at.at("scatter_begin").get<double>());
        end = std::max(end, at.at("delivered").get<double>());
        for (const auto& instance : rank.at("instances")) {
            const double busy = instance.at("busy").get<double>();
            if (instance.at("stage") == "compute" && busy > 0) {
                capacity += instance.at("items").get<double>() / busy;
                longest = std::max(longest, busy);
            }
        }
    }
    const double items = report.at("run").at("items").get<double>();
    return {.run = report.at("run").at("throughput").get<double>(),
            .steady = items / (end - begin),
            .compute = capacity,
            .overlap = longest / (end - begin)};
}

Rates measure(const Settings& settings, const Case& one) {
    const ScratchFolder folder(settings.folder);  // a run would continue an existing output
    const fs::path job = folder.path() / "job.toml";
    const bool csv = one.input.extension() == ".csv";
    std::ofstream(job) << "app = \"classifier\"\ninput.path = " << one.input << "\n"
                       << (csv ? "input.columns = [2, 3]\n" : "")
                       << "model.random = 17\noutput.path = \"labels.csv\"\n";
    std::vector<std::string> words = one.launcher;
    words.insert(words.end(),
                 {settings.sluice.native(), "run", job.native(), "--quiet", "--no-progress", "--set", "run.device=cuda",
                  "--set", "run.precision=" + settings.precision, "--set", fmt::format("run.devices={}", one.devices)});
    run(std::move(words));
    return rates_of(nlohmann::json::parse(std::ifstream(folder.path() / "labels.csv.report.json")));
}

double median_of(const std::vector<Rates>& samples, double Rates::*rate) {
    std::vector<double> values;
    std::ranges::transform(samples, std::back_inserter(values), rate);
    return median(std::move(values));
}

Settings parse(int count, char** words) {
    namespace po = boost::program_options;
    Settings settings;
    std::string devices;
    po::options_description options("bench_pipeline");
    options.add_options()("help", "this text")("sluice", po::value(&settings.sluice)->required(), "the program")(
        "csv", po::value(&settings.csv)->required(), "articles: class, title, text; a line a record")(
        "items", po::value(&settings.items)->default_value(1'064'000), "items a run")(
        "devices", po::value(&devices)->default_value("1"), "GPUs of one process, a list")(
        "ranks", po::value(&settings.ranks)->default_value(0), "ranks of one GPU each under mpirun; 0: none")(
        "precision", po::value(&settings.precision)->default_value("bf16"), "run.precision")(
        "repeats", po::value(&settings.repeats)->default_value(5), "of every case")(
        "folder", po::value(&settings.folder)->default_value("/tmp"),
        "for the input on disk and the labels; memory is /dev/shm")(
        "one-hot-items", po::value(&settings.one_hot_items)->default_value(0),
        "fp32 one-hot items, in memory and in the page cache; 0: not from those");
    po::variables_map values;
    po::store(po::parse_command_line(count, words, options), values);
    if (values.count("help") != 0) {
        std::cout << options;
        std::exit(0);  // NOLINT(concurrency-mt-unsafe): one thread
    }
    po::notify(values);
    std::istringstream list(devices);
    for (std::string one; std::getline(list, one, ',');) {
        settings.devices.push_back(std::stoi(one));
    }
    settings.sluice = fs::absolute(settings.sluice);
    return settings;
}

std::vector<Case> cases_of(const Settings& settings, const fs::path& u8, const fs::path& csv) {
    std::vector<Case> cases;
    for (const auto& [from, input] : {std::pair{"memory, bytes", u8}, std::pair{"disk, csv", csv}}) {
        for (const int devices : settings.devices) {
            cases.push_back(
                {fmt::format("{}, 1 process, {} GPU{}", from, devices, devices == 1 ? "" : "s"), input, {}, devices});
        }
        if (settings.ranks > 0) {
            cases.push_back({fmt::format("{}, {} ranks", from, settings.ranks),
                             input,
                             {"mpirun", "--bind-to", "none", "-n", std::to_string(settings.ranks)},
                             1});
        }
    }
    return cases;
}

using Samples = std::map<std::string, std::vector<Rates>>;

void print(const Settings& settings, const std::vector<Case>& cases, const Samples& samples) {
    fmt::print("{} items, {}, median of {}\n{:<28} {:>10} {:>10} {:>10} {:>8} {:>8} {:>9}\n", settings.items,
               settings.precision, settings.repeats, "", "run/s", "steady/s", "compute/s", "share", "overlap",
               "x first");
    const double first = median_of(samples.at(cases[0].name), &Rates::steady);
    for (const Case& one : cases) {
        const std::vector<Rates>& of_case = samples.at(one.name);
        const double steady = median_of(of_case, &Rates::steady);
        const double compute = median_of(of_case, &Rates::compute);
        fmt::print("{:<28} {:>10.0f} {:>10.0f} {:>10.0f} {:>7.1f}% {:>7.1f}% {:>9.3f}\n", one.name,
                   median_of(of_case, &Rates::run), steady, compute, 100 * steady / compute,
                   100 * median_of(of_case, &Rates::overlap), steady / first);
    }
}

/// Runs the articles' cases in turn, after one round that measures the cost model.
void bench_articles(const Settings& settings) {
    const ScratchFolder disk(settings.folder);
    const ScratchFolder memory("/dev/shm");
    const fs::path csv = disk.path() / "articles.csv";
    const fs::path u8 = memory.path() / "articles.u8";
    write_inputs(settings, csv, u8);
    const std::vector<Case> cases = cases_of(settings, u8, csv);
    Samples samples;
    for (int repeat = 0; repeat <= settings.repeats; ++repeat) {
        for (const Case& one : cases) {
            const Rates rates = measure(settings, one);
            if (repeat > 0) {
                samples[one.name].push_back(rates);
            }
        }
    }
    print(settings, cases, samples);
}

/// Items per second of a plain read of as many bytes of memory by `threads` threads.
double read_limit(const PlainMemory& plain, std::uint32_t threads, double item_bytes) {
    constexpr Seconds shortest{0.5};
    Seconds read{0};
    double bytes = 0;
    while (read < shortest) {
        read += time_to_read(plain.bytes(), threads);
        bytes += static_cast<double>(plain.bytes().size());
    }
    return bytes / read.count() / item_bytes;
}

/// `where` is a tmpfs, or a file system whose page cache holds the items.
void bench_one_hot(const Settings& settings, const fs::path& where) {
    const std::uint32_t cores = std::thread::hardware_concurrency();
    const ScratchFolder folder(where);
    const auto codec = classifier::open_classifier(false)->make_codec();
    const ReaderFile file = write_reader_file(folder.path(), "bin", settings.one_hot_items, *codec, cores);
    const double item_bytes = static_cast<double>(file.bytes) / static_cast<double>(file.items);
    constexpr std::uint64_t most_plain_bytes = std::uint64_t{4} << 30;
    const PlainMemory plain(std::min(file.bytes, most_plain_bytes));
    load(file.input.paths.front(), plain.bytes(), cores);  // unwritten pages all map to the same one
    std::vector<Rates> samples;
    std::vector<double> limits;
    std::vector<double> shares;
    for (int repeat = 0; repeat <= settings.repeats; ++repeat) {
        const double limit = read_limit(plain, cores, item_bytes);
        const Rates rates = measure(settings, {"", file.input.paths.front(), {}, 1});
        if (repeat > 0) {
            samples.push_back(rates);
            limits.push_back(limit);
            shares.push_back(rates.steady / limit);
        }
    }
    const auto [least, most] = std::ranges::minmax(samples, {}, &Rates::steady);
    fmt::print(
        "{} fp32 one-hot items in {}, {}: {:.0f} steady/s ({:.0f} to {:.0f}), {:.0f} run/s; a plain read by {} "
        "threads {:.0f} ({:.1f} GB/s): {:.1f} % of it\n",
        file.items, where.native(), settings.precision, median_of(samples, &Rates::steady), least.steady, most.steady,
        median_of(samples, &Rates::run), cores, median(limits), median(limits) * item_bytes / 1e9,
        100 * median(shares));
}

void bench(const Settings& settings) {
    bench_articles(settings);
    if (settings.one_hot_items > 0) {
        bench_one_hot(settings, "/dev/shm");
        bench_one_hot(settings, settings.folder);
    }
}

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) {
    try {
        sluice::bench::bench(sluice::bench::parse(count, words));
    } catch (const sluice::Error& error) {
        fmt::print(stderr, "{}\n", sluice::render(error.text()));
        return 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "bench_pipeline: {}\n", error.what());
        return 1;
    }
    return 0;
}
