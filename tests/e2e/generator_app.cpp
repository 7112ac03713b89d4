// sluice with an app that has all that a generator wants: items that may have no text, random numbers of their own,
// texts of any length that end early, an option, a file that only rank 0 reads, and models that hold chunks back. Its
// model keeps a few rows, each of which takes the next item as soon as its own text has ended, whichever chunk that is
// of.
#include "tests/e2e/babble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fstream>
#include <vector>

#include "core/app.hpp"
#include "core/device/host_stream.hpp"
#include "core/error.hpp"
#include "tests/support/fault_injection.hpp"
#include "tools/cli/main.hpp"

namespace sluice::test {

namespace {

/// The first babble_letters bytes of a file.
std::string read_alphabet(const std::filesystem::path& file) {
    std::string letters(babble_letters, '\0');
    if (!std::ifstream(file, std::ios::binary).read(letters.data(), babble_letters)) {
        throw Error(ExitCode::bad_data, {.id = "E-INP-031",
                                         .where = escaped(file.native()),
                                         .what = fmt::format("expected {} letters", babble_letters),
                                         .hint = "name another file"});
    }
    return letters;
}

constexpr std::uint32_t held_back = 2;
constexpr std::size_t rows = 5;

struct Item {
    std::uint64_t number = 0;
    std::uint32_t length = 0;
    std::array<std::uint8_t, longest_babble> letters{};
};

struct Record {
    std::uint32_t length = 0;
    std::array<std::uint8_t, longest_babble> letters{};
};
constexpr std::uint32_t missing = 0xFFFFFFFF;

constexpr IoShape babble_shape{sizeof(Item), sizeof(Record)};

class BabbleCodec final : public ItemCodec {
public:
    BabbleCodec(const BabbleOptions& options, std::string alphabet)
        : options_(options), alphabet_(std::move(alphabet)) {}

    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] bool needs_text() const noexcept override { return false; }
    void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const override {
        Item made{.number = item};
        for (const char c : text.substr(0, options_.most)) {
            made.letters[made.length++] = static_cast<std::uint8_t>(alphabet_.find(c));
        }
        std::memcpy(to.data(), &made, sizeof made);
    }
    [[nodiscard]] std::vector<std::uint64_t> dense_shape() const override { return {}; }
    [[nodiscard]] std::string pack_dense(std::span<const float>, std::span<std::byte>) const override {
        return "has no such form";
    }
    [[nodiscard]] std::string check_packed(std::span<const std::byte>) const override { return {}; }
    [[nodiscard]] std::vector<OutputField> output_fields() const override {
        return {{.name = "text", .type = FieldType::text}};
    }
    void decode(std::span<const std::byte> bytes, Row& row) const override {
        Record record;
        std::memcpy(&record, bytes.data(), sizeof record);
        if (record.length == missing) {
            row.missing();
            return;
        }
        std::string text;
        for (std::uint32_t i = 0; i < record.length; ++i) {
            text += alphabet_.at(record.letters.at(i));
        }
        row.text(text);
    }
    void write_missing(std::span<std::byte> bytes) const override {
        const Record record{.length = missing};
        std::memcpy(bytes.data(), &record, sizeof record);
    }

private:
    BabbleOptions options_;
    std::string alphabet_;
};

class BabbleModel final : public Model {
public:
    explicit BabbleModel(const BabbleOptions& options) : options_(options), rows_(rows) {}

    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] std::uint32_t lag() const noexcept override { return held_back; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        as_host(stream).run([this, items, in, out] {
            chunks_.push_back({.in = in, .out = out, .items = items});
            step_until_at_most(held_back);
        });
    }
    void finish(Stream& stream) override {
        as_host(stream).run([this] { step_until_at_most(0); });
    }

private:
    struct HeldChunk {
        std::span<const std::byte> in{};
        std::span<std::byte> out{};
        std::size_t items = 0;
        std::size_t taken = 0;
        std::size_t done = 0;
    };
    struct BusyRow {
        HeldChunk* chunk = nullptr;  // null: free
        std::size_t place = 0;       // in its chunk
        Item text{};
    };

    void step_until_at_most(std::size_t chunks) {
        while (chunks_.size() > chunks) {
            for (BusyRow& row : rows_) {
                refill(row);
                step(row);
            }
            while (!chunks_.empty() && chunks_.front().done == chunks_.front().items) {
                chunks_.pop_front();
            }
        }
    }

