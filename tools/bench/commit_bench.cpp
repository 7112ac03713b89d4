// What committing costs: results come at a fixed rate into a bounded window, as from devices, and are written by the
// output protocol, to one file or to a folder of parts, or into one file that is synced at its end. Prints how long the
// results took to come, beside how long they take when nothing ever makes them wait.
//
//     commit_bench [FOLDER [MB_PER_SECOND [SECONDS [WINDOW_CHUNKS]]]]

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "core/commit/committed_output.hpp"
#include "core/files/checksum.hpp"
#include "core/input/npy_header.hpp"
#include "core/output/ordered_results.hpp"
#include "core/output/output_file.hpp"
#include "tools/bench/bench_main.hpp"

namespace sluice::bench {
namespace {

constexpr int turns = 9;
constexpr std::uint32_t values = 256;
constexpr std::uint32_t chunk_items = 1024;
constexpr std::uint32_t item_bytes = values * sizeof(float);
constexpr std::uint64_t chunk_bytes = std::uint64_t{chunk_items} * item_bytes;  // 1 MiB

/// Scores without an input.
class ScoresCodec final : public ItemCodec {
public:
    [[nodiscard]] IoShape shape() const noexcept override { return {1, item_bytes}; }
    void encode(std::uint64_t, std::string_view, std::span<std::byte>) const override {}
    [[nodiscard]] std::vector<OutputField> output_fields() const override {
        return {{.name = "score", .type = FieldType::float32, .count = values}};
    }
};

const ScoresCodec codec;

struct Load {
    std::filesystem::path folder;
    double bytes_per_second = 0;
    std::uint64_t chunks = 0;
    std::uint32_t window = 0;
};

/// Seconds until the last result arrived, and until it was published.
struct Times {
    double arrival = 0;
    double publication = 0;
};

Times write_at_rate(OutputWriter& writer, const Load& load) {
    Doorbell bell;
    const ChunkGrid grid(load.chunks * chunk_items, chunk_items);
    OrderedResults results(writer, grid, item_bytes, load.window, bell);
    const Seconds pace(static_cast<double>(chunk_bytes) / load.bytes_per_second);
    const Instant start = Clock::now();
    Instant due = start;
    for (std::uint64_t id = 0; id < load.chunks; ++id) {
        due += std::chrono::duration_cast<Clock::duration>(pace);
        std::this_thread::sleep_until(due);
        for (std::uint32_t seen = bell.listen(); !results.has_room(id); seen = bell.listen()) {
            static_cast<void>(results.chunks_written());  // rethrows a failure
            if (!results.has_room(id)) {
                bell.wait(seen);
            }
        }
        due = std::max(due, Clock::now());  // devices that had to wait do not catch up
        const std::span<std::byte> place = results.place(grid.at(id));
        std::fill_n(place.data(), chunk_bytes, static_cast<std::byte>(id % 64));  // finite as floats
        results.arrived(id, {.checksum = checksum_of(place)});
    }
    const Instant last = Clock::now();
    while (results.chunks_written() < load.chunks) {
        std::this_thread::yield();
    }
    writer.publish();
    return {.arrival = Seconds(last - start).count(), .publication = Seconds(Clock::now() - last).count()};
}

/// One file, synced at its end: the baseline for the protocol.
class PlainOutput final : public OutputWriter {
public:
    PlainOutput(const std::filesystem::path& path, std::uint64_t items) : file_(path, "output.path") {
        file_.write(make_npy_header(codec.output_fields(), items));
    }

    void append(std::uint32_t, std::span<const std::byte> outputs) override { file_.write(outputs); }
    void publish() override { file_.publish(); }

private:
    OutputFile file_;
};

enum class Way { plain, file, folder };

const char* name_of(Way way) {
    switch (way) {
        case Way::plain:
            return "not committed";
        case Way::file:
            return "one file";
        default:
            return "parts";
    }
}

std::unique_ptr<OutputWriter> make_writer(const Load& load, Way way) {
    const std::filesystem::path path = load.folder / (way == Way::folder ? "commit_bench/" : "commit_bench.npy");
    const std::uint64_t items = load.chunks * chunk_items;
    if (way == Way::plain) {
        return std::make_unique<PlainOutput>(path, items);
    }
    return std::make_unique<CommittedOutput>(CommittedOutputOptions{.path = path,
                                                                    .format = OutputFormat::npy,
                                                                    .codec = &codec,
                                                                    .items = items,
                                                                    .chunk_items = chunk_items,
                                                                    .me = this_process("", 0)});
}

void remove_output(const Load& load) {
    for (const char* name : {"commit_bench.npy", "commit_bench.npy.sluice", "commit_bench"}) {
        std::filesystem::remove_all(load.folder / name);
    }
}

int run(int argc, char** argv) {
    const auto argument = [&](int i, const char* otherwise) { return argc > i ? argv[i] : otherwise; };
    Load load{.folder = argument(1, "."),
              .bytes_per_second = 1e6 * std::atof(argument(2, "100")),
              .window = static_cast<std::uint32_t>(std::atoi(argument(4, "64")))};
    load.chunks = static_cast<std::uint64_t>(load.bytes_per_second * std::atof(argument(3, "10")) / chunk_bytes);
    const double ideal = static_cast<double>(load.chunks * chunk_bytes) / load.bytes_per_second;
    for (int turn = 0; turn < turns; ++turn) {
        const Way way = static_cast<Way>(turn % 3);
        remove_output(load);
        const Times times = write_at_rate(*make_writer(load, way), load);
        fmt::print("{:13}  {:.0f} MB at {:.0f} MB/s: {:.3f} s, {:+.2f} % of {:.3f} s; published {:.3f} s later\n",
                   name_of(way), static_cast<double>(load.chunks * chunk_bytes) / 1e6, load.bytes_per_second / 1e6,
                   times.arrival, 100 * (times.arrival / ideal - 1), ideal, times.publication);
    }
    remove_output(load);
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::exit_code_of(sluice::bench::run, argc, argv);
}
