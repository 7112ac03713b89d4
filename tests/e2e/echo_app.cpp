// The app of sluice_echo, which says of an item how long it is, and computes nothing. It obeys its items: one that
// begins with "crash" crashes the process, one with "hang" never ends, one with "slow" takes a fifth of a second, one
// with "held" says so in a file of the folder echo.marks and waits for another one, one with "busy" does the same
// without sleeping, one with "spin" computes for 5 ms, one with "fail" fails on its device, one with "unreadable" is
// never read to its end, one with "poison" crashes whoever reads it, and one with "exit" calls exit(75).
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/app.hpp"
#include "core/device/host_stream.hpp"
#include "tools/cli/main.hpp"
#ifdef SLUICE_ECHO_WITH_FAULTS
#include "tests/support/fault_injection.hpp"
#endif

namespace sluice {
namespace {

enum class Order : std::uint32_t { none, crash, hang, slow, fail, held, busy, spin, exit };
constexpr std::array<std::string_view, 9> orders{"", "crash", "hang", "slow", "fail", "held", "busy", "spin", "exit"};

struct Item {
    Order order = Order::none;
    std::uint32_t length = 0;
    std::uint64_t hash = 0;
    std::array<char, 128> ballast{};  ///< For a link or a disk to carry.
};

/// The columns label and, if wanted, score_0 to score_3.
constexpr std::uint32_t score_count = 4;
struct Result {
    std::int32_t label = 0;
    std::array<float, score_count> scores{};
};

std::uint32_t result_bytes(bool scores) {
    return scores ? sizeof(Result) : sizeof(Result::label);
}

/// The app's own keys.
struct EchoOptions {
    bool scores = false;
    std::int32_t offset = 0;
    std::filesystem::path marks{};  ///< Folder of the files about items that are held.
};

/// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
    return hash;
}

void doze(long nanoseconds) {
    const std::timespec time{.tv_sec = 0, .tv_nsec = nanoseconds};
    ::nanosleep(&time, nullptr);
}

/// Until there is a file "released" in the folder `marks`, where a file with the process's number says that it waits.
void wait_for_release(Order order, const std::filesystem::path& marks) {
    std::ofstream(marks / std::to_string(::getpid())).flush();
    while (::access((marks / "released").c_str(), F_OK) != 0) {
        if (order == Order::held) {
            doze(1'000'000);
        }
    }
}

/// For 5 ms on a core, however long that takes.
void spin() {
    const auto used = [] {
        std::timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return time.tv_sec * 1'000'000'000L + time.tv_nsec;
    };
    for (const long end = used() + 5'000'000; used() < end;) {
    }
}

[[noreturn]] void stay() {
    for (;;) {
        ::pause();
    }
}

void obey(Order order, const std::filesystem::path& marks) {
    switch (order) {
        case Order::none:
            break;
        case Order::crash:
            ::raise(SIGSEGV);
            break;
        case Order::hang:
            stay();
        case Order::slow:
            doze(200'000'000);
            break;
        case Order::spin:
            spin();
            break;
        case Order::exit:
            std::exit(75);  // sluice's own, of a run that stopped early
        case Order::fail:
            throw std::runtime_error("the device is sick");
        case Order::held:
        case Order::busy:
            wait_for_release(order, marks);
            break;
    }
}

Result result_of(const Item& item) {
    Result result{.label = static_cast<std::int32_t>(item.length)};
    for (std::uint32_t i = 0; i < score_count; ++i) {
        result.scores[i] = static_cast<float>(item.hash >> (16 * i) & 0xFFFF) / 65536.0F;
    }
    return result;
}

class EchoCodec final : public ItemCodec {
public:
    explicit EchoCodec(bool scores) : scores_(scores) {}
    [[nodiscard]] IoShape shape() const noexcept override { return {sizeof(Item), result_bytes(scores_)}; }
    void encode(std::uint64_t, std::string_view text, std::span<std::byte> to) const override {
        if (text.starts_with("unreadable")) {
            stay();
        }
        if (text.starts_with("poison")) {
            ::raise(SIGSEGV);
        }
        Item item{.length = static_cast<std::uint32_t>(text.size()), .hash = hash_of(text)};
        for (std::size_t i = 1; i < orders.size(); ++i) {
            item.order = text.starts_with(orders[i]) ? static_cast<Order>(i) : item.order;
        }
        std::memcpy(to.data(), &item, sizeof item);
    }
    [[nodiscard]] bool has_packed_form() const noexcept override { return true; }
    [[nodiscard]] std::vector<OutputField> output_fields() const override {
        std::vector<OutputField> fields{{.name = "label", .type = FieldType::int32, .count = 1}};
        if (scores_) {
            fields.push_back({.name = "score", .type = FieldType::float32, .count = score_count});
        }
        return fields;
    }

private:
    bool scores_;
};

class EchoModel final : public Model {
public:
    explicit EchoModel(EchoOptions options)
        : shape_{sizeof(Item), result_bytes(options.scores)}, options_(std::move(options)) {}
    [[nodiscard]] IoShape shape() const noexcept override { return shape_; }
    void forward(Stream& stream, std::size_t items, std::span<const std::byte> in, std::span<std::byte> out) override {
        for (std::size_t i = 0; i < items; ++i) {
            as_host(stream).run([from = in.data() + i * shape_.input_bytes, to = out.data() + i * shape_.output_bytes,
                                 bytes = shape_.output_bytes, &options = options_] {
                Item item;
                std::memcpy(&item, from, sizeof item);
                obey(item.order, options.marks);
                Result result = result_of(item);
                result.label += options.offset;
                std::memcpy(to, &result, bytes);
            });
        }
    }

private:
    IoShape shape_;
    EchoOptions options_;
};

class LoadedEcho final : public LoadedApp {
public:
    explicit LoadedEcho(EchoOptions options) : options_(std::move(options)) {}
    [[nodiscard]] std::unique_ptr<Model> make_model(Device&, const ModelRoom&) const override {
        return std::make_unique<EchoModel>(options_);
    }

private:
    EchoOptions options_;
};

class OpenEcho final : public OpenApp {
public:
    explicit OpenEcho(EchoOptions options) : options_(std::move(options)) {}
    [[nodiscard]] IoShape shape() const noexcept override { return EchoCodec(options_.scores).shape(); }
    [[nodiscard]] double flop_per_item(const WeightBlob&) const noexcept override { return 1; }
    [[nodiscard]] std::unique_ptr<ItemCodec> make_codec() const override {
        return std::make_unique<EchoCodec>(options_.scores);
    }
    [[nodiscard]] WeightBlob read_weights(const std::filesystem::path&) const override { return random_weights(0); }
    [[nodiscard]] WeightBlob random_weights(std::uint64_t) const override { return {}; }
    [[nodiscard]] std::unique_ptr<LoadedApp> load(const WeightBlob&, Precision, DeviceKind) const override {
        return std::make_unique<LoadedEcho>(options_);
    }

private:
    EchoOptions options_;
};

constexpr std::array echo_keys{KeySpec{.section = "output",
                                       .name = "scores",
                                       .type = KeyType::boolean,
                                       .fallback = "false",
                                       .help = "Write four numbers beside the label."},
                               KeySpec{.section = "echo",
                                       .name = "marks",
                                       .type = KeyType::text,
                                       .fallback = "\"\"",
                                       .help = "Folder of the files about items that are held."},
                               KeySpec{.section = "label",
                                       .name = "offset",
                                       .type = KeyType::integer,
                                       .most = 1'000'000,
                                       .fallback = "0",
                                       .help = "Added to every label."}};

class EchoApp final : public App {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "echo"; }
    [[nodiscard]] std::string_view summary() const noexcept override {
        return "says how long its items are, and does what they say";
    }
    [[nodiscard]] std::span<const KeySpec> keys() const noexcept override { return echo_keys; }
    [[nodiscard]] std::unique_ptr<OpenApp> open(const AppSettings& settings) const override {
        const EchoOptions options{.scores = settings.get<bool>("output.scores"),
                                  .offset = static_cast<std::int32_t>(settings.get<std::uint64_t>("label.offset")),
                                  .marks = settings.get<std::string>("echo.marks")};
        return std::make_unique<OpenEcho>(options);
    }
};

}  // namespace

}  // namespace sluice

int main(int argc, char** argv) {
#ifdef SLUICE_ECHO_WITH_FAULTS
    sluice::install_faults();
#endif
    const sluice::EchoApp app;
    return sluice::main(argc, argv, sluice::Apps({&app}));
}