    void refill(BusyRow& row) {
        const auto next = std::ranges::find_if(chunks_, [](const HeldChunk& c) { return c.taken < c.items; });
        if (row.chunk == nullptr && next != chunks_.end()) {
            row.chunk = &*next;
            row.place = next->taken++;
            std::memcpy(&row.text, next->in.data() + row.place * sizeof(Item), sizeof(Item));
        }
    }

    void step(BusyRow& row) {
        if (row.chunk == nullptr) {
            return;
        }
        const std::uint32_t letter = next_letter(options_, row.text.number, row.text.length);
        if (letter != babble_letters) {
            row.text.letters.at(row.text.length++) = static_cast<std::uint8_t>(letter);
            return;
        }
        const Record record{.length = row.text.length, .letters = row.text.letters};
        std::memcpy(row.chunk->out.data() + row.place * sizeof record, &record, sizeof record);
        ++row.chunk->done;
        row.chunk = nullptr;
    }

    BabbleOptions options_;
    std::deque<HeldChunk> chunks_;  // of the compute stream, as the rows are
    std::vector<BusyRow> rows_;
};

class LoadedBabble final : public LoadedApp {
public:
    explicit LoadedBabble(const BabbleOptions& options) : options_(options) {}
    [[nodiscard]] std::uint32_t lag() const override { return held_back; }
    [[nodiscard]] std::unique_ptr<Model> make_model(Device&, const ModelRoom&) const override {
        return std::make_unique<BabbleModel>(options_);
    }

private:
    BabbleOptions options_;
};

class OpenBabble final : public OpenApp {
public:
    OpenBabble(const BabbleOptions& options, std::filesystem::path alphabet)
        : options_(options), alphabet_(std::move(alphabet)) {}
    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] double flop_per_item() const noexcept override { return 1e5; }
    [[nodiscard]] std::unique_ptr<ItemCodec> make_codec() const override {
        return std::make_unique<BabbleCodec>(options_, read_alphabet(alphabet_));
    }
    [[nodiscard]] WeightBlob read_weights(const std::string&) const override { return random_weights(0); }
    [[nodiscard]] WeightBlob random_weights(std::uint64_t) const override { return WeightBlob::of_floats(1); }
    [[nodiscard]] std::unique_ptr<LoadedApp> load(const WeightBlob&, Precision, DeviceKind) const override {
        return std::make_unique<LoadedBabble>(options_);
    }

private:
    BabbleOptions options_;
    std::filesystem::path alphabet_;
};

constexpr std::array babble_keys{KeySpec{.section = "generate",
                                         .name = "most",
                                         .type = KeyType::integer,
                                         .least = 1,
                                         .most = longest_babble,
                                         .fallback = "24",
                                         .help = "Letters of a text."},
                                 KeySpec{.section = "generate",
                                         .name = "goes_on",
                                         .type = KeyType::real,
                                         .lowest = 0,
                                         .highest = 1,
                                         .fallback = "0.9",
                                         .help = "How likely each further letter is."},
                                 KeySpec{.section = "generate",
                                         .name = "seed",
                                         .type = KeyType::integer,
                                         .most = 1U << 31U,
                                         .fallback = "1",
                                         .help = "Of the random numbers."},
                                 KeySpec{.section = "generate",
                                         .name = "alphabet",
                                         .type = KeyType::path,
                                         .required = true,
                                         .help = "A file of 26 letters."}};

class BabbleApp final : public App {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "babble"; }
    [[nodiscard]] std::string_view summary() const noexcept override { return "makes up words"; }
    [[nodiscard]] std::span<const KeySpec> keys() const noexcept override { return babble_keys; }
    [[nodiscard]] std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        const BabbleOptions options{.most = static_cast<std::uint32_t>(settings.get<std::uint64_t>("generate.most")),
                                    .goes_on = settings.get<double>("generate.goes_on"),
                                    .seed = settings.get<std::uint64_t>("generate.seed")};
        return std::make_unique<OpenBabble>(options, settings.get<std::filesystem::path>("generate.alphabet"));
    }
};

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
    sluice::test::BabbleApp app;
    sluice::install_faults();
    return sluice::main(argc, argv, sluice::Apps({&app}));
}
