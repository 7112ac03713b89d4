// How fast results become rows, and rows a committed file: labels, labels with scores, and short texts, by 1, 2, …
// threads.
//
//     row_bench [FOLDER [MILLION_ROWS]]

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/clock.hpp"
#include "core/commit/committed_output.hpp"
#include "tools/bench/bench_main.hpp"

namespace sluice::bench {
namespace {

constexpr std::uint32_t chunk_items = 16'384;
constexpr std::uint32_t text_bytes = 24;

/// A label with `scores` scores; or a text, zero-padded to text_bytes.
class BenchCodec final : public ItemCodec {
public:
    explicit BenchCodec(std::vector<OutputField> fields, std::uint32_t result_bytes)
        : fields_(std::move(fields)), result_bytes_(result_bytes) {}

    [[nodiscard]] IoShape shape() const noexcept override { return {1, result_bytes_}; }
    void encode(std::uint64_t, std::string_view, std::span<std::byte>) const override {}
    [[nodiscard]] std::vector<OutputField> output_fields() const override { return fields_; }
    void decode(std::span<const std::byte> result, Row& row) const override {
        if (fields_.front().type == FieldType::text) {
            const auto* const text = reinterpret_cast<const char*>(result.data());
            row.text({text, ::strnlen(text, result.size())});
        } else {
            row.fixed(result);
        }
    }

private:
    std::vector<OutputField> fields_;
    std::uint32_t result_bytes_;
};

std::vector<std::byte> make_results(const BenchCodec& codec) {
    const std::uint32_t bytes = codec.shape().output_bytes;
    std::vector<std::byte> results(std::size_t{chunk_items} * bytes);
    for (std::uint32_t i = 0; i < chunk_items; ++i) {
        std::byte* const result = results.data() + std::size_t{i} * bytes;
        if (codec.output_fields().front().type == FieldType::text) {
            const std::string text = fmt::format("Anna Maria {}", i % 1000);
            std::memcpy(result, text.data(), text.size());
            continue;
        }
        const auto label = static_cast<std::int32_t>(i % 4);
        std::memcpy(result, &label, sizeof label);
        for (std::uint32_t at = sizeof label; at < bytes; at += sizeof(float)) {
            const float score = static_cast<float>(i * 7919 % 100'003) / 1000 - static_cast<float>(at);
            std::memcpy(result + at, &score, sizeof score);
        }
    }
    return results;
}

void measure(const char* name, const BenchCodec& codec, OutputFormat format, std::uint64_t chunks,
             std::uint32_t threads, const std::string& folder) {
    const std::vector<std::byte> results = make_results(codec);
    const auto million_rows = static_cast<double>(chunks * chunk_items) / 1e6;
    RowEncoder encoder(format, codec);
    encoder.use_threads(threads);
    std::uint64_t bytes = 0;
    const std::clock_t cpu = std::clock();
    const Instant start = Clock::now();
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
        bytes += encoder.encode(chunk * chunk_items, chunk_items, results).bytes.size();
    }
    const double encoding = Seconds(Clock::now() - start).count();
    const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;  // of all threads
    const std::string path = folder + "/row_bench" + extension_of(format);
    CommittedOutput output({.path = path,
                            .format = format,
                            .codec = &codec,
                            .items = chunks * chunk_items,
                            .chunk_items = chunk_items,
                            .me = this_process("", 0)});
    output.use_encoders(threads);
    const Instant begin = Clock::now();
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
        output.append(chunk_items, results);
    }
    const double writing = Seconds(Clock::now() - begin).count();
    output.publish();
    std::filesystem::remove_all(path);
    std::filesystem::remove_all(path + ".sluice");
    fmt::print(
        "{:6} {:6} {} threads: {:5.1f} million rows/s, {:4.0f} MB/s, {:3.0f} ns of CPU a row; committed {:5.1f} "
        "million rows/s\n",
        name, extension_of(format), threads, million_rows / encoding, static_cast<double>(bytes) / encoding / 1e6,
        1e3 * cpu_seconds / million_rows, million_rows / writing);
}

int run(int argc, char** argv) {
    const std::string folder = argc > 1 ? argv[1] : ".";
    const std::uint64_t chunks = 1'000'000 * std::strtoull(argc > 2 ? argv[2] : "20", nullptr, 10) / chunk_items;
    const BenchCodec label({{.name = "label", .type = FieldType::int32, .count = 1}}, 4);
    const BenchCodec scores({{.name = "label", .type = FieldType::int32, .count = 1},
                             {.name = "score", .type = FieldType::float32, .count = 4}},
                            20);
    const BenchCodec text({{.name = "text", .type = FieldType::text, .count = 1}}, text_bytes);
    const std::uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (std::uint32_t threads = 1; threads <= std::min(cores, 8U); threads *= 2) {
        for (const OutputFormat format : {OutputFormat::csv, OutputFormat::jsonl}) {
            measure("label", label, format, chunks, threads, folder);
            measure("scores", scores, format, chunks / 4, threads, folder);
            measure("text", text, format, chunks, threads, folder);
        }
        measure("label", label, OutputFormat::npy, chunks, threads, folder);
        measure("text", text, OutputFormat::txt, chunks, threads, folder);
    }
    return EXIT_SUCCESS;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
    return sluice::bench::exit_code_of(sluice::bench::run, argc, argv);
}
