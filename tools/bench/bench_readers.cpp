// How fast an input is opened, which indexes a text; and how fast reader threads bring items from the page cache to
// rank 0's bins, beside a plain read of as many bytes of memory by as many threads, in the same run. All of it as a run
// does it: ReadAhead, ItemSource, the classifier's codec.
//   bench_readers --items 20000 --readers 1,2,4,8,16
// It writes its input files into a folder of its own, syncs them, and removes them at the end.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/program_options.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "apps/classifier/classifier_app.hpp"
#include "core/error.hpp"
#include "core/input/item_source.hpp"
#include "core/input/read_ahead.hpp"
#include "core/machine/cgroup.hpp"
#include "core/machine/topology_hwloc.hpp"
#include "scheduler/chunk_size.hpp"
#include "scheduler/reading.hpp"
#include "tools/bench/dense_ways.hpp"
#include "tools/bench/median.hpp"
#include "tools/bench/memory_read.hpp"
#include "tools/bench/reader_files.hpp"

namespace sluice::bench {
namespace {

std::uint32_t usable_host_cores() {
    const Topology topology = read_machine(TopologyDetail::cpus).topology;
    return usable_cores(topology, topology.mask, read_quota_cpus());
}

constexpr std::uint64_t most_default_items = 20'000;  // 5.7 GB of fp32 one-hot
constexpr std::uint64_t share_of_memory = 16;         // default size of one file, as 1 / this of memory
constexpr std::uint64_t texts_per_item = 100;         // texts are small: this many more of them
constexpr Seconds shortest_run{0.5};                  // the input is read repeatedly for at least this long
constexpr double giga = 1e9;

struct Options {
    std::uint64_t items = 0;
    std::uint64_t text_items = 0;
    std::uint32_t chunk_items = 0;
    std::uint32_t repeats = 5;
    std::vector<std::uint32_t> readers{};
    std::vector<std::string> formats{};
    std::filesystem::path folder{};
    bool ways = false;
};

/// The same items repeatedly, so that a run is long enough.
class RepeatedSource final : public ItemSource {
public:
    RepeatedSource(const ItemSource& source, std::uint64_t items, std::uint64_t times)
        : source_(source), items_(items), times_(times) {}

    [[nodiscard]] std::uint64_t count() const noexcept override { return items_ * times_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return source_.bytes() * times_; }
    [[nodiscard]] InputReads reads() const noexcept override { return source_.reads(); }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return source_.granularity(); }
    [[nodiscard]] std::string stamp() const override { return source_.stamp(); }
    [[nodiscard]] std::vector<SourceFile> files() const override { return source_.files(); }
    void check_content() const override { source_.check_content(); }

    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        return source_.read(first % items_, count, to);
    }

private:
    const ItemSource& source_;
    std::uint64_t items_;  // a whole number of chunks
    std::uint64_t times_;
};

/// One open file.
struct Subject {
    const ReaderFile& file;
    const ItemCodec& codec;
    const ItemSource& source;
    std::uint32_t chunk_items;
    std::uint64_t items;  ///< Items of the file in whole chunks.
};

void check(const Subject& subject, std::span<const std::byte> first_chunk) {
    const std::vector<std::byte>& block = subject.file.block;
    for (std::size_t i = 0; i < first_chunk.size(); ++i) {
        if (first_chunk[i] != block[i % block.size()]) {
            throw ContractViolation(fmt::format("{}: byte {} of the first chunk is wrong",
                                                subject.file.input.paths.front().filename().string(), i));
        }
    }
}

/// Reads the subject's items `times` times and releases every chunk as soon as it is read.
Seconds time_readers(const Subject& subject, std::uint32_t readers, std::uint64_t times) {
    const RepeatedSource source(subject.source, subject.items, times);
    const ChunkGrid grid(source.count(), subject.chunk_items);
    const std::uint64_t slots = choose_depth(PipelineMode::overlap);
    const QueueSizes queues = choose_queue_sizes(subject.codec.shape(), subject.chunk_items, slots, grid.chunks());
    Doorbell bell;
    const Instant began = Clock::now();
    ReadAhead input(source, grid,
                    {.input_bytes = subject.codec.shape().input_bytes, .staged = queues.staged, .readers = readers},
                    bell);
    for (std::uint64_t id = 0; id < grid.chunks();) {
        const std::uint32_t seen = bell.listen();
        const auto items = input.take(id);
        if (!items) {
            bell.wait(seen);
            continue;
        }
        if (id == 0) {
            check(subject, *items);
        }
        input.release(id++);
    }
    return Clock::now() - began;
}

