#include "core/commit/committed_output.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <stop_token>
#include <thread>
#include <vector>

#include "core/files/paths.hpp"
#include "core/input/npy_header.hpp"
#include "core/output/row_encoder.hpp"
#include "tests/core/commit/child_process.hpp"
#include "tests/core/commit/commit_fixture.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/output_codecs.hpp"

namespace sluice::test {
namespace {

const FieldsCodec codec({{"label", FieldType::int32, 1}, {"score", FieldType::float32, 2}});
constexpr std::uint64_t items = 1000;
constexpr std::uint32_t chunk_items = 64;
constexpr std::size_t item_bytes = 12;

class CommittedFormats : public testing::TestWithParam<OutputFormat> {
protected:
    CommittedFormats() {
        std::mt19937_64 random(fresh_seed());
        for (std::size_t i = 0; i < 3 * items; ++i) {
            const float score = static_cast<float>(random() % 1'000'000) / 1000;
            const auto label = static_cast<std::int32_t>(random() % 100);
            const auto bytes = i % 3 == 0 ? std::as_bytes(std::span(&label, 1)) : std::as_bytes(std::span(&score, 1));
            outputs_.insert(outputs_.end(), bytes.begin(), bytes.end());
        }
    }
    [[nodiscard]] CommittedOutputOptions options(const std::string& name) const {
        return {.path = folder_.path().native() + "/" + name,
                .format = GetParam(),
                .codec = &codec,
                .items = items,
                .chunk_items = chunk_items,
                .settings = {{"app", "fake"}},
                .me = this_process("", 0)};
    }
    void append(CommittedOutput& output, std::uint64_t end) const {
        const ChunkGrid grid(items, chunk_items);
        for (std::uint64_t id = output.next_chunk(); id < end; ++id) {
            const Chunk chunk = grid.at(id);
            output.append(chunk.count, std::span(outputs_).subspan(chunk.first * item_bytes, chunk.count * item_bytes));
        }
    }
    /// The same results as one file has them.
    [[nodiscard]] std::string expected() const { return expected(0, items); }
    /// Of some of them.
    [[nodiscard]] std::string expected(std::uint64_t first, std::uint32_t count) const {
        RowEncoder rows(GetParam(), codec);
        const auto outputs = std::span(outputs_).subspan(first * item_bytes, count * item_bytes);
        const std::span<const std::byte> bytes = rows.encode(first, count, outputs).bytes;
        return rows.header(count) + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }

    TemporaryFolder folder_;
    std::vector<std::byte> outputs_;
};

TEST_P(CommittedFormats, HasTheBytesOfASingleFile) {
    CommittedOutput output(options("out"));
    append(output, 16);
    output.publish();

    EXPECT_EQ(contents(folder_.path() / "out"), expected());
    EXPECT_EQ(output.complete()->items(), items);
}

TEST_P(CommittedFormats, HasThemAfterAKillToo) {
    Child child([&] {
        CommittedOutput output(options("out"));
        append(output, 5);
        output.commit();
        ::raise(SIGKILL);
    });
    ASSERT_EQ(child.wait().signal, SIGKILL);

    CommittedOutput output(options("out"));
    EXPECT_EQ(output.first_chunk(), 5U);
    append(output, 16);
    output.publish();

    EXPECT_EQ(contents(folder_.path() / "out"), expected());
}

TEST_P(CommittedFormats, IsReadableByItselfInAFolder) {
    CommittedOutput output(options("out/"));
    append(output, 16);
    output.publish();

    EXPECT_EQ(contents(folder_.path() / "out" / ("part-00000" + extension_of(GetParam()))), expected())
        << "one part holds all";

    CommittedOutputOptions several = options("parts/");
    several.chunks_per_part = 10;
    CommittedOutput parts(several);
    append(parts, 16);
    parts.publish();

    EXPECT_EQ(contents(folder_.path() / "parts" / ("part-00001" + extension_of(GetParam()))),
              expected(10 * chunk_items, items - 10 * chunk_items));
}

TEST_P(CommittedFormats, IsNotContinuedWithOtherColumns) {
    { const CommittedOutput output(options("out")); }
    CommittedOutputOptions other = options("out");
    const FieldsCodec fewer({{"label", FieldType::int32, 1}});
    other.codec = &fewer;

    EXPECT_EQ(code_of([&] { const CommittedOutput output(other); }), "78 E-CKP-090");
}

TEST_P(CommittedFormats, EndsAtAChunkThatIsNotFiniteWithAllBeforeItCommitted) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(outputs_.data() + (5 * chunk_items + 3) * item_bytes + 4, &nan, sizeof nan);
    CommittedOutputOptions next = options("out");
    next.me.job = "1";
    {
        CommittedOutput output(next);
        const Error error = error_of([&] { append(output, 16); });

        EXPECT_EQ(error.code(), ExitCode::numeric);
        EXPECT_EQ(error.text().id, "E-NUM-081");
        EXPECT_EQ(error.text().where, "chunk 5");
        EXPECT_EQ(error.text().what, "1 not finite in items 323");
        EXPECT_EQ(output.chunks_committed(), 5U);
    }

