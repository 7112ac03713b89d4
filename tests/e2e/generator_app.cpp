// sluice with an app that has all that a generator wants: items that may have no text, random numbers of their own,
// texts of any length that end early, an option, a file that only rank 0 reads, and models that hold chunks back, on
// the host and with CUDA.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/app.hpp"
#include "core/error.hpp"
#include "tests/e2e/babble_model.hpp"
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

constexpr std::uint32_t missing = 0xFFFFFFFF;

class BabbleCodec final : public ItemCodec {
public:
    BabbleCodec(const BabbleOptions& options, std::string alphabet)
        : options_(options), alphabet_(std::move(alphabet)) {}

    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] bool needs_text() const noexcept override { return false; }
    void encode(std::uint64_t item, std::string_view text, std::span<std::byte> to) const override {
        BabbleItem made{.number = item};
        for (const char c : text.substr(0, options_.most)) {
            made.letters[made.length++] = static_cast<std::uint8_t>(alphabet_.find(c));
        }
        std::memcpy(to.data(), &made, sizeof made);
    }
    [[nodiscard]] std::vector<OutputField> output_fields() const override {
        return {{.name = "text", .type = FieldType::text}};
    }
    void decode(std::span<const std::byte> bytes, Row& row) const override {
        BabbleRecord record;
        std::memcpy(&record, bytes.data(), sizeof record);
        if (record.length == missing) {
            row.missing();
            return;
        }
        std::string text;
        for (std::uint32_t i = 0; i < record.length; ++i) {
            text += alphabet_.at(record.letters[i]);
        }
        row.text(text);
    }
    void write_missing(std::span<std::byte> bytes) const override {
        const BabbleRecord record{.length = missing};
        std::memcpy(bytes.data(), &record, sizeof record);
    }

private:
    BabbleOptions options_;
    std::string alphabet_;
};

class LoadedBabble final : public LoadedApp {
public:
    LoadedBabble(const BabbleOptions& options, DeviceKind kind) : options_(options), kind_(kind) {}
    [[nodiscard]] std::uint32_t lag() const override { return babble_lag; }
    [[nodiscard]] std::unique_ptr<Model> make_model(Device& device, const ModelRoom& room) const override {
        return kind_ == DeviceKind::cuda ? make_cuda_babble(options_, device, room) : make_host_babble(options_);
    }

private:
    BabbleOptions options_;
    DeviceKind kind_;
};

class OpenBabble final : public OpenApp {
public:
    OpenBabble(const BabbleOptions& options, std::filesystem::path alphabet)
        : options_(options), alphabet_(std::move(alphabet)) {}
    [[nodiscard]] IoShape shape() const noexcept override { return babble_shape; }
    [[nodiscard]] double flop_per_item(const WeightBlob&) const noexcept override { return 1e5; }
    [[nodiscard]] std::unique_ptr<ItemCodec> make_codec() const override {
        return std::make_unique<BabbleCodec>(options_, read_alphabet(alphabet_));
    }
    [[nodiscard]] WeightBlob read_weights(const std::filesystem::path&) const override { return random_weights(0); }
    [[nodiscard]] WeightBlob random_weights(std::uint64_t) const override { return WeightBlob::of_floats(1); }
    [[nodiscard]] std::unique_ptr<LoadedApp> load(const WeightBlob&, Precision, DeviceKind kind) const override {
        return std::make_unique<LoadedBabble>(options_, kind);
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
                                         .name = "deadly",
                                         .type = KeyType::integer,
                                         .most = 1U << 31U,
                                         .help = "The item that ends whoever computes it."},
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
        BabbleOptions options{.most = static_cast<std::uint32_t>(settings.get<std::uint64_t>("generate.most")),
                              .goes_on = settings.get<double>("generate.goes_on"),
                              .seed = settings.get<std::uint64_t>("generate.seed")};
        if (const auto* const deadly = settings.find<std::uint64_t>("generate.deadly")) {
            options.deadly = *deadly;
        }
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