struct Rates {
    std::vector<double> items{};          ///< Items per second, per repeat.
    std::vector<double> memory{};         ///< Bytes per second of a plain read.
    std::vector<double> share_of_read{};  ///< File bytes per second over the plain read's, per repeat.
};

std::uint64_t choose_times(const Subject& subject, std::uint32_t readers) {
    const Seconds once = time_readers(subject, readers, 1);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(shortest_run / once) + 1);
}

void measure(const Subject& subject, const Options& options) {
    const double item_bytes = static_cast<double>(subject.file.bytes) / static_cast<double>(subject.file.items);
    const PlainMemory memory(subject.file.bytes);
    load(subject.file.input.paths.front(), memory.bytes(), std::ranges::max(options.readers));
    std::map<std::uint32_t, std::uint64_t> times;
    for (const std::uint32_t readers : options.readers) {
        times[readers] = choose_times(subject, readers);
    }
    std::map<std::uint32_t, Rates> rates;
    for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
        for (const std::uint32_t readers : options.readers) {
            Seconds read{0};
            std::uint64_t passes = 0;
            for (; read < shortest_run; ++passes) {
                read += time_to_read(memory.bytes(), readers);
            }
            const double limit = static_cast<double>(passes * memory.bytes().size()) / read.count();
            const double items = static_cast<double>(subject.items * times[readers]) /
                                 time_readers(subject, readers, times[readers]).count();
            Rates& of = rates[readers];
            of.items.push_back(items);
            of.memory.push_back(limit);
            of.share_of_read.push_back(items * item_bytes / limit);
        }
    }
    for (const auto& [readers, of] : rates) {
        const auto [least, most] = std::minmax_element(of.share_of_read.begin(), of.share_of_read.end());
        fmt::print("{:6} {:7} {:12.0f} {:9.2f} {:14.2f}     {:.3f} ({:.3f} to {:.3f})\n",
                   subject.file.input.paths.front().extension().string().substr(1), readers, median(of.items),
                   median(of.items) * item_bytes / giga, median(of.memory) / giga, median(of.share_of_read), *least,
                   *most);
    }
    std::fflush(stdout);
}

/// Opens the input and prints how fast, which includes indexing a text.
std::unique_ptr<ItemSource> open_measured(const ReaderFile& file, const ItemCodec& codec, std::uint32_t repeats) {
    std::unique_ptr<ItemSource> source;
    std::vector<double> seconds;
    for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
        const Instant began = Clock::now();
        source = open_input(file.input, codec);
        seconds.push_back(Seconds(Clock::now() - began).count());
    }
    const auto [least, most] = std::ranges::minmax(seconds);
    fmt::print("{:6} opened in {:.4f} s ({:.4f} to {:.4f}), {:.2f} GB/s\n",
               file.input.paths.front().extension().string().substr(1), median(seconds), least, most,
               static_cast<double>(file.bytes) / median(seconds) / giga);
    return source;
}

void run(const Options& options) {
    const auto app = classifier::open_classifier(false);
    const auto codec = app->make_codec();
    const ScratchFolder folder(options.folder);
    fmt::print("format readers      items/s      GB/s  memory, GB/s     of memory (least to most of {})\n",
               options.repeats);
    for (const std::string& format : options.formats) {
        const bool dense = format == "bin" || format == "npy";
        const ReaderFile file = write_reader_file(folder.path(), format, dense ? options.items : options.text_items,
                                                  *codec, std::ranges::max(options.readers));
        const auto source = open_measured(file, *codec, options.repeats);
        const std::uint32_t chunk_items =
            options.chunk_items != 0
                ? options.chunk_items
                : std::bit_floor(static_cast<std::uint32_t>(std::clamp<std::uint64_t>(file.items / 64, 1, 4096)));
        const std::uint64_t chunks = file.items / chunk_items;
        expects(chunks > 0, "a file has at least one whole chunk: raise --items or lower --chunk-items");
        measure({.file = file,
                 .codec = *codec,
                 .source = *source,
                 .chunk_items = chunk_items,
                 .items = chunks * chunk_items},
                options);
        std::filesystem::remove(file.input.paths.front());
    }
}