    // Written all the same, they are counted, also by an attempt that takes some of them over.
    for (const std::uint64_t end : {6U, 16U}) {
        next.nonfinite = NonfinitePolicy::flag;
        next.me.restarts = end;  // the one before has ended
        next.me.id = make_unique_id();
        CommittedOutput output(next);
        append(output, end);
        output.commit();
        if (end == 16) {
            output.publish();
            EXPECT_EQ(output.complete()->nonfinite(), 1U);
        }
    }
    EXPECT_EQ(contents(folder_.path() / "out"), expected());
}

TEST_P(CommittedFormats, DoesNotCountWhatStandsForNoResult) {
    const std::uint64_t item = 5 * chunk_items + 3;
    codec.write_missing(std::span(outputs_).subspan(item * item_bytes, item_bytes));
    CommittedOutput output(options("out"));
    output.leave_out({item});

    append(output, 16);
    output.publish();

    EXPECT_EQ(output.complete()->nonfinite(), 0U);
    EXPECT_EQ(output.failed_items(), std::vector{item});
    EXPECT_EQ(contents(folder_.path() / "out"), expected());
}

TEST_P(CommittedFormats, TellsOtherThreadsWhichItemsWereLeftOutWhileItWrites) {
    std::vector<std::uint64_t> left_out;
    for (std::uint64_t item = 0; item < items; item += 3) {
        left_out.push_back(item);
        codec.write_missing(std::span(outputs_).subspan(item * item_bytes, item_bytes));
    }
    CommittedOutput output(options("out"));
    output.leave_out(left_out);
    std::size_t seen = 0;
    {
        const std::jthread other([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                const std::vector<std::uint64_t> so_far = output.failed_items();
                EXPECT_GE(so_far.size(), seen);
                EXPECT_TRUE(std::equal(so_far.begin(), so_far.end(), left_out.begin()));
                seen = so_far.size();
            }
        });
        append(output, 16);
        output.publish();
    }
    EXPECT_EQ(output.failed_items(), left_out);
}

TEST_P(CommittedFormats, TakesOverWhichItemsWereLeftOut) {
    const std::vector<std::uint64_t> left_out{chunk_items + 3, chunk_items + 9, 5 * chunk_items};
    for (const std::uint64_t item : left_out) {
        codec.write_missing(std::span(outputs_).subspan(item * item_bytes, item_bytes));
    }
    CommittedOutputOptions next = options("out");
    next.chunks_per_part = 4;  // the first two are of a sealed part, the other one of the open part
    next.me.job = "1";

    for (const std::uint64_t end : {6U, 7U, 16U}) {
        next.me.restarts = end;  // the one before has ended
        next.me.id = make_unique_id();
        CommittedOutput output(next);
        if (output.first_chunk() == 0) {
            output.leave_out(left_out);
        }
        append(output, end);
        output.commit();
        EXPECT_EQ(output.failed_items(), left_out) << "up to chunk " << end;
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, CommittedFormats,
                         testing::Values(OutputFormat::csv, OutputFormat::jsonl, OutputFormat::npy),
                         [](const auto& test) { return extension_of(test.param).substr(1); });

}  // namespace
}  // namespace sluice::test