void compare_ways(const Options& options) {
    const auto codec = classifier::open_classifier(false)->make_codec();
    const std::uint32_t most = std::ranges::max(options.readers);
    const ScratchFolder folder(options.folder);
    const ReaderFile file = write_reader_file(folder.path(), "bin", options.items, *codec, most);
    const PlainMemory memory(file.bytes);
    load(file.input.paths.front(), memory.bytes(), most);
    compare_dense_ways(file, *codec, memory, options.readers, options.repeats);
}

/// 1, 2, 4, … and `cores`.
std::vector<std::uint32_t> doubling_to(std::uint32_t cores) {
    std::vector<std::uint32_t> counts;
    for (std::uint32_t count = 1; count < cores; count *= 2) {
        counts.push_back(count);
    }
    counts.push_back(cores);
    return counts;
}

template <class Parse>
auto parse_list(const std::string& text, Parse parse) {
    std::vector<decltype(parse(text))> values;
    std::istringstream stream(text);
    for (std::string word; std::getline(stream, word, ',');) {
        values.push_back(parse(word));
    }
    return values;
}

Options parse(int count, char** words) {
    namespace po = boost::program_options;
    const auto codec = classifier::open_classifier(false)->make_codec();
    const std::uint64_t dense_bytes = codec->dense_shape().at(0) * codec->dense_shape().at(1) * sizeof(float);
    Options options;
    std::string readers;
    std::string formats;
    po::options_description known("bench_readers");
    known.add_options()("help", "this text")                                                                      //
        ("items", po::value(&options.items), "fp32 items in a file; default: what fits well into memory")         //
        ("text-items", po::value(&options.text_items), "items of the other formats; default: 100 times as many")  //
        ("chunk-items", po::value(&options.chunk_items), "items of a chunk; default: a 64th, at most 4096")       //
        ("readers", po::value(&readers), "reader threads, as 1,2,4; default: up to all usable cores")             //
        ("formats", po::value(&formats), "of bin,npy,u8,csv,jsonl; default: all")                                 //
        ("repeats", po::value(&options.repeats)->default_value(5), "of each measurement")                         //
        ("folder", po::value(&options.folder)->default_value(std::filesystem::temp_directory_path()),
         "where the files may lie")  //
        ("ways", po::bool_switch(&options.ways), "compare ways of reading fp32 items instead");
    po::variables_map given;
    po::store(po::parse_command_line(count, words, known), given);
    po::notify(given);
    if (given.contains("help")) {
        std::ostringstream text;
        text << known;
        fmt::print("{}", text.str());
        std::exit(0);
    }
    if (options.items == 0) {
        options.items =
            std::clamp<std::uint64_t>(read_available_memory() / share_of_memory / dense_bytes, 1, most_default_items);
    }
    if (options.text_items == 0) {
        options.text_items = texts_per_item * options.items;
    }
    options.readers =
        readers.empty()
            ? doubling_to(usable_host_cores())
            : parse_list(readers, [](const std::string& word) { return static_cast<std::uint32_t>(std::stoul(word)); });
    options.formats =
        parse_list(formats.empty() ? "bin,npy,u8,csv,jsonl" : formats, [](const std::string& word) { return word; });
    for (const std::string& format : options.formats) {
        if (std::ranges::find(reader_formats(), format) == reader_formats().end()) {
            throw std::invalid_argument(fmt::format("--formats: there is no {}", format));
        }
    }
    if (std::ranges::find(options.readers, 0U) != options.readers.end() || options.repeats == 0) {
        throw std::invalid_argument("--readers and --repeats are at least 1");
    }
    return options;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    try {
        const sluice::bench::Options options = sluice::bench::parse(argc, argv);
        options.ways ? sluice::bench::compare_ways(options) : sluice::bench::run(options);
    } catch (const std::exception& problem) {
        fmt::print(stderr, "bench_readers: {}\n", problem.what());
        return 64;
    }
    return 0;
}
